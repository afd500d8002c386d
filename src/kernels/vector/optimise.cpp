#include "kernels/vector/batch.hpp"
#include "kernels/vector/variant.hpp"

namespace regard::kernels::REGARD_VARIANT {
namespace {

// Rounded as the plain loop rounds: nothing is fused.
template <class T>
void adam_row(Size n, const AdamFigures<T>& at, const AdamRow<T>& row) {
  using V = Batch<T>;
  const V rate(at.rate), correction(at.correction), beta2(at.beta2), epsilon(at.epsilon), gain1(at.gain1),
      gain2(at.gain2), l2(at.l2), shrink(at.shrink);
  for_each_vector<T>(
      n, [=](Size i, auto count) __attribute__((always_inline)) {
        const V value = load(row.p + i, count), m = load(row.m + i, count);
        const V gradient = load(row.g + i, count) + l2 * value;
        const V first = m + gain1 * (gradient - m);
        const V second = beta2 * load(row.v + i, count) + gain2 * gradient * gradient;
        store(row.new_m + i, count, first);
        store(row.new_v + i, count, second);
        store(row.new_p + i, count,
              V(shrink * value - divide<T>(rate * first, square_root<T>(second) * correction + epsilon)));
      });
}

}  // namespace

void set_optimise(Table& table) {
  table.f32.adam = adam_row<float>;
  table.f64.adam = adam_row<double>;
}

}  // namespace regard::kernels::REGARD_VARIANT

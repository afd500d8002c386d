#include "kernels/vector/sums.hpp"

#include "kernels/vector/functions.hpp"
#include "kernels/vector/variant.hpp"

namespace regard::kernels::REGARD_VARIANT {
namespace {

template <class T>
double sum_row(Size n, const T* x) {
  return sum_of<T>(
      n, [x](Size i, auto count) __attribute__((always_inline)) { return load(x + i, count); });
}

/// `vectors` of neighbouring columns.
template <int vectors, class T, class Count>
REGARD_INLINE void sum_strip(Size rows, const T* x, Size step, T* y, Count count) {
  Batch<T> sums[vectors];
  for (Batch<T>& sum : sums) sum = Batch<T>(T{0});
  for (Size row = 0; row < rows; ++row, x += step)
    for (int v = 0; v < vectors; ++v) sums[v] = sums[v] + load(x + v * width<T>, count);
  for (int v = 0; v < vectors; ++v) store(y + v * width<T>, count, sums[v]);
}

template <class T>
void sum_rows(Size rows, Size n, const T* x, Size step, T* y) {
  constexpr int vectors = 4;
  Size j = 0;
  for (; j + vectors * width<T> <= n; j += vectors * width<T>)
    sum_strip<vectors>(rows, x + j, step, y + j, All{});
  for_each_vector<T>(
      n - j, [=](Size i, auto count)
                 __attribute__((always_inline)) { sum_strip<1>(rows, x + j + i, step, y + j + i, count); });
}

template <class T>
T largest_row(Size n, const T* x) {
  return largest_of<T>(
      n, [x](Size i, auto count) __attribute__((always_inline)) { return load(x + i, count); });
}

template <class T>
double sum_of_exp_row(Size n, const T* x, T shift) {
  const Batch<T> subtracted(shift);
  return static_cast<double>(lowering<T>) *
         sum_of<T, vectors_beside_exp>(
             n, [=](Size i, auto count) __attribute__((always_inline)) {
               return raised_exp_of_rounded<T>(load(x + i, count) - subtracted);
             });
}

/// A row of one vector stays in a register.
template <class T, class Count>
REGARD_INLINE T softmax_scale_of_one(Count count, const T* x, double& total) {
  constexpr T lowest = -std::numeric_limits<T>::infinity();
  const Batch<T> values = known_lanes(load(x, count), count, Batch<T>(lowest));
  const T largest = fold<T>(larger(values, Batch<T>(lowest)), Larger{});
  const Batch<T> powers = raised_exp_of_rounded<T>(values - Batch<T>(largest));
  total = static_cast<double>(fold<T>(known_lanes(powers, count, Batch<T>(T{0})), Add{})) *
          static_cast<double>(lowering<T>);
  return largest;
}

template <class T>
T softmax_scale_row(Size n, const T* x, double& total) {
  if (n == width<T>) return softmax_scale_of_one(All{}, x, total);
  if (0 < n && n < width<T>) return softmax_scale_of_one(n, x, total);
  const T largest = largest_row(n, x);
  total = sum_of_exp_row(n, x, largest);
  return largest;
}

template <class T>
void scaled_exp_row(Size n, const T* x, T shift, T factor, T* y) {
  const Batch<T> subtracted(shift), times(factor), lowered(lowering<T>);
  map(
      n, x, y, [=](const Batch<T>& v) __attribute__((always_inline)) {
        return raised_exp_of_rounded<T>(v - subtracted) * lowered * times;
      });
}

template <class T>
void set_rows(Rows<T>& rows) {
  rows.sum = sum_row<T>;
  rows.sum_rows = sum_rows<T>;
  rows.largest = largest_row<T>;
  rows.softmax_scale = softmax_scale_row<T>;
  rows.sum_of_exp = sum_of_exp_row<T>;
  rows.scaled_exp = scaled_exp_row<T>;
}

}  // namespace

void set_sums(Table& table) {
  set_rows(table.f32);
  set_rows(table.f64);
}

}  // namespace regard::kernels::REGARD_VARIANT

#include "kernels/rotate.hpp"

#include <algorithm>
#include <cmath>

#include "kernels/loops.hpp"
#include "memory/pool.hpp"

namespace regard::kernels {
namespace {

template <class T>
struct Turn {
  T cosine, sine;
};

/// Cosine and sine of each pair of each token.
template <class T>
detail::PoolArray<Turn<T>> turns(const Array& positions, Size width, const Rotation& rotation) {
  const Size tokens = positions.shape[0], pairs = width / 2;
  auto table = detail::PoolArray<Turn<T>>::unset(static_cast<std::size_t>(tokens * pairs));
  for (Size i = 0; i < pairs; ++i) {
    const double slowness = std::pow(rotation.base, static_cast<double>(2 * i) / static_cast<double>(width));
    for (Size t = 0; t < tokens; ++t) {
      const double angle = static_cast<double>(positions.as<Size>()[t * positions.strides[0]]) / slowness;
      table.data()[t * pairs + i] = {static_cast<T>(std::cos(angle)),
                                                        static_cast<T>(rotation.sense * std::sin(angle))};
    }
  }
  return table;
}

template <class T>
void rotate_kernel(const Call& call) {
  const Array &x = call.in(0), &y = call.out();
  const int token_axis = x.shape.rank() - 2, pair_axis = x.shape.rank() - 1;
  const Size tokens = x.shape[token_axis], width = x.shape[pair_axis], pairs = width / 2;
  if (numel(x.shape) == 0) return;
  const detail::PoolArray<Turn<T>> table = turns<T>(call.in(1), width, call.get<Rotation>());
  const Size x_token = x.strides[token_axis], x_step = x.strides[pair_axis];
  const Size y_token = y.strides[token_axis], y_step = y.strides[pair_axis];
  // Sequences: what is left of the shape without tokens and width.
  Array xs = x, ys = y;
  for (Array* each : {&xs, &ys})
    for (int axis : {pair_axis, token_axis}) {
      each->shape.erase(axis);
      each->strides.erase(axis);
    }
  const Work sequences{std::max<Size>(1, moved.per_block / (tokens * width))};
  for_each_row_in_parallel<2>({&ys, &xs}, sequences, [&](const auto& at, Size n, const auto& step) {
    for (Size s = 0; s < n; ++s) {
      for (Size t = 0; t < tokens; ++t) {
        const Turn<T>* turn = table.data() + t * pairs;
        const T* in = x.as<T>() + at[1] + s * step[1] + t * x_token;
        T* out = y.as<T>() + at[0] + s * step[0] + t * y_token;
        for (Size i = 0; i < pairs; ++i) {
          const T even = in[2 * i * x_step], odd = in[(2 * i + 1) * x_step];
          out[2 * i * y_step] = even * turn[i].cosine - odd * turn[i].sine;
          out[(2 * i + 1) * y_step] = even * turn[i].sine + odd * turn[i].cosine;
        }
      }
    }
  });
}

}  // namespace

const KernelSet rotate = {rotate_kernel<float>, rotate_kernel<double>};

}  // namespace regard::kernels

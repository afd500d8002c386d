#include "kernels/alibi.hpp"

#include "kernels/lines.hpp"

namespace regard::kernels {
namespace {

template <class T>
void alibi_kernel(const Call& c) {
  const Array &y = c.out(), &x = c.in(0), &slopes = c.in(1), &positions = c.in(2);
  const int axis = y.shape.rank() - 1;
  const Size keys = y.shape[axis], to = y.strides[axis], from = x.strides[axis];
  for_each_line_in_parallel<4>({&y, &x, &slopes, &positions}, axis, moved, [&](auto&& lines) {
    lines([&](const auto& at) {
      T* const out = y.as<T>() + at[0];
      const T* const in = x.as<T>() + at[1];
      const T slope = slopes.as<T>()[at[2]], position = static_cast<T>(positions.as<Size>()[at[3]]);
      for (Size j = 0; j < keys; ++j) {
        const T ahead = static_cast<T>(j) - position;
        out[j * to] = in[j * from] - slope * (ahead < 0 ? -ahead : ahead);
      }
    });
  });
}

}  // namespace

const KernelSet alibi = {alibi_kernel<float>, alibi_kernel<double>};

}  // namespace regard::kernels

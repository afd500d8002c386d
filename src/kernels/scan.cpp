#include "kernels/scan.hpp"

#include "kernels/lines.hpp"
#include "kernels/summation.hpp"

namespace regard::kernels {
namespace {

template <class T>
void cumsum_kernel(const Call& c) {
  const Scan& scan = c.get<Scan>();
  const Array &y = c.out(), &x = c.in(0);
  const Size n = x.shape[scan.axis];
  const Size first = scan.backwards ? n - 1 : 0, step = scan.backwards ? -1 : 1;
  if (n == 0) return;
  for_each_line<2>({&y, &x}, scan.axis, [&](const auto& at) {
    T* const to = y.as<T>() + at[0];
    const T* const from = x.as<const T>() + at[1];
    Total<T> total{};
    for (Size i = 0, place = first; i < n; ++i, place += step) {
      total += from[place * x.strides[scan.axis]];
      to[place * y.strides[scan.axis]] = static_cast<T>(total);
    }
  });
}

}  // namespace

const KernelSet cumsum = {cumsum_kernel<float>, cumsum_kernel<double>, cumsum_kernel<Size>};

}  // namespace regard::kernels

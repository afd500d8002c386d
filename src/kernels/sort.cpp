#include "kernels/sort.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <type_traits>
#include <vector>

#include "kernels/lines.hpp"

namespace regard::kernels {
namespace {

template <class T>
bool is_nan(T x) {
  if constexpr (std::is_floating_point_v<T>) return std::isnan(x);
  return false;
}

template <class T>
void argsort_kernel(const Call& c) {
  const Sorting& how = c.get<Sorting>();
  const Array &x = c.in(0), &y = c.out();
  const Size n = x.shape[how.axis], count = y.shape[how.axis];
  const Size x_step = x.strides[how.axis], y_step = y.strides[how.axis];
  // Lines are walked as if they held one element: x may be longer than what is wanted of it.
  Array x_lines = x, y_lines = y;
  x_lines.shape[how.axis] = y_lines.shape[how.axis] = 1;
  if (count == 0) return;
  std::vector<Size> order(static_cast<std::size_t>(n));
  for_each_line<2>({&y_lines, &x_lines}, how.axis, [&](const auto& at) {
    const T* const from = x.as<const T>() + at[1];
    // A total order, since no two places are the same: any way to sort gives the one result.
    const auto before = [&](Size i, Size j) {
      const T a = from[i * x_step], b = from[j * x_step];
      const bool a_is_nan = is_nan(a), b_is_nan = is_nan(b);
      if (a_is_nan != b_is_nan) return how.nan_first ? a_is_nan : b_is_nan;
      if (a < b || b < a) return how.descending ? b < a : a < b;
      return i < j;
    };
    std::iota(order.begin(), order.end(), Size{0});
    if (count == n)
      std::sort(order.begin(), order.end(), before);
    else
      std::partial_sort(order.begin(), order.begin() + count, order.end(), before);
    Size* const to = y.as<Size>() + at[0];
    for (Size i = 0; i < count; ++i) to[i * y_step] = order[static_cast<std::size_t>(i)];
  });
}

}  // namespace

const KernelSet argsort = {argsort_kernel<float>, argsort_kernel<double>, argsort_kernel<Size>};

}  // namespace regard::kernels

#include "kernels/layer_norm.hpp"

#include <algorithm>

#include "kernels/rows.hpp"

namespace regard::kernels {
namespace {

int last_axis(const Array& x) {
  return x.shape.rank() - 1;
}

/// gamma or beta as a dense row; null where missing.
template <class T>
class Parameters {
 public:
  explicit Parameters(const Array& x)
      : lines_(x.data ? x.shape[0] : 0, x.data ? x.strides[0] : 1),
        row_(x.data ? lines_.read(x.as<const T>()) : nullptr) {}
  const T* row() const { return row_; }

 private:
  DenseLines<T> lines_;
  const T* row_;
};

template <class T>
void layer_norm_kernel(const Call& c) {
  const Array &y = c.out(), &x = c.in(0);
  const Parameters<T> gamma(c.in(1)), beta(c.in(2));
  const double epsilon = c.get<LayerNormEpsilon>().epsilon;
  const int axis = last_axis(x);
  const Size n = x.shape[axis];
  const auto row = rows<T>().layer_norm;
  for_each_line_in_parallel<2>({&y, &x}, axis, computed, [&](auto&& lines) {
    DenseLines<T> to(n, y.strides[axis]), from(n, x.strides[axis]);
    lines([&](const auto& at) {
      T* const line = y.as<T>() + at[0];
      row(n, from.read(x.as<const T>() + at[1]), gamma.row(), beta.row(), epsilon, to.open(line));
      to.close(line);
    });
  });
}

template <class T>
void layer_norm_backward_kernel(const Call& c) {
  const Array &dx = c.out(), &dy = c.in(0), &x = c.in(1);
  const Parameters<T> gamma(c.in(2));
  const double epsilon = c.get<LayerNormEpsilon>().epsilon;
  const int axis = last_axis(x);
  const Size n = x.shape[axis];
  const auto row = rows<T>().layer_norm_backward;
  for_each_line_in_parallel<3>({&dx, &dy, &x}, axis, computed, [&](auto&& lines) {
    DenseLines<T> to(n, dx.strides[axis]), slopes(n, dy.strides[axis]), from(n, x.strides[axis]);
    lines([&](const auto& at) {
      T* const line = dx.as<T>() + at[0];
      row(n, slopes.read(dy.as<const T>() + at[1]), from.read(x.as<const T>() + at[2]), gamma.row(), epsilon,
          to.open(line));
      to.close(line);
    });
  });
}

template <class T>
void layer_norm_backward_gamma_kernel(const Call& c) {
  const Array &dgamma = c.out(), &dy = c.in(0), &x = c.in(1);
  const double epsilon = c.get<LayerNormEpsilon>().epsilon;
  const int axis = last_axis(x);
  const Size n = x.shape[axis];
  // Few rows are added up in T, those sums in float64 for each part of all rows, and the parts in their
  // order.
  constexpr Size few = 32, most_parts = 16;
  const Walk<2> walk({&dy, &x}, axis);
  const Size lines = walk.size(), size = block_size(lines, n, computed);
  const Size part = size >= lines ? lines : std::max(size, (lines + most_parts - 1) / most_parts);
  const Size parts = lines == 0 ? 0 : (lines + part - 1) / part;
  const detail::PoolArray<double> totals(static_cast<std::size_t>(std::max<Size>(1, parts) * n));
  const detail::PoolArray<T> sums(static_cast<std::size_t>(parts * n));
  const auto add_row = rows<T>().add_layer_norm_gamma;
  parallel_for(parts, [&](Size i) {
    double* const total = totals.data() + i * n;
    T* const sum = sums.data() + i * n;
    const auto flush = [&] {
      for (Size k = 0; k < n; ++k) total[k] += static_cast<double>(sum[k]);
      std::fill_n(sum, n, T{0});
    };
    DenseLines<T> slopes(n, dy.strides[axis]), from(n, x.strides[axis]);
    Size count = 0;
    const auto add = [&](const auto& at) {
      add_row(n, slopes.read(dy.as<const T>() + at[0]), from.read(x.as<const T>() + at[1]), epsilon, sum);
      if (++count % few == 0) flush();
    };
    for_each_row<2>(walk, i * part, std::min(lines, (i + 1) * part), one_by_one<2>(add));
    flush();
  });
  for (Size i = 1; i < parts; ++i)
    for (Size k = 0; k < n; ++k) totals.data()[k] += totals.data()[i * n + k];
  T* const to = dgamma.as<T>();
  for (Size k = 0; k < n; ++k) to[k * dgamma.strides[0]] = static_cast<T>(totals.data()[k]);
}

}  // namespace

const KernelSet layer_norm = {layer_norm_kernel<float>, layer_norm_kernel<double>};
const KernelSet layer_norm_backward = {layer_norm_backward_kernel<float>, layer_norm_backward_kernel<double>};
const KernelSet layer_norm_backward_gamma = {layer_norm_backward_gamma_kernel<float>,
                                             layer_norm_backward_gamma_kernel<double>};

}  // namespace regard::kernels

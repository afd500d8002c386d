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

/// Totals of `width` columns over the rows of all arrays: few rows are added up in T, those sums in float64
/// for each part of all rows, and the parts in their order. make_add() gives add(offsets, sums) for a part.
template <class T, int count, class MakeAdd>
detail::PoolArray<double> totals_over_rows(const std::array<const Array*, count>& arrays, int axis,
                                           Size width, MakeAdd make_add) {
  constexpr Size few = 32, most_parts = 16;
  const Walk<count> walk(arrays, axis);
  const Size lines = walk.size(), size = block_size(lines, width, computed);
  const Size part = size >= lines ? lines : std::max(size, (lines + most_parts - 1) / most_parts);
  const Size parts = lines == 0 ? 0 : (lines + part - 1) / part;
  detail::PoolArray<double> totals(static_cast<std::size_t>(std::max<Size>(1, parts) * width));
  const detail::PoolArray<T> sums(static_cast<std::size_t>(parts * width));
  parallel_for(parts, [&](Size i) {
    double* const total = totals.data() + i * width;
    T* const sum = sums.data() + i * width;
    const auto flush = [&] {
      for (Size k = 0; k < width; ++k) total[k] += static_cast<double>(sum[k]);
      std::fill_n(sum, width, T{0});
    };
    auto add = make_add();
    Size rows = 0;
    const auto add_row = [&](const auto& at) {
      add(at, sum);
      if (++rows % few == 0) flush();
    };
    for_each_row<count>(walk, i * part, std::min(lines, (i + 1) * part), one_by_one<count>(add_row));
    flush();
  });
  for (Size i = 1; i < parts; ++i)
    for (Size k = 0; k < width; ++k) totals.data()[k] += totals.data()[i * width + k];
  return totals;
}

template <class T>
void put(const double* totals, const Array& to) {
  for (Size k = 0; k < to.shape[0]; ++k) to.as<T>()[k * to.strides[0]] = static_cast<T>(totals[k]);
}

template <class T>
void layer_norm_backward_gamma_kernel(const Call& c) {
  const Array &dy = c.in(0), &x = c.in(1);
  const double epsilon = c.get<LayerNormEpsilon>().epsilon;
  const int axis = last_axis(x);
  const Size n = x.shape[axis];
  const auto row = rows<T>().add_layer_norm_gamma;
  const auto totals = totals_over_rows<T, 2>({&dy, &x}, axis, n, [&] {
    return [&, slopes = DenseLines<T>(n, dy.strides[axis]), from = DenseLines<T>(n, x.strides[axis])](
               const auto& at, T* sums) mutable {
      row(n, slopes.read(dy.as<const T>() + at[0]), from.read(x.as<const T>() + at[1]), epsilon, sums);
    };
  });
  put<T>(totals.data(), c.out());
}

template <class T>
void layer_norm_backward_all_kernel(const Call& c) {
  const Array &dx = c.out(0), &dy = c.in(0), &x = c.in(1);
  const Parameters<T> gamma(c.in(2));
  const double epsilon = c.get<LayerNormEpsilon>().epsilon;
  const int axis = last_axis(x);
  const Size n = x.shape[axis];
  const auto row = rows<T>().layer_norm_backward_all;
  const auto totals = totals_over_rows<T, 3>({&dx, &dy, &x}, axis, 2 * n, [&] {
    return [&, to = DenseLines<T>(n, dx.strides[axis]), slopes = DenseLines<T>(n, dy.strides[axis]),
            from = DenseLines<T>(n, x.strides[axis])](const auto& at, T* sums) mutable {
      T* const line = dx.as<T>() + at[0];
      row(n, slopes.read(dy.as<const T>() + at[1]), from.read(x.as<const T>() + at[2]), gamma.row(), epsilon,
          to.open(line), sums, sums + n);
      to.close(line);
    };
  });
  put<T>(totals.data(), c.out(1));
  put<T>(totals.data() + n, c.out(2));
}

}  // namespace

const KernelSet layer_norm = {layer_norm_kernel<float>, layer_norm_kernel<double>};
const KernelSet layer_norm_backward = {layer_norm_backward_kernel<float>, layer_norm_backward_kernel<double>};
const KernelSet layer_norm_backward_gamma = {layer_norm_backward_gamma_kernel<float>,
                                             layer_norm_backward_gamma_kernel<double>};
const KernelSet layer_norm_backward_all = {layer_norm_backward_all_kernel<float>,
                                           layer_norm_backward_all_kernel<double>};

}  // namespace regard::kernels

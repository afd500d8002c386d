#include "kernels/reduce.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/numbers.hpp"
#include "kernels/rows.hpp"
#include "kernels/summation.hpp"

namespace regard::kernels {
namespace {

/// Some axes of an array, the last first: those of extent 1 left out, neighbours merged where one step walks
/// through both.
struct AxisGroup {
  int rank = 0;
  Size extents[max_rank], strides[max_rank];  // set as far as rank goes

  /// Takes in an axis that stands before those that are here.
  void prepend(Size extent, Size stride) {
    if (extent == 1) return;
    if (rank > 0 && stride == extents[rank - 1] * strides[rank - 1]) {
      extents[rank - 1] *= extent;
    } else {
      extents[rank] = extent;
      strides[rank] = stride;
      ++rank;
    }
  }
  Size size() const {
    Size elements = 1;
    for (int axis = 0; axis < rank; ++axis) elements *= extents[axis];
    return elements;
  }
  bool ends_in_unit_stride() const { return rank > 0 && strides[0] == 1; }
  bool is_empty() const { return std::find(extents, extents + rank, 0) != extents + rank; }
};

/// The last axis of a group.
struct Line {
  Size extent = 1;
  Size stride = 0;

  explicit Line(const AxisGroup& group)
      : extent(group.rank == 0 ? 1 : group.extents[0]), stride(group.rank == 0 ? 0 : group.strides[0]) {}
};

/// f(offset) for places begin ... end - 1 in row-major order, of all axes but the last `less`.
template <class F>
void for_each_offset(const AxisGroup& group, int less, Size begin, Size end, F f) {
  if (begin >= end || group.is_empty()) return;
  Size index[max_rank], offset = 0, rest = begin;
  for (int axis = less; axis < group.rank; ++axis) {
    index[axis] = rest == 0 ? 0 : rest % group.extents[axis];
    rest = rest == 0 ? 0 : rest / group.extents[axis];
    offset += index[axis] * group.strides[axis];
  }
  while (true) {
    f(offset);
    if (++begin == end) return;
    int axis = less;
    for (; axis < group.rank; ++axis) {
      offset += group.strides[axis];
      if (++index[axis] < group.extents[axis]) break;
      offset -= group.strides[axis] * group.extents[axis];
      index[axis] = 0;
    }
    if (axis >= group.rank) return;
  }
}

template <class F>
void for_each_offset(const AxisGroup& group, int less, F f) {
  for_each_offset(group, less, 0, std::numeric_limits<Size>::max(), f);
}

struct Split {
  AxisGroup kept, folded;

  explicit Split(const Call& c) {
    const Array& x = c.in(0);
    const Reduction& reduction = c.get<Reduction>();
    for (int axis = x.shape.rank() - 1; axis >= 0; --axis)
      (reduction.folds(axis) ? folded : kept).prepend(x.shape[axis], x.strides[axis]);
  }
  // Rows of x then lie along the output: whole rows are combined, rather than one output after the other.
  bool by_columns() const { return kept.ends_in_unit_stride() && !folded.ends_in_unit_stride(); }
};

/// y = one(x, group, line) for every output: the group is what to fold, the line its last axis.
template <class Y, class T, class One>
void fold_each(const Call& c, const Split& split, One one) {
  const T* const x = c.in(0).as<T>();
  const Line line(split.folded);
  parallel_ranges(split.kept.size(), split.folded.size(), moved, [&](Size begin, Size end) {
    Y* y = c.out().as<Y>() + begin;
    for_each_offset(split.kept, 0, begin, end, [&](Size at) { *y++ = one(x + at, split.folded, line); });
  });
}

/// f(offset) for every line of a group.
template <class F>
void for_each_line_of(const AxisGroup& group, F f) {
  for_each_offset(group, 1, f);
}

constexpr Size columns_at_once = 64;

/// columns(x, n, rows, y): y[j] for n neighbouring outputs from x[row + j] of all rows.
template <class T, class Columns>
void fold_columns(const Call& c, const Split& split, Columns columns) {
  const T* const x = c.in(0).as<T>();
  T* const y = c.out().as<T>();
  const Size width = Line(split.kept).extent, strips = (width + columns_at_once - 1) / columns_at_once;
  if (width == 0) return;
  const Size all = split.kept.size() / width * strips,
             each = split.folded.size() * std::min(width, columns_at_once);
  parallel_ranges(all, each, moved, [&](Size begin, Size end) {
    Size strip = begin % strips, row = begin / strips;
    for_each_offset(split.kept, 1, row, (end + strips - 1) / strips, [&](Size at) {
      for (; strip < strips && begin < end; ++strip, ++begin) {
        const Size j = strip * columns_at_once;
        columns(x + at + j, std::min(columns_at_once, width - j), split.folded, y + row * width + j);
      }
      strip = 0;
      ++row;
    });
  });
}

// ---- sum and mean ---------------------------------------------------------------------------------------

/// Dense floats; blocks of a size that keeps the error small are added in pairs.
template <class T>
double sum_dense(const T* x, Size n) {
  constexpr Size block = 1024, part = 64 * block;
  const auto sum_row = rows<T>().sum;
  if (n <= block) return sum_row(n, x);
  const auto sum_part = [&](Size begin, Size end) {
    PairwiseSum<double> blocks;
    for (Size i = begin; i < end; i += block) blocks.add(sum_row(std::min(block, end - i), x + i));
    return blocks.result();
  };
  const Size parts = (n + part - 1) / part;
  if (block_size(parts, part, moved) >= parts) return sum_part(0, n);
  // As many blocks to a part as make pairs of pairs: the same additions.
  const auto sums = detail::PoolArray<double>::unset(static_cast<std::size_t>(parts));
  parallel_for(parts, [&](Size i) { sums.data()[i] = sum_part(i * part, std::min(n, (i + 1) * part)); });
  PairwiseSum<double> total;
  for (Size i = 0; i < parts; ++i) total.add(sums.data()[i]);
  return total.result();
}

template <class T>
Total<T> sum_line(const T* x, const Line& line) {
  if constexpr (std::is_floating_point_v<T>)
    if (line.stride == 1) return sum_dense(x, line.extent);
  if (line.stride == 1) return sum_of(line.extent, [x](Size i) { return x[i]; });
  return sum_of(line.extent, [x, step = line.stride](Size i) { return x[i * step]; });
}

template <class T>
Total<T> sum_one(const T* x, const AxisGroup& group, const Line& line) {
  if (group.rank <= 1) return sum_line(x, line);
  PairwiseSum<Total<T>> total;
  for_each_line_of(group, [&](Size at) { total.add(sum_line(x + at, line)); });
  return total.result();
}

/// The totals of neighbouring columns.
template <class T>
struct ColumnTotals {
  T values[columns_at_once];  // not set here: sixty-four of these wait in a PairwiseSum

  friend ColumnTotals operator+(const ColumnTotals& a, const ColumnTotals& b) {
    ColumnTotals added;
    for (Size j = 0; j < columns_at_once; ++j) added.values[j] = a.values[j] + b.values[j];
    return added;
  }
};

constexpr Size rows_at_once = 32;

/// y[j] = Σ x[row·step + j] over `rows` rows, n columns.
template <class T>
void sum_rows(Size rows, Size n, const T* x, Size step, T* y) {
  if constexpr (std::is_floating_point_v<T>) return kernels::rows<T>().sum_rows(rows, n, x, step, y);
  std::fill_n(y, n, T{0});
  for (Size row = 0; row < rows; ++row)
    for (Size j = 0; j < n; ++j) y[j] += x[row * step + j];
}

// Blocks of rows are added up in T, and the blocks pairwise in Total<T>.
template <class T, class Finish>
void sum_columns(const T* x, Size n, const AxisGroup& group, T* y, Finish finish) {
  const Line line(group);
  T block[columns_at_once];
  if (group.rank <= 1 && line.extent <= rows_at_once) {
    sum_rows(line.extent, n, x, line.stride, block);
    for (Size j = 0; j < n; ++j) y[j] = finish(static_cast<Total<T>>(block[j]));
    return;
  }
  PairwiseSum<ColumnTotals<Total<T>>> blocks;
  for_each_line_of(group, [&](Size at) {
    for (Size row = 0; row < line.extent; row += rows_at_once) {
      sum_rows(std::min(rows_at_once, line.extent - row), n, x + at + row * line.stride, line.stride, block);
      ColumnTotals<Total<T>> totals{};
      std::copy(block, block + n, totals.values);
      blocks.add(totals);
    }
  });
  const ColumnTotals<Total<T>> totals = blocks.result();
  for (Size j = 0; j < n; ++j) y[j] = finish(totals.values[j]);
}

template <class T, class Finish>
void sum_kernel_with(const Call& c, Finish finish) {
  const Split split(c);
  if (split.by_columns()) {
    fold_columns<T>(c, split, [&](const T* x, Size n, const AxisGroup& group, T* y) {
      sum_columns(x, n, group, y, finish);
    });
  } else {
    fold_each<T, T>(c, split, [&](const T* x, const AxisGroup& group, const Line& line) {
      return finish(sum_one(x, group, line));
    });
  }
}

template <class T>
void sum_kernel(const Call& c) {
  sum_kernel_with<T>(c, [](Total<T> total) { return static_cast<T>(total); });
}

template <class T>
void mean_kernel(const Call& c) {
  sum_kernel_with<T>(
      c, [divisor = c.get<Reduction>().divisor](double total) { return static_cast<T>(total / divisor); });
}

// ---- max and min ----------------------------------------------------------------------------------------

struct Larger {
  template <class T>
  T operator()(T a, T b) const {
    return larger(a, b);
  }
};

struct Smaller {
  template <class T>
  T operator()(T a, T b) const {
    return smaller(a, b);
  }
};

template <class Choose, class T>
T choose_one(const T* x, const AxisGroup& group, const Line& line) {
  T chosen = x[0];
  for_each_line_of(group, [&](Size at) {
    for (Size i = 0; i < line.extent; ++i) chosen = Choose{}(chosen, x[at + i * line.stride]);
  });
  return chosen;
}

template <class Choose, class T>
void choose_columns(const T* x, Size n, const AxisGroup& group, T* y) {
  std::copy(x, x + n, y);
  for_each_offset(group, 0, [&](Size at) {
    for (Size j = 0; j < n; ++j) y[j] = Choose{}(y[j], x[at + j]);
  });
}

template <class Choose, class T>
void choose_kernel(const Call& c) {
  const Split split(c);
  if (split.by_columns())
    fold_columns<T>(c, split, choose_columns<Choose, T>);
  else
    fold_each<T, T>(c, split, choose_one<Choose, T>);
}

// ---- logsumexp ------------------------------------------------------------------------------------------

template <class T>
T logsumexp_one(const T* x, const AxisGroup& group, const Line& line) {
  if (group.is_empty()) return -std::numeric_limits<T>::infinity();
  const T largest = choose_one<Larger>(x, group, line);
  if (!std::isfinite(largest)) return largest;  // the shift would be inf - inf
  PairwiseSum<double> total;
  DenseLines<T> dense(line.extent, line.stride);
  for_each_line_of(
      group, [&](Size at) { total.add(rows<T>().sum_of_exp(line.extent, dense.read(x + at), largest)); });
  return static_cast<T>(static_cast<double>(largest) + std::log(total.result()));
}

template <class T>
void logsumexp_kernel(const Call& c) {
  fold_each<T, T>(c, Split(c), logsumexp_one<T>);
}

// ---- places and truths ----------------------------------------------------------------------------------

template <class T>
Size argmax_one(const T* x, const AxisGroup&, const Line& line) {
  Size best = 0;
  for (Size i = 0; i < line.extent; ++i) {
    const T value = x[i * line.stride];
    if (value != value) return i;
    if (value > x[best * line.stride]) best = i;
  }
  return best;
}

template <class T>
void argmax_kernel(const Call& c) {
  fold_each<Size, T>(c, Split(c), argmax_one<T>);
}

/// Is there an element equal to `wanted`?
bool holds(const bool* x, const AxisGroup& group, const Line& line, bool wanted) {
  bool found = false;
  for_each_line_of(group, [&](Size at) {
    for (Size i = 0; i < line.extent && !found; ++i) found = x[at + i * line.stride] == wanted;
  });
  return found;
}

void all_kernel(const Call& c) {
  fold_each<bool, bool>(c, Split(c), [](const bool* x, const AxisGroup& group, const Line& line) {
    return !holds(x, group, line, false);
  });
}

void any_kernel(const Call& c) {
  fold_each<bool, bool>(c, Split(c), [](const bool* x, const AxisGroup& group, const Line& line) {
    return holds(x, group, line, true);
  });
}

}  // namespace

const KernelSet sum = {sum_kernel<float>, sum_kernel<double>, sum_kernel<Size>};
const KernelSet mean = {mean_kernel<float>, mean_kernel<double>};
const KernelSet max = {choose_kernel<Larger, float>, choose_kernel<Larger, double>,
                       choose_kernel<Larger, Size>};
const KernelSet min = {choose_kernel<Smaller, float>, choose_kernel<Smaller, double>,
                       choose_kernel<Smaller, Size>};
const KernelSet logsumexp = {logsumexp_kernel<float>, logsumexp_kernel<double>};
const KernelSet argmax = {argmax_kernel<float>, argmax_kernel<double>, argmax_kernel<Size>};
const KernelSet all = {nullptr, nullptr, nullptr, all_kernel};
const KernelSet any = {nullptr, nullptr, nullptr, any_kernel};

}  // namespace regard::kernels

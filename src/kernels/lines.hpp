// Kernels that work on whole lines of an array: everything that differs in one axis only.
#pragma once

#include <limits>
#include <type_traits>

#include "kernels/loops.hpp"

namespace regard::kernels {

/// A row of lines as the lines.
template <int count, class Line>
auto one_by_one(Line& line) {
  return [&line](std::array<Size, count> at, Size n, const std::array<Size, count>& step) {
    for (Size i = 0; i < n; ++i) {
      line(at);
      for (std::size_t k = 0; k < count; ++k) at[k] += step[k];
    }
  };
}

/// Calls line(offsets) for every line along `axis`; offsets are in elements, one per array. The arrays have
/// one shape.
template <int count, class Line>
void for_each_line(const std::array<const Array*, count>& arrays, int axis, Line&& line) {
  for_each_row<count>(Walk<count>(arrays, axis), one_by_one<count>(line));
}

/// Like for_each_line; but lines come in any order, several at a time. some(lines) is called for each block
/// of them, gets ready what one thread needs for itself, and hands to lines(line) what is to be done with
/// each.
template <int count, class Some>
void for_each_line_in_parallel(const std::array<const Array*, count>& arrays, int axis, Work work,
                               Some&& some) {
  const Walk<count> walk(arrays, axis);
  const Size lines = walk.size(), each = std::max<Size>(1, arrays[0]->shape[axis]);
  if (lines == 0) return;
  if (block_size(lines, each, work) >= lines)
    return some([&](auto&& line) { for_each_row<count>(walk, one_by_one<count>(line)); });
  parallel_ranges(lines, each, work, [&](Size begin, Size end) {
    some([&](auto&& line) { for_each_row<count>(walk, begin, end, one_by_one<count>(line)); });
  });
}

/// Like for_each_line; but calls lines(offsets, n, steps) for n of them in equal steps, in any order, several
/// at a time.
template <int count, class Lines>
void for_each_row_of_lines_in_parallel(const std::array<const Array*, count>& arrays, int axis, Work work,
                                       Lines&& lines) {
  const Walk<count> walk(arrays, axis);
  const Size size = walk.size(), each = std::max<Size>(1, arrays[0]->shape[axis]);
  if (block_size(size, each, work) >= size) return for_each_row<count>(walk, lines);
  parallel_ranges(size, each, work,
                  [&](Size begin, Size end) { for_each_row<count>(walk, begin, end, lines); });
}

/// The step of a dense line, known when the loop is compiled, so that it can be vectorised.
using UnitStep = std::integral_constant<Size, 1>;

/// Elements of a line, Step apart.
template <class T, class Step>
struct LineOf {
  T* first;
  Step step;

  T& operator[](Size i) const { return first[i * step]; }
};
template <class T, class Step>
LineOf(T*, Step) -> LineOf<T, Step>;

/// The largest of f(0) ... f(n - 1), -inf for none; a NaN is passed over.
template <class F>
auto largest_of(Size n, F f) {
  using T = decltype(f(n));
  constexpr Size lanes = 8;
  T largest[lanes];
  for (T& lane : largest) lane = -std::numeric_limits<T>::infinity();
  Size i = 0;
  for (; i + lanes <= n; i += lanes) {
    for (Size lane = 0; lane < lanes; ++lane) {
      const T value = f(i + lane);
      largest[lane] = value > largest[lane] ? value : largest[lane];
    }
  }
  for (; i < n; ++i) {
    const T value = f(i);
    largest[0] = value > largest[0] ? value : largest[0];
  }
  for (Size lane = 1; lane < lanes; ++lane)
    largest[0] = largest[lane] > largest[0] ? largest[lane] : largest[0];
  return largest[0];
}

}  // namespace regard::kernels

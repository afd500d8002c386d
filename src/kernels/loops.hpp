// Loops over strided arrays of one shape: axes are collapsed where the strides allow, so that the inner loop
// is as long as it can be, and the inner loop is told when all strides are 0 or 1 so that it can be
// vectorised.
#pragma once

#include <algorithm>
#include <array>

#include "kernels/call.hpp"
#include "kernels/parallel.hpp"

namespace regard::kernels {

inline bool is_empty(const Shape& shape) {
  for (const Size extent : shape)
    if (extent == 0) return true;
  return false;
}

/// How to walk through `count` arrays of one shape, the innermost axis first. Axes are merged where every
/// array steps through two neighbours as through one; those of extent 1, and one that is left out, are
/// dropped.
template <int count>
struct Walk {
  int rank = 0;                             ///< 0 for empty arrays, else at least 1
  Size extents[max_rank];                   // set as far as rank goes
  std::array<Size, count> steps[max_rank];  // likewise; in elements

  explicit Walk(const std::array<const Array*, count>& arrays, int left_out = -1) {
    const Shape& shape = arrays[0]->shape;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (axis == left_out || shape[axis] == 1) continue;
      if (shape[axis] == 0) {
        rank = 0;
        return;
      }
      if (rank > 0 && continues(arrays, axis)) {
        extents[rank - 1] *= shape[axis];
      } else {
        extents[rank] = shape[axis];
        for (std::size_t i = 0; i < count; ++i) steps[rank][i] = arrays[i]->strides[axis];
        ++rank;
      }
    }
    if (rank > 0) return;
    rank = 1;
    extents[0] = 1;
    steps[0].fill(1);
  }

  /// Of how many elements.
  Size size() const {
    Size elements = rank > 0 ? extents[0] : 0;
    for (int axis = 1; axis < rank; ++axis) elements *= extents[axis];
    return elements;
  }

 private:
  // Does the axis continue the last one that was kept?
  bool continues(const std::array<const Array*, count>& arrays, int axis) const {
    for (std::size_t i = 0; i < count; ++i)
      if (arrays[i]->strides[axis] != extents[rank - 1] * steps[rank - 1][i]) return false;
    return true;
  }
};

/// Calls row(offsets, n, steps) for every innermost row of a walk; offsets and steps are in elements, one per
/// array.
template <int count, class Row>
void for_each_row(const Walk<count>& walk, Row&& row) {
  if (walk.rank == 0) return;
  std::array<Size, count> offset{};
  Size index[max_rank];
  for (int axis = 1; axis < walk.rank; ++axis) index[axis] = 0;
  while (true) {
    row(offset, walk.extents[0], walk.steps[0]);
    int axis = 1;
    for (; axis < walk.rank; ++axis) {
      const std::array<Size, count>& step = walk.steps[axis];
      for (std::size_t i = 0; i < count; ++i) offset[i] += step[i];
      if (++index[axis] < walk.extents[axis]) break;
      for (std::size_t i = 0; i < count; ++i) offset[i] -= step[i] * walk.extents[axis];
      index[axis] = 0;
    }
    if (axis >= walk.rank) return;
  }
}

template <int count, class Row>
void for_each_row(const std::array<const Array*, count>& arrays, Row&& row) {
  for_each_row<count>(Walk<count>(arrays), row);
}

/// The same for elements begin ... end - 1 alone, of which there is one at least; rows at the ends are cut.
template <int count, class Row>
void for_each_row(const Walk<count>& walk, Size begin, Size end, Row&& row) {
  std::array<Size, count> offset{};
  Size index[max_rank], rest = begin;
  for (int axis = 0; axis < walk.rank; ++axis) {
    index[axis] = rest % walk.extents[axis];
    rest /= walk.extents[axis];
    for (std::size_t i = 0; i < count; ++i) offset[i] += index[axis] * walk.steps[axis][i];
  }
  while (true) {
    const Size n = std::min(end - begin, walk.extents[0] - index[0]);
    row(offset, n, walk.steps[0]);
    begin += n;
    if (begin >= end) return;
    for (std::size_t i = 0; i < count; ++i) offset[i] -= index[0] * walk.steps[0][i];
    index[0] = 0;
    for (int axis = 1; axis < walk.rank; ++axis) {
      const std::array<Size, count>& step = walk.steps[axis];
      for (std::size_t i = 0; i < count; ++i) offset[i] += step[i];
      if (++index[axis] < walk.extents[axis]) break;
      for (std::size_t i = 0; i < count; ++i) offset[i] -= step[i] * walk.extents[axis];
      index[axis] = 0;
    }
  }
}

/// Like for_each_row; but rows may be cut, and come in any order, several at a time.
template <int count, class Row>
void for_each_row_in_parallel(const std::array<const Array*, count>& arrays, Work work, Row&& row) {
  const Walk<count> walk(arrays);
  const Size n = walk.size();
  if (block_size(n, 1, work) >= n) return for_each_row<count>(walk, row);
  parallel_ranges(n, 1, work, [&](Size begin, Size end) { for_each_row<count>(walk, begin, end, row); });
}

/// out = f(in), element by element. Out may be the input itself.
template <class Out, class In, class F>
void map1(const Array& from, const Array& to, F f, Work work = moved) {
  Out* const out = to.as<Out>();
  const In* const in = from.as<In>();
  for_each_row_in_parallel<2>({&to, &from}, work, [&](const auto& at, Size n, const auto& step) {
    Out* y = out + at[0];
    const In* x = in + at[1];
    if (step[0] == 1 && step[1] == 1) {
      for (Size i = 0; i < n; ++i) y[i] = f(x[i]);
    } else {
      for (Size i = 0; i < n; ++i) y[i * step[0]] = f(x[i * step[1]]);
    }
  });
}

template <class Out, class In, class F>
void map1(const Call& call, F f, Work work = moved) {
  map1<Out, In>(call.in(0), call.out(), f, work);
}

/// out = f(a, b), element by element. Out may be an input itself.
template <class Out, class In, class F>
void map2(const Call& call, F f, Work work = moved) {
  Out* const out = call.out().as<Out>();
  const In* const in_a = call.in(0).as<In>();
  const In* const in_b = call.in(1).as<In>();
  for_each_row_in_parallel<3>({&call.out(), &call.in(0), &call.in(1)}, work,
                              [&](const auto& at, Size n, const auto& step) {
                                Out* y = out + at[0];
                                const In* a = in_a + at[1];
                                const In* b = in_b + at[2];
                                if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
                                  for (Size i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
                                } else if (step[0] == 1 && step[1] == 1 && step[2] == 0) {
                                  const In same = *b;
                                  for (Size i = 0; i < n; ++i) y[i] = f(a[i], same);
                                } else {
                                  for (Size i = 0; i < n; ++i)
                                    y[i * step[0]] = f(a[i * step[1]], b[i * step[2]]);
                                }
                              });
}

}  // namespace regard::kernels

// Loops over strided arrays of one shape: axes are collapsed where the strides allow, so that the inner loop is as
// long as it can be, and the inner loop is told when all strides are 0 or 1 so that it can be vectorised.
#pragma once

#include <array>

#include "kernels/call.hpp"

namespace regard::kernels {

/// The axes of `count` arrays of one shape, merged where every array steps through two neighbours as through one,
/// axes of extent 1 dropped.
template <int count>
struct Collapsed {
  Shape shape;
  std::array<Strides, count> strides;

  explicit Collapsed(const std::array<const Array*, count>& arrays) {
    const Shape& full = arrays[0]->shape;
    for (int axis = 0; axis < full.rank(); ++axis) {
      if (full[axis] == 1) continue;
      if (merges(arrays, axis)) {
        shape[shape.rank() - 1] *= full[axis];
        for (int i = 0; i < count; ++i)
          strides[static_cast<std::size_t>(i)][shape.rank() - 1] = arrays[static_cast<std::size_t>(i)]->strides[axis];
      } else {
        shape.push_back(full[axis]);
        for (int i = 0; i < count; ++i)
          strides[static_cast<std::size_t>(i)].push_back(arrays[static_cast<std::size_t>(i)]->strides[axis]);
      }
    }
    if (shape.empty()) {
      shape.push_back(1);
      for (Strides& s : strides) s.push_back(1);
    }
  }

 private:
  // Does the axis continue the last one that was kept?
  bool merges(const std::array<const Array*, count>& arrays, int axis) const {
    if (shape.empty()) return false;
    const int last = shape.rank() - 1;
    for (int i = 0; i < count; ++i) {
      const Array& array = *arrays[static_cast<std::size_t>(i)];
      if (strides[static_cast<std::size_t>(i)][last] != array.shape[axis] * array.strides[axis]) return false;
    }
    return true;
  }
};

/// Calls row(offsets, n, strides) for every innermost row; offsets and strides are in elements, one per array.
template <int count, class Row>
void for_each_row(const std::array<const Array*, count>& arrays, Row&& row) {
  if (numel(arrays[0]->shape) == 0) return;
  const Collapsed<count> axes(arrays);
  const int inner = axes.shape.rank() - 1;
  std::array<Size, count> offset{}, step{};
  for (int i = 0; i < count; ++i) step[static_cast<std::size_t>(i)] = axes.strides[static_cast<std::size_t>(i)][inner];
  Sizes index = Sizes::filled(inner, 0);
  while (true) {
    row(offset, axes.shape[inner], step);
    int axis = inner - 1;
    for (; axis >= 0; --axis) {
      for (int i = 0; i < count; ++i)
        offset[static_cast<std::size_t>(i)] += axes.strides[static_cast<std::size_t>(i)][axis];
      if (++index[axis] < axes.shape[axis]) break;
      for (int i = 0; i < count; ++i)
        offset[static_cast<std::size_t>(i)] -= axes.strides[static_cast<std::size_t>(i)][axis] * axes.shape[axis];
      index[axis] = 0;
    }
    if (axis < 0) return;
  }
}

/// out = f(in), element by element. Out may be the input itself.
template <class Out, class In, class F>
void map1(const Array& from, const Array& to, F f) {
  Out* const out = to.as<Out>();
  const In* const in = from.as<In>();
  for_each_row<2>({&to, &from}, [&](const auto& at, Size n, const auto& step) {
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
void map1(const Call& call, F f) {
  map1<Out, In>(call.in(0), call.out(), f);
}

/// out = f(a, b), element by element. Out may be an input itself.
template <class Out, class In, class F>
void map2(const Call& call, F f) {
  Out* const out = call.out().as<Out>();
  const In* const in_a = call.in(0).as<In>();
  const In* const in_b = call.in(1).as<In>();
  for_each_row<3>({&call.out(), &call.in(0), &call.in(1)}, [&](const auto& at, Size n, const auto& step) {
    Out* y = out + at[0];
    const In* a = in_a + at[1];
    const In* b = in_b + at[2];
    if (step[0] == 1 && step[1] == 1 && step[2] == 1) {
      for (Size i = 0; i < n; ++i) y[i] = f(a[i], b[i]);
    } else if (step[0] == 1 && step[1] == 1 && step[2] == 0) {
      const In same = *b;
      for (Size i = 0; i < n; ++i) y[i] = f(a[i], same);
    } else {
      for (Size i = 0; i < n; ++i) y[i * step[0]] = f(a[i * step[1]], b[i * step[2]]);
    }
  });
}

}  // namespace regard::kernels

#include "kernels/indexing.hpp"

#include <algorithm>

#include "kernels/loops.hpp"
#include "kernels/vector/table.hpp"

namespace regard::kernels {
namespace {

// An array of shape [outer.., extent, inner..], row-major, seen as outer x extent rows of `inner` numbers.
struct Rows {
  Size outer, inner;
};

Rows rows_around(const Shape& shape, int axis) {
  Rows rows{1, 1};
  for (int i = 0; i < axis; ++i) rows.outer *= shape[i];
  for (int i = axis + 1; i < shape.rank(); ++i) rows.inner *= shape[i];
  return rows;
}

template <class T>
void take_kernel(const Call& call) {
  const Lookup& lookup = call.get<Lookup>();
  const Rows rows = rows_around(call.in(0).shape, lookup.axis);
  const Size count = numel(call.in(1).shape);
  const Size* const ids = call.in(1).as<Size>();
  const T* const x = call.in(0).as<T>();
  T* const y = call.out().as<T>();
  if (numel(call.out().shape) == 0) return;
  parallel_ranges(rows.outer * count, rows.inner, moved, [&](Size begin, Size end) {
    for (Size i = begin; i < end; ++i)
      std::copy_n(x + (i / count * lookup.extent + ids[i % count]) * rows.inner, rows.inner,
                  y + i * rows.inner);
  });
}

template <class T>
void take_backward_kernel(const Call& call) {
  const Lookup& lookup = call.get<Lookup>();
  const Rows rows = rows_around(call.out().shape, lookup.axis);
  const Size count = numel(call.in(1).shape);
  const Size* const ids = call.in(1).as<Size>();
  const T* const dy = call.in(0).as<T>();
  T* const dx = call.out().as<T>();
  const auto add = kernels::rows<T>().add;
  // Rows are added in the order of places. Each block has the ids of a range, and looks through all of them:
  // so there are not many.
  const Size all = rows.outer * lookup.extent;
  const Work some{std::max(moved.per_block, all * rows.inner / 16)};
  parallel_ranges(all, rows.inner, some, [&](Size begin, Size end) {
    std::fill_n(dx + begin * rows.inner, (end - begin) * rows.inner, T{0});
    if (begin == end || count == 0) return;
    for (Size i = begin / lookup.extent; i * lookup.extent < end; ++i)
      for (Size place = 0; place < count; ++place) {
        const Size to = i * lookup.extent + ids[place];
        if (to < begin || to >= end) continue;
        T* const row = dx + to * rows.inner;
        add(rows.inner, row, 1, dy + (i * count + place) * rows.inner, 1, row);
      }
  });
}

// The elements of x that lie at the places of ids, before the id moves them along the axis.
Array under_ids(const Array& x, const Array& ids, int axis) {
  Array out{x.data, x.dtype, ids.shape, x.strides};
  out.strides[axis] = 0;
  return out;
}

template <class T>
void gather_kernel(const Call& call) {
  const int axis = call.get<Lookup>().axis;
  const Size stride = call.in(0).strides[axis];
  const Array x = under_ids(call.in(0), call.in(1), axis);
  for_each_row_in_parallel<3>({&call.out(), &call.in(1), &x}, moved,
                              [&](const auto& at, Size n, const auto& step) {
                                T* const y = call.out().as<T>() + at[0];
                                const Size* const ids = call.in(1).as<Size>() + at[1];
                                const T* const from = x.as<T>() + at[2];
                                for (Size i = 0; i < n; ++i)
                                  y[i * step[0]] = from[i * step[2] + ids[i * step[1]] * stride];
                              });
}

template <class T>
void scatter_add_kernel(const Call& call) {
  map1<T, T>(call.in(0), call.out(), [](T value) { return value; });
  const int axis = call.get<Lookup>().axis;
  const Size stride = call.out().strides[axis];
  const Array y = under_ids(call.out(), call.in(1), axis);
  for_each_row<3>({&call.in(2), &call.in(1), &y}, [&](const auto& at, Size n, const auto& step) {
    const T* const updates = call.in(2).as<T>() + at[0];
    const Size* const ids = call.in(1).as<Size>() + at[1];
    T* const to = y.as<T>() + at[2];
    for (Size i = 0; i < n; ++i) to[i * step[2] + ids[i * step[1]] * stride] += updates[i * step[0]];
  });
}

template <class T>
void one_hot_kernel(const Call& call) {
  const Size classes = call.out().shape.back(), count = numel(call.in(0).shape);
  const Size* const ids = call.in(0).as<Size>();
  T* const y = call.out().as<T>();
  std::fill_n(y, numel(call.out().shape), T{0});
  for (Size i = 0; i < count; ++i) y[i * classes + ids[i]] = T{1};
}

}  // namespace

Size first_outside(const Array& ids, Size extent) {
  const Size* const first = ids.as<Size>();
  const Size count = numel(ids.shape);
  const Size* const bad =
      std::find_if(first, first + count, [extent](Size id) { return id < 0 || id >= extent; });
  return bad == first + count ? -1 : bad - first;
}

const KernelSet take = {take_kernel<float>, take_kernel<double>, take_kernel<Size>, take_kernel<bool>};
const KernelSet take_backward = {take_backward_kernel<float>, take_backward_kernel<double>};
const KernelSet gather = {gather_kernel<float>, gather_kernel<double>, gather_kernel<Size>,
                          gather_kernel<bool>};
const KernelSet scatter_add = {scatter_add_kernel<float>, scatter_add_kernel<double>,
                               scatter_add_kernel<Size>};
const KernelSet one_hot = {one_hot_kernel<float>, one_hot_kernel<double>, one_hot_kernel<Size>,
                           one_hot_kernel<bool>};

}  // namespace regard::kernels

#include "kernels/movement.hpp"

#include <algorithm>

#include "kernels/loops.hpp"

namespace regard::kernels {
namespace {

template <class T>
void copy(const Array& to, const Array& from) {
  map1<T, T>(from, to, [](T x) { return x; });
}

// `count` places of an array along an axis, `step` apart.
template <class T>
Array part(const Array& array, int axis, Size start, Size step, Size count) {
  Array out = array;
  if (count > 0) out.data = array.as<T>() + start * array.strides[axis];
  out.shape[axis] = count;
  out.strides[axis] = step * array.strides[axis];
  return out;
}

template <class T>
void concatenate_kernel(const Call& call) {
  const int axis = call.get<AlongAxis>().axis;
  Size start = 0;
  for (int i = 0; i < call.input_count; ++i) {
    const Size count = call.in(i).shape[axis];
    copy<T>(part<T>(call.out(), axis, start, 1, count), call.in(i));
    start += count;
  }
}

template <class T>
void stack_kernel(const Call& call) {
  const int axis = call.get<AlongAxis>().axis;
  for (int i = 0; i < call.input_count; ++i) {
    Array place = part<T>(call.out(), axis, i, 1, 1);
    place.shape.erase(axis);
    place.strides.erase(axis);
    copy<T>(place, call.in(i));
  }
}

// The output is row-major.
template <class T>
void slice_backward_kernel(const Call& call) {
  const Steps& steps = call.get<Steps>();
  std::fill_n(call.out().as<T>(), numel(call.out().shape), T{});
  copy<T>(part<T>(call.out(), steps.axis, steps.start, steps.step, steps.count), call.in(0));
}

template <class T>
void band_kernel(const Call& call) {
  const Band keep = call.get<Band>();
  const int row = call.out().shape.rank() - 2, column = row + 1;
  // One row of the last two axes after another: the two outer walks see matrices as their first element.
  Array out = call.out(), in = call.in(0);
  const Size rows = out.shape[row], columns = out.shape[column];
  const Size out_row = out.strides[row], out_column = out.strides[column];
  const Size in_row = in.strides[row], in_column = in.strides[column];
  if (rows == 0 || columns == 0) return;
  for (Array* array : {&out, &in}) array->shape[row] = array->shape[column] = 1;
  for_each_row<2>({&out, &in}, [&](const auto& at, Size n, const auto& step) {
    for (Size matrix = 0; matrix < n; ++matrix) {
      for (Size i = 0; i < rows; ++i) {
        T* const y = out.as<T>() + at[0] + matrix * step[0] + i * out_row;
        const T* const x = in.as<T>() + at[1] + matrix * step[1] + i * in_row;
        const Size first = std::clamp(i + keep.low, Size{0}, columns);
        const Size last = std::clamp(i + keep.high + 1, first, columns);
        for (Size j = 0; j < first; ++j) y[j * out_column] = T{};
        for (Size j = first; j < last; ++j) y[j * out_column] = x[j * in_column];
        for (Size j = last; j < columns; ++j) y[j * out_column] = T{};
      }
    }
  });
}

}  // namespace

#define FOR_ALL(kernel) \
  { kernel<float>, kernel<double>, kernel<Size>, kernel<bool> }
const KernelSet concatenate = FOR_ALL(concatenate_kernel);
const KernelSet stack = FOR_ALL(stack_kernel);
const KernelSet slice_backward = FOR_ALL(slice_backward_kernel);
const KernelSet band = FOR_ALL(band_kernel);
#undef FOR_ALL

}  // namespace regard::kernels

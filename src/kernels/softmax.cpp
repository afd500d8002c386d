#include "kernels/softmax.hpp"

#include "kernels/rows.hpp"

namespace regard::kernels {
namespace {

/// A mask of the lines, which may be missing.
class KeptLines {
 public:
  KeptLines(const Array& keep, int axis)
      : first_(keep.data ? keep.as<const bool>() : nullptr),
        lines_(first_ ? keep.shape[axis] : 0, first_ ? keep.strides[axis] : 1) {}

  const bool* read(Size at) { return first_ ? lines_.read(first_ + at) : nullptr; }

 private:
  const bool* first_;
  DenseLines<bool> lines_;
};

/// The row function on every line of (x, keep) -> y.
template <class T, auto function>
void forward(const Call& c) {
  const int axis = c.get<SoftmaxAxis>().axis;
  const Array &y = c.out(), &x = c.in(0), keep = c.input_count > 1 ? c.in(1) : Array{};
  const Array& keep_or_x = keep.data ? keep : x;
  const Size n = y.shape[axis];
  const auto row = rows<T>().*function;
  for_each_line_in_parallel<3>({&y, &x, &keep_or_x}, axis, computed, [&](auto&& lines) {
    DenseLines<T> to(n, y.strides[axis]), from(n, x.strides[axis]);
    KeptLines kept(keep, axis);
    lines([&](const auto& at) {
      T* const line = y.as<T>() + at[0];
      row(n, from.read(x.as<const T>() + at[1]), kept.read(at[2]), to.open(line));
      to.close(line);
    });
  });
}

/// Dense lines of (x, keep) -> y as they lie, others one at a time.
template <class T>
void softmax_of_lines(const Call& c) {
  const int axis = c.get<SoftmaxAxis>().axis;
  const Array &y = c.out(), &x = c.in(0), keep = c.input_count > 1 ? c.in(1) : Array{};
  const auto is_dense = [axis](const Array& array) { return !array.data || array.strides[axis] == 1; };
  if (!is_dense(y) || !is_dense(x) || !is_dense(keep)) return forward<T, &Rows<T>::softmax>(c);
  const bool* const kept = keep.data ? keep.as<const bool>() : nullptr;
  for_each_row_of_lines_in_parallel<3>(
      {&y, &x, kept ? &keep : &x}, axis, computed, [&](const auto& at, Size lines, const auto& step) {
        rows<T>().softmax_lines({lines, y.shape[axis], x.as<const T>() + at[1], step[1],
                                 kept ? kept + at[2] : nullptr, step[2], y.as<T>() + at[0], step[0]});
      });
}

/// The row function on every line of (dy, y, keep) -> dx.
template <class T, auto function>
void backward(const Call& c) {
  const int axis = c.get<SoftmaxAxis>().axis;
  const Array &dx = c.out(), &dy = c.in(0), &y = c.in(1), keep = c.input_count > 2 ? c.in(2) : Array{};
  const Array& keep_or_y = keep.data ? keep : y;
  const Size n = dx.shape[axis];
  const auto row = rows<T>().*function;
  for_each_line_in_parallel<4>({&dx, &dy, &y, &keep_or_y}, axis, computed, [&](auto&& lines) {
    DenseLines<T> to(n, dx.strides[axis]), slopes(n, dy.strides[axis]), values(n, y.strides[axis]);
    KeptLines kept(keep, axis);
    lines([&](const auto& at) {
      T* const line = dx.as<T>() + at[0];
      row(n, slopes.read(dy.as<const T>() + at[1]), values.read(y.as<const T>() + at[2]), kept.read(at[3]),
          to.open(line));
      to.close(line);
    });
  });
}

}  // namespace

#define FORWARD(op) \
  const KernelSet op = {forward<float, &Rows<float>::op>, forward<double, &Rows<double>::op>};
#define BACKWARD(op) \
  const KernelSet op = {backward<float, &Rows<float>::op>, backward<double, &Rows<double>::op>};
const KernelSet softmax = {softmax_of_lines<float>, softmax_of_lines<double>};
FORWARD(log_softmax)
BACKWARD(softmax_backward)
BACKWARD(log_softmax_backward)

}  // namespace regard::kernels

// Ops that move no numbers: each is another look at the same storage, and its rule looks at dy the other way
// round.
#include <algorithm>
#include <cstdlib>

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "autograd/needs.hpp"
#include "ops/movement.hpp"

namespace regard {
namespace detail {
namespace {

// The permutation of a rank; Axes itself is longer than an attribute block.
struct Permutation {
  signed char axes[max_rank];
  signed char rank;
};
std::string to_text(const Permutation& at) {
  std::string text;
  for (int i = 0; i < at.rank; ++i) text += (i ? "," : "axes=") + std::to_string(at.axes[i]);
  return text;
}

struct AxisPair {
  int a, b;
};
std::string to_text(const AxisPair& at) { return "axes=" + std::to_string(at.a) + "," + std::to_string(at.b); }

Axes inverse(const Permutation& permutation) {
  Axes axes = Sizes::filled(permutation.rank, 0);
  for (int i = 0; i < permutation.rank; ++i) axes[permutation.axes[i]] = i;
  return axes;
}

Tensor back_to_input_shape(const Vjp& at) {
  return reshape(at.dy, at.x().shape());
}

Tensor slice_dx(const Vjp& at) {
  return slice_backward(at.dy, at.get<Steps>());
}

Tensor select_dx(const Vjp& at) {
  const Steps& steps = at.get<Steps>();
  return slice_backward(expand_dims(at.dy, {steps.axis}), steps);
}

// clang-format off
const Op reshape_op      = {"reshape",      {}, {back_to_input_shape}};
const Op squeeze_op      = {"squeeze",      {}, {back_to_input_shape}};
const Op expand_dims_op  = {"expand_dims",  {}, {back_to_input_shape}};
const Op permute_op      = {"permute",      {}, {[](const Vjp& at) { return permute(at.dy, inverse(at.get<Permutation>())); }}};
const Op transpose_op    = {"transpose",    {}, {[](const Vjp& at) { return transpose(at.dy, at.get<AxisPair>().a, at.get<AxisPair>().b); }}};
const Op broadcast_to_op = {"broadcast_to", {}, {[](const Vjp& at) { return sum_to(at.dy, at.x().shape()); }}};
const Op slice_op        = {"slice",        {}, {slice_dx}};
const Op select_op       = {"select",       {}, {select_dx}};
// clang-format on

void* element_address(const Tensor& x, Size offset) {
  return static_cast<unsigned char*>(array(x).data) + offset * item_size(x.dtype());
}

// The wanted shape with its -1 worked out.
Shape completed(const Shape& from, const Shape& wanted) {
  const auto refuse = [&](const std::string& why) -> Shape {
    throw ShapeError("reshape: cannot look at " + to_string(from) + " (" + std::to_string(numel(from)) +
                     " elements) as " + to_string(wanted) + ": " + why);
  };
  Shape shape = wanted;
  Size known = 1;
  int open = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == -1) {
      if (open >= 0) return refuse("only one extent may be -1");
      open = axis;
    } else if (shape[axis] < 0) {
      return refuse("an extent is negative");
    } else if (__builtin_mul_overflow(known, shape[axis], &known)) {
      return refuse("it has more elements than fit 63 bits");
    }
  }
  const Size count = numel(from);
  if (open >= 0) {
    if (known == 0) return refuse("beside an extent of 0 the -1 could be anything");
    if (count % known != 0) return refuse(std::to_string(known) + " does not divide the number of elements");
    shape[open] = count / known;
  } else if (known != count) {
    return refuse("that has " + std::to_string(known) + " elements");
  }
  return shape;
}

// Strides that look at `array` as `shape`; false when no strides can. Groups of axes with equal products are
// matched from the left; within a group the old axes must step through memory as one.
bool strides_as(const kernels::Array& array, const Shape& shape, Strides& strides) {
  strides = contiguous_strides(shape);
  if (numel(shape) <= 1) return true;
  Shape old_shape;
  Strides old_strides;
  for (int axis = 0; axis < array.shape.rank(); ++axis) {
    if (array.shape[axis] == 1) continue;
    old_shape.push_back(array.shape[axis]);
    old_strides.push_back(array.strides[axis]);
  }
  int old_axis = 0, axis = 0;
  while (old_axis < old_shape.rank()) {
    const int old_first = old_axis, first = axis;
    Size old_count = old_shape[old_axis++], count = shape[axis++];
    while (old_count != count) {
      if (old_count < count)
        old_count *= old_shape[old_axis++];
      else
        count *= shape[axis++];
    }
    for (int i = old_first; i + 1 < old_axis; ++i)
      if (old_strides[i] != old_strides[i + 1] * old_shape[i + 1]) return false;
    Size step = old_strides[old_axis - 1];
    for (int i = axis - 1; i >= first; --i) {
      strides[i] = step;
      step *= shape[i];
    }
  }
  return true;  // what is left of the new axes has extent 1
}

// Python's slice.indices: where to start, how far to step, how often. `end` leaves a bound open.
Steps clipped(const Tensor& x, int axis, const Slice& range) {
  if (range.step == 0) throw ValueError("slice: the step must not be 0");
  const Size extent = x.shape()[axis];
  const bool forward = range.step > 0;
  const Size step = std::max(range.step, -Slice::end);
  const Size lowest = forward ? 0 : -1, highest = forward ? extent : extent - 1;
  const auto clip = [&](Size bound) {
    return bound < 0 ? std::max(bound + extent, lowest) : std::min(bound, highest);
  };
  const Size start = clip(range.start);
  const Size stop = !forward && range.stop == Slice::end ? -1 : clip(range.stop);
  const Size distance = forward ? stop - start : start - stop;
  Steps steps{axis, 0, 1, 0, extent};
  if (distance <= 0) return steps;
  steps.start = start;
  steps.count = (distance - 1) / std::abs(step) + 1;
  if (steps.count > 1) steps.step = step;
  return steps;
}

}  // namespace

Tensor take_steps(const Tensor& x, const Steps& steps) {
  Shape shape = x.shape();
  Strides strides = x.strides();
  const Size stride = strides[steps.axis];
  shape[steps.axis] = steps.count;
  strides[steps.axis] = stride * steps.step;
  // An empty view points at the start: its storage may have no other place.
  const Size offset = numel(shape) == 0 ? 0 : steps.start * stride;
  return apply_view(slice_op, x, view(x, element_address(x, offset), shape, strides), steps);
}

}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor reshape(const Tensor& x, const Shape& wanted) {
  const Shape shape = completed(x.shape(), wanted);
  if (shape == x.shape()) return unchanged(x);
  Strides strides;
  if (!strides_as(array(x), shape, strides)) return reshape(x.contiguous(), shape);
  return apply_view(reshape_op, x, view(x, array(x).data, shape, strides));
}

Tensor permute(const Tensor& x, const Axes& axes) {
  const int rank = x.rank();
  if (axes.rank() != rank || normalize_axes(axes, rank, "permute").rank() != rank)
    throw ShapeError("permute: " + to_string(axes) + " does not name each of the " + std::to_string(rank) +
                     " axes of " + to_string(x.shape()) + " once");
  Permutation permutation{{}, static_cast<signed char>(rank)};
  Shape shape;
  Strides strides;
  for (int i = 0; i < rank; ++i) {
    const int axis = normalize_axis(axes[i], rank, "permute");
    permutation.axes[i] = static_cast<signed char>(axis);
    shape.push_back(x.shape()[axis]);
    strides.push_back(x.strides()[axis]);
  }
  return apply_view(permute_op, x, view(x, array(x).data, shape, strides), permutation);
}

Tensor transpose(const Tensor& x, int axis_a, int axis_b) {
  const int a = normalize_axis(axis_a, x.rank(), "transpose");
  const int b = normalize_axis(axis_b, x.rank(), "transpose");
  Shape shape = x.shape();
  Strides strides = x.strides();
  std::swap(shape[a], shape[b]);
  std::swap(strides[a], strides[b]);
  return apply_view(transpose_op, x, view(x, array(x).data, shape, strides), AxisPair{a, b});
}

Tensor squeeze(const Tensor& x) {
  Axes axes;
  for (int axis = 0; axis < x.rank(); ++axis)
    if (x.shape()[axis] == 1) axes.push_back(axis);
  return squeeze(x, axes);
}

Tensor squeeze(const Tensor& x, const Axes& axes) {
  const Axes dropped = normalize_axes(axes, x.rank(), "squeeze");
  if (dropped.empty()) return unchanged(x);
  Shape shape = x.shape();
  Strides strides = x.strides();
  for (int i = dropped.rank() - 1; i >= 0; --i) {
    const int axis = static_cast<int>(dropped[i]);
    if (shape[axis] != 1)
      throw ShapeError("squeeze: axis " + std::to_string(axis) + " of " + to_string(x.shape()) +
                       " has extent " + std::to_string(shape[axis]) +
                       "; only axes of extent 1 can be dropped");
    shape.erase(axis);
    strides.erase(axis);
  }
  return apply_view(squeeze_op, x, view(x, array(x).data, shape, strides));
}

Tensor expand_dims(const Tensor& x, const Axes& axes) {
  const int rank = x.rank() + axes.rank();
  if (rank > max_rank)
    throw ShapeError("expand_dims: " + to_string(x.shape()) + " with axes at " + to_string(axes) +
                     " would have rank " + std::to_string(rank) + "; at most " + std::to_string(max_rank) +
                     " is supported");
  if (axes.empty()) return unchanged(x);
  Shape shape = x.shape();
  Strides strides = x.strides();
  for (const Size axis : normalize_axes(axes, rank, "expand_dims")) {
    shape.insert(static_cast<int>(axis), 1);
    strides.insert(static_cast<int>(axis), 0);
  }
  return apply_view(expand_dims_op, x, view(x, array(x).data, shape, strides));
}

Tensor broadcast_to(const Tensor& x, const Shape& shape) {
  if (shape == x.shape()) return unchanged(x);
  (void)numel(shape);  // refuses negative extents and too many elements
  const int extra = shape.rank() - x.rank();
  Strides strides = Sizes::filled(shape.rank(), 0);
  bool fits = extra >= 0;
  for (int axis = 0; fits && axis < x.rank(); ++axis) {
    if (x.shape()[axis] == shape[axis + extra])
      strides[axis + extra] = x.strides()[axis];
    else
      fits = x.shape()[axis] == 1;
  }
  if (!fits)
    throw ShapeError("broadcast_to: " + to_string(x.shape()) + " does not stretch to " + to_string(shape) +
                     "; matched from the right, each extent must be 1 or the same");
  return apply_view(broadcast_to_op, x, view(x, array(x).data, shape, strides));
}

Tensor slice(const Tensor& x, int axis, const Slice& range) {
  return take_steps(x, clipped(x, normalize_axis(axis, x.rank(), "slice"), range));
}

Tensor select(const Tensor& x, int axis, Size index) {
  const int at = normalize_axis(axis, x.rank(), "select");
  const Size extent = x.shape()[at];
  if (index < -extent || index >= extent)
    throw ValueError("select: index " + std::to_string(index) + " is out of range for axis " +
                     std::to_string(at) + " of " + to_string(x.shape()));
  const Steps steps{at, index < 0 ? index + extent : index, 1, 1, extent};
  Shape shape = x.shape();
  Strides strides = x.strides();
  const Size offset = steps.start * strides[at];
  shape.erase(at);
  strides.erase(at);
  void* const first = element_address(x, numel(shape) == 0 ? 0 : offset);
  return apply_view(select_op, x, view(x, first, shape, strides), steps);
}

Tensors split(const Tensor& x, Size parts, int axis) {
  const int at = normalize_axis(axis, x.rank(), "split");
  const Size extent = x.shape()[at];
  if (parts <= 0 || extent % parts != 0)
    throw ShapeError("split: axis " + std::to_string(at) + " of " + to_string(x.shape()) +
                     " does not divide into " + std::to_string(parts) +
                     " equal parts; pass the extents to split into unequal ones");
  return split(x, std::vector<Size>(static_cast<std::size_t>(parts), extent / parts), at);
}

Tensors split(const Tensor& x, const std::vector<Size>& extents, int axis) {
  const int at = normalize_axis(axis, x.rank(), "split");
  Size left = x.shape()[at];
  bool fits = true;
  for (const Size extent : extents) {
    fits = fits && extent >= 0 && extent <= left;
    if (fits) left -= extent;
  }
  if (!fits || left != 0)
    throw ShapeError("split: the extents of the parts must be at least 0 and add up to " +
                     std::to_string(x.shape()[at]) + ", the extent of axis " + std::to_string(at) + " of " +
                     to_string(x.shape()));
  Tensors parts;
  Size start = 0;
  for (const Size extent : extents) {
    parts.push_back(slice(x, at, {start, start + extent}));
    start += extent;
  }
  return parts;
}

}  // namespace regard

#include "ops/movement.hpp"

#include <algorithm>

#include <regard/ops.hpp>

#include "autograd/apply.hpp"

namespace regard {
namespace detail {
namespace {

using kernels::AlongAxis;
using kernels::Band;

void concatenate_dx(const Vjp& at, const bool* needed, Tensor* dx) {
  const int axis = at.get<AlongAxis>().axis;
  Size start = 0;
  for (int i = 0; i < at.input_count; ++i) {
    const Size stop = start + at.x(i).shape()[axis];
    if (needed[i]) dx[i] = slice(at.dy, axis, {start, stop});
    start = stop;
  }
}

void stack_dx(const Vjp& at, const bool* needed, Tensor* dx) {
  for (int i = 0; i < at.input_count; ++i)
    if (needed[i]) dx[i] = select(at.dy, at.get<AlongAxis>().axis, i);
}

Tensor band(const Tensor& x, const Band& keep);

const Op concatenate_op = {"concatenate", kernels::concatenate, {}, concatenate_dx};
const Op write_op = {"write", kernels::concatenate};
const Op stack_op = {"stack", kernels::stack, {}, stack_dx};
const Op slice_backward_op = {"slice_backward", kernels::slice_backward, {[](const Vjp& at) {
                                return take_steps(at.dy, at.get<Steps>());
                              }}};
const Op band_op = {"band", kernels::band, {[](const Vjp& at) { return band(at.dy, at.get<Band>()); }}};

Tensor band(const Tensor& x, const Band& keep) {
  return apply(band_op, {x}, x.shape(), x.dtype(), keep);
}

void require_matrices(const char* op, const Tensor& x) {
  if (x.rank() < 2)
    throw ShapeError(std::string(op) + ": expected [.., rows, columns], got " + to_string(x.shape()));
}

// Diagonals beyond any extent; further ones change nothing and could overflow.
Size clipped_diagonal(const Tensor& x, Size diagonal) {
  const Size limit = std::max(x.size(-2), x.size(-1));
  return std::clamp(diagonal, -limit, limit);
}

/// Tensors that stand side by side somewhere.
struct Parts {
  const Tensor* first;
  std::size_t count;

  std::size_t size() const { return count; }
  const Tensor& operator[](std::size_t i) const { return first[i]; }
};

void require_parts(const char* op, const Parts& parts) {
  if (parts.size() == 0) throw ValueError(std::string(op) + ": expected at least one tensor, got none");
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].dtype() != parts[0].dtype())
      throw DTypeError(std::string(op) + ": part 0 is " + name(parts[0].dtype()) + " but part " +
                       std::to_string(i) + " is " + name(parts[i].dtype()) + "; convert one with .to()");
}

[[noreturn]] void refuse_part(const char* op, const Parts& parts, std::size_t i, const std::string& rule) {
  throw ShapeError(std::string(op) + ": part 0 is " + to_string(parts[0].shape()) + " but part " +
                   std::to_string(i) + " is " + to_string(parts[i].shape()) + "; " + rule);
}

Tensor join(const Op& op, const Parts& parts, const Shape& shape, int axis) {
  return apply(op, parts.first, static_cast<int>(parts.size()), shape, parts[0].dtype(), AlongAxis{axis});
}

Tensor concatenate_parts(const Parts& parts, int axis) {
  require_parts("concatenate", parts);
  const int at = normalize_axis(axis, parts[0].rank(), "concatenate");
  Shape shape = parts[0].shape();
  for (std::size_t i = 1; i < parts.size(); ++i) {
    Shape part = parts[i].shape();
    const bool fits = part.rank() == shape.rank();
    const Size extent = fits ? part[at] : 0;
    if (fits) part[at] = shape[at];
    if (part != shape)
      refuse_part("concatenate", parts, i, "all axes but axis " + std::to_string(at) + " must agree");
    if (__builtin_add_overflow(shape[at], extent, &shape[at]))
      throw ShapeError("concatenate: the joined axis " + std::to_string(at) + " does not fit 63 bits");
  }
  return join(concatenate_op, parts, shape, at);
}

Tensor stack_parts(const Parts& parts, int axis) {
  require_parts("stack", parts);
  for (std::size_t i = 1; i < parts.size(); ++i)
    if (parts[i].shape() != parts[0].shape()) refuse_part("stack", parts, i, "all shapes must agree");
  if (parts[0].rank() == max_rank)
    throw ShapeError("stack: parts of shape " + to_string(parts[0].shape()) + " would make rank " +
                     std::to_string(max_rank + 1) + "; at most " + std::to_string(max_rank) +
                     " is supported");
  const int at = normalize_axis(axis, parts[0].rank() + 1, "stack");
  Shape shape = parts[0].shape();
  shape.insert(at, static_cast<Size>(parts.size()));
  return join(stack_op, parts, shape, at);
}

/// An axis so many times as long, whose element i is x's at place(i).
template <class Place>
Tensor lengthened(const char* op, const Tensor& x, int axis, Size times, Place place) {
  if (times < 0)
    throw ValueError(std::string(op) + ": expected repeats of at least 0, got " + std::to_string(times));
  if (times == 1) return unchanged(x);
  const Tensor ids = empty({numel({x.shape()[axis], times})}, int64);
  for (Size i = 0; i < ids.numel(); ++i) array(ids).as<Size>()[i] = place(i);
  return take(x, ids, axis);
}

}  // namespace

void write(Tensor place, const Tensor& x) {
  execute(write_op, &x, 1, &place, 1, AlongAxis{0});
}

Tensor slice_backward(const Tensor& dy, const Steps& steps) {
  Shape shape = dy.shape();
  shape[steps.axis] = steps.extent;
  return apply(slice_backward_op, {dy}, shape, dy.dtype(), steps);
}

}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor concatenate(const Tensors& parts, int axis) {
  return concatenate_parts({parts.data(), parts.size()}, axis);
}
Tensor concatenate(std::initializer_list<Tensor> parts, int axis) {
  return concatenate_parts({parts.begin(), parts.size()}, axis);
}
Tensor stack(const Tensors& parts, int axis) {
  return stack_parts({parts.data(), parts.size()}, axis);
}
Tensor stack(std::initializer_list<Tensor> parts, int axis) {
  return stack_parts({parts.begin(), parts.size()}, axis);
}

Tensor triu(const Tensor& x, Size diagonal) {
  require_matrices("triu", x);
  return band(x, {clipped_diagonal(x, diagonal), std::max(x.size(-2), x.size(-1))});
}

Tensor tril(const Tensor& x, Size diagonal) {
  require_matrices("tril", x);
  return band(x, {-std::max(x.size(-2), x.size(-1)), clipped_diagonal(x, diagonal)});
}

Tensor pad(const Tensor& x, const std::vector<Padding>& widths, double value) {
  if (static_cast<int>(widths.size()) != x.rank())
    throw ShapeError("pad: expected {before, after} for each axis of " + to_string(x.shape()) + ", got " +
                     std::to_string(widths.size()) + " of them");
  Tensor y = unchanged(x), inside = broadcast_to(full({}, 1, boolean), x.shape());
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto [before, after] = widths[static_cast<std::size_t>(axis)];
    Steps steps{axis, before, 1, x.shape()[axis], 0};
    if (before < 0 || after < 0 || __builtin_add_overflow(before, after, &steps.extent) ||
        __builtin_add_overflow(steps.extent, steps.count, &steps.extent))
      throw ValueError("pad: widths {" + std::to_string(before) + ", " + std::to_string(after) +
                       "} of axis " + std::to_string(axis) +
                       " are negative or beyond 63 bits; slice() takes away");
    if (steps.extent != steps.count) y = slice_backward(y, steps);
    if (value != 0) inside = slice_backward(inside, steps);
  }
  return value != 0 ? masked_fill(y, logical_not(inside), value) : y;
}

Tensor flip(const Tensor& x, const Axes& axes) {
  Tensor y = unchanged(x);
  for (const Size axis : normalize_axes(axes, x.rank(), "flip"))
    y = slice(y, static_cast<int>(axis), Slice::reversed());
  return y;
}

Tensor roll(const Tensor& x, Size shift, int axis) {
  const int at = normalize_axis(axis, x.rank(), "roll");
  const Size n = x.shape()[at], start = n == 0 ? 0 : (n - shift % n) % n;
  return concatenate({slice(x, at, {start, n}), slice(x, at, {0, start})}, at);
}

Tensor tile(const Tensor& x, const Sizes& repeats) {
  Axes in_front;
  while (in_front.rank() + x.rank() < repeats.rank()) in_front.push_back(in_front.rank());
  Tensor y = expand_dims(x, in_front);
  for (int i = 1; i <= repeats.rank(); ++i) {
    const Size n = y.size(-i);
    y = lengthened("tile", y, y.rank() - i, repeats[repeats.rank() - i], [n](Size j) { return j % n; });
  }
  return y;
}

Tensor repeat_interleave(const Tensor& x, Size repeats, int axis) {
  const int at = normalize_axis(axis, x.rank(), "repeat_interleave");
  return lengthened("repeat_interleave", x, at, repeats, [repeats](Size j) { return j / repeats; });
}

}  // namespace regard

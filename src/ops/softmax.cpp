#include "ops/softmax.hpp"

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "kernels/softmax.hpp"

namespace regard {
namespace detail {
namespace {

using kernels::SoftmaxAxis;

int axis_of(const Vjp& at) {
  return at.get<SoftmaxAxis>().axis;
}

/// The mask, the last input, which may be undefined.
const Tensor& keep_of(const Vjp& at) {
  return at.x(at.input_count - 1);
}

/// x with exactly 0 where it is hidden.
Tensor kept(const Tensor& x, const Tensor& keep) {
  return keep.defined() ? where(keep, x, scalar(0, x.dtype())) : x;
}

/// Σ along the axis of the op at hand, which stays with extent 1.
Tensor along_axis(const Vjp& at, const Tensor& x) {
  return sum(x, Axes{axis_of(at)}, keep_axes);
}

Tensor softmax_dx(const Vjp& at) {
  return softmax_backward(at.dy, at.y, keep_of(at), axis_of(at));
}

// Below, g is the gradient of dx = y·(dy - s) with s = Σ y·dy. The Jacobian of softmax is symmetric.
Tensor softmax_backward_ddy(const Vjp& at) {
  return softmax_backward(at.dy, at.x(1), keep_of(at), axis_of(at));
}

Tensor softmax_backward_dy(const Vjp& at) {
  const Tensor g = kept(at.dy, keep_of(at));
  const Tensor dy = kept(at.x(0), keep_of(at));
  const Tensor& y = at.x(1);
  const Tensor s = along_axis(at, y * dy);
  return g * (dy - s) - dy * along_axis(at, g * y);
}

Tensor log_softmax_dx(const Vjp& at) {
  return log_softmax_backward(at.dy, at.y, keep_of(at), axis_of(at));
}

/// The gradient of dx with 0 where dx is 0 whatever dy is: where hidden, and in lines that keep nothing but
/// -inf.
Tensor effective(const Vjp& at, const Tensor& p) {
  const Tensor& keep = keep_of(at);
  if (!keep.defined()) return at.dy;
  const Tensor something = not_equal(along_axis(at, p.detach()), scalar(0, p.dtype()));
  return kept(at.dy, logical_and(keep, something));
}

// Below, g is the gradient of dx = dy - p·s with p = exp y and s = Σ dy.
Tensor log_softmax_backward_ddy(const Vjp& at) {
  const Tensor p = exp(at.x(1));
  const Tensor g = effective(at, p);
  return kept(g - along_axis(at, g * p), keep_of(at));
}

Tensor log_softmax_backward_dy(const Vjp& at) {
  const Tensor p = exp(at.x(1));
  const Tensor g = effective(at, p);
  return negate(g * p * along_axis(at, kept(at.x(0), keep_of(at))));
}

// Broadcasting, for the mask's sake; the other inputs have the output's shape.
const Op softmax_op = {"softmax", kernels::softmax, {softmax_dx}, nullptr, true};
const Op softmax_backward_op = {"softmax_backward",
                                kernels::softmax_backward,
                                {softmax_backward_ddy, softmax_backward_dy},
                                nullptr,
                                true};
const Op log_softmax_op = {"log_softmax", kernels::log_softmax, {log_softmax_dx}, nullptr, true};
const Op log_softmax_backward_op = {"log_softmax_backward",
                                    kernels::log_softmax_backward,
                                    {log_softmax_backward_ddy, log_softmax_backward_dy},
                                    nullptr,
                                    true};

Tensor apply_along(const Op& op, const Tensor& x, const Tensor& keep, int axis) {
  require_float(op.name, x);
  const SoftmaxAxis along{normalize_axis(axis, x.rank(), op.name)};
  return apply(op, {x, keep}, x.shape(), x.dtype(), along);
}

void require_mask(const char* op, const Tensor& x, const Tensor& keep) {
  require_dtype(op, "the mask", keep, boolean);
  if (broadcast_shapes(x.shape(), keep.shape(), op) != x.shape())
    throw ShapeError(std::string(op) + ": mask " + to_string(keep.shape()) + " does not fit x " +
                     to_string(x.shape()) + "; it must broadcast to x, not the other way round");
}

}  // namespace

Tensor softmax_backward(const Tensor& dy, const Tensor& y, const Tensor& keep, int axis) {
  return apply(softmax_backward_op, {dy, y, keep}, y.shape(), y.dtype(), SoftmaxAxis{axis});
}

Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, const Tensor& keep, int axis) {
  return apply(log_softmax_backward_op, {dy, y, keep}, y.shape(), y.dtype(), SoftmaxAxis{axis});
}

}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor softmax(const Tensor& x, int axis) {
  return apply_along(softmax_op, x, Tensor(), axis);
}

Tensor softmax(const Tensor& x, const Tensor& keep, int axis) {
  require_mask("softmax", x, keep);
  return apply_along(softmax_op, x, keep, axis);
}

Tensor log_softmax(const Tensor& x, int axis) {
  return apply_along(log_softmax_op, x, Tensor(), axis);
}

Tensor log_softmax(const Tensor& x, const Tensor& keep, int axis) {
  require_mask("log_softmax", x, keep);
  return apply_along(log_softmax_op, x, keep, axis);
}

}  // namespace regard

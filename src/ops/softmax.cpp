#include "ops/softmax.hpp"

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "kernels/normalise.hpp"
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

// Peters, Niculae & Martins 2019, proposition 2: y = max((alpha - 1)·x - tau, 0)^(1 / (alpha - 1)) with Σ y =
// 1 has the Jacobian diag(s) - s·sᵀ/Σ s, where s = y^(2 - alpha) if y > 0, else 0: dx = s·(dy - m) with the
// mean m = Σ s·dy / Σ s, so that Σ dx = 0. alpha = 1 is softmax, with s = y.
Tensor entmax_backward(const Tensor& dy, const Tensor& s, const Tensor& keep, int axis);

// Symmetric in dy and the gradient g of dx: Σ g·dx = Σ g·s·dy - Σ g·s·Σ s·dy / Σ s, so that ds = (g -
// m_g)·(dy - m).
Tensor entmax_backward_ddy(const Vjp& at) {
  return entmax_backward(at.dy, at.x(1), keep_of(at), axis_of(at));
}

Tensor entmax_backward_ds(const Vjp& at) {
  const Tensor total = along_axis(at, at.x(1)), empty = equal(total, scalar(0, total.dtype()));
  const auto centred = [&](const Tensor& x) {
    return x - along_axis(at, at.x(1) * x) / masked_fill(total, empty, 1);
  };
  return centred(kept(at.dy, keep_of(at))) * centred(kept(at.x(0), keep_of(at)));
}

const Op entmax_backward_op = {
    "entmax_backward", kernels::entmax_backward, {entmax_backward_ddy, entmax_backward_ds}, nullptr, true};

Tensor entmax_backward(const Tensor& dy, const Tensor& s, const Tensor& keep, int axis) {
  return apply(entmax_backward_op, {dy, s, keep}, s.shape(), s.dtype(), SoftmaxAxis{axis});
}

Tensor sparsemax_dx(const Vjp& at) {
  return entmax_backward(at.dy, sign(at.y), keep_of(at), axis_of(at));
}

Tensor entmax15_dx(const Vjp& at) {
  const Tensor outside = equal(at.y, scalar(0, at.y.dtype()));
  const Tensor s = masked_fill(sqrt(masked_fill(at.y, outside, 1)), outside, 0);
  return entmax_backward(at.dy, s, keep_of(at), axis_of(at));
}

// Broadcasting, for the mask's sake; the other inputs have the output's shape. Of softmax1, with y_0 = 1 / (1
// + Σ exp x) for the one that is added, y is a part of softmax(0, x): the same rule.
// clang-format off
const Op softmax_op              = {"softmax", kernels::softmax, {softmax_dx}, nullptr, true};
const Op softmax_backward_op     = {"softmax_backward", kernels::softmax_backward, {softmax_backward_ddy, softmax_backward_dy}, nullptr, true};
const Op log_softmax_op          = {"log_softmax", kernels::log_softmax, {log_softmax_dx}, nullptr, true};
const Op log_softmax_backward_op = {"log_softmax_backward", kernels::log_softmax_backward, {log_softmax_backward_ddy, log_softmax_backward_dy}, nullptr, true};
const Op softmax1_op             = {"softmax1", kernels::softmax1, {softmax_dx}, nullptr, true};
const Op sparsemax_op            = {"sparsemax", kernels::sparsemax, {sparsemax_dx}, nullptr, true};
const Op entmax15_op             = {"entmax15", kernels::entmax15, {entmax15_dx}, nullptr, true};
// clang-format on

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

Tensor apply_masked(const Op& op, const Tensor& x, const Tensor& keep, int axis) {
  require_mask(op.name, x, keep);
  return apply_along(op, x, keep, axis);
}

// sigmoid or relu of each score by itself, by the number n of keys that its query sees. What is hidden is not
// read.
Tensor one_by_one(const ScoreOptions& options, const Tensor& scores, const Tensor& keep) {
  const Tensor one = scalar(1, scores.dtype()), s = kept(scores, keep),
               seen = kept(broadcast_to(one, s.shape()), keep);
  const Tensor n = options.by_length == ByLength::yes ? maximum(sum(seen, {-1}, keep_axes), one) : one;
  return kept(options.normaliser == Normaliser::relu ? relu(s) / n : sigmoid(s - log(n)), keep);
}

}  // namespace

Tensor normalise(const ScoreOptions& options, const Tensor& scores, const Tensor& keep) {
  static const Op* const ops[] = {&softmax_op, &softmax1_op, nullptr, nullptr, &sparsemax_op, &entmax15_op};
  const Op* const op = ops[static_cast<int>(options.normaliser)];
  return op ? apply_along(*op, scores, keep, -1) : one_by_one(options, scores, keep);
}

Tensor softmax_backward(const Tensor& dy, const Tensor& y, const Tensor& keep, int axis) {
  return apply(softmax_backward_op, {dy, y, keep}, y.shape(), y.dtype(), SoftmaxAxis{axis});
}

Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, const Tensor& keep, int axis) {
  return apply(log_softmax_backward_op, {dy, y, keep}, y.shape(), y.dtype(), SoftmaxAxis{axis});
}

}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

// clang-format off
Tensor softmax(const Tensor& x, int axis)                          { return apply_along(softmax_op, x, Tensor(), axis); }
Tensor softmax(const Tensor& x, const Tensor& keep, int axis)      { return apply_masked(softmax_op, x, keep, axis); }
Tensor log_softmax(const Tensor& x, int axis)                      { return apply_along(log_softmax_op, x, Tensor(), axis); }
Tensor log_softmax(const Tensor& x, const Tensor& keep, int axis)  { return apply_masked(log_softmax_op, x, keep, axis); }
Tensor softmax1(const Tensor& x, int axis)                         { return apply_along(softmax1_op, x, Tensor(), axis); }
Tensor softmax1(const Tensor& x, const Tensor& keep, int axis)     { return apply_masked(softmax1_op, x, keep, axis); }
Tensor sparsemax(const Tensor& x, int axis)                        { return apply_along(sparsemax_op, x, Tensor(), axis); }
Tensor sparsemax(const Tensor& x, const Tensor& keep, int axis)    { return apply_masked(sparsemax_op, x, keep, axis); }
Tensor entmax15(const Tensor& x, int axis)                         { return apply_along(entmax15_op, x, Tensor(), axis); }
Tensor entmax15(const Tensor& x, const Tensor& keep, int axis)     { return apply_masked(entmax15_op, x, keep, axis); }
// clang-format on

}  // namespace regard

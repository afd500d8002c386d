// Division by the root mean square. Its gradient is an op of its own, with rules in terms of both, so that
// there are derivatives of every order.
#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "kernels/rms_norm.hpp"

namespace regard {
namespace detail {
namespace {

using kernels::RmsNormEpsilon;

/// The Jacobian of z = rms_norm(x), which is symmetric, applied to dy.
Tensor backward(const Tensor& dy, const Tensor& x, const RmsNormEpsilon& epsilon);

// Of uᵀ·J·g = r·(a - b·c / n), with a = u·g, b = u·z, c = g·z for one row of n, r = 1 / sqrt(mean(x²) +
// epsilon): a does not depend on x; db/dx = J·u, dc/dx = J·g and dr/dx = -r²·z / n. u is the gradient of J·g.
Tensor backward_dx(const Vjp& at) {
  const RmsNormEpsilon& epsilon = at.get<RmsNormEpsilon>();
  const Tensor &u = at.dy, &g = at.x(0), &x = at.x(1);
  const auto along_rows = [](const Tensor& t) { return sum(t, {-1}, keep_axes); };
  const double n = static_cast<double>(x.shape().back());
  const Tensor r = 1.0 / sqrt(mean(square(x), {-1}, keep_axes) + epsilon.epsilon), z = x * r;
  const Tensor a = along_rows(u * g), b = along_rows(u * z), c = along_rows(g * z);
  return (r * r * (b * c / n - a) * z - r * (c * backward(u, x, epsilon) + b * backward(g, x, epsilon))) / n;
}

const Op rms_norm_op = {"rms_norm", kernels::rms_norm, {[](const Vjp& at) {
                          return backward(at.dy, at.x(), at.get<RmsNormEpsilon>());
                        }}};
const Op backward_op = {
    "rms_norm_backward",
    kernels::rms_norm_backward,
    {[](const Vjp& at) { return backward(at.dy, at.x(1), at.get<RmsNormEpsilon>()); }, backward_dx}};

Tensor backward(const Tensor& dy, const Tensor& x, const RmsNormEpsilon& epsilon) {
  return apply(backward_op, {dy, x}, x.shape(), x.dtype(), epsilon);
}

}  // namespace
}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor rms_norm(const Tensor& x, double epsilon) {
  require_float("rms_norm", x);
  if (x.rank() == 0)
    throw ShapeError("rms_norm: x is a scalar, but there must be a last axis to normalise over");
  if (!(epsilon > 0))
    throw ValueError("rms_norm: epsilon must be positive, got " + std::to_string(epsilon) +
                     ": a row of zeros would be 0 / 0");
  return apply(rms_norm_op, {x}, x.shape(), x.dtype(), RmsNormEpsilon{epsilon});
}

Tensor rms_norm(const Tensor& x, const Tensor& weight, double epsilon) {
  common_float_dtype("rms_norm", x, weight);
  const Tensor z = rms_norm(x, epsilon);
  if (weight.shape() != Shape{x.shape().back()})
    throw ShapeError("rms_norm: expected a weight for the last axis of x " + to_string(x.shape()) + ", got " +
                     to_string(weight.shape()));
  return z * weight;
}

}  // namespace regard

// Layer normalisation. Its gradients are ops of their own (dx and dgamma; dbeta is a sum), with rules in
// terms of each other, so that there are derivatives of every order.
#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "autograd/needs.hpp"
#include "kernels/layer_norm.hpp"
#include "kernels/reduce.hpp"

namespace regard {
namespace detail {
namespace {

using kernels::LayerNormEpsilon;

Tensor normalized(const Tensor& x, LayerNormEpsilon epsilon);
/// The transposed Jacobian of layer_norm at x, applied to dy: gamma may be undefined.
Tensor backward_x(const Tensor& dy, const Tensor& x, const Tensor& gamma, LayerNormEpsilon epsilon);
Tensor backward_gamma(const Tensor& dy, const Tensor& x, LayerNormEpsilon epsilon);

LayerNormEpsilon epsilon_of(const Vjp& at) {
  return at.get<LayerNormEpsilon>();
}
Tensor along_rows(const Tensor& x) {
  return sum(x, {-1}, keep_axes);
}

// backward_x is J(x)·(dy·gamma), where J, the Jacobian of the normalised row z, is symmetric. Below, u is the
// gradient of its result.
Tensor backward_x_ddy(const Vjp& at) {
  const Tensor ju = backward_x(at.dy, at.x(1), Tensor(), epsilon_of(at));
  return at.x(2).defined() ? ju * at.x(2) : ju;
}

Tensor backward_x_dgamma(const Vjp& at) {
  const Tensor ju = backward_x(at.dy, at.x(1), Tensor(), epsilon_of(at));
  return sum_to(at.x(0) * ju, at.x(2).shape());
}

// uᵀ·J·g = r·(a - b·c / n), with r = 1 / sqrt(variance + epsilon), a = u·g - Σu·Σg / n, b = u·z, c = g·z for
// one row. Of these, a does not depend on x; db/dx = J·u, dc/dx = J·g and dr/dx = -r²·z / n.
Tensor backward_x_dx(const Vjp& at) {
  const LayerNormEpsilon epsilon = epsilon_of(at);
  const Tensor &u = at.dy, &x = at.x(1), &gamma = at.x(2);
  const Tensor g = gamma.defined() ? at.x(0) * gamma : at.x(0);
  const double n = static_cast<double>(x.shape().back());
  const Tensor z = normalized(x, epsilon);
  const Tensor r = 1.0 / sqrt(variance(x, {-1}, keep_axes) + epsilon.epsilon);
  const Tensor a = along_rows(u * g) - along_rows(u) * along_rows(g) / n;
  const Tensor b = along_rows(u * z), c = along_rows(g * z);
  const Tensor ju = backward_x(u, x, Tensor(), epsilon), jg = backward_x(g, x, Tensor(), epsilon);
  return negate(r * r * (a - b * c / n) * z + r * (c * ju + b * jg)) / n;
}

// backward_gamma is the sum over the rows of dy·z; its gradient h is [width].
Tensor backward_gamma_ddy(const Vjp& at) {
  return normalized(at.x(1), epsilon_of(at)) * at.dy;
}
Tensor backward_gamma_dx(const Vjp& at) {
  return backward_x(at.x(0), at.x(1), at.dy, epsilon_of(at));
}

void layer_norm_gradients(const Vjp& at, const bool* needed, Tensor* dx);

const Op layer_norm_op = {"layer_norm", kernels::layer_norm, {}, layer_norm_gradients};
const Op backward_x_op = {
    "layer_norm_backward", kernels::layer_norm_backward, {backward_x_ddy, backward_x_dx, backward_x_dgamma}};
const Op backward_gamma_op = {
    "layer_norm_backward_gamma", kernels::layer_norm_backward_gamma, {backward_gamma_ddy, backward_gamma_dx}};

const Op backward_beta_op = {
    "sum_to", kernels::sum, {[](const Vjp& at) { return broadcast_to(at.dy, at.x().shape()); }}};
const Op backward_all_op = {"layer_norm_backward", kernels::layer_norm_backward_all};

/// All three from one kernel where all are asked for; each has the rule that it has alone.
void layer_norm_gradients(const Vjp& at, const bool* needed, Tensor* dx) {
  const LayerNormEpsilon epsilon = epsilon_of(at);
  const Tensor &x = at.x(0), &gamma = at.x(1), &beta = at.x(2);
  if (!(needed[0] && needed[1] && needed[2])) {
    if (needed[0]) dx[0] = backward_x(at.dy, x, gamma, epsilon);
    if (needed[1]) dx[1] = backward_gamma(at.dy, x, epsilon);
    if (needed[2]) dx[2] = sum_to(at.dy, beta.shape());
    return;
  }
  const Tensor inputs[] = {at.dy, x, gamma};
  Tensor outputs[] = {empty(x.shape(), x.dtype()), empty(gamma.shape(), x.dtype()),
                      empty(beta.shape(), x.dtype())};
  execute(backward_all_op, inputs, 3, outputs, 3, epsilon);
  dx[0] = record(backward_x_op, inputs, 3, std::move(outputs[0]), epsilon);
  dx[1] = record(backward_gamma_op, inputs, 2, std::move(outputs[1]), epsilon);
  dx[2] = record(backward_beta_op, inputs, 1, std::move(outputs[2]), {});
}

Tensor normalized(const Tensor& x, LayerNormEpsilon epsilon) {
  return apply(layer_norm_op, {x, Tensor(), Tensor()}, x.shape(), x.dtype(), epsilon);
}

Tensor backward_x(const Tensor& dy, const Tensor& x, const Tensor& gamma, LayerNormEpsilon epsilon) {
  return apply(backward_x_op, {dy, x, gamma}, x.shape(), x.dtype(), epsilon);
}

Tensor backward_gamma(const Tensor& dy, const Tensor& x, LayerNormEpsilon epsilon) {
  return apply(backward_gamma_op, {dy, x}, {x.shape().back()}, x.dtype(), epsilon);
}

void require_width(const char* what, const Tensor& x, const Tensor& parameter) {
  common_float_dtype("layer_norm", x, parameter);
  if (parameter.shape() != Shape{x.shape().back()})
    throw ShapeError(std::string("layer_norm: expected ") + what + " of shape [" +
                     std::to_string(x.shape().back()) + "], the last extent of x " + to_string(x.shape()) +
                     ", got " + to_string(parameter.shape()));
}

}  // namespace
}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor layer_norm(const Tensor& x, const Tensor& gamma, const Tensor& beta, double epsilon) {
  require_float("layer_norm", x);
  if (x.rank() == 0)
    throw ShapeError("layer_norm: x is a scalar, but there must be a last axis to normalise over");
  require_width("gamma", x, gamma);
  require_width("beta", x, beta);
  if (!(epsilon > 0))
    throw ValueError("layer_norm: epsilon must be positive, got " + std::to_string(epsilon) +
                     ": a row of equal numbers would be 0 / 0");
  return apply(layer_norm_op, {x, gamma, beta}, x.shape(), x.dtype(), LayerNormEpsilon{epsilon});
}

}  // namespace regard

// vjp, jvp, jacobian, hessian, hvp: all from grad().
#include <regard/autograd.hpp>
#include <regard/ops.hpp>

#include "autograd/node.hpp"

namespace regard {
namespace {

Tensors variables(const Tensors& inputs) {
  Tensors leaves;
  leaves.reserve(inputs.size());
  for (const Tensor& x : inputs) leaves.push_back(variable(x.detach()));
  return leaves;
}

void require_same_shape(const char* op, const char* what, const Tensor& given, const Tensor& expected) {
  if (given.shape() != expected.shape())
    throw ShapeError(std::string(op) + ": " + what + " has shape " + to_string(given.shape()) + ", expected " +
                     to_string(expected.shape()));
}

/// Zeros where nothing depends on the input: a derivative that is identically zero.
Tensors grad_or_zero(const Tensor& output, const Tensors& inputs, const Tensor& seed, bool create_graph) {
  GradOptions options;
  options.seeds = {seed};
  options.retain_graph = true;
  options.create_graph = create_graph;
  options.allow_unused = true;
  return grad(Tensors{output}, inputs, options);
}

Shape joined(const Shape& a, const Shape& b) {
  Shape shape = a;
  for (const Size extent : b) shape.push_back(extent);
  return shape;
}

/// One-hot seeds of y's shape, one for each of its elements.
Tensor unit(const Tensor& y, Size place) {
  std::vector<double> values(static_cast<std::size_t>(y.numel()), 0.0);
  values[static_cast<std::size_t>(place)] = 1.0;
  return from_vector(values, y.shape()).to(y.dtype());
}

}  // namespace

Pullback vjp(const FunctionOfMany& f, const Tensors& inputs) {
  const EnableGrad recording;
  const Tensors leaves = variables(inputs);
  const Tensor y = f(leaves);
  return {y.detach(), [y, leaves](const Tensor& dy) { return grad_or_zero(y, leaves, dy, false); }};
}

Pushforward jvp(const FunctionOfMany& f, const Tensors& inputs, const Tensors& tangents) {
  if (tangents.size() != inputs.size())
    throw ShapeError("jvp: " + std::to_string(tangents.size()) + " tangents for " + std::to_string(inputs.size()) +
                     " inputs");
  const EnableGrad recording;
  const Tensors leaves = variables(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) require_same_shape("jvp", "a tangent", tangents[i], inputs[i]);
  const Tensor y = f(leaves);

  // g(u) = Jᵀu is linear in u, so the gradient of <g(u), t> with respect to u is J t.
  const Tensor u = variable(zeros_like(y.detach()));
  const Tensors g = grad_or_zero(y, leaves, u, true);
  Tensor inner = scalar(0.0, y.dtype());
  for (std::size_t i = 0; i < g.size(); ++i) inner = inner + sum(g[i] * tangents[i]);
  if (!inner.requires_grad()) return {y.detach(), zeros_like(y.detach())};
  return {y.detach(), grad_or_zero(inner, {u}, ones_like(inner.detach()), false)[0]};
}

Tensor jacobian(const Function& f, const Tensor& x) {
  const EnableGrad recording;
  const Tensor leaf = variable(x.detach());
  const Tensor y = f(leaf);
  const Shape shape = joined(y.shape(), x.shape());
  if (numel(shape) == 0) return zeros(shape, x.dtype());
  Tensors rows;
  for (Size i = 0; i < y.numel(); ++i) rows.push_back(grad_or_zero(y, {leaf}, unit(y, i), false)[0]);
  return reshape(stack(rows), shape);
}

Tensor hessian(const Function& f, const Tensor& x) {
  return jacobian([&f](const Tensor& at) { return grad_or_zero(f(at), {at}, Tensor(), true)[0]; }, x);
}

Tensor hvp(const Function& f, const Tensor& x, const Tensor& v) {
  require_same_shape("hvp", "the vector", v, x);
  const EnableGrad recording;
  const Tensor leaf = variable(x.detach());
  const Tensor g = grad_or_zero(f(leaf), {leaf}, Tensor(), true)[0];
  if (!g.requires_grad()) return zeros_like(x.detach());
  return grad_or_zero(g, {leaf}, v, false)[0];
}

}  // namespace regard

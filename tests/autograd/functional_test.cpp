// vjp, jvp, jacobian, hessian and hvp against closed forms and against each other.
#include <gtest/gtest.h>

#include <cmath>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

const Tensor matrix() {
  return tensor({{1, 2, 3}, {4, 5, 6}});
}
Tensor linear(const Tensor& x) {
  return matmul(matrix(), x);
}
/// Rosenbrock's function: its gradient and Hessian are known.
Tensor rosenbrock(const Tensor& x) {
  const Tensor a = select(x, 0, 0), b = select(x, 0, 1);
  return square(1.0 - a) + square(b - square(a)) * 100.0;
}

TEST(Functional, VjpOfALinearMapIsItsTranspose) {
  const Pullback back = vjp([](const Tensors& x) { return linear(x[0]); }, {tensor({1, 1, 1})});
  EXPECT_SAME_BITS(back.output, tensor({6, 15}));
  EXPECT_SAME_BITS(back.vjp(tensor({1, 0}))[0], tensor({1, 2, 3}));
  EXPECT_SAME_BITS(back.vjp(tensor({0, 1}))[0], tensor({4, 5, 6}));  // again and again
}

TEST(Functional, VjpOfSeveralInputsKnowsTheUnused) {
  const Pullback back = vjp([](const Tensors& x) { return x[0] * 2.0; }, {tensor({1, 2}), ones({3})});
  const Tensors dx = back.vjp(tensor({1, 10}));
  EXPECT_SAME_BITS(dx[0], tensor({2, 20}));
  EXPECT_SAME_BITS(dx[1], zeros({3}));
}

TEST(Functional, JvpOfALinearMapIsTheMap) {
  const Pushforward forward =
      jvp([](const Tensors& x) { return linear(x[0]); }, {tensor({1, 1, 1})}, {tensor({1, 0, -1})});
  EXPECT_SAME_BITS(forward.output, tensor({6, 15}));
  EXPECT_SAME_BITS(forward.tangent, tensor({-2, -2}));
}

TEST(Functional, JvpIsTheDirectionalDerivative) {
  Rng rng(1);
  const auto f = [](const Tensors& x) { return softmax(tanh(matmul(x[0], x[1]))); };
  const Tensor a = random_tensor({2, 3}, rng), b = random_tensor({3, 4}, rng);
  const Tensor da = random_tensor({2, 3}, rng), db = random_tensor({3, 4}, rng);
  const double h = 1e-3;  // five points: h⁴ is 1e-12
  const auto f_at = [&](double t) { return f({a + da * (t * h), b + db * (t * h)}); };
  const Tensor numeric = (f_at(-2) - f_at(-1) * 8.0 + f_at(1) * 8.0 - f_at(2)) / (12 * h);
  EXPECT_TENSOR_NEAR(jvp(f, {a, b}, {da, db}).tangent, numeric, 1e-9, 1e-11);
}

// <u, J t> = <Jᵀ u, t>
TEST(Functional, VjpAndJvpAreAdjoint) {
  Rng rng(2);
  const auto f = [](const Tensors& x) { return log_softmax(matmul(sigmoid(x[0]), x[1])); };
  const Tensor a = random_tensor({2, 3}, rng), b = random_tensor({3, 4}, rng);
  const Tensor da = random_tensor({2, 3}, rng), db = random_tensor({3, 4}, rng),
               u = random_tensor({2, 4}, rng);
  const Tensors dx = vjp(f, {a, b}).vjp(u);
  const double left = sum(u * jvp(f, {a, b}, {da, db}).tangent).item();
  const double right = (sum(dx[0] * da) + sum(dx[1] * db)).item();
  EXPECT_NEAR(left, right, 1e-13 * std::abs(left));
}

TEST(Functional, JvpOfAConstantIsZero) {
  const auto f = [](const Tensors&) { return tensor({1, 2}); };
  EXPECT_SAME_BITS(jvp(f, {ones({3})}, {ones({3})}).tangent, zeros({2}));
}

TEST(Functional, JvpRefusesTangentsThatDoNotFit) {
  const auto f = [](const Tensors& x) { return x[0]; };
  EXPECT_THROWS_WITH(jvp(f, {ones({3})}, {}), ShapeError, "jvp: 0 tangents for 1 inputs");
  EXPECT_THROWS_WITH(jvp(f, {ones({3})}, {ones({2})}), ShapeError,
                     "jvp: a tangent has shape [2], expected [3]");
}

TEST(Functional, JacobianOfALinearMapIsItsMatrix) {
  EXPECT_SAME_BITS(jacobian(linear, tensor({1, 1, 1})), matrix());
}

// d softmax_i / d x_j = p_i·(δ_ij - p_j)
TEST(Functional, JacobianOfSoftmax) {
  const Tensor x = tensor({0.3, -1, 2});
  const std::vector<double> p = softmax(x).to_vector<double>();
  const Tensor j = jacobian([](const Tensor& at) { return softmax(at); }, x);
  for (std::size_t row = 0; row < 3; ++row)
    for (std::size_t column = 0; column < 3; ++column)
      EXPECT_NEAR(j.at({static_cast<Size>(row), static_cast<Size>(column)}),
                  p[row] * ((row == column) - p[column]), 1e-16);
}

TEST(Functional, JacobianHasTheOutputsAxesThenTheInputs) {
  const Tensor j = jacobian([](const Tensor& x) { return transpose(x); }, tensor({{1, 2, 3}, {4, 5, 6}}));
  EXPECT_EQ(j.shape(), (Shape{3, 2, 2, 3}));
  EXPECT_EQ(j.at({2, 1, 1, 2}), 1.0);
  EXPECT_EQ(sum(j).item(), 6.0);
  EXPECT_EQ(jacobian([](const Tensor& x) { return slice(x, 0, {0, 0}); }, ones({3})).shape(), (Shape{0, 3}));
  EXPECT_SAME_BITS(jacobian([](const Tensor&) { return ones({2}); }, ones({3})), zeros({2, 3}));
  EXPECT_SAME_BITS(jacobian([](const Tensor& x) { return square(x); }, tensor({3}, float32)),
                   tensor({{6}}, float32));
}

TEST(Functional, HessianOfRosenbrock) {
  const double a = -1.2, b = 1;
  const Tensor expected = tensor({{1200 * a * a - 400 * b + 2, -400 * a}, {-400 * a, 200}});
  EXPECT_TENSOR_NEAR(hessian(rosenbrock, tensor({a, b})), expected, 1e-14, 0);
}

TEST(Functional, HessianOfALinearFunctionIsZero) {
  EXPECT_SAME_BITS(hessian([](const Tensor& x) { return sum(x * 3.0); }, ones({2})), zeros({2, 2}));
  EXPECT_SAME_BITS(hessian([](const Tensor&) { return scalar(1); }, ones({2})), zeros({2, 2}));
}

TEST(Functional, HessianNeedsAScalar) {
  EXPECT_THROWS_WITH(hessian([](const Tensor& x) { return square(x); }, ones({2})), GraphError,
                     "expected a scalar loss, got shape [2]");
}

TEST(Functional, HvpIsTheHessianTimesTheVector) {
  const Tensor x = tensor({-1.2, 1}), v = tensor({0.5, 2});
  EXPECT_TENSOR_NEAR(hvp(rosenbrock, x, v), matmul(hessian(rosenbrock, x), v), 1e-13, 0);
  EXPECT_SAME_BITS(hvp([](const Tensor& at) { return sum(at); }, x, v), zeros({2}));
  EXPECT_THROWS_WITH(hvp(rosenbrock, x, ones({3})), ShapeError,
                     "hvp: the vector has shape [3], expected [2]");
}

TEST(Functional, WorksUnderNoGradAndLeavesNothingBehind) {
  const Size before = live_nodes();
  {
    const NoGrad guard;
    EXPECT_SAME_BITS(jacobian(linear, tensor({1, 1, 1})), matrix());
    static_cast<void>(hessian(rosenbrock, tensor({1, 1})));
    static_cast<void>(hvp(rosenbrock, tensor({1, 1}), ones({2})));
    static_cast<void>(jvp([](const Tensors& x) { return linear(x[0]); }, {ones({3})}, {ones({3})}));
    EXPECT_FALSE(grad_enabled());
  }
  EXPECT_EQ(live_nodes(), before);
}

}  // namespace
}  // namespace regard::test

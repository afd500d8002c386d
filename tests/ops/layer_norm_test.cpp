// Layer normalisation against plain loops, its derivatives, and rows where a naive one divides by zero.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Tensor by_loops(const Tensor& x, const Tensor& gamma, const Tensor& beta, double epsilon) {
  const std::size_t n = static_cast<std::size_t>(x.shape().back());
  const std::vector<double> g = test::values_of(gamma), b = test::values_of(beta);
  std::vector<double> out = test::values_of(x);
  for (std::size_t row = 0; row < out.size(); row += n) {
    double mean = 0, variance = 0;
    for (std::size_t i = 0; i < n; ++i) mean += out[row + i] / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i)
      variance += (out[row + i] - mean) * (out[row + i] - mean) / static_cast<double>(n);
    for (std::size_t i = 0; i < n; ++i)
      out[row + i] = (out[row + i] - mean) / std::sqrt(variance + epsilon) * g[i] + b[i];
  }
  return test::from_values(out, x.shape(), x.dtype());
}

TEST(LayerNorm, EveryLayoutAgreesWithLoops) {
  Rng rng(1);
  for (const Shape& shape : {Shape{6}, {3, 4}, {2, 3, 9}, {5, 1}, {2, 700}}) {
    for (const DType dtype : {float32, float64}) {
      const Shape width = {shape.back()};
      const Tensor x = test::random_tensor(shape, rng, test::Domain::normal, dtype);
      const Tensor gamma = test::random_tensor(width, rng, test::Domain::normal, dtype);
      const Tensor beta = test::random_tensor(width, rng, test::Domain::normal, dtype);
      const Tensor expected = by_loops(x, gamma, beta, 1e-5);
      const double tolerance = dtype == float32 ? 1e-5 : 1e-12;
      for (const test::Layout layout : test::all_layouts) {
        SCOPED_TRACE(::testing::Message() << to_string(shape) << ", " << name(dtype) << ", " << layout);
        const auto laid = [&](const Tensor& t) { return test::with_layout(t, layout); };
        EXPECT_TENSOR_NEAR(layer_norm(laid(x), laid(gamma), laid(beta)), expected, tolerance, tolerance);
      }
    }
  }
}

TEST(LayerNorm, Float32RowsFarFromZeroKeepTheirDigits) {
  Rng rng(2);
  const Tensor x = uniform({4, 64}, rng, 1000, 1001, float32);
  const Tensor gamma = ones({64}), beta = zeros({64});
  const Tensor y = layer_norm(x, gamma.to(float32), beta.to(float32));
  EXPECT_TENSOR_NEAR(y.to(float64), layer_norm(x.to(float64), gamma, beta), 1e-6, 1e-6);
}

TEST(LayerNorm, AnyConstantRowGivesExactlyBeta) {
  for (const double value : {0.1, 1e10, -7.3, 1e-300}) {
    EXPECT_SAME_BITS(layer_norm(full({2, 7}, value), full({7}, 3), full({7}, 0.5)), full({2, 7}, 0.5))
        << value;
  }
}

TEST(LayerNorm, EmptyInputs) {
  const Tensor x = variable(zeros({0, 3})), gamma = variable(ones({3})), beta = variable(zeros({3}));
  const Tensors d = grad(Tensors{sum(layer_norm(x, gamma, beta))}, Tensors{x, gamma, beta});
  EXPECT_SAME_BITS(d[0], zeros({0, 3}));
  EXPECT_SAME_BITS(d[1], zeros({3}));
  EXPECT_SAME_BITS(d[2], zeros({3}));
  EXPECT_SAME_BITS(layer_norm(zeros({2, 0}), zeros({0}), zeros({0})), zeros({2, 0}));
}

TEST(LayerNorm, NanStaysInItsRow) {
  const Tensor y = layer_norm(tensor({{nan, 1}, {1, -1}}), ones({2}), zeros({2}), 1e-30);
  EXPECT_TENSOR_NEAR(y, tensor({{nan, nan}, {1, -1}}), 1e-15, 0);
}

TEST(LayerNorm, GradientsOfEveryOrder) {
  Rng rng(3);
  const Tensor x = test::random_tensor({2, 3, 4}, rng), gamma = test::random_tensor({4}, rng);
  const Tensor beta = test::random_tensor({4}, rng);
  const auto f = [](const Tensors& in) { return layer_norm(in[0], in[1], in[2]); };
  test::expect_gradients(f, {x, gamma, beta});
  test::expect_second_order(f, {x, gamma, beta});
  // A large epsilon takes another balance of the terms.
  test::expect_second_order([](const Tensors& in) { return layer_norm(in[0], in[1], in[2], 0.5); },
                            {x, gamma, beta});
}

TEST(LayerNorm, ThirdOrder) {
  Rng rng(4);
  const Tensor x = test::random_tensor({2, 3}, rng), w = test::random_tensor({2, 3}, rng);
  const Tensor gamma = test::random_tensor({3}, rng, test::Domain::positive);
  for (const std::size_t wanted : {0, 1}) {
    const auto slope = [&](const Tensors& in) {
      const EnableGrad recording;  // difference quotients are taken with recording off
      Tensors at;
      for (const Tensor& value : in) at.push_back(value.requires_grad() ? value : variable(value));
      GradOptions options;
      options.create_graph = true;
      return grad(sum(square(layer_norm(at[0], at[1], zeros({3}), 0.1)) * w), at[wanted], options);
    };
    test::expect_second_order(slope, {x, gamma});
  }
}

TEST(LayerNorm, Errors) {
  const Tensor x = zeros({2, 4}), width = ones({4});
  EXPECT_THROWS_WITH(layer_norm(x, ones({3}), width), ShapeError,
                     "layer_norm: expected gamma of shape [4], the last extent of x [2, 4], got [3]");
  EXPECT_THROWS_WITH(layer_norm(x, width, ones({1, 4})), ShapeError, "beta");
  EXPECT_THROWS_WITH(layer_norm(scalar(1), width, width), ShapeError, "layer_norm: x is a scalar");
  EXPECT_THROWS_WITH(layer_norm(x, width, width.to(float32)), DTypeError, "layer_norm");
  EXPECT_THROWS_WITH(layer_norm(x.to(int64), width, width), DTypeError, "layer_norm");
  for (const double epsilon : {0.0, -1e-5, nan})
    EXPECT_THROWS_WITH(layer_norm(x, width, width, epsilon), ValueError,
                       "layer_norm: epsilon must be positive");
}

}  // namespace
}  // namespace regard

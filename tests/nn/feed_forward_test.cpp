// FeedForward and RmsNorm.
#include <regard/nn/feed_forward.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include <regard/error.hpp>
#include <regard/nn/rms_norm.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/modules.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::nn {
namespace {

constexpr Activation all_activations[] = {Activation::relu, Activation::gelu, Activation::gelu_tanh,
                                          Activation::swiglu};

FeedForwardOptions with(Activation activation, DType dtype = float64) {
  FeedForwardOptions options;
  options.activation = activation;
  options.hidden = 5;
  options.dtype = dtype;
  return options;
}

double activated(Activation activation, double x, double gate) {
  switch (activation) {
    case Activation::relu:
      return x > 0 ? x : 0;
    case Activation::gelu:
      return x * std::erfc(-x / std::sqrt(2.0)) / 2;
    case Activation::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case Activation::swiglu:
      return gate / (1 + std::exp(-gate)) * x;
  }
  return 0;
}

// In plain loops, from the parameters by name.
TEST(FeedForward, IsTheFormula) {
  for (const Activation activation : all_activations)
    for (const DType dtype : {float64, float32}) {
      Rng rng(1);
      FeedForward layer(3, rng, with(activation, dtype));
      for (auto [name, parameter] : named_parameters(layer))
        parameter.assign(test::random_tensor(parameter.shape(), rng, test::Domain::normal, dtype));
      const Tensor x = test::random_tensor({2, 3}, rng, test::Domain::normal, dtype);
      std::vector<double> expected;
      for (Size row = 0; row < 2; ++row)
        for (Size column = 0; column < 3; ++column) {
          double y = layer.output.bias.value().at({column});
          for (Size h = 0; h < 5; ++h) {
            double value = layer.hidden.bias.value().at({h}), gate = 0;
            if (layer.gate) gate = layer.gate->bias.value().at({h});
            for (Size i = 0; i < 3; ++i) {
              value += x.at({row, i}) * layer.hidden.weight.value().at({i, h});
              if (layer.gate) gate += x.at({row, i}) * layer.gate->weight.value().at({i, h});
            }
            y += activated(activation, value, gate) * layer.output.weight.value().at({h, column});
          }
          expected.push_back(y);
        }
      const double tolerance = dtype == float64 ? 1e-12 : 1e-5;
      EXPECT_TENSOR_NEAR(layer(x), test::from_values(expected, {2, 3}, dtype), tolerance, tolerance);
    }
}

TEST(FeedForward, GradientsAgreeWithDifferences) {
  for (const Activation activation : all_activations) {
    Rng rng(2);
    const FeedForward layer(3, rng, with(activation));
    test::expect_module_gradients(layer, {test::random_tensor({2, 2, 3}, rng)},
                                  [&](const Tensors& x) { return layer(x[0]); });
  }
}

TEST(FeedForward, NamesItsPartsAndFillsInItsWidth) {
  Rng rng(3);
  FeedForwardOptions options;
  const FeedForward plain(3, rng, options);
  EXPECT_EQ(plain.hidden.weight.shape(), (Shape{3, 12}));
  EXPECT_FALSE(plain.gate.has_value());
  options.activation = Activation::swiglu;
  options.bias = false;
  const FeedForward gated(3, rng, options);
  std::vector<std::string> names;
  for (const auto& named : named_parameters(gated)) names.push_back(named.first);
  EXPECT_EQ(names, (std::vector<std::string>{"hidden.weight", "gate.weight", "output.weight"}));
  Tensor seen;
  const Attachment watching = attach(gated, "activations", [&](const Tensor& value) { seen = value; });
  EXPECT_EQ(gated(zeros({2, 4, 3})).shape(), (Shape{2, 4, 3}));
  EXPECT_EQ(seen.shape(), (Shape{2, 4, 12}));
  const FeedForward copy = clone(gated);
  const Tensor x = test::random_tensor({2, 3}, rng);
  EXPECT_SAME_BITS(copy(x), gated(x));
}

TEST(FeedForward, DropsHiddenValuesInTraining) {
  Rng rng(4);
  FeedForwardOptions options = with(Activation::relu);
  options.dropout = 1;
  FeedForward layer(3, rng, options);
  const Tensor x = test::random_tensor({2, 3}, rng);
  EXPECT_SAME_BITS(layer(x), broadcast_to(layer.output.bias.value(), {2, 3}).contiguous());
  evaluate(layer);
  EXPECT_NE(test::values_of(layer(x)), test::values_of(broadcast_to(layer.output.bias.value(), {2, 3})));
}

TEST(FeedForward, RefusesWhatDoesNotFit) {
  Rng rng(5);
  FeedForwardOptions options;
  options.hidden = -2;
  EXPECT_THROWS_WITH(FeedForward(3, rng, options), ValueError, "must be positive, got -2");
  EXPECT_THROWS_WITH(FeedForward(0, rng), ValueError, "must be positive, got 0");
  const FeedForward layer(3, rng);
  EXPECT_THROWS_WITH(layer(zeros({2, 4})), ShapeError, "expected x [.., 3], got [2, 4]");
}

// ---- root mean square ----------------------------------------------------------------------------------

TEST(RmsNorm, DividesByTheRootMeanSquare) {
  for (const DType dtype : {float64, float32}) {
    RmsNorm layer(2, 1e-6, dtype);
    layer.gamma.assign(tensor({1, 10}, dtype));
    const double root = std::sqrt(12.5 + 1e-6);
    EXPECT_TENSOR_NEAR(layer(tensor({{3, -4}, {0, 0}}, dtype)),
                       tensor({{3 / root, -40 / root}, {0, 0}}, dtype), dtype == float64 ? 1e-14 : 1e-6, 0);
  }
  EXPECT_EQ(named_parameters(RmsNorm(3)).size(), 1u);
}

TEST(RmsNorm, GradientsAgreeWithDifferences) {
  Rng rng(6);
  RmsNorm layer(4);
  layer.gamma.assign(test::random_tensor({4}, rng));
  test::expect_module_gradients(layer, {test::random_tensor({2, 3, 4}, rng)},
                                [&](const Tensors& x) { return layer(x[0]); });
  const RmsNorm copy = clone(layer);
  const Tensor x = test::random_tensor({2, 4}, rng);
  EXPECT_SAME_BITS(copy(x), layer(x));
}

TEST(RmsNorm, RefusesWhatDoesNotFit) {
  const RmsNorm layer(3);
  EXPECT_THROWS_WITH(layer(zeros({2, 4})), ShapeError, "rms norm [3]: expected x [.., 3], got [2, 4]");
  EXPECT_THROWS_WITH(layer(scalar(1)), ShapeError, "got []");
  EXPECT_THROWS_WITH(RmsNorm(0), ValueError, "the width must be positive, got 0");
  EXPECT_THROWS_WITH(RmsNorm(3, 0), ValueError, "epsilon must be positive");
}

}  // namespace
}  // namespace regard::nn

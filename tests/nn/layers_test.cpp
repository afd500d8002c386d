// Embedding, LayerNorm and Dropout.
#include <gtest/gtest.h>

#include <cmath>

#include <regard/error.hpp>
#include <regard/nn/dropout.hpp>
#include <regard/nn/embedding.hpp>
#include <regard/nn/layer_norm.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/modules.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::nn {
namespace {

// ---- embedding -----------------------------------------------------------------------------------------

TEST(Embedding, LooksUpRows) {
  Rng rng(1);
  Embedding layer(3, 2, rng);
  layer.weight.assign(tensor({{1, 2}, {3, 4}, {5, 6}}));
  EXPECT_SAME_BITS(layer(tensor({{2, 0}, {2, 1}}, int64)), tensor({{{5, 6}, {1, 2}}, {{5, 6}, {3, 4}}}));
  EXPECT_EQ(layer(zeros({0, 4}, int64)).shape(), (Shape{0, 4, 2}));
}

TEST(Embedding, AddsUpTheGradientsOfARepeatedId) {
  Rng rng(1);
  const Embedding layer(3, 2, rng);
  backward(sum(layer(tensor({2, 0, 2}, int64)) * tensor({{1, 10}, {100, 1000}, {7, 70}})));
  EXPECT_SAME_BITS(layer.weight.gradient(), tensor({{100, 1000}, {0, 0}, {8, 80}}));
  test::expect_module_gradients(layer, {tensor({{2, 0}, {2, 2}}, int64)},
                                [&](const Tensors& x) { return square(layer(x[0])); });
}

TEST(Embedding, RefusesIdsThatAreNone) {
  Rng rng(1);
  const Embedding layer(3, 2, rng);
  EXPECT_THROWS_WITH(layer(tensor({0, 3}, int64)), ValueError, "3");
  EXPECT_THROWS_WITH(layer(tensor({-1}, int64)), ValueError, "-1");
  EXPECT_THROWS_WITH(layer(tensor({1})), DTypeError, "int64");
  EXPECT_THROWS_WITH(Embedding(0, 2, rng), ValueError, "the vocabulary must be positive");
  EXPECT_THROWS_WITH(Embedding(2, 0, rng), ValueError, "the width must be positive");
  for (const Size padding : {-1, 3}) {
    EmbeddingOptions options;
    options.padding = padding;
    EXPECT_THROWS_WITH(Embedding(3, 2, rng, options), ValueError, "the padding id must be one of 0 to 2");
  }
}

// ---- layer norm ----------------------------------------------------------------------------------------

TEST(LayerNorm, StartsAsPlainNormalisation) {
  const LayerNorm layer(4);
  const Tensor y = layer(tensor({{1, 2, 3, 4}}));
  const double scale = 1 / std::sqrt(1.25 + 1e-5);
  EXPECT_TENSOR_NEAR(y, tensor({{-1.5, -0.5, 0.5, 1.5}}) * scale, 1e-14, 0);
}

TEST(LayerNorm, GradientsAgreeWithDifferences) {
  Rng rng(3);
  LayerNorm layer(5);
  layer.gamma.assign(test::random_tensor({5}, rng));
  layer.beta.assign(test::random_tensor({5}, rng));
  test::expect_module_gradients(layer, {test::random_tensor({2, 3, 5}, rng)},
                                [&](const Tensors& x) { return layer(x[0]); });
}

TEST(LayerNorm, RefusesWhatDoesNotFit) {
  const LayerNorm layer(4);
  EXPECT_THROWS_WITH(layer(zeros({2, 3})), ShapeError, "expected x [.., 4], got [2, 3]");
  EXPECT_THROWS_WITH(LayerNorm(0), ValueError, "the width must be positive");
  LayerNormOptions options;
  options.epsilon = 0;
  EXPECT_THROWS_WITH(LayerNorm(4, options), ValueError, "epsilon must be positive");
}

// ---- dropout -------------------------------------------------------------------------------------------

TEST(Dropout, DropsInTrainingOnly) {
  Rng rng(4);
  Dropout layer(0.5, rng);
  const Tensor x = ones({1000});
  double kept = 0;
  for (const double value : test::values_of(layer(x))) {
    EXPECT_TRUE(value == 0 || value == 2) << value;
    kept += value / 2;
  }
  EXPECT_NEAR(kept, 500, 80);  // five standard deviations
  evaluate(layer);
  EXPECT_SAME_BITS(layer(x), x);
}

TEST(Dropout, DrawsNothingWhenNothingIsDropped) {
  Rng rng(4);
  Dropout layer(0.5, rng);
  const Rng before = layer.rng;
  evaluate(layer);
  (void)layer(ones({5}));
  EXPECT_EQ(layer.rng, before);
  train(layer);
  (void)layer(ones({5}));
  EXPECT_NE(layer.rng, before);
}

TEST(Dropout, OfEverythingIsZeros) {
  Rng rng(4);
  const Dropout all(1, rng), none(0, rng);
  const Tensor x = variable(tensor({1, 2}));
  EXPECT_SAME_BITS(all(x).detach(), zeros({2}));
  EXPECT_SAME_BITS(grad(sum(all(x)), x), zeros({2}));
  EXPECT_SAME_BITS(none(x).detach(), tensor({1, 2}));
}

TEST(Dropout, TwoLayersDropDifferently) {
  Rng rng(4);
  const Dropout first(0.5, rng), second(0.5, rng);
  EXPECT_NE(test::values_of(first(ones({64}))), test::values_of(second(ones({64}))));
}

TEST(Dropout, RefusesWhatIsNoProbability) {
  Rng rng(4);
  for (const double p : {-0.1, 1.1, std::nan("")})
    EXPECT_THROWS_WITH(Dropout(p, rng), ValueError, "p must lie in [0, 1]");
}

}  // namespace
}  // namespace regard::nn

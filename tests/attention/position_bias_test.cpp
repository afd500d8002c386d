// Scores that depend on how far a key is: ALiBi, and T5's learned buckets.
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/nn/positions.hpp>
#include <regard/ops.hpp>

#include "attention/reference.hpp"
#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/modules.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

double slope(Size head, Size heads) {
  return std::pow(2.0, -8.0 * static_cast<double>(head + 1) / static_cast<double>(heads));
}

TEST(Alibi, LowersScoresByDistance) {
  for (const DType dtype : {float32, float64}) {
    for (const Size kv_heads : {4, 2, 1}) {
      for (const Align align : {Align::top_left, Align::bottom_right}) {
        const Sizes4 n{2, 4, kv_heads, 3, 5, 3, 2};
        Rng rng(81);
        const Inputs x(n, rng, dtype);
        const Size first = align == Align::bottom_right ? 2 : 0;
        const auto visible = [first](Size, Size, Size i, Size j) { return j <= i + first; };
        const auto bias = [first](Size, Size h, Size i, Size j) {
          return -slope(h, 4) * std::abs(static_cast<double>(i + first - j));
        };
        const Reference expected = reference_attention(x, visible, bias);
        AttentionTrace trace;
        const Mask mask = Mask::causal(align) & Mask::alibi(align);
        const Tensor output = attention(x.query, x.key, x.value, mask, {}, &trace);
        const double within = dtype == float64 ? 1e-12 : 1e-5;
        EXPECT_TENSOR_NEAR(output.to(float64), expected.output, within, within);
        EXPECT_TENSOR_NEAR(trace.weights.to(float64), expected.weights, within, within);
        EXPECT_TENSOR_NEAR(trace.masked.to(float64), expected.masked, within, within);
      }
    }
  }
}

TEST(Alibi, GoesWithABiasAndEveryOtherMask) {
  for (const MaskCase& c : mask_cases()) {
    if (c.sizes.queries != c.sizes.keys) continue;
    SCOPED_TRACE(c.name);
    Rng rng(82);
    const Inputs x(c.sizes, rng);
    const auto bias = [&](Size b, Size h, Size i, Size j) {
      const Tensor slopes = alibi_slopes(c.sizes.heads);
      return c.bias(b, h, i, j) - slopes.at({h}) * std::abs(static_cast<double>(i - j));
    };
    const Mask mask = Mask::alibi() & c.mask(float64);
    EXPECT_TENSOR_NEAR(attention(x.query, x.key, x.value, mask),
                       reference_attention(x, c.visible, bias).output, 1e-12, 1e-12);
    expect_gradients([&mask](const Tensors& t) { return attention(t[0], t[1], t[2], mask); },
                     {x.query, x.key, x.value});
  }
}

TEST(Alibi, HasGradientsOfHigherOrder) {
  Rng rng(83);
  const Inputs x({1, 2, 1, 3, 3, 2, 2}, rng);
  const Mask mask = Mask::alibi() & Mask::causal();
  expect_second_order(
      [&mask](const Tensors& t) { return attention(t[0], t[1], t[2], mask & Mask::bias(t[3])); },
      {x.query, x.key, x.value, random_tensor({3, 3}, rng)});
}

TEST(Alibi, ShowsItselfAndSaysWhatIsMissing) {
  EXPECT_EQ(to_string(Mask::causal() & Mask::alibi(), 3, 3), "·██\n+·█\n++·\n");
  EXPECT_EQ((Mask::causal() & Mask::alibi()).describe(), "causal & alibi");
  EXPECT_EQ(Mask::alibi(Align::bottom_right).describe(), "alibi(bottom_right)");
  const Tensor q = ones({2, 3}), k = ones({4, 3});
  EXPECT_THROWS_WITH(attention(q, k, k, Mask::alibi()), ShapeError,
                     "an alibi mask of 2 queries and 4 keys must say where the queries stand");
  EXPECT_THROWS_WITH(attention(k, k, k, Mask::alibi() & Mask::alibi()), ValueError,
                     "alibi stands twice in the mask alibi & alibi");
  EXPECT_THROWS_WITH(alibi_slopes(-1), ValueError, "expected 0 heads or more, got -1");
  EXPECT_EQ(alibi_slopes(0).shape(), Shape{0});
}

// ---- learned buckets -----------------------------------------------------------------------------------

TEST(RelativeBias, TakesTheRowOfEachDistance) {
  for (const bool causal : {true, false}) {
    nn::RelativeBiasOptions options;
    options.buckets = 8;
    options.max_distance = 12;
    options.causal = causal;
    Rng rng(84);
    const nn::RelativeBias relative(3, rng, options);
    const Tensor bias = relative(4, 20, 9);
    ASSERT_EQ(bias.shape(), (Shape{1, 3, 4, 20}));
    for (Size h = 0; h < 3; ++h)
      for (Size i = 0; i < 4; ++i)
        for (Size j = 0; j < 20; ++j)
          EXPECT_EQ(bias.at({0, h, i, j}),
                    relative.weight.value().at({nn::relative_bucket(j - i - 9, options), h}));
    // What a step of decoding needs is a row of the whole.
    EXPECT_SAME_BITS(slice(relative(20, 20), 2, {7, 8}), relative(1, 20, 7));
  }
}

TEST(RelativeBias, IsLearnedThroughAttention) {
  nn::RelativeBiasOptions options;
  options.buckets = 8;
  options.max_distance = 6;
  Rng rng(85);
  const nn::RelativeBias relative(2, rng, options);
  const Inputs x({2, 2, 2, 4, 4, 3, 2}, rng);
  expect_module_gradients(relative, {x.query, x.key, x.value}, [&](const Tensors& t) {
    return attention(t[0], t[1], t[2], Mask::causal() & Mask::bias(relative(4, 4)));
  });
  const nn::RelativeBias copy = clone(relative);
  EXPECT_SAME_BITS(copy(3, 5, 1), relative(3, 5, 1));
  EXPECT_EQ(relative(0, 3).shape(), (Shape{1, 2, 0, 3}));
}

TEST(RelativeBias, RefusesBucketsThatAreNone) {
  Rng rng(86);
  nn::RelativeBiasOptions options;
  options.buckets = 3;
  EXPECT_THROWS_WITH(nn::RelativeBias(2, rng, options), ValueError, "expected at least 4 (2 each way) buckets and a max_distance above 0, got 3 and 128");
  options.buckets = 32;
  options.max_distance = 8;
  EXPECT_THROWS_WITH(nn::RelativeBias(2, rng, options), ValueError, "a max_distance above 8");
  options.causal = true;
  EXPECT_THROWS_WITH(nn::relative_bucket(-1, options), ValueError, "a max_distance above 16");
  EXPECT_THROWS_WITH(nn::RelativeBias(0, rng), ValueError, "the number of heads must be positive");
  const nn::RelativeBias relative(2, rng);
  EXPECT_THROWS_WITH(relative(2, -3), ShapeError, "[2, -3]");
}

}  // namespace
}  // namespace regard::test

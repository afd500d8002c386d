#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "attention/reference.hpp"
#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

TEST(Attention, IsThePlainLoopsForEveryMask) {
  for (const MaskCase& c : mask_cases()) {
    SCOPED_TRACE(c.name);
    Rng rng(5);
    const Inputs x(c.sizes, rng);
    const Tensor expected = reference_attention(x, c.visible, c.bias).output;
    EXPECT_TENSOR_NEAR(attention(x.query, x.key, x.value, c.mask(float64)), expected, 1e-12, 1e-12);
    const Tensor single =
        attention(x.query.to(float32), x.key.to(float32), x.value.to(float32), c.mask(float32));
    EXPECT_EQ(single.dtype(), float32);
    EXPECT_TENSOR_NEAR(single.to(float64), expected, 1e-5, 1e-5);
  }
}

TEST(Attention, TakesTensorsWithoutHeadsAndWithoutABatch) {
  Rng rng(1);
  const Inputs x({2, 1, 1, 3, 4, 2, 5}, rng);
  const Mask mask = Mask::keep(random_mask({3, 4}, rng));
  const Tensor rank4 = attention(x.query, x.key, x.value, mask);
  const Tensor rank3 = attention(squeeze(x.query, {1}), squeeze(x.key, {1}), squeeze(x.value, {1}), mask);
  EXPECT_EQ(rank3.shape(), (Shape{2, 3, 5}));
  EXPECT_SAME_BITS(rank3, squeeze(rank4, {1}));
  for (Size b = 0; b < 2; ++b) {
    const auto one = [b](const Tensor& t) { return select(select(t, 0, b), 0, 0); };
    const Tensor rank2 = attention(one(x.query), one(x.key), one(x.value), mask);
    EXPECT_TENSOR_NEAR(rank2, one(rank4), 1e-12, 1e-12);
  }
}

TEST(Attention, AMaskOfRank3IsPerSequenceWhateverTheRankOfTheScores) {
  Rng rng(2);
  const Inputs x({2, 1, 1, 3, 3, 2, 2}, rng);
  const Mask mask = Mask::keep(random_mask({2, 3, 3}, rng, 0.7));
  const Tensor rank4 = attention(x.query, x.key, x.value, mask);
  const Tensor rank3 = attention(squeeze(x.query, {1}), squeeze(x.key, {1}), squeeze(x.value, {1}), mask);
  EXPECT_SAME_BITS(rank3, squeeze(rank4, {1}));
}

TEST(Attention, ScalesByTheRootOfTheKeyWidthUnlessTold) {
  Rng rng(3);
  const Sizes4 sizes;
  const Inputs x(sizes, rng);
  AttentionOptions options;
  options.scale = 0.3;
  EXPECT_TENSOR_NEAR(attention(x.query, x.key, x.value, {}, options),
                     reference_attention(x, always, nothing, 0.3).output, 1e-12, 1e-12);
  options.scale = 1 / std::sqrt(3.0);
  EXPECT_SAME_BITS(attention(x.query, x.key, x.value, {}, options), attention(x.query, x.key, x.value));
  options.scale = 0.0;
  const Tensor average = broadcast_to(mean(x.value, {2}, keep_axes), {2, 2, 4, 5});
  EXPECT_TENSOR_NEAR(attention(x.query, x.key, x.value, {}, options), average, 1e-12, 1e-12);
}

TEST(Attention, SharedKeyHeadsAreRepeatedKeyHeads) {
  Rng rng(4);
  const Inputs x({2, 6, 2, 4, 5, 3, 2}, rng);
  const Mask mask = Mask::keep(random_mask({2, 6, 4, 5}, rng, 0.7));
  // Head h reads key head h / 3.
  const auto repeated = [](const Tensor& t) { return take(t, tensor({0, 0, 0, 1, 1, 1}, int64), 1); };
  EXPECT_TENSOR_NEAR(attention(x.query, x.key, x.value, mask),
                     attention(x.query, repeated(x.key), repeated(x.value), mask), 1e-12, 1e-12);

  const Tensors leaves = {variable(x.query), variable(x.key), variable(x.value)};
  const Tensor weight = random_tensor({2, 6, 4, 2}, rng);
  const Tensors shared = grad({sum(weight * attention(leaves[0], leaves[1], leaves[2], mask))}, leaves);
  const Tensors copied =
      grad({sum(weight * attention(leaves[0], repeated(leaves[1]), repeated(leaves[2]), mask))}, leaves);
  for (std::size_t i = 0; i < 3; ++i) EXPECT_TENSOR_NEAR(shared[i], copied[i], 1e-12, 1e-12);
}

TEST(Attention, AsManyKeyHeadsAsQueryHeadsAreOrdinaryHeads) {
  Rng rng(6);
  const Inputs x({2, 3, 3, 4, 4, 3, 2}, rng);
  const Tensor together = attention(x.query, x.key, x.value, Mask::causal());
  for (Size h = 0; h < 3; ++h) {
    const auto head = [h](const Tensor& t) { return slice(t, 1, {h, h + 1}); };
    EXPECT_SAME_BITS(attention(head(x.query), head(x.key), head(x.value), Mask::causal()), head(together));
  }
}

TEST(Attention, ABatchOfOneServesAllSequences) {
  Rng rng(7);
  const Inputs many({3, 2, 2, 4, 5, 3, 2}, rng), one({1, 2, 2, 4, 5, 3, 2}, rng);
  const auto copies = [](const Tensor& t) { return concatenate({t, t, t}, 0); };
  const Mask mask = Mask::padding(tensor({5, 3, 0}, int64));
  EXPECT_TENSOR_NEAR(attention(many.query, one.key, one.value, mask),
                     attention(many.query, copies(one.key), copies(one.value), mask), 1e-12, 1e-12);
  EXPECT_TENSOR_NEAR(attention(one.query, many.key, many.value, mask),
                     attention(copies(one.query), many.key, many.value, mask), 1e-12, 1e-12);
  EXPECT_TENSOR_NEAR(attention(one.query, one.key, many.value, mask),
                     attention(copies(one.query), copies(one.key), many.value, mask), 1e-12, 1e-12);
}

TEST(Attention, DoesNotCareHowItsInputsLieInMemory) {
  Rng rng(8);
  const Inputs x({2, 4, 2, 3, 5, 3, 2}, rng);
  const Mask mask = Mask::causal(Align::bottom_right);
  const Tensor expected = attention(x.query, x.key, x.value, mask);
  for (const Layout layout : all_layouts) {
    SCOPED_TRACE(layout);
    EXPECT_TENSOR_NEAR(attention(with_layout(x.query, layout), with_layout(x.key, layout),
                                 with_layout(x.value, layout), mask),
                       expected, 1e-12, 1e-12);
  }
}

TEST(Attention, FollowsItsKeysWhereverTheyStand) {
  Rng rng(9);
  const Inputs x({2, 2, 2, 3, 5, 3, 2}, rng);
  const Tensor keep = random_mask({2, 2, 3, 5}, rng, 0.7), bias = random_tensor({3, 5}, rng);
  const Tensor order = tensor({3, 0, 4, 1, 2}, int64);
  const auto mask = [](const Tensor& k, const Tensor& b) { return Mask::keep(k) & Mask::bias(b); };
  EXPECT_TENSOR_NEAR(attention(x.query, take(x.key, order, 2), take(x.value, order, 2),
                               mask(take(keep, order, 3), take(bias, order, 1))),
                     attention(x.query, x.key, x.value, mask(keep, bias)), 1e-12, 1e-12);
}

TEST(Attention, CausalOutputsDoNotFeelTheFutureInAnyBit) {
  for (const DType dtype : {float32, float64}) {
    Rng rng(10);
    const Sizes4 sizes{2, 2, 2, 9, 9, 4, 3};
    const Inputs x(sizes, rng, dtype), other(sizes, rng, dtype);
    const Tensor output = attention(x.query, x.key, x.value, Mask::causal());
    for (Size i = 0; i < 9; ++i) {
      const auto changed = [i](const Tensor& now, const Tensor& then) {
        return concatenate({slice(now, 2, {0, i + 1}), slice(then, 2, {i + 1})}, 2);
      };
      const Tensor after = attention(changed(x.query, other.query), changed(x.key, other.key),
                                     changed(x.value, other.value), Mask::causal());
      EXPECT_SAME_BITS(slice(after, 2, {0, i + 1}), slice(output, 2, {0, i + 1}));
    }
  }
}

TEST(Attention, StaysFiniteForLargeScores) {
  Rng rng(11);
  for (const DType dtype : {float32, float64}) {
    const Tensor q = variable(random_tensor({1, 1, 3, 4}, rng, Domain::large, dtype));
    const Tensor k = variable(random_tensor({1, 1, 5, 4}, rng, Domain::large, dtype));
    const Tensor v = random_tensor({1, 1, 5, 2}, rng, Domain::normal, dtype);
    const Tensor output = attention(q, k, v);
    EXPECT_TRUE(all(isfinite(output)));
    for (const Tensor& g : grad({sum(output)}, {q, k})) EXPECT_TRUE(all(isfinite(g)));
  }
}

TEST(Attention, ComputesNothingFromNothing) {
  const auto run = [](const Sizes4& n) {
    const Tensors x = {variable(zeros(n.query())), variable(zeros(n.key())), variable(ones(n.value()))};
    const Tensor output = attention(x[0], x[1], x[2]);
    EXPECT_EQ(output.shape(), (Shape{n.batch, n.heads, n.queries, n.value_width}));
    EXPECT_SAME_BITS(output, zeros(output.shape()));
    const Tensors g = grad({sum(output)}, x);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_SAME_BITS(g[i], zeros_like(x[i].detach()));
  };
  run({0, 2, 2, 3, 4, 2, 5});  // no sequence
  run({2, 2, 2, 0, 4, 2, 5});  // no query
  run({2, 2, 2, 3, 0, 2, 5});  // no key
  run({2, 4, 2, 3, 0, 2, 5});  // no key for shared heads
  run({2, 2, 2, 3, 4, 2, 0});  // no value
  run({2, 0, 0, 3, 4, 2, 5});  // no head
}

TEST(Attention, WithoutAKeyWidthEveryKeyCounts) {
  Rng rng(12);
  const Inputs x({1, 1, 1, 2, 3, 0, 2}, rng);
  EXPECT_TENSOR_NEAR(attention(x.query, x.key, x.value),
                     broadcast_to(mean(x.value, {2}, keep_axes), {1, 1, 2, 2}), 1e-12, 1e-12);
}

TEST(Attention, TakesParameters) {
  Rng rng(13);
  const Parameter weight(random_tensor({3, 3}, rng), "weight");
  const Tensor x = random_tensor({4, 3}, rng);
  backward(sum(attention(matmul(x, weight), x, matmul(x, weight), Mask::causal())));
  EXPECT_TRUE(weight.has_gradient());
}

// ---- dropout -------------------------------------------------------------------------------------------

AttentionOptions with_dropout(double p, Rng& rng) {
  AttentionOptions options;
  options.dropout = p;
  options.rng = &rng;
  return options;
}

TEST(AttentionDropout, IsAFunctionOfTheGenerator) {
  Rng rng(14);
  const Inputs x(Sizes4{}, rng);
  Rng a(1), b(1), c(2);
  const Tensor first = attention(x.query, x.key, x.value, {}, with_dropout(0.5, a));
  EXPECT_SAME_BITS(attention(x.query, x.key, x.value, {}, with_dropout(0.5, b)), first);
  EXPECT_EQ(a, b);
  EXPECT_NE(values_of(attention(x.query, x.key, x.value, {}, with_dropout(0.5, c))), values_of(first));
  EXPECT_NE(values_of(attention(x.query, x.key, x.value, {}, with_dropout(0.5, a))), values_of(first));
}

TEST(AttentionDropout, DropsWeightsAndScalesTheRest) {
  Rng rng(15), draw(3);
  const Inputs x({4, 4, 4, 16, 16, 3, 2}, rng);
  AttentionTrace trace;
  const Tensor output = attention(x.query, x.key, x.value, Mask::causal(), with_dropout(0.25, draw), &trace);
  const std::vector<double> weights = values_of(trace.weights), dropped = values_of(trace.dropped);
  int visible = 0, zeroed = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) {
      EXPECT_EQ(dropped[i], 0);
      continue;
    }
    ++visible;
    zeroed += dropped[i] == 0;
    if (dropped[i] != 0) {
      EXPECT_NEAR(dropped[i], weights[i] / 0.75, 1e-15);
    }
  }
  EXPECT_NEAR(static_cast<double>(zeroed) / visible, 0.25, 0.03);  // 2176 draws: three deviations
  EXPECT_TENSOR_NEAR(output, matmul(trace.dropped, x.value), 1e-12, 1e-12);
}

TEST(AttentionDropout, IsOptional) {
  Rng rng(16);
  const Inputs x(Sizes4{}, rng);
  Rng draw(4);
  EXPECT_SAME_BITS(attention(x.query, x.key, x.value, {}, with_dropout(0, draw)),
                   attention(x.query, x.key, x.value));
  EXPECT_EQ(draw, Rng(4));
}

// ---- weights on their way ------------------------------------------------------------------------------

AttentionOptions through(std::function<Tensor(const Tensor&)> f) {
  AttentionOptions options;
  options.through_weights = std::move(f);
  return options;
}

TEST(AttentionWeights, PassThroughWhatTheCallerGives) {
  Rng rng(18);
  const Inputs x({2, 4, 2, 3, 5, 2, 2}, rng);  // the function sees heads as the caller counts them
  const Mask mask = Mask::causal(Align::bottom_right);
  const auto run = [&](const AttentionOptions& options, AttentionTrace* trace) {
    const Tensors leaves = {variable(x.query), variable(x.key), variable(x.value)};
    const Tensor output = attention(leaves[0], leaves[1], leaves[2], mask, options, trace);
    Tensors results = grad({sum(square(output))}, leaves);
    results.push_back(output);
    return results;
  };
  AttentionTrace trace;
  Tensor seen;
  const Tensors watched = run(through([&seen](const Tensor&w) { return seen = w; }), &trace),
                unwatched = run({}, nullptr);
  AttentionOptions by_matrix;
  by_matrix.path = AttentionPath::dense;
  const Tensors plain = run(by_matrix, nullptr);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    EXPECT_SAME_BITS(watched[i], plain[i]);
    EXPECT_TENSOR_NEAR(watched[i], unwatched[i], 1e-12, 1e-12);
  }
  EXPECT_EQ(seen.shape(), (Shape{2, 4, 3, 5}));
  EXPECT_SAME_BITS(seen, trace.weights);
}

TEST(AttentionWeights, CanBeReplacedButNotWhereHidden) {
  Rng rng(19);
  const Inputs x({1, 1, 1, 3, 3, 2, 2}, rng);
  AttentionTrace trace;
  const Tensor output = attention(x.query, x.key, x.value, Mask::causal(),
                                  through([](const Tensor& w) { return ones_like(w); }), &trace);
  EXPECT_SAME_BITS(trace.weights, ones({1, 1, 3, 3}));
  EXPECT_TENSOR_NEAR(output, matmul(tril(ones({3, 3})), x.value), 1e-12, 1e-12);
  EXPECT_THROWS_WITH(
      attention(x.query, x.key, x.value, {}, through([](const Tensor& w) { return sum(w, {-1}); })),
      ShapeError, "through_weights returned [1, 1, 3], expected [1, 1, 3, 3]");
  EXPECT_THROWS_WITH(
      attention(x.query, x.key, x.value, {}, through([](const Tensor& w) { return w.to(float32); })),
      DTypeError, "through_weights returned float32, expected float64");
}

// ---- rows that see nothing -----------------------------------------------------------------------------

TEST(EmptyRows, CanBeMadeAnError) {
  Rng rng(17);
  const Inputs x({2, 2, 2, 3, 4, 2, 2}, rng);
  AttentionOptions strict;
  strict.empty_rows = EmptyRows::error;
  const auto run = [&](const Mask& mask) { return attention(x.query, x.key, x.value, mask, strict); };
  EXPECT_TRUE(run({}).defined());
  EXPECT_TRUE(run(Mask::causal(Align::bottom_right)).defined());
  EXPECT_THROWS_WITH(
      run(Mask::padding(tensor({2, 0}, int64))), ValueError,
      "attention: query 0 of batch 1, head 0 may see no key (padding [2], scores [2, 2, 3, 4]); "
      "EmptyRows::zeros gives zeros there");
  const Tensor row = expand_dims(reshape(equal(arange(12), full({}, 10, int64)), {2, 2, 3}), {3});
  EXPECT_THROWS_WITH(run(Mask::hide(row)), ValueError, "query 1 of batch 1, head 1 may see no key");
  EXPECT_THROWS_WITH(attention(x.query, slice(x.key, 2, {0, 0}), slice(x.value, 2, {0, 0}), {}, strict),
                     ValueError, "query 0 of batch 0, head 0 may see no key");
}

// ---- misuse --------------------------------------------------------------------------------------------

TEST(AttentionErrors, NameTheTensorsAndWhatDiffers) {
  const auto run = [](const Shape& q, const Shape& k, const Shape& v) {
    return attention(ones(q), ones(k), ones(v));
  };
  EXPECT_THROWS_WITH(
      run({2, 4, 5, 8}, {2, 4, 6, 7}, {2, 4, 6, 3}), ShapeError,
      "attention: query [2, 4, 5, 8], key [2, 4, 6, 7] and value [2, 4, 6, 3] do not fit: widths of "
      "query and key, 8 and 7 differ");
  EXPECT_THROWS_WITH(run({2, 4, 5, 8}, {2, 4, 6, 8}, {2, 4, 7, 3}), ShapeError,
                     "lengths of key and value, 6 and 7");
  EXPECT_THROWS_WITH(run({2, 4, 5, 8}, {2, 3, 6, 8}, {2, 3, 6, 3}), ShapeError,
                     "the 4 query heads cannot share 3 key heads evenly");
  EXPECT_THROWS_WITH(run({2, 4, 5, 8}, {2, 0, 6, 8}, {2, 0, 6, 3}), ShapeError, "cannot share 0 key heads");
  EXPECT_THROWS_WITH(run({2, 4, 5, 8}, {2, 4, 6, 8}, {2, 2, 6, 3}), ShapeError,
                     "heads of key and value, 4 and 2");
  EXPECT_THROWS_WITH(run({2, 4, 5, 8}, {3, 4, 6, 8}, {3, 4, 6, 3}), ShapeError, "batches 2 and 3 differ");
  EXPECT_THROWS_WITH(run({1, 4, 5, 8}, {2, 4, 6, 8}, {3, 4, 6, 3}), ShapeError, "batches 2 and 3 differ");
  EXPECT_THROWS_WITH(run({2, 5, 8}, {5, 8}, {5, 8}), ShapeError, "all [batch, tokens, width]");
  EXPECT_THROWS_WITH(run({8}, {8}, {8}), ShapeError, "all [tokens, width]");
  EXPECT_THROWS_WITH(attention(ones({5, 8}), ones({5, 8}), ones({5, 8}, float32)), DTypeError,
                     "float64 [5, 8]");
  EXPECT_THROWS_WITH(attention(ones({5, 8}, int64), ones({5, 8}, int64), ones({5, 8}, int64)), DTypeError,
                     "attention: expected float32 or float64");
}

TEST(AttentionErrors, NameTheMask) {
  const Tensor x = ones({2, 4, 5, 8}), y = ones({2, 4, 6, 8});
  EXPECT_THROWS_WITH(
      attention(x, y, y, Mask::keep(ones({5, 5}, boolean))), ShapeError,
      "attention: mask [5, 5] does not fit scores [2, 4, 5, 6] (batch, heads, queries, keys): axis keys "
      "is 5, expected 6");
  EXPECT_THROWS_WITH(attention(x, y, y, Mask::bias(ones({5, 6}, float32))), DTypeError,
                     "attention: the mask's bias is float32 but query, key and value are float64");
  EXPECT_THROWS_WITH(attention(x, y, y, Mask::causal()), ShapeError, "Align::bottom_right");
}

TEST(AttentionErrors, NameTheOption) {
  const Tensor x = ones({5, 8});
  const auto run = [&x](auto change) {
    AttentionOptions options;
    change(options);
    return attention(x, x, x, {}, options);
  };
  EXPECT_THROWS_WITH(run([](AttentionOptions& o) { o.dropout = 0.1; }), ValueError, "give options.rng");
  EXPECT_THROWS_WITH(run([](AttentionOptions& o) { o.dropout = 1.5; }), ValueError,
                     "dropout must lie in 0..1");
  EXPECT_THROWS_WITH(run([](AttentionOptions& o) { o.dropout = nan; }), ValueError,
                     "dropout must lie in 0..1");
  EXPECT_THROWS_WITH(run([](AttentionOptions& o) { o.scale = infinity; }), ValueError,
                     "the scale must be finite");
}

}  // namespace
}  // namespace regard::test

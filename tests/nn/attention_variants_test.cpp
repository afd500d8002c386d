// Attention modules with other normalisers, other scores, and step by step.
#include <regard/nn/attention.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/modules.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::nn {
namespace {

using test::random_tensor;

ScoreOptions scores_by(Normaliser normaliser) {
  ScoreOptions scores;
  scores.normaliser = normaliser;
  return scores;
}

constexpr Normaliser normalisers[] = {Normaliser::softmax, Normaliser::softmax1,  Normaliser::sigmoid,
                                      Normaliser::relu,    Normaliser::sparsemax, Normaliser::entmax15};

// ---- other normalisers ---------------------------------------------------------------------------------

TEST(ScoreOptions, ReachTheWeightsOfAModule) {
  ScoreOptions scores = scores_by(Normaliser::entmax15);
  scores.scale = 2.5;
  scores.softcap = 3;
  Rng rng(1);
  const Tensor x = random_tensor({2, 4, 6}, rng);

  SelfAttentionOptions one;
  one.scores = scores;
  const SelfAttention self(6, rng, one);
  AttentionTrace trace;
  (void)clone(self)(x, &trace);
  const Tensor raw = matmul(matmul(x, self.w_q), transpose(matmul(x, self.w_k))).detach();
  const Tensor sees = broadcast_to(equal(tril(ones({4, 4})), scalar(1)), {2, 4, 4});
  const Tensor weights = entmax15(3.0 * tanh(raw * (2.5 / 3)), sees);
  EXPECT_TENSOR_NEAR(squeeze(trace.weights, {1}), weights, 1e-12, 1e-13);

  MultiHeadAttentionOptions many;
  many.scores = scores;
  const MultiHeadAttention heads(6, 1, rng, many);
  (void)clone(heads)(x, Mask::causal(), &trace);
  const Tensor by_hand = matmul(heads.query(x), transpose(heads.key(x))).detach();
  EXPECT_TENSOR_NEAR(squeeze(trace.weights, {1}), entmax15(3.0 * tanh(by_hand * (2.5 / 3)), sees), 1e-12,
                     1e-13);
}

TEST(ScoreOptions, LeaveTheGradientsOfModulesRight) {
  for (const Normaliser normaliser : normalisers) {
    Rng rng(2);
    MultiHeadAttentionOptions options;
    options.kv_heads = 1;
    options.scores = scores_by(normaliser);
    const MultiHeadAttention layer(4, 2, rng, options);
    test::expect_module_gradients(layer, {random_tensor({2, 3, 4}, rng)},
                                  [&](const Tensors& x) { return layer(x[0], Mask::causal()); });
  }
}

// ---- heads that share keys -----------------------------------------------------------------------------

// With as many key heads as query heads, shared heads are no other path.
TEST(GroupedQuery, WithAGroupPerHeadIsMultiHeadBitForBit) {
  for (const Normaliser normaliser : normalisers) {
    for (const DType dtype : {float32, float64}) {
      MultiHeadAttentionOptions options;
      options.dtype = dtype;
      options.scores = scores_by(normaliser);
      Rng a(3), b(3), values(4);
      const MultiHeadAttention plain(8, 4, a, options);
      options.kv_heads = 4;
      const MultiHeadAttention grouped(8, 4, b, options);
      const Tensor x = variable(random_tensor({2, 5, 8}, values, test::Domain::normal, dtype));
      const Tensor from_plain = plain(x, Mask::causal()), from_grouped = grouped(x, Mask::causal());
      EXPECT_SAME_BITS(from_plain, from_grouped);
      EXPECT_SAME_BITS(grad(sum(square(from_plain)), x), grad(sum(square(from_grouped)), x));
    }
  }
}

// Columns of a projection to kv_heads heads, once for each of `heads` query heads.
Tensor copied(const Tensor& weight, Size kv_heads, Size heads) {
  Tensors parts;
  for (const Tensor& head : split(weight, kv_heads, -1))
    for (Size i = 0; i < heads / kv_heads; ++i) parts.push_back(head);
  return concatenate(parts, -1);
}

// The gradients of copies, added up over those of one head.
Tensor added_up(const Tensor& dweight, Size kv_heads, Size heads) {
  Tensors sums;
  for (const Tensor& group : split(dweight, kv_heads, -1)) {
    Tensor total = zeros({group.size(0), group.size(1) / (heads / kv_heads)}, group.dtype());
    for (const Tensor& head : split(group, heads / kv_heads, -1)) total = total + head;
    sums.push_back(total);
  }
  return concatenate(sums, -1);
}

TEST(GroupedQuery, IsMultiHeadWithCopiedHeads) {
  for (const Normaliser normaliser : normalisers) {
    for (const Size kv_heads : {1, 2}) {
      MultiHeadAttentionOptions options;
      options.rotary = true;
      options.scores = scores_by(normaliser);
      Rng a(5), b(5), values(6);
      MultiHeadAttention whole(8, 4, a, options);
      options.kv_heads = kv_heads;
      const MultiHeadAttention shared(8, 4, b, options);
      whole.query.weight.assign(shared.query.weight.value());
      whole.output.weight.assign(shared.output.weight.value());
      whole.key.weight.assign(copied(shared.key.weight.value(), kv_heads, 4));
      whole.value.weight.assign(copied(shared.value.weight.value(), kv_heads, 4));
      const Tensor x = variable(random_tensor({2, 5, 8}, values)), y = variable(x.detach());
      const Mask mask = Mask::causal() & Mask::padding(tensor({5, 3}, int64));
      const Tensor one = shared(x, mask), other = whole(y, mask);
      EXPECT_TENSOR_NEAR(one, other, 1e-12, 1e-12);
      BackwardOptions keep;
      keep.retain_graph = true;
      backward(sum(square(one)), keep);
      backward(sum(square(other)), keep);
      EXPECT_TENSOR_NEAR(shared.query.weight.gradient(), whole.query.weight.gradient(), 1e-12, 1e-12);
      EXPECT_TENSOR_NEAR(shared.key.weight.gradient(), added_up(whole.key.weight.gradient(), kv_heads, 4),
                         1e-12, 1e-12);
      EXPECT_TENSOR_NEAR(shared.value.weight.gradient(), added_up(whole.value.weight.gradient(), kv_heads, 4),
                         1e-12, 1e-12);
      EXPECT_TENSOR_NEAR(grad(sum(square(one)), x), grad(sum(square(other)), y), 1e-12, 1e-12);
    }
  }
}

// ---- queries and keys of one length --------------------------------------------------------------------

TEST(QueryKeyNorm, IsThatOfHenryWithALearnedScalePerHead) {
  MultiHeadAttentionOptions options;
  options.norm = true;
  options.rotary = true;
  options.key_width = 6;
  Rng rng(7);
  MultiHeadAttention layer(8, 2, rng, options);
  EXPECT_SAME_BITS(layer.gain.value(), ones({2, 1, 1}));
  const Tensor gain = tensor({{{1.5}}, {{-0.5}}});
  layer.gain.assign(gain);
  const Tensor x = random_tensor({2, 4, 8}, rng);
  AttentionTrace trace;
  (void)layer(x, Mask::causal(), &trace);
  const auto unit = [](const Tensor& y) { return y / norm(y, {-1}, keep_axes); };
  const Tensor q = (*layer.rotary)(unit(split_heads(layer.query(x), 2)));
  const Tensor k = (*layer.rotary)(unit(split_heads(layer.key(x), 2)));
  const Tensor cosines = matmul(q, transpose(k)).detach();
  EXPECT_TENSOR_NEAR(where(trace.keep, trace.scaled, scalar(0)),
                     where(trace.keep, gain * (cosines * std::sqrt(6.0)), scalar(0)), 1e-12, 1e-12);
  test::expect_module_gradients(layer, {random_tensor({1, 3, 8}, rng)},
                                [&](const Tensors& in) { return layer(in[0], Mask::causal()); });
  const MultiHeadAttention copy = clone(layer);
  EXPECT_SAME_BITS(copy(x), layer(x));
}

TEST(QueryKeyNorm, OfNothingIsNothing) {
  MultiHeadAttentionOptions options;
  options.norm = true;
  options.dtype = float32;
  Rng rng(8);
  const MultiHeadAttention layer(4, 2, rng, options);
  const Tensor y = layer(zeros({1, 3, 4}, float32));
  EXPECT_SAME_BITS(y, zeros({1, 3, 4}, float32));
  backward(sum(y));
  for (const Parameter& p : parameters(layer)) EXPECT_TRUE(all(isfinite(p.gradient())));
}

}  // namespace
}  // namespace regard::nn

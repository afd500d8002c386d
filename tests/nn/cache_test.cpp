// Decoding token by token: the same as one causal call, whatever the heads, the scores and the steps.
#include <regard/nn/cache.hpp>

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include <regard/error.hpp>
#include <regard/nn/attention.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::nn {
namespace {

using test::random_tensor;

constexpr Normaliser normalisers[] = {Normaliser::softmax, Normaliser::softmax1,  Normaliser::sigmoid,
                                      Normaliser::relu,    Normaliser::sparsemax, Normaliser::entmax15};

/// x in stretches of these lengths, through `step`, put together again.
template <class Step>
Tensor in_steps(const Tensor& x, const std::vector<Size>& lengths, Step step) {
  Tensors parts;
  for (const Tensor& part : split(x, lengths, -2)) parts.push_back(step(part));
  return concatenate(parts, -2);
}

MultiHeadAttention with_options(MultiHeadAttentionOptions options, std::uint64_t seed = 1) {
  Rng rng(seed);
  return MultiHeadAttention(8, 4, rng, options);
}

TEST(KeyValueCache, StepsAreTheWholePassInBothDtypes) {
  for (const DType dtype : {float64, float32}) {
    for (const Size kv_heads : {4, 2, 1}) {
      for (const Normaliser normaliser : normalisers) {
        MultiHeadAttentionOptions options;
        options.dtype = dtype;
        options.kv_heads = kv_heads;
        options.key_width = 6;
        options.value_width = 3;
        options.bias = true;
        options.rotary = true;
        options.norm = kv_heads == 2;
        options.scores.normaliser = normaliser;
        const MultiHeadAttention layer = with_options(options);
        Rng rng(2);
        const Tensor x = random_tensor({2, 12, 8}, rng, test::Domain::normal, dtype);
        const Tensor whole = layer(x, Mask::causal());
        const double within = dtype == float64 ? 1e-12 : 1e-5;
        for (const std::vector<Size>& lengths :
             {std::vector<Size>(12, 1), {5, 1, 1, 3, 2}, {12}, {1, 11}, {4, 0, 8}}) {
          KeyValueCache cache;
          const Tensor steps =
              in_steps(x, lengths, [&](const Tensor& part) { return layer.step(part, cache); });
          EXPECT_TENSOR_NEAR(steps, whole.detach(), within, within) << name(dtype) << " " << kv_heads;
          EXPECT_EQ(cache.length(), 12);
          EXPECT_EQ(cache.keys().shape(), (Shape{2, kv_heads, 12, 6}));
          EXPECT_EQ(cache.values().shape(), (Shape{2, kv_heads, 12, 3}));
        }
      }
    }
  }
}

TEST(KeyValueCache, ForgetsWhatAWindowHides) {
  MultiHeadAttentionOptions options;
  options.kv_heads = 2;
  options.rotary = true;
  const MultiHeadAttention layer = with_options(options);
  Rng rng(3);
  const Tensor x = random_tensor({2, 30, 8}, rng);
  for (const Size window : {0, 1, 4, 40}) {
    const Tensor whole = layer(x, Mask::causal() & Mask::window(window)).detach();
    for (const std::vector<Size>& lengths : {std::vector<Size>(30, 1), {7, 1, 1, 9, 1, 1, 1, 9}, {1, 29}}) {
      KeyValueCache cache(window);
      const Tensor steps = in_steps(x, lengths, [&](const Tensor& part) {
        const Tensor y = layer.step(part, cache);
        EXPECT_EQ(cache.keys().size(2), std::min(window, cache.length()));
        return y;
      });
      EXPECT_TENSOR_NEAR(steps, whole, 1e-12, 1e-12) << window;
      EXPECT_EQ(cache.length(), 30);
    }
  }
}

TEST(KeyValueCache, GoesWithBiasesOfDistanceAndPadding) {
  const MultiHeadAttention layer = with_options({});
  RelativeBiasOptions buckets;
  buckets.causal = true;
  buckets.deviation = 1;
  Rng rng(4);
  const RelativeBias relative(4, rng, buckets);
  const Tensor x = random_tensor({2, 9, 8}, rng);
  // The first sequence is two tokens shorter: it begins behind two that are none.
  const Tensor real = expand_dims(greater_equal(expand_dims(arange(9), {0}), tensor({{2}, {0}}, int64)), {1});
  const Tensor whole =
      layer(x, Mask::causal() & Mask::alibi() & Mask::bias(relative(9, 9)) & Mask::keep(real)).detach();
  for (const std::vector<Size>& lengths : {std::vector<Size>(9, 1), {4, 1, 1, 3}}) {
    KeyValueCache cache;
    const Tensor steps = in_steps(x, lengths, [&](const Tensor& part) {
      const NoGrad off;
      const Size before = cache.length(), tokens = part.size(1), keys = before + tokens;
      return layer.step(part, cache,
                        Mask::alibi(Align::bottom_right) & Mask::bias(relative(tokens, keys, before)) &
                            Mask::keep(slice(real, 2, {0, keys})));
    });
    EXPECT_TENSOR_NEAR(steps, whole, 1e-12, 1e-12);
  }
}

TEST(KeyValueCache, WorksForOneHeadAndWithoutBatch) {
  Rng rng(5);
  SelfAttention self(6, rng);
  self.scores.normaliser = Normaliser::entmax15;
  const MultiHeadAttention many = with_options({});
  for (const Shape& shape : {Shape{3, 7, 6}, Shape{7, 6}}) {
    const Tensor x = random_tensor(shape, rng);
    KeyValueCache cache;
    const auto step = [&](const Tensor& part) { return self.step(part, cache); };
    EXPECT_TENSOR_NEAR(in_steps(x, {3, 1, 2, 1}, step), self(x).detach(), 1e-12, 1e-12);
  }
  const Tensor x = random_tensor({7, 8}, rng);
  KeyValueCache cache;
  const auto step = [&](const Tensor& part) { return many.step(part, cache); };
  EXPECT_TENSOR_NEAR(in_steps(x, {3, 1, 2, 1}, step), many(x, Mask::causal()).detach(), 1e-12, 1e-12);
}

TEST(KeyValueCache, TracesAStep) {
  const MultiHeadAttention layer = with_options({});
  Rng rng(6);
  const Tensor x = random_tensor({1, 5, 8}, rng);
  AttentionTrace whole, step;
  (void)layer(x, Mask::causal(), &whole);
  KeyValueCache cache;
  (void)layer.step(slice(x, 1, {0, 3}), cache);
  (void)layer.step(slice(x, 1, {3, 5}), cache, {}, &step);
  EXPECT_TENSOR_NEAR(step.weights, slice(whole.weights, 2, {3, 5}), 1e-12, 1e-12);
}

// ---- a value -------------------------------------------------------------------------------------------

TEST(KeyValueCache, CopiesGoTheirOwnWays) {
  const MultiHeadAttention layer = with_options({});
  Rng rng(7);
  const Tensor x = random_tensor({1, 6, 8}, rng), a = random_tensor({1, 2, 8}, rng),
               b = random_tensor({1, 3, 8}, rng);
  KeyValueCache one;
  (void)layer.step(x, one);
  const Tensor before = one.keys(), numbers = from_vector(before.to_vector<double>(), before.shape());
  KeyValueCache other = one;
  const Tensor from_one = layer.step(a, one), from_other = layer.step(b, other);
  const auto expected = [&](const Tensor& tail) {
    return slice(layer(concatenate({x, tail}, 1), Mask::causal()), 1, {6, Slice::end}).detach();
  };
  EXPECT_TENSOR_NEAR(from_one, expected(a), 1e-12, 1e-12);
  EXPECT_TENSOR_NEAR(from_other, expected(b), 1e-12, 1e-12);
  one.trim(6);
  EXPECT_TENSOR_NEAR(layer.step(b, one), expected(b), 1e-12, 1e-12);
  EXPECT_SAME_BITS(before, numbers);
  EXPECT_EQ(one.length(), 9);
}

TEST(KeyValueCache, GoesBack) {
  const MultiHeadAttention layer = with_options({});
  Rng rng(8);
  const Tensor x = random_tensor({1, 20, 8}, rng), wrong = random_tensor({1, 3, 8}, rng);
  const Tensor whole = layer(x, Mask::causal()).detach();
  KeyValueCache cache;
  std::set<const void*> rooms;
  const Tensor steps = in_steps(x, std::vector<Size>(10, 2), [&](const Tensor& part) {
    (void)layer.step(wrong, cache);
    cache.trim(cache.length() - 3);
    const Tensor y = layer.step(part, cache);
    rooms.insert(select(select(cache.keys(), 0, 0), 0, 0).data<double>());
    return y;
  });
  EXPECT_TENSOR_NEAR(steps, whole, 1e-12, 1e-12);
  EXPECT_LE(rooms.size(), 5u);  // what nobody else looks at is written over
  cache.trim(20);
  cache.trim(0);
  EXPECT_TENSOR_NEAR(layer.step(x, cache), whole, 1e-12, 1e-12);
  cache.reset();
  EXPECT_EQ(cache.length(), 0);
  EXPECT_FALSE(cache.keys().defined());
  EXPECT_TENSOR_NEAR(layer.step(x, cache), whole, 1e-12, 1e-12);
}

TEST(KeyValueCache, FollowsABeam) {
  const MultiHeadAttention layer = with_options({});
  Rng rng(9);
  const Tensor x = random_tensor({2, 5, 8}, rng), next = random_tensor({3, 2, 8}, rng);
  const Tensor rows = tensor({1, 1, 0}, int64);
  for (const Size window : {3, 100}) {
    KeyValueCache cache(window);
    (void)layer.step(x, cache);
    cache.reorder(rows);
    const Tensor whole =
        layer(concatenate({take(x, rows), next}, 1), Mask::causal() & Mask::window(window)).detach();
    EXPECT_TENSOR_NEAR(layer.step(next, cache), slice(whole, 1, {5, 7}), 1e-12, 1e-12);
    EXPECT_EQ(cache.length(), 7);
  }
}

// The room doubles: few moves for many tokens, and a window's stays as large as the window asks for.
TEST(KeyValueCache, MovesItsRowsSeldom) {
  const Tensor k = ones({1, 2, 1, 4}), v = ones({1, 2, 1, 3});
  for (const Size window : {Size{1000000}, Size{50}}) {
    KeyValueCache cache(window);
    int moves = 0;
    const double* last = nullptr;
    Size position_in_room = 0;
    for (Size i = 0; i < 2000; ++i) {
      (void)cache.append(k * static_cast<double>(i), v);
      const Tensor keys = cache.keys();
      const double* const place = select(select(select(keys, 0, 0), 0, 0), 0, -1).data<double>();
      if (i > 0 && place != last + 4) ++moves;
      last = place;
      position_in_room = std::max(position_in_room, keys.size(2));
      EXPECT_EQ(keys.at({0, 1, keys.size(2) - 1, 3}), static_cast<double>(i));
      EXPECT_EQ(keys.at({0, 0, 0, 0}), static_cast<double>(std::max<Size>(i + 1 - window, 0)));
    }
    EXPECT_LE(moves, window == 50 ? 2000 / 50 + 8 : 12);
    EXPECT_LE(position_in_room, std::min<Size>(window, 2000));
  }
}

// ---- what it cannot do ---------------------------------------------------------------------------------

TEST(KeyValueCache, ComputesNoGradientsAndSaysSo) {
  const MultiHeadAttention layer = with_options({});
  (void)named_parameters(layer);
  Rng rng(10);
  const SelfAttention self(8, rng);
  const Tensor x = random_tensor({1, 3, 8}, rng);
  KeyValueCache cache;
  EXPECT_FALSE(layer.step(x, cache).requires_grad());
  EXPECT_THROWS_WITH(
      layer.step(variable(x), cache), GraphError,
      "multi-head attention query.weight [8, 8]: a step of decoding computes no gradients, but x requires "
      "one; decode under NoGrad");
  EXPECT_EQ(cache.length(), 3);
  KeyValueCache of_self;
  EXPECT_THROWS_WITH(self.step(variable(x), of_self), GraphError, "decode under NoGrad");
  EXPECT_THROWS_WITH(of_self.append(variable(ones({1, 1, 2, 3})), ones({1, 1, 2, 3})), GraphError,
                     "cannot be kept, since they require a gradient");
}

TEST(KeyValueCache, RefusesWhatDoesNotContinueItAndStaysAsItWas) {
  const MultiHeadAttention layer = with_options({});
  Rng rng(11);
  const Tensor x = random_tensor({2, 3, 8}, rng);
  const Tensor whole = layer(concatenate({x, x}, 1), Mask::causal()).detach();
  KeyValueCache cache;
  (void)layer.step(x, cache);
  EXPECT_THROWS_WITH(
      layer.step(zeros({1, 1, 8}), cache), ShapeError,
      "key-value cache: keys float64 [1, 4, 1, 2] and values float64 [1, 4, 1, 2] do not continue keys "
      "float64 [2, 4, 3, 2] and values float64 [2, 4, 3, 2]; only the number of tokens may differ, or "
      "reset() first");
  EXPECT_THROWS_WITH(layer.step(zeros({2, 1, 7}), cache), ShapeError, "expected x [batch, tokens, 8]");
  EXPECT_THROWS_WITH(layer.step(x, cache, Mask::keep(ones({3, 5}, boolean))), ShapeError,
                     "axis keys is 5, expected 6");
  EXPECT_THROWS_WITH(cache.append(ones({2, 4, 1, 2}, float32), ones({2, 4, 1, 2}, float32)), ShapeError,
                     "do not continue");
  EXPECT_THROWS_WITH(cache.append(ones({2, 4, 1, 2}), ones({2, 4, 2, 2})), ShapeError,
                     "of one float dtype, equal but for the width");
  EXPECT_THROWS_WITH(cache.append(ones({2, 4, 2}), ones({2, 4, 2})), ShapeError,
                     "are not [batch, kv_heads, tokens, width]");
  EXPECT_THROWS_WITH(cache.trim(4), ValueError, "cannot go back to 4 tokens of 3");
  EXPECT_THROWS_WITH(cache.trim(-1), ValueError, "cannot go back to -1 tokens");
  EXPECT_THROWS_WITH(cache.reorder(tensor({2}, int64)), ValueError, "2");
  EXPECT_THROWS_WITH(cache.reorder(zeros({1, 1}, int64)), ShapeError, "expected rows [batch], got [1, 1]");
  EXPECT_EQ(cache.length(), 3);
  EXPECT_TENSOR_NEAR(layer.step(x, cache), slice(whole, 1, {3, 6}), 1e-12, 1e-12);

  EXPECT_THROWS_WITH(KeyValueCache(-1), ValueError, "the window is negative, -1");
  KeyValueCache narrow(2);
  for (int i = 0; i < 30; ++i) (void)layer.step(slice(x, 1, {0, 1}), narrow);
  EXPECT_THROWS_WITH(narrow.trim(3), ValueError, "is forgotten");
  SelfAttention self(8, rng);
  self.causal = false;
  EXPECT_THROWS_WITH(self.step(x, cache), ValueError, "is not causal");
  MultiHeadAttentionOptions cross;
  cross.memory_width = 5;
  EXPECT_THROWS_WITH(with_options(cross).step(x, cache), ShapeError, "expected x [batch, tokens, 5]");
}

}  // namespace
}  // namespace regard::nn

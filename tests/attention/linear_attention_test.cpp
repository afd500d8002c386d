// Linear attention: the same as the masked quadratic form, without it.
#include <string>

#include <gtest/gtest.h>

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/ops.hpp>

#include "attention/reference.hpp"
#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace regard::test {
namespace {

LinearAttentionOptions options_of(bool causal, const Tensor& lengths = {}) {
  LinearAttentionOptions options;
  options.causal = causal;
  options.lengths = lengths;
  return options;
}

Tensor features(const Tensor& x) {
  const Tensor positive = greater(x, scalar(0, x.dtype()));
  return where(positive, x + 1.0, exp(where(positive, scalar(0, x.dtype()), x)));
}

// With the matrix of weights, and key heads copied for their query heads.
Tensor quadratic(const Tensors& x, const LinearAttentionOptions& options) {
  const Size heads = x[0].size(1), kv_heads = x[1].size(1);
  std::vector<Size> own;
  for (Size h = 0; h < heads; ++h) own.push_back(h / (heads / kv_heads));
  const Tensor ids = from_vector(own, {heads});
  Tensor weights = matmul(features(x[0]), transpose(take(features(x[1]), ids, 1)));
  if (options.causal) weights = tril(weights);
  if (options.lengths.defined()) {
    const Tensor keep =
        less(expand_dims(arange(x[1].size(2)), {0, 1, 2}), expand_dims(options.lengths, {1, 2, 3}));
    weights = where(keep, weights, scalar(0, weights.dtype()));
  }
  const Tensor total = sum(weights, {-1}, keep_axes);
  return matmul(weights / masked_fill(total, equal(total, scalar(0, total.dtype())), 1), take(x[2], ids, 1));
}

TEST(LinearAttention, IsTheQuadraticFormWithItsGradients) {
  for (const bool causal : {false, true})
    for (const Size kv_heads : {4, 2, 1})
      for (const Tensor& lengths : {Tensor(), tensor({37, 0}, int64), tensor({5, 29}, int64)}) {
        Rng rng(91);
        const Inputs x({2, 4, kv_heads, 37, 37, 3, 5}, rng, float32);
        const Tensor upstream = random_tensor({2, 4, 37, 5}, rng, Domain::normal, float32);
        const LinearAttentionOptions options = options_of(causal, lengths);
        const auto run = [&](auto attend, DType dtype) {
          const Tensors leaves = {variable(x.query.to(dtype)), variable(x.key.to(dtype)),
                                  variable(x.value.to(dtype))};
          const Tensor output = attend(leaves, options);
          Tensors results = grad({sum(upstream.to(dtype) * output)}, leaves);
          results.push_back(output.detach());
          return results;
        };
        const auto linear = [](const Tensors& t, const LinearAttentionOptions& o) {
          return linear_attention(t[0], t[1], t[2], o);
        };
        const Tensors expected = run(quadratic, float64), wide = run(linear, float64),
                      narrow = run(linear, float32);
        for (std::size_t i = 0; i < expected.size(); ++i) {
          EXPECT_TENSOR_NEAR(wide[i], expected[i], 1e-12, 1e-12) << i;
          EXPECT_TENSOR_NEAR(narrow[i].to(float64), expected[i], 1e-5, 1e-5) << i;
        }
      }
}

TEST(LinearAttention, HasGradientsOfHigherOrder) {
  for (const bool causal : {false, true})
    for (const Size kv_heads : {2, 1}) {
      Rng rng(92);
      const Inputs x({1, 2, kv_heads, 3, 3, 2, 2}, rng);
      const LinearAttentionOptions options = options_of(causal, tensor({2}, int64));
      const FunctionOfMany f = [&](const Tensors& t) { return linear_attention(t[0], t[1], t[2], options); };
      expect_gradients(f, {x.query, x.key, x.value});
      expect_second_order(f, {x.query, x.key, x.value});
    }
}

TEST(LinearAttention, DoesNotSeeTheFutureNorWhatIsHidden) {
  Rng rng(93);
  const Inputs x({2, 2, 2, 6, 6, 3, 2}, rng);
  const LinearAttentionOptions options = options_of(true, tensor({6, 4}, int64));
  const Tensor clean = linear_attention(x.query, x.key, x.value, options);
  const auto first = [](const Tensor& t) { return slice(t, 2, {0, 3}); };
  const auto changed = [&](const Tensor& t) {
    return concatenate({first(t), random_tensor({2, 2, 3, t.size(3)}, rng)}, 2);
  };
  EXPECT_SAME_BITS(first(linear_attention(changed(x.query), changed(x.key), changed(x.value), options)),
                   first(clean));

  const Tensor hidden = greater_equal(expand_dims(arange(6), {0, 1, 3}), tensor({{{{6}}}, {{{4}}}}, int64));
  for (const double poison : {nan, infinity, -infinity}) {
    const auto results = [&](const Tensor& key, const Tensor& value) {
      const Tensors leaves = {variable(x.query), variable(key), variable(value)};
      const Tensor out = linear_attention(leaves[0], leaves[1], leaves[2], options);
      Tensors all = grad({sum(square(out))}, leaves);
      all.push_back(out.detach());
      return all;
    };
    const Tensors bad = results(where(hidden, scalar(poison), x.key), where(hidden, scalar(poison), x.value));
    const Tensors good = results(x.key, x.value);
    for (std::size_t i = 0; i < good.size(); ++i) EXPECT_SAME_BITS(bad[i], good[i]) << poison << " " << i;
  }
  const Tensor nobody = linear_attention(x.query, x.key, x.value, options_of(false, tensor({0, 6}, int64)));
  EXPECT_SAME_BITS(select(nobody, 0, 0), zeros({2, 6, 2}));
}

// A matrix of weights for so many tokens would be 320 GB.
TEST(LinearAttention, NeedsNoMatrix) {
  const Size n = 200000;
  Rng rng(94);
  const Tensor q = variable(normal({n, 2}, rng)), k = variable(normal({n, 2}, rng)),
               v = variable(normal({n, 1}, rng));
  for (const bool causal : {true, false}) {
    const Tensor y = linear_attention(q, k, v, options_of(causal));
    for (const Tensor& d : grad({sum(square(y))}, {q, k, v})) EXPECT_TRUE(all(isfinite(d)));
    const Tensor w = matmul(slice(features(q), 0, {n - 1, n}), transpose(features(k)));
    EXPECT_TENSOR_NEAR(slice(y, 0, {n - 1, n}), matmul(w, v) / sum(w), 1e-11, 1e-11);
  }
}

}  // namespace
}  // namespace regard::test

// Inputs for attention, every kind of mask, and what plain loops make of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include <regard/attention.hpp>
#include <regard/ops.hpp>

#include "support/tensors.hpp"
#include "twins/attention.hpp"

namespace regard::test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Sizes of one attention call.
struct Sizes4 {
  Size batch = 2, heads = 2, kv_heads = 2, queries = 4, keys = 4, key_width = 3, value_width = 5;

  Shape query() const { return {batch, heads, queries, key_width}; }
  Shape key() const { return {batch, kv_heads, keys, key_width}; }
  Shape value() const { return {batch, kv_heads, keys, value_width}; }
  Shape scores() const { return {batch, heads, queries, keys}; }
};

struct Inputs {
  Tensor query, key, value;

  Inputs(const Sizes4& n, Rng& rng, DType dtype = float64)
      : query(random_tensor(n.query(), rng, Domain::normal, dtype)),
        key(random_tensor(n.key(), rng, Domain::normal, dtype)),
        value(random_tensor(n.value(), rng, Domain::normal, dtype)) {}
};

/// The twin on tensors, in float64. Rank 4.
struct Reference {
  Tensor raw, scaled, masked, weights, output, logsumexp, entropy;
};

inline Reference reference_attention(const Inputs& x, const Condition& visible = always,
                                     const Number& bias = nothing, double scale = 0) {
  const auto plain = [](const Tensor& t) { return Plain(t.shape(), values_of(t)); };
  const auto tensor_of = [](const Plain& p) { return from_values(p.values, p.shape); };
  const AttentionTwin twin =
      attention_twin(plain(x.query), plain(x.key), plain(x.value), visible, bias, scale);
  return {tensor_of(twin.raw),    tensor_of(twin.scaled),    tensor_of(twin.masked), tensor_of(twin.weights),
          tensor_of(twin.output), tensor_of(twin.logsumexp), tensor_of(twin.entropy)};
}

/// A mask, and the same in words that the reference understands.
struct MaskCase {
  std::string name;
  Sizes4 sizes;
  std::function<Mask(DType)> mask;
  Condition visible = always;
  Number bias = nothing;
};

/// Every kind of mask and combinations of them.
inline std::vector<MaskCase> mask_cases() {
  Rng rng(31);
  const Sizes4 square, cross{2, 2, 2, 3, 5, 3, 2}, tall{2, 2, 2, 5, 3, 2, 2}, grouped{2, 6, 2, 4, 4, 3, 5};
  const Tensor lengths = tensor({4, 2}, int64), ids = tensor({{0, 0, 1, 1}, {3, 4, 3, 4}}, int64);
  const Tensor rank2 = random_mask({4, 4}, rng, 0.6), rank3 = random_mask({2, 4, 4}, rng, 0.6);
  const Tensor rank4 = random_mask({2, 2, 4, 4}, rng, 0.6), per_head = random_mask({1, 6, 1, 4}, rng, 0.6);
  const Tensor bias = random_tensor({1, 2, 4, 4}, rng), row_bias = random_tensor({4, 1}, rng);
  const Tensor grouped_bias = random_tensor({2, 6, 4, 4}, rng);
  const auto causal = [](Size, Size, Size i, Size j) { return j <= i; };
  const auto same = [](const Mask& mask) { return [mask](DType) { return mask; }; };
  const auto at2 = [](const Tensor& x) {
    return [x](Size, Size, Size i, Size j) { return x.at({i, j}) != 0; };
  };
  const auto near = [](Size i, Size j, Size radius) { return std::abs(i - j) <= radius; };

  return {
      {"none", square, same({})},
      {"none, cross", cross, same({})},
      {"none, grouped", grouped, same({})},
      {"one key head", {2, 4, 1, 3, 5, 2, 3}, same({})},
      {"causal", square, same(Mask::causal()), causal},
      {"causal, grouped", grouped, same(Mask::causal()), causal},
      {"causal top_left, more keys", cross, same(Mask::causal(Align::top_left)), causal},
      {"causal bottom_right, more keys", cross, same(Mask::causal(Align::bottom_right)),
       [](Size, Size, Size i, Size j) { return j <= i + 2; }},
      {"causal top_left, more queries", tall, same(Mask::causal(Align::top_left)), causal},
      {"causal bottom_right, more queries", tall, same(Mask::causal(Align::bottom_right)),
       [](Size, Size, Size i, Size j) { return j <= i - 2; }},
      {"window", square, same(Mask::window(1)), [near](Size, Size, Size i, Size j) { return near(i, j, 1); }},
      {"sliding window", square, same(Mask::causal() & Mask::window(1)),
       [](Size, Size, Size i, Size j) { return j <= i && j >= i - 1; }},
      {"keep rank 2", square, same(Mask::keep(rank2)), at2(rank2)},
      {"hide rank 2", square, same(Mask::hide(rank2)),
       [rank2](Size, Size, Size i, Size j) {
         return rank2.at({i, j}) == 0;
       }},
      {"keep rank 3", square, same(Mask::keep(rank3)),
       [rank3](Size b, Size, Size i, Size j) {
         return rank3.at({b, i, j}) != 0;
       }},
      {"keep rank 4", square, same(Mask::keep(rank4)),
       [rank4](Size b, Size h, Size i, Size j) {
         return rank4.at({b, h, i, j}) != 0;
       }},
      {"keep per head, grouped", grouped, same(Mask::keep(per_head)),
       [per_head](Size, Size h, Size, Size j) {
         return per_head.at({0, h, 0, j}) != 0;
       }},
      {"padding", square, same(Mask::padding(lengths)),
       [lengths](Size b, Size, Size, Size j) { return static_cast<double>(j) < lengths.at({b}); }},
      {"padding with an empty sequence", square, same(Mask::padding(tensor({3, 0}, int64))),
       [](Size b, Size, Size, Size j) { return b == 0 && j < 3; }},
      {"documents", square, same(Mask::documents(ids)),
       [ids](Size b, Size, Size i, Size j) {
         return ids.at({b, i}) == ids.at({b, j});
       }},
      {"bias", square, [bias](DType dtype) { return Mask::bias(bias.to(dtype)); }, always,
       [bias](Size, Size h, Size i, Size j) {
         return bias.at({0, h, i, j});
       }},
      {"bias, grouped", grouped, [grouped_bias](DType dtype) { return Mask::bias(grouped_bias.to(dtype)); },
       always,
       [grouped_bias](Size b, Size h, Size i, Size j) {
         return grouped_bias.at({b, h, i, j});
       }},
      {"two biases and causal", square,
       [bias, row_bias](DType dtype) {
         return Mask::bias(bias.to(dtype)) & Mask::causal() & Mask::bias(row_bias.to(dtype));
       },
       causal,
       [bias, row_bias](Size, Size h, Size i, Size j) {
         return bias.at({0, h, i, j}) + row_bias.at({i, 0});
       }},
      {"bias with -inf", square,
       [](DType dtype) {
         return Mask::bias(tensor({{0.5, -infinity, 1, 0}}, dtype));
       },
       [](Size, Size, Size, Size j) { return j != 1; },
       [](Size, Size, Size, Size j) { return j == 0   ? 0.5
                                             : j == 2 ? 1.0
                                                      : 0.0; }},
      {"causal, padding, documents, keep", square,
       same(Mask::causal() & Mask::padding(lengths) & Mask::documents(ids) & Mask::keep(rank2)),
       [=](Size b, Size, Size i, Size j) {
         return j <= i && static_cast<double>(j) < lengths.at({b}) && ids.at({b, i}) == ids.at({b, j}) &&
                rank2.at({i, j}) != 0;
       }},
      {"nothing visible", square, same(Mask::hide(ones({4, 4}, boolean))),
       [](Size, Size, Size, Size) { return false; }},
  };
}

}  // namespace regard::test

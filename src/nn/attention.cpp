#include <regard/nn/attention.hpp>

#include <regard/ops.hpp>

#include "nn/layers.hpp"

namespace regard::nn {
namespace {

// Weights go by the probe only where somebody looks.
AttentionOptions with_probe(const ScoreOptions& scores, const Probe& probe) {
  AttentionOptions options;
  static_cast<ScoreOptions&>(options) = scores;
  if (probe.watched()) options.through_weights = [&probe](const Tensor& weights) { return probe(weights); };
  return options;
}

LinearOptions projection(const MultiHeadAttentionOptions& options) {
  LinearOptions linear;
  linear.bias = options.bias;
  linear.init = options.init;
  linear.deviation = options.deviation;
  linear.dtype = options.dtype;
  return linear;
}

// The options with every 0 replaced by what it stands for.
MultiHeadAttentionOptions filled_in(Size width, Size heads, MultiHeadAttentionOptions options) {
  constexpr const char* layer = "multi-head attention";
  require_positive(layer, "the width", width);
  require_positive(layer, "the number of heads", heads);
  if ((options.key_width == 0 || options.value_width == 0) && width % heads != 0)
    throw ValueError("multi-head attention: the width " + std::to_string(width) + " does not divide into " +
                     std::to_string(heads) + " heads; name key_width and value_width");
  if (options.kv_heads == 0) options.kv_heads = heads;
  if (options.key_width == 0) options.key_width = width / heads;
  if (options.value_width == 0) options.value_width = width / heads;
  if (options.memory_width == 0) options.memory_width = width;
  require_positive(layer, "kv_heads", options.kv_heads);
  require_positive(layer, "key_width", options.key_width);
  require_positive(layer, "value_width", options.value_width);
  require_positive(layer, "memory_width", options.memory_width);
  if (heads % options.kv_heads != 0)
    throw ValueError("multi-head attention: " + std::to_string(heads) + " heads cannot share " +
                     std::to_string(options.kv_heads) + " key and value heads evenly");
  if (options.rotary && options.key_width % 2 != 0)
    throw ValueError("multi-head attention: rotary positions turn pairs, so key_width must be even, got " +
                     std::to_string(options.key_width));
  return options;
}

void require_input(const char* layer, const Parameter& weight, const char* what, const Tensor& x, int rank) {
  const Size width = weight.shape()[0];
  if (x.rank() == rank && rank >= 2 && rank <= 3 && x.shape().back() == width) return;
  throw ShapeError(describe(layer, weight) + ": expected " + what + " [batch, tokens, " + std::to_string(width) +
                   "] or [tokens, " + std::to_string(width) + "], got " + to_string(x.shape()));
}

}  // namespace

// ---- one head ------------------------------------------------------------------------------------------

SelfAttention::SelfAttention(Size width, Rng& rng, const SelfAttentionOptions& options)
    : causal(options.causal), scores(options.scores) {
  require_positive("self-attention", "the width", width);
  for (Parameter* w : {&w_q, &w_k, &w_v})
    *w = Parameter(initial({width, width}, options.init, options.deviation, options.dtype, rng));
}

Tensor SelfAttention::operator()(const Tensor& x, AttentionTrace* trace) const {
  const Within here(*this);
  require_input("self-attention", w_q, "x", x, x.rank());
  return attention(matmul(x, w_q), matmul(x, w_k), matmul(x, w_v), causal ? Mask::causal() : Mask::none(),
                   with_probe(scores, weights), trace);
}

// ---- several heads -------------------------------------------------------------------------------------

Tensor split_heads(const Tensor& x, Size heads) {
  if (x.rank() != 3 || heads <= 0 || x.size(2) % heads != 0)
    throw ShapeError("split_heads: expected [batch, tokens, heads·width] with " + std::to_string(heads) +
                     " heads, got " + to_string(x.shape()));
  return permute(reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
}

Tensor merge_heads(const Tensor& x) {
  if (x.rank() != 4)
    throw ShapeError("merge_heads: expected [batch, heads, tokens, width], got " + to_string(x.shape()));
  return reshape(permute(x, {0, 2, 1, 3}), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

MultiHeadAttention::MultiHeadAttention(Size width, Size heads_of_queries, Rng& rng,
                                       const MultiHeadAttentionOptions& given)
    : MultiHeadAttention(filled_in(width, heads_of_queries, given), width, heads_of_queries, rng) {}

MultiHeadAttention::MultiHeadAttention(const MultiHeadAttentionOptions& full, Size width,
                                       Size heads_of_queries, Rng& rng)
    : query(width, heads_of_queries * full.key_width, rng, projection(full)),
      key(full.memory_width, full.kv_heads * full.key_width, rng, projection(full)),
      value(full.memory_width, full.kv_heads * full.value_width, rng, projection(full)),
      output(heads_of_queries * full.value_width, width, rng, projection(full)),
      dropout(full.dropout, rng),
      heads(heads_of_queries),
      kv_heads(full.kv_heads),
      scores(full.scores) {
  if (full.rotary) rotary.emplace();
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Mask& mask, AttentionTrace* trace) const {
  return (*this)(x, x, mask, trace);
}

Tensor MultiHeadAttention::operator()(const Tensor& x, const Tensor& memory, const Mask& mask,
                                      AttentionTrace* trace) const {
  const Within here(*this);
  require_input("multi-head attention", query.weight, "x", x, x.rank());
  require_input("multi-head attention", key.weight, "memory", memory, x.rank());
  if (x.rank() == 2) return squeeze((*this)(expand_dims(x, {0}), expand_dims(memory, {0}), mask, trace), {0});

  Tensor q = split_heads(query(x), heads);
  Tensor k = split_heads(key(memory), kv_heads);
  const Tensor v = split_heads(value(memory), kv_heads);
  if (rotary) {
    q = (*rotary)(q);
    k = (*rotary)(k);
  }
  AttentionOptions options = with_probe(scores, weights);
  options.dropout = dropout.probability();
  options.rng = &dropout.rng;
  return output(merge_heads(attention(q, k, v, mask, options, trace)));
}

}  // namespace regard::nn

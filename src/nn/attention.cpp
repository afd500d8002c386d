#include <regard/nn/attention.hpp>

#include <cmath>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "nn/attention_parts.hpp"
#include "nn/layers.hpp"

namespace regard::nn {
namespace {

// Attention of new tokens to those in the cache and to each other. [batch, heads, tokens, width].
Tensor attend(const Tensor& query, const Tensor& key, const Tensor& value, KeyValueCache& cache,
              const Mask& mask, const AttentionOptions& options, AttentionTrace* trace) {
  const Size before = cache.length();
  const KeyValueCache::Visible visible = cache.append(key, value);
  try {
    return attention(query, visible.keys, visible.values, visible.mask & mask, options, trace);
  } catch (...) {
    cache.trim(before);
    throw;
  }
}

// Each row with the root mean square 1; 0 stays 0.
Tensor of_one_length(const Tensor& x) {
  const double root = std::sqrt(static_cast<double>(x.size(-1)));
  return x / maximum(norm(x, {-1}, keep_axes) / root, scalar(1e-12, x.dtype()));
}

LinearOptions projection(const MultiHeadAttentionOptions& options) {
  return {options.bias, options.init, options.deviation, options.dtype};
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

}  // namespace

AttentionOptions with_probe(const ScoreOptions& scores, const Probe& probe) {
  AttentionOptions options;
  static_cast<ScoreOptions&>(options) = scores;
  if (probe.watched()) options.through_weights = [&probe](const Tensor& weights) { return probe(weights); };
  return options;
}

void require_no_gradient(const char* layer, const Parameter& weight, const Tensor& x) {
  if (x.requires_grad())
    throw GraphError(describe(layer, weight) +
                     ": a step of decoding computes no gradients, but x requires one; "
                     "decode under NoGrad, or give the whole sequence at once");
}

void require_input(const char* layer, const Parameter& weight, const char* what, const Tensor& x, int rank) {
  const Size width = weight.shape()[weight.shape().rank() - 2];
  if (x.rank() == rank && rank >= 2 && rank <= 3 && x.shape().back() == width) return;
  throw ShapeError(describe(layer, weight) + ": expected " + what + " [batch, tokens, " +
                   std::to_string(width) + "] or [tokens, " + std::to_string(width) + "], got " +
                   to_string(x.shape()));
}

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

Tensor SelfAttention::step(const Tensor& x, KeyValueCache& cache, AttentionTrace* trace) const {
  const Within here(*this);
  require_input("self-attention", w_q, "x", x, x.rank());
  require_no_gradient("self-attention", w_q, x);
  if (!causal)
    throw ValueError(describe("self-attention", w_q) +
                     ": is not causal, so that no token is done before the last one has come");
  const NoGrad off;
  const Tensor tokens = reshape(x, {x.rank() == 3 ? x.size(0) : 1, 1, x.size(-2), x.size(-1)});
  return reshape(attend(matmul(tokens, w_q), matmul(tokens, w_k), matmul(tokens, w_v), cache, {},
                        with_probe(scores, weights), trace),
                 x.shape());
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
  if (full.norm) gain = Parameter(ones({heads, 1, 1}, full.dtype));
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

  return output(merge_heads(
      head_outputs(attention(placed(query, x, 0), placed(key, memory, 0),
                             split_heads(value(memory), kv_heads), mask, attention_options(), trace))));
}

Tensor MultiHeadAttention::step(const Tensor& x, KeyValueCache& cache, const Mask& mask,
                                AttentionTrace* trace) const {
  const Within here(*this);
  for (const Linear* made_of_x : {&query, &key})
    require_input("multi-head attention", made_of_x->weight, "x", x, x.rank());
  require_no_gradient("multi-head attention", query.weight, x);
  if (x.rank() == 2) return squeeze(step(expand_dims(x, {0}), cache, mask, trace), {0});
  const NoGrad off;
  return output(merge_heads(
      head_outputs(attend(placed(query, x, cache.length()), placed(key, x, cache.length()),
                          split_heads(value(x), kv_heads), cache, mask, attention_options(), trace))));
}

Tensor MultiHeadAttention::placed(const Linear& projection, const Tensor& x, Size first) const {
  const bool of_queries = &projection == &query;
  Tensor y = split_heads(projection(x), of_queries ? heads : kv_heads);
  if (gain.defined()) y = of_queries ? of_one_length(y) * gain : of_one_length(y);
  return rotary ? (*rotary)(y, first) : y;
}

AttentionOptions MultiHeadAttention::attention_options() const {
  AttentionOptions options = with_probe(scores, weights);
  options.dropout = dropout.probability();
  options.rng = &dropout.rng;
  return options;
}

}  // namespace regard::nn

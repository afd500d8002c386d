#include <regard/nn/transformer.hpp>

#include <algorithm>

#include <regard/ops.hpp>

#include "nn/attention_parts.hpp"
#include "nn/layers.hpp"

namespace regard::nn {
namespace {

// A block's self-attention: what it looks at is as wide as itself.
MultiHeadAttentionOptions of_itself(MultiHeadAttentionOptions options) {
  options.memory_width = 0;
  return options;
}

LayerNormOptions norm_options(const TransformerOptions& o) {
  return {o.epsilon, o.dtype, o.norm};
}

FeedForwardOptions feed_forward_options(const TransformerOptions& o) {
  return {{o.bias, o.init, o.deviation, o.dtype}, o.hidden, o.activation, o.dropout};
}

TransformerOptions with_memory(TransformerOptions options) {
  options.cross_attention = true;
  return options;
}

}  // namespace

TransformerBlock::TransformerBlock(Size width, Rng& rng, const TransformerOptions& options)
    : attention_norm(width, norm_options(options)),
      attention(width, options.heads, rng, of_itself(options)),
      dropout(options.dropout, rng),
      place(options.place) {
  if (options.cross_attention) {
    cross_norm.emplace(width, norm_options(options));
    cross_attention.emplace(width, options.heads, rng, options);
  }
  if (options.feed_forward) {
    feed_forward_norm.emplace(width, norm_options(options));
    feed_forward.emplace(width, rng, feed_forward_options(options));
  }
}

template <class Part>
Tensor TransformerBlock::add(const Tensor& x, const LayerNorm& norm, const Part& part) const {
  return place == NormPlace::before ? x + dropout(part(norm(x))) : norm(x + dropout(part(x)));
}

Tensor TransformerBlock::operator()(const Tensor& x, const Mask& mask) const {
  return (*this)(x, {}, mask, {});
}

Tensor TransformerBlock::operator()(const Tensor& x, const Tensor& memory, const Mask& mask,
                                    const Mask& memory_mask) const {
  return through(
      x, memory, [&](const Tensor& now) { return attention(now, mask); }, memory_mask);
}

Tensor TransformerBlock::step(const Tensor& x, KeyValueCache& cache, const Tensor& memory,
                              const Mask& memory_mask) const {
  require_no_gradient("transformer block", attention.query.weight, x);
  const NoGrad off;
  return through(
      x, memory, [&](const Tensor& now) { return attention.step(now, cache); }, memory_mask);
}

template <class Attend>
Tensor TransformerBlock::through(const Tensor& x, const Tensor& memory, const Attend& attend,
                                 const Mask& memory_mask) const {
  const Within here(*this);
  if (memory.defined() != cross_attention.has_value())
    throw ValueError(describe("transformer block", attention.query.weight) +
                     (memory.defined() ? ": it was given a memory but has no cross-attention"
                                       : ": it has cross-attention and was given no memory"));
  Tensor y = add(x, attention_norm, attend);
  if (cross_attention)
    y = add(y, *cross_norm, [&](const Tensor& now) { return (*cross_attention)(now, memory, memory_mask); });
  if (feed_forward) y = add(y, *feed_forward_norm, *feed_forward);
  return residual(y);
}

Encoder::Encoder(Size width, Size layers, Rng& rng, const TransformerOptions& options) {
  if (layers < 0)
    throw ValueError("transformer: the number of layers must not be negative, got " + std::to_string(layers));
  for (Size i = 0; i < layers; ++i) blocks.emplace_back(width, rng, options);
  if (options.place == NormPlace::before) norm.emplace(width, norm_options(options));
}

Tensor Encoder::operator()(const Tensor& x, const Mask& mask) const {
  const Within here(*this);
  Tensor y = stream(x);
  for (const TransformerBlock& block : blocks) y = block(y, mask);
  return norm ? (*norm)(y) : y;
}

Tensor Encoder::step(const Tensor& x, std::vector<KeyValueCache>& caches, const Tensor& memory,
                     const Mask& memory_mask) const {
  const Within here(*this);
  std::vector<KeyValueCache> next = caches.empty() ? std::vector<KeyValueCache>(blocks.size()) : caches;
  if (next.size() != blocks.size())
    throw ValueError("transformer: " + std::to_string(blocks.size()) + " blocks cannot take a step with " +
                     std::to_string(next.size()) + " caches; begin with none, or with one per block");
  const NoGrad off;
  Tensor y = stream(x);
  for (std::size_t i = 0; i < blocks.size(); ++i) y = blocks[i].step(y, next[i], memory, memory_mask);
  if (norm) y = (*norm)(y);
  caches = std::move(next);
  return y;
}

Decoder::Decoder(Size width, Size layers, Rng& rng, const TransformerOptions& options)
    : Encoder(width, layers, rng, with_memory(options)) {}

Tensor Decoder::operator()(const Tensor& x, const Tensor& memory, const Mask& memory_mask) const {
  const Within here(*this);
  Tensor y = stream(x);
  for (const TransformerBlock& block : blocks) y = block(y, memory, Mask::causal(), memory_mask);
  return norm ? (*norm)(y) : y;
}

// ---- attention that can be read off --------------------------------------------------------------------

DisentangledTransformer::DisentangledTransformer(Size width, Rng& rng, const DisentangledOptions& options)
    : weights(static_cast<std::size_t>(std::max<Size>(options.layers, 0))),
      residual(weights.size()),
      causal(options.causal) {
  require_positive("disentangled transformer", "the width", width);
  require_positive("disentangled transformer", "the number of layers", options.layers);
  require_positive("disentangled transformer", "the number of heads", options.heads);
  for (Size layer = 0; layer < options.layers; ++layer, width *= 1 + options.heads) {
    Tensors heads;
    for (Size head = 0; head < options.heads; ++head)
      heads.push_back(initial({width, width}, options.init, options.deviation, options.dtype, rng));
    scores.emplace_back(stack(heads));
  }
}

Size DisentangledTransformer::output_width() const {
  const Shape& last = scores.back().shape();
  return last[2] * (1 + last[0]);
}

Tensor DisentangledTransformer::operator()(const Tensor& x) const {
  require_input("disentangled transformer", scores[0], "x", x, x.rank());
  if (x.rank() == 2) return squeeze((*this)(expand_dims(x, {0})), {0});
  const Within here(*this);
  Tensor stream = x;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    AttentionOptions options = with_probe({}, weights[i]);
    options.scale = 1;
    const Tensor tokens = expand_dims(stream, {1});
    const Tensor found =
        attention(matmul(tokens, scores[i]), tokens, tokens, causal ? Mask::causal() : Mask::none(), options);
    stream = residual[i](concatenate({stream, merge_heads(found)}, -1));
  }
  return stream;
}

}  // namespace regard::nn

// Transformers: the block, stacks of it that encode or decode, and one that can be read off.
//
// Each block adds to the residual stream what attention and a feed-forward network make of it. The stream and
// the weights of attention go by probes: "blocks.*.residual", "blocks.*.attention.weights".
#pragma once

#include <optional>
#include <vector>

#include <regard/export.hpp>
#include <regard/mask.hpp>
#include <regard/nn/attention.hpp>
#include <regard/nn/dropout.hpp>
#include <regard/nn/feed_forward.hpp>
#include <regard/nn/layer_norm.hpp>
#include <regard/nn/module.hpp>

namespace REGARD_API regard {
namespace nn {

enum class NormPlace {
  before,  ///< x + f(norm(x)), and one more norm behind the last block (Xiong et al. 2020)
  after,   ///< norm(x + f(x)) (Vaswani et al. 2017)
};

/// Attention's options, of which bias, init, deviation, dtype and dropout hold for all parts, and the block's
/// own.
struct TransformerOptions : MultiHeadAttentionOptions {
  TransformerOptions() { bias = true; }

  Size heads = 1;
  bool feed_forward = true;  ///< without it, and without norms, the model is attention alone
  Size hidden = 0;           ///< of the feed-forward network; 0: 4·width
  Activation activation = Activation::gelu;
  NormKind norm = NormKind::layer;
  NormPlace place = NormPlace::before;
  double epsilon = 1e-5;         ///< of the norms
  bool cross_attention = false;  ///< a decoder has it
};

/// Self-attention, cross-attention if there is a memory, and a feed-forward network, each added to its input.
/// PyTorch's TransformerEncoderLayer, or TransformerDecoderLayer with cross-attention.
struct TransformerBlock {
  /// ValueError for what its parts refuse.
  TransformerBlock(Size width, Rng& rng, const TransformerOptions& options = {});
  TransformerBlock(Cloning& c, const TransformerBlock& from)
      : attention_norm(c(from.attention_norm)),
        attention(c(from.attention)),
        cross_norm(c(from.cross_norm)),
        cross_attention(c(from.cross_attention)),
        feed_forward_norm(c(from.feed_forward_norm)),
        feed_forward(c(from.feed_forward)),
        dropout(c(from.dropout)),
        residual(c(from.residual)),
        place(from.place) {}
  TransformerBlock(TransformerBlock&&) = default;
  TransformerBlock& operator=(TransformerBlock&&) = default;

  /// x [batch, tokens, width] or [tokens, width] -> the same shape. ValueError when it wants a memory;
  /// ShapeError.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Mask& mask = {}) const;
  /// memory [batch, keys, memory_width], or without batch. ValueError when it has no cross-attention;
  /// ShapeError.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& memory, const Mask& mask,
                                  const Mask& memory_mask) const;
  /// The tokens behind those in the cache, as MultiHeadAttention::step; the memory comes along each time.
  [[nodiscard]] Tensor step(const Tensor& x, KeyValueCache& cache, const Tensor& memory = {},
                            const Mask& memory_mask = {}) const;

  template <class F>
  void visit(F&& f) {
    f("attention_norm", attention_norm);
    f("attention", attention);
    f("cross_norm", cross_norm);
    f("cross_attention", cross_attention);
    f("feed_forward_norm", feed_forward_norm);
    f("feed_forward", feed_forward);
    f("dropout", dropout);
    f("residual", residual);
  }

  LayerNorm attention_norm;
  MultiHeadAttention attention;
  std::optional<LayerNorm> cross_norm;
  std::optional<MultiHeadAttention> cross_attention;
  std::optional<LayerNorm> feed_forward_norm;
  std::optional<FeedForward> feed_forward;
  Dropout dropout;  ///< of what each part adds
  Probe residual;   ///< the stream behind the block, [.., tokens, width]
  NormPlace place;

 private:
  template <class Part>
  Tensor add(const Tensor& x, const LayerNorm& norm, const Part& part) const;
  // The block with what its self-attention is.
  template <class Attend>
  Tensor through(const Tensor& x, const Tensor& memory, const Attend& attend, const Mask& memory_mask) const;
};

/// Blocks one behind the other.
struct Encoder {
  /// ValueError for a negative number of layers, and for what the blocks refuse.
  Encoder(Size width, Size layers, Rng& rng, const TransformerOptions& options = {});
  Encoder(Cloning& c, const Encoder& from)
      : stream(c(from.stream)), blocks(c(from.blocks)), norm(c(from.norm)) {}
  Encoder(Encoder&&) = default;
  Encoder& operator=(Encoder&&) = default;

  /// x [batch, tokens, width] or [tokens, width] -> the same shape.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Mask& mask = {}) const;
  /// Decoding: x are the tokens behind those in the caches, one per block; none yet make it begin. Together
  /// the same as one causal call (with a window, if the caches have one), see MultiHeadAttention::step. A
  /// Decoder takes its memory each time. ValueError for another number of caches; an error leaves them.
  [[nodiscard]] Tensor step(const Tensor& x, std::vector<KeyValueCache>& caches, const Tensor& memory = {},
                            const Mask& memory_mask = {}) const;

  template <class F>
  void visit(F&& f) {
    f("stream", stream);
    f("blocks", blocks);
    f("norm", norm);
  }

  Probe stream;  ///< the residual stream as it begins
  std::vector<TransformerBlock> blocks;
  std::optional<LayerNorm> norm;  ///< behind the last block, where the blocks have theirs before
};

/// The same for a sequence that is written from left to right, with a look at a memory.
struct Decoder : Encoder {
  Decoder(Size width, Size layers, Rng& rng, const TransformerOptions& options = {});
  Decoder(Cloning& c, const Decoder& from) : Encoder(c, from) {}

  /// x [batch, tokens, width], of which each sees itself and those before it, and all of memory [batch, keys,
  /// memory_width] that memory_mask lets it; both may come without batch. -> x's shape.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& memory, const Mask& memory_mask = {}) const;
};

// ---- attention that can be read off --------------------------------------------------------------------

struct DisentangledOptions {
  Size layers = 2;
  Size heads = 1;
  bool causal = true;
  Init init = Init::zeros;  ///< of the score matrices: at first each token looks at all alike
  double deviation = 0.1;
  DType dtype = float64;
};

/// Nichani, Damian & Lee 2024, section 3: attention alone, whose layers append what they find to the residual
/// stream in place of adding it, so that each part of the stream stays where it can be read. With width d a
/// layer's head gives softmax(x·A·xᵀ, future hidden)·x, and x grows to d·(1 + heads).
struct DisentangledTransformer {
  /// ValueError unless the extents are positive.
  DisentangledTransformer(Size width, Rng& rng, const DisentangledOptions& options = {});
  DisentangledTransformer(Cloning& c, const DisentangledTransformer& from)
      : scores(c(from.scores)), weights(c(from.weights)), residual(c(from.residual)), causal(from.causal) {}
  DisentangledTransformer(DisentangledTransformer&&) = default;
  DisentangledTransformer& operator=(DisentangledTransformer&&) = default;

  /// x [batch, tokens, width] or [tokens, width] -> [.., tokens, output_width()]. ShapeError.
  [[nodiscard]] Tensor operator()(const Tensor& x) const;
  /// width·(1 + heads)^layers
  [[nodiscard]] Size output_width() const;

  template <class F>
  void visit(F&& f) {
    f("scores", scores);
    f("weights", weights);
    f("residual", residual);
  }

  std::vector<Parameter> scores;  ///< of each layer: A [heads, d, d]
  std::vector<Probe> weights;     ///< of each layer: [batch, heads, tokens, tokens]
  std::vector<Probe> residual;    ///< behind each layer: [batch, tokens, d·(1 + heads)]
  bool causal;
};

}  // namespace nn
}  // namespace regard

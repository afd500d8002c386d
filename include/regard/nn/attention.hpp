// Attention with learned projections.
#pragma once

#include <optional>

#include <regard/attention.hpp>
#include <regard/export.hpp>
#include <regard/nn/cache.hpp>
#include <regard/nn/dropout.hpp>
#include <regard/nn/linear.hpp>
#include <regard/nn/module.hpp>
#include <regard/nn/positions.hpp>

namespace REGARD_API regard {
namespace nn {

struct SelfAttentionOptions {
  bool causal = true;
  Init init = Init::glorot_uniform;  ///< Init::normal with this deviation is the course's 0.1·randn
  double deviation = 0.1;
  DType dtype = float64;
  ScoreOptions scores;  ///< how scores become weights
};

/// Self-attention as the course builds it in NumPy: one head over the whole width, no output projection.
/// softmax(x·W_q·(x·W_k)ᵀ / √width, future hidden) · x·W_v
struct SelfAttention {
  /// ValueError unless the width is positive.
  SelfAttention(Size width, Rng& rng, const SelfAttentionOptions& options = {});
  SelfAttention(Cloning& c, const SelfAttention& from)
      : w_q(c(from.w_q)),
        w_k(c(from.w_k)),
        w_v(c(from.w_v)),
        causal(from.causal),
        scores(from.scores),
        weights(c(from.weights)) {}
  SelfAttention(SelfAttention&&) = default;
  SelfAttention& operator=(SelfAttention&&) = default;

  /// x [batch, tokens, width] or [tokens, width] -> the same shape. ShapeError.
  [[nodiscard]] Tensor operator()(const Tensor& x, AttentionTrace* trace = nullptr) const;
  /// As MultiHeadAttention::step. ValueError unless causal.
  [[nodiscard]] Tensor step(const Tensor& x, KeyValueCache& cache, AttentionTrace* trace = nullptr) const;

  template <class F>
  void visit(F&& f) {
    f("w_q", w_q);
    f("w_k", w_k);
    f("w_v", w_v);
    f("weights", weights);
  }

  Parameter w_q, w_k, w_v;  ///< [width, width] each
  bool causal;              ///< a token sees itself and those before it
  ScoreOptions scores;
  Probe weights;  ///< [batch, 1, tokens, tokens]
};

struct MultiHeadAttentionOptions {
  Size kv_heads = 0;      ///< heads of keys and values, dividing those of the queries; 0: as many
  Size key_width = 0;     ///< of queries and keys, per head; 0: width / heads
  Size value_width = 0;   ///< per head; 0: width / heads
  Size memory_width = 0;  ///< of what keys and values are made of; 0: width
  bool bias = false;      ///< in all four projections
  bool rotary = false;    ///< turn queries and keys by their positions, each counted from 0
  bool norm = false;      ///< bring queries and keys to length √key_width, see `gain`
  double dropout = 0;     ///< of weights, in training
  Init init = Init::glorot_uniform;
  double deviation = 0.1;  ///< for Init::normal
  DType dtype = float64;
  ScoreOptions scores;  ///< how scores become weights
};

/// Vaswani et al. 2017, section 3.2.2: heads attend side by side, and an output projection mixes what they
/// bring. Head h has columns h·key_width .. (h + 1)·key_width - 1 of W_Q, and so on; its part of the output
/// comes at rows h·value_width on of W_O.
struct MultiHeadAttention {
  /// `rng` is drawn from for the weights and to name a stream for dropout. ValueError for extents that are
  /// not positive, or do not divide where they must.
  MultiHeadAttention(Size width, Size heads, Rng& rng, const MultiHeadAttentionOptions& options = {});
  MultiHeadAttention(Cloning& c, const MultiHeadAttention& from)
      : query(c(from.query)),
        key(c(from.key)),
        value(c(from.value)),
        output(c(from.output)),
        gain(c(from.gain)),
        dropout(c(from.dropout)),
        weights(c(from.weights)),
        head_outputs(c(from.head_outputs)),
        rotary(from.rotary),
        heads(from.heads),
        kv_heads(from.kv_heads),
        scores(from.scores) {}
  MultiHeadAttention(MultiHeadAttention&&) = default;
  MultiHeadAttention& operator=(MultiHeadAttention&&) = default;

  /// Self-attention: x [batch, tokens, width] or [tokens, width] -> the same shape. ShapeError names module,
  /// expected and found. The trace's tensors have a heads axis.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Mask& mask = {},
                                  AttentionTrace* trace = nullptr) const;
  /// Cross-attention: queries from x [batch, queries, width], keys and values from memory [batch, keys,
  /// memory_width]; or both without batch. -> x's shape.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& memory, const Mask& mask,
                                  AttentionTrace* trace = nullptr) const;

  /// Decoding: x [batch, tokens, width] or [tokens, width] are the tokens behind those in the cache, which
  /// takes them in; together the same as one causal call (with a window, if the cache has one) for all that
  /// was ever given, at the cost of the new tokens. Rotary positions go on at cache.length(). `mask` is for
  /// scores [batch, heads, tokens, visible keys with the new ones]; Mask::alibi is aligned bottom_right.
  /// Computed without gradients: GraphError when x requires one. ShapeError, DTypeError for what the cache
  /// cannot take in; an error leaves it as it was.
  [[nodiscard]] Tensor step(const Tensor& x, KeyValueCache& cache, const Mask& mask = {},
                            AttentionTrace* trace = nullptr) const;

  template <class F>
  void visit(F&& f) {
    f("query", query);
    f("key", key);
    f("value", value);
    f("output", output);
    f("gain", gain);
    f("dropout", dropout);
    f("weights", weights);
    f("head_outputs", head_outputs);
  }

  Linear query;   ///< width -> heads·key_width
  Linear key;     ///< memory_width -> kv_heads·key_width
  Linear value;   ///< memory_width -> kv_heads·value_width
  Linear output;  ///< heads·value_width -> width
  /// [heads, 1, 1], only with norm: queries are multiplied by it, from 1 on. Henry et al. 2020 divide queries
  /// and keys by their length and multiply the scores by a learned g: here g = gain·scale·key_width.
  Parameter gain;
  Dropout dropout;
  Probe weights;       ///< [batch, heads, queries, keys], before dropout
  Probe head_outputs;  ///< [batch, heads, queries, value_width], before the output projection
  std::optional<RotaryPositions> rotary;
  Size heads, kv_heads;
  ScoreOptions scores;

 private:
  // The options with nothing left at 0.
  MultiHeadAttention(const MultiHeadAttentionOptions& full, Size width, Size heads, Rng& rng);
  // x through the projection to queries or keys, split into heads, brought to one length, turned by its
  // positions.
  [[nodiscard]] Tensor placed(const Linear& projection, const Tensor& x, Size first) const;
  [[nodiscard]] AttentionOptions attention_options() const;
};

/// [batch, tokens, heads·width] -> [batch, heads, tokens, width]. ShapeError when the last axis does not
/// divide.
[[nodiscard]] Tensor split_heads(const Tensor& x, Size heads);
/// The inverse: token by token, the heads side by side. ShapeError unless rank 4.
[[nodiscard]] Tensor merge_heads(const Tensor& x);

}  // namespace nn
}  // namespace regard

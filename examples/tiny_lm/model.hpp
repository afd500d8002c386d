#pragma once
// A language model of characters: an embedding, a pre-norm transformer whose queries and keys are turned by
// their positions, and a linear layer that gives each character of the alphabet a score for coming next.

#include <cstdint>
#include <vector>

#include <regard/nn/embedding.hpp>
#include <regard/nn/linear.hpp>
#include <regard/nn/transformer.hpp>

namespace tiny_lm {

struct ModelSettings {
  std::int64_t width = 48;
  std::int64_t heads = 4;
  std::int64_t layers = 2;
  std::int64_t context = 16;  ///< characters that one sees in a layer, itself included
  bool attention_only = false;
  double dropout = 0.1;  ///< in training
  regard::DType dtype = regard::float32;
};

/// Throws regard::ValueError, with the reason, for sizes out of range or that do not go together.
void check(const ModelSettings& settings);

struct TinyLm {
  /// In Mode::evaluate: what writes leaves nothing out. Throws what check() throws.
  TinyLm(std::int64_t alphabet, const ModelSettings& settings, regard::Rng& rng);

  /// ids [batch, tokens] -> scores of what comes next [batch, tokens, alphabet].
  regard::Tensor operator()(const regard::Tensor& ids) const;
  /// The same for ids behind those in the caches, without gradients; see caches().
  regard::Tensor step(const regard::Tensor& ids, std::vector<regard::nn::KeyValueCache>& caches) const;
  /// One per layer, empty, that forget what no character sees any more.
  std::vector<regard::nn::KeyValueCache> caches() const;

  template <class F>
  void visit(F&& f) {
    f("embedding", embedding);
    f("transformer", transformer);
    f("output", output);
  }

  ModelSettings settings;
  regard::nn::Embedding embedding;
  regard::nn::Encoder transformer;
  regard::nn::Linear output;
};

}  // namespace tiny_lm

#pragma once
// The models of the demo, written out. Where the pronoun looks is decided by W_Q, W_K and the embeddings;
// what it reads there is the referent number alone:
//
//   c_i    = C[referent_i], 0 where a token refers to nothing
//   x_i    = E[word_i] + P[i] + c_i
//   scores = (x W_Q)(x W_K)ᵀ / √head_width
//   logits = (softmax(scores) c W_V)[pronoun] U + b
//
// So the logits are a vote of the numbers, weighted by attention: the answer shows where the model looked.
// (If values held words as well, a symmetric score could answer the mutual task by way of tokens that refer
// to nothing.)

#include <vector>

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/mask.hpp>
#include <regard/ops.hpp>

#include "coreference/batch.hpp"
#include "coreference/settings.hpp"

namespace coreference {

/// A batch as tensors. batch, length: its sizes.
struct Inputs {
  explicit Inputs(const Batch& from, regard::DType dtype);

  std::int64_t batch = 0, length = 0;
  regard::Tensor tokens;           // int64 [batch, length]
  regard::Tensor referents;        // int64 [batch, length]
  regard::Tensor lengths;          // int64 [batch]
  regard::Tensor pronoun_rows;     // int64 [batch], into [batch · length] rows laid end to end
  regard::Tensor antecedent_rows;  // the same; undefined unless every sentence has an antecedent
  regard::Tensor clause;           // [batch, 1, length], weights of the mean over pronoun .. predicate
  regard::Tensor clause_end;       // int64 [batch], last position of the clause
  regard::Tensor targets;          // int64 [batch]
  regard::Tensor reverse_targets;  // int64 [batch]; undefined unless mutual
};

/// One attention layer's matrices, and the scores they are told to make.
struct Head {
  Head(const ModelSettings& settings, std::int64_t value_width, regard::Rng& rng);

  /// asking, asked, giving: [batch, rows, width], of which queries, keys and values are made.
  /// -> [batch, rows of asking, heads · value_width]
  regard::Tensor operator()(const regard::Tensor& asking, const regard::Tensor& asked,
                            const regard::Tensor& giving, const regard::Mask& mask,
                            regard::AttentionTrace* trace) const;

  template <class F>
  void visit(F&& f) {
    if (query.defined()) f("query", query);
    if (key.defined()) f("key", key);
    if (distance.defined()) f("distance", distance);
    f("value", value);
  }

  Scores scores;
  Positions positions;
  std::int64_t heads, head_width, value_width;
  regard::Parameter query;     // W_Q [width, heads · head_width]; undefined for scores without projections
  regard::Parameter key;       // W_K, the same; undefined where W_Q serves for both
  regard::Parameter value;     // W_V [width, heads · value_width]
  regard::Parameter distance;  // [heads, distances], a bias for each; undefined unless positions are relative
};

/// What a model says of a batch.
struct Answer {
  regard::Tensor logits;          // [batch, referent_numbers], read at the query
  regard::Tensor reverse_logits;  // the same, read at the antecedent; undefined unless mutual
};

/// What it looked at, layer by layer: weights [batch, heads, queries, keys], the readout layer last.
using Traces = std::vector<regard::AttentionTrace>;

struct Model {
  Model(const ModelSettings& settings, regard::Rng& rng);
  Model(Model&&) = default;
  Model& operator=(Model&&) = default;

  /// `traces`, if given, gets one entry per layer; it changes no bit of the answer.
  Answer operator()(const Inputs& inputs, Traces* traces = nullptr) const;

  template <class F>
  void visit(F&& f) {
    f("embedding.word", word);
    f("embedding.referent", referent);
    if (position.defined()) f("embedding.position", position);
    for (std::size_t i = 0; i < layers.size(); ++i) f("layer" + std::to_string(i + 1), layers[i]);
    f("readout.weight", weight);
    f("readout.bias", bias);
  }

  ModelSettings settings;
  regard::Parameter word;      // E [lexicon, width]
  regard::Parameter referent;  // C [referent_numbers, width]
  regard::Parameter position;  // P [longest_sentence, width]; undefined where positions act on scores
  std::vector<Head> layers;    // one, or the local one and then the readout's
  regard::Parameter weight;    // U [heads · value_width, referent_numbers]
  regard::Parameter bias;      // b [referent_numbers]

 private:
  regard::Tensor embed(const Inputs& inputs, const regard::Tensor& numbers) const;
  regard::Mask visible(const Inputs& inputs) const;
};

}  // namespace coreference

#pragma once
// Two models that answer a question by attention over the sentences of its story.
//
//   sentence i:  m_i = A·bag_i + T[age_i]  to be found by,   c_i = C·bag_i + T'[age_i]  to be read
//   hops (memory network, Sukhbaatar et al. 2015):  u = B·question, then for each hop u += attention(u, m, c)
//   window (self-attention, then one hop):  h = x + attention(x, x, x within one sentence),
//   attention(B·question, h, h)
//
// Every attention has W_Q, W_K and W_V of its own, which start near the identity.

#include <string>
#include <vector>

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/mask.hpp>

#include "babi/settings.hpp"
#include "babi/stories.hpp"

namespace babi {

/// How scores become weights. linear: they are the weights, in the first part of a run (linear start).
enum class Weighting { linear, softmax };

/// One attention over the sentences.
struct Hop {
  Hop(const ModelSettings& settings, regard::Rng& rng);

  /// asking [batch, queries, width], asked and giving [batch, sentences, width] -> [batch, queries, width].
  /// With softmax this is regard::attention. In the linear start the weights are what the mask lets through
  /// of the scores, and a trace gets nothing else.
  regard::Tensor operator()(const regard::Tensor& asking, const regard::Tensor& asked,
                            const regard::Tensor& giving, const regard::Mask& mask, Weighting weighting,
                            regard::AttentionTrace* trace) const;

  template <class F>
  void visit(F&& f) {
    f("query", query);
    f("key", key);
    f("value", value);
  }

  regard::Parameter query, key, value;  // W_Q, W_K, W_V [width, width]
};

/// What each attention looked at, in the order of the model: weights [batch, 1, queries, sentences].
using Traces = std::vector<regard::AttentionTrace>;

struct Model {
  Model(const ModelSettings& settings, regard::Rng& rng);
  Model(Model&&) = default;
  Model& operator=(Model&&) = default;

  /// Logits [batch, answers]. `traces`, if given, gets one entry per attention; it changes no bit of the
  /// answer.
  regard::Tensor operator()(const Batch& batch, Weighting weighting, Traces* traces = nullptr) const;

  template <class F>
  void visit(F&& f) {
    f("words.question", question_words);
    f("words.key", key_words);
    if (value_words.defined()) f("words.value", value_words);
    f("ages.key", key_ages);
    if (value_ages.defined()) f("ages.value", value_ages);
    for (std::size_t i = 0; i < layers.size(); ++i) f("attention" + std::to_string(i + 1), layers[i]);
    f("answer.weight", weight);
    f("answer.bias", bias);
  }

  ModelSettings settings;
  regard::Parameter question_words;  // B [words, width]
  regard::Parameter key_words;       // A [words, width]
  regard::Parameter value_words;     // C [words, width]; undefined in the model `window`
  regard::Parameter key_ages;        // T [ages, width]
  regard::Parameter value_ages;      // T' [ages, width]; undefined in the model `window`
  std::vector<Hop> layers;           // the hops; or the window's, and then the question's
  regard::Parameter weight;          // [width, answers]
  regard::Parameter bias;            // [answers]
};

/// To be called when the linear start ends. Without softmax an attention cannot tell its scores and values
/// from the negatives of both, and half of the runs come to look at a sentence with a large negative score,
/// of which softmax would make no attention at all. Where the largest scores, by magnitude, are mostly
/// negative for this batch, W_Q and W_V are negated: the linear model stays the same function to the last
/// bit, and softmax begins where it ended.
void orient(Model& model, const Batch& batch);

/// The numbers of a model's parameters, in the order of visit(): what may cross threads.
using Numbers = std::vector<std::vector<double>>;
Numbers numbers_of(const Model& model);
/// Throws regard::ShapeError if they are not those of such a model.
void assign(Model& model, const Numbers& numbers);

}  // namespace babi

#pragma once
// The planted-bugs lab: a small model in which any one of twelve bugs can be planted, and the checks that
// look for them. A check does not know which bug there is.

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include <regard/regard.hpp>

#include "lessons/common/lesson.hpp"

namespace bugs {

enum class Bug {
  none,
  no_scale,
  softmax_axis,
  mask_after_softmax,
  mask_flipped,
  key_not_transposed,
  gradient_overwritten,
  gradients_not_cleared,
  dropout_stays_on,
  value_frozen,
  upper_left_mask,
  learning_rate,
  labels_shifted,
};

/// The checks, in the order of the table's columns.
enum class Check {
  gradient_check,
  leak_audit,
  row_sums,
  score_size,
  two_evaluations,
  cached_is_full,
  other_length,
  doctor,
  same_batch_twice,
  control_run,
  too_good,
};
inline constexpr std::size_t check_count = 11;

struct Planted {
  Bug bug;
  std::string flag;          ///< of --bug
  lessons::Text name;        ///< for people
  std::string right, wrong;  ///< the line as it should be, and as the bug has it
  Check found_by;            ///< the check named for it
  lessons::Text why;         ///< how the bug shows there
};
/// In the order of the table's rows.
[[nodiscard]] const std::vector<Planted>& planted();

struct CheckText {
  lessons::Text key;   ///< short
  lessons::Text name;  ///< what is asked
};
[[nodiscard]] const CheckText& text(Check check);

// ---- the model -----------------------------------------------------------------------------------------

inline constexpr regard::Size vocabulary = 8, tokens = 16, width = 16;

/// What attention computed on its way.
struct Steps {
  regard::Tensor scores, weights;  ///< [.., queries, keys]
};

/// Embeddings and positions, one causal attention written out with plain operations, a residual, an output.
struct Model {
  explicit Model(Bug planted, regard::Rng rng = regard::Rng(3));

  /// ids [batch, tokens] -> logits [batch, tokens, vocabulary], each token's for the token behind it.
  [[nodiscard]] regard::Tensor operator()(const regard::Tensor& ids) const;
  /// The same, one token at a time with the keys and values of those before it.
  [[nodiscard]] regard::Tensor decode(const regard::Tensor& ids) const;
  /// x [.., tokens, width]
  [[nodiscard]] regard::Tensor embed(const regard::Tensor& ids, regard::Size first = 0) const;
  [[nodiscard]] regard::Tensor logits(const regard::Tensor& x, Steps* steps = nullptr) const;

  template <class F>
  void visit(F&& f) {
    f("embedding", embedding);
    f("positions", positions);
    f("w_q", w_q);
    f("w_k", w_k);
    f("w_v", w_v);
    f("output", output);
    f("dropout", dropout);
  }

  regard::Parameter embedding, positions;  ///< [vocabulary, width], [tokens, width]
  regard::Parameter w_q, w_k, w_v;         ///< [width, width] each
  regard::Parameter output;                ///< [width, vocabulary]
  regard::nn::Dropout dropout;             ///< of weights
  Bug bug;

 private:
  [[nodiscard]] regard::Tensor weigh(const regard::Tensor& query, const regard::Tensor& key,
                                     Steps* steps) const;
  [[nodiscard]] regard::Tensor mix(const regard::Tensor& x, const regard::Tensor& query,
                                   const regard::Tensor& key, const regard::Tensor& value,
                                   Steps* steps) const;
};

// ---- the data and the training -------------------------------------------------------------------------

/// Sequences whose next token is, four times in five, the one before last plus one, and else any.
struct Batch {
  regard::Tensor ids, labels;  ///< int64 [batch, tokens]
  double source;               ///< mean -log p(next token) for who knows how they are made: no honest loss is
                               ///< much lower
};
[[nodiscard]] Batch draw(Bug bug, regard::Size sequences, regard::Rng& rng);

/// The first half of a training step: the gradients of the batch's loss, which is returned.
double bring_gradients(Model& model, const Batch& batch);

/// The loss on sequences that were not trained on, and the source's own.
struct ControlRun {
  double before, after, source;
};
/// 600 steps of Adam.
[[nodiscard]] ControlRun train(Bug bug);

// ---- the checks ----------------------------------------------------------------------------------------

struct Outcome {
  bool alarm;
  lessons::Text said;  ///< what was measured
};
using Outcomes = std::array<Outcome, check_count>;

/// Every check on a model with that bug.
[[nodiscard]] Outcomes examine(Bug bug);

}  // namespace bugs

#pragma once
// One training run: what is measured on the way, and what the model can do in the end.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include <regard/study/frame.hpp>

#include "babi/data.hpp"
#include "babi/model.hpp"
#include "babi/settings.hpp"

namespace babi {

/// What a model can do on one set of questions.
struct Score {
  double accuracy = 0;
  double loss = 0;  ///< mean cross-entropy
  /// Mean attention of the last hop on the sentence with the answer (the last supporting one). As edge_mass,
  /// none without softmax.
  std::optional<double> answer_mass;
  /// Of the model `window`: mean attention of the sentence with the answer, which has a pronoun, to the
  /// sentence of its antecedent (the supporting one before it).
  std::optional<double> edge_mass;
};

/// What a model makes of one question.
struct Answered {
  std::int64_t answer = 0;  ///< class
  bool right = false;
};

/// A run, in plain numbers.
struct Run {
  std::uint64_t seed = 0;
  std::int64_t steps = 0;  ///< done; fewer than asked for if the run was interrupted
  double seconds = 0;
  bool interrupted = false;
  Weighting weighting = Weighting::softmax;  ///< linear for a run that ended before softmax was switched on
  Score training, validation;
  std::vector<regard::study::AttentionFrame> frames;
  Numbers numbers;
};

/// What is known at a logged step.
struct Progress {
  std::int64_t step = 0;
  Weighting weighting = Weighting::linear;
  double loss = 0;        ///< of training, mean since the last log
  double validation = 0;  ///< accuracy
};

/// Trains a model made from the seed. `on_log` is called at step 0, every log_every steps and at the end.
/// Stops early, cleanly, once `stop` is true. Throws regard::Error when the loss is no longer finite.
Run train(const Data& data, const ModelSettings& model, const TrainSettings& settings,
          const std::function<void(const Progress&)>& on_log = {}, const std::atomic<bool>* stop = nullptr);

/// The run with the highest training accuracy, among equals that with the smallest training loss: a failed
/// run shows in training already, so that neither validation nor test questions are needed to choose. Throws
/// regard::ValueError for none.
const Run& choose(const std::vector<Run>& runs);

/// The model of a run, for the thread that asks.
Model model_of(const Run& run, const ModelSettings& settings);

Score evaluate(const Model& model, const std::vector<Question>& questions, Weighting weighting);
/// One answer per question.
std::vector<Answered> answer(const Model& model, const std::vector<Question>& questions, Weighting weighting);

/// What the model looks at in story `index` of a part, by softmax: for the hops one panel with a row each,
/// for the window one panel of all sentences and one of the question. The sentence with the answer is marked.
regard::study::WatchedSentence watch(const Model& model, const Part& part, std::size_t index);

}  // namespace babi

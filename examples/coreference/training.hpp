#pragma once
// One training run: what is measured on the way, and what the model can do in the end.

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <regard/random.hpp>
#include <regard/study/frame.hpp>

#include "coreference/metrics.hpp"
#include "coreference/model.hpp"
#include "coreference/splits.hpp"

namespace coreference {

/// What a model can do on one set of sentences. `mass` and what goes with it are those of the readout layer's
/// best head, the one with the largest mean mass on the antecedent.
struct Score {
  Metrics metrics;
  std::vector<double> mass_per_head;
};

/// How much attention a watched sentence gives to the antecedent, before and after training.
struct SeedSentence {
  std::string text;
  std::string antecedent;
  double mass_before = 0;
  double mass_after = 0;
};

struct Result {
  ModelSettings model;
  TrainSettings train;
  std::int64_t steps = 0;  ///< done; fewer than asked for if the run was interrupted
  double seconds = 0;      ///< of training, without the evaluation after it
  bool interrupted = false;
  Score validation, held_out, long_1, long_2;
  std::vector<SeedSentence> seed_sentences;  ///< empty for tasks that have none
  regard::study::AttentionFilm film;
};

/// Indices of the sentences of each batch: every sentence once an epoch, in a new order each time.
class Batches {
 public:
  Batches(std::size_t sentences, const TrainSettings& settings);
  std::vector<std::size_t> next();

 private:
  std::vector<std::size_t> order_;
  std::size_t size_, next_;
  regard::Rng rng_;
};

/// What is known at a logged step.
struct Progress {
  std::int64_t step;
  double loss;
  const regard::study::AttentionFrame& frame;
};

/// A run: data and model made from the seed, trained step by step.
class TrainingRun {
 public:
  TrainingRun(const ModelSettings& model, const TrainSettings& train);

  /// Trains; `on_log` is called at step 0, every log_every steps and at the end. Stops early, cleanly, once
  /// `stop` is true. Throws regard::Error when the loss is no longer finite.
  Result train(const std::function<void(const Progress&)>& on_log = {},
               const std::atomic<bool>* stop = nullptr);

  Model& model() { return model_; }
  const Splits& splits() const { return splits_; }

 private:
  regard::Tensor loss(const Batch& batch) const;
  regard::study::AttentionFrame frame(std::int64_t step, double loss) const;
  double antecedent_mass(const Sentence& sentence) const;

  ModelSettings model_settings_;
  TrainSettings train_settings_;
  Splits splits_;
  std::vector<Sentence> watched_;     ///< the film's sentences
  std::vector<Sentence> log_sample_;  ///< what the curves are measured on
  Model model_;
};

/// The model's answers on a set, in batches. Zero counts for an empty set.
Score evaluate(const Model& model, const std::vector<Sentence>& sentences);

/// One panel for each layer and head: what each token of the sentence looks at.
regard::study::WatchedSentence watch(const Model& model, const Sentence& sentence);

/// Attention of the readout layer's query row on each token, one row per head: [heads][length].
std::vector<std::vector<double>> readout_rows(const Model& model, const Sentence& sentence);

}  // namespace coreference

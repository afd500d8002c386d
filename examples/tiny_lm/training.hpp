#pragma once
// One training run, measured against what counting can tell.

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <regard/study/frame.hpp>

#include "tiny_lm/model.hpp"
#include "tiny_lm/text.hpp"

namespace tiny_lm {

struct TrainSettings {
  std::int64_t steps = 600;
  std::int64_t batch = 8;
  double learning_rate = 5e-3;
  std::int64_t log_every = 20;
  std::uint64_t seed = 1;
};

/// Throws regard::ValueError, with the reason.
void check(const TrainSettings& settings);

struct Result {
  ModelSettings model;
  TrainSettings train;
  std::int64_t parameters = 0;
  std::int64_t characters = 0, alphabet = 0;  ///< of the text
  Entropies entropies;                        ///< of the text
  double loss_before = 0, loss = 0;           ///< of the text, in nats per character
  std::int64_t steps = 0;                     ///< done; fewer than asked for if the run was interrupted
  double seconds = 0;
  bool interrupted = false;
  std::optional<std::int64_t>
      below_bigram;  ///< the first logged step from which on the loss stays below the bigram's
  regard::study::AttentionFilm film;  ///< a sample line, one panel per layer and head; measures "loss"
};

struct Progress {
  std::int64_t step;
  double loss;  ///< of the text
};

class TrainingRun {
 public:
  /// Throws regard::ValueError when the text is not longer than the context, when the alphabet lacks a
  /// character of it, and what the settings' checks throw.
  TrainingRun(std::u32string text, const Alphabet& alphabet, const ModelSettings& model,
              const TrainSettings& train);

  /// Trains; `on_log` is called at step 0, every log_every steps and at the end. Stops early, cleanly, once
  /// `stop` is true. Throws regard::Error when the loss is no longer finite.
  Result train(const std::function<void(const Progress&)>& on_log = {},
               const std::atomic<bool>* stop = nullptr);

  TinyLm& model() { return model_; }
  /// Mean cross entropy of the text in stretches as training takes them, all or 128 spread evenly. The first
  /// character of each has to be guessed from the one before alone.
  double text_loss() const;

 private:
  /// Ids [stretches, tokens] from these places on, and what follows each.
  struct Batch {
    regard::Tensor ids, next;
  };
  Batch batch_at(const std::vector<std::int64_t>& places) const;
  regard::study::AttentionFrame frame(std::int64_t step, double loss) const;

  std::u32string text_;
  std::vector<std::int64_t> ids_;
  /// Characters that are learned at once: enough for what the last layer knows at the end of a stretch,
  /// through the layers below, to be what it knows when it writes on and on.
  std::int64_t stretch_;
  ModelSettings model_settings_;
  TrainSettings train_settings_;
  Alphabet alphabet_;
  TinyLm model_;
};

/// One panel per layer and head: what each character of the line looks at, named "layer 1, head 1" and so on.
regard::study::WatchedSentence watch(const TinyLm& model, const Alphabet& alphabet, std::u32string_view line);

}  // namespace tiny_lm

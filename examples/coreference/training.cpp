#include "coreference/training.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>

#include <regard/error.hpp>
#include <regard/loss.hpp>
#include <regard/nn/module.hpp>
#include <regard/optim.hpp>

namespace coreference {
namespace {

using regard::Rng;
using regard::Tensor;
using regard::study::AttentionFrame;
using regard::study::AttentionPanel;
using regard::study::WatchedSentence;

constexpr std::size_t evaluation_batch = 250;
constexpr std::size_t logged_sentences = 200;  // enough for a curve; the final figures use all
enum Stream : std::uint64_t { initial_weights = 1, batch_order = 2, label_order = 3 };

SplitOptions split_options(const ModelSettings& model, const TrainSettings& train) {
  SplitOptions options;
  options.language = model.language;
  options.task = model.task;
  options.training = static_cast<std::size_t>(train.sentences);
  options.seed = train.seed;
  return options;
}

Model new_model(const ModelSettings& settings, std::uint64_t seed) {
  Rng rng = Rng(seed).split(initial_weights);
  return Model(settings, rng);
}

std::unique_ptr<regard::Optimizer> new_optimizer(Model& model, const TrainSettings& settings) {
  if (settings.optimizer == OptimizerKind::sgd) {
    regard::SgdOptions options;
    options.learning_rate = settings.learning_rate;
    return std::make_unique<regard::Sgd>(regard::parameters(model), options);
  }
  regard::AdamOptions options;
  options.learning_rate = settings.learning_rate;
  return std::make_unique<regard::Adam>(regard::parameters(model), options);
}

Tensor loss_of(const Answer& answer, const Inputs& inputs) {
  const Tensor forward = regard::cross_entropy(answer.logits, inputs.targets);
  if (!answer.reverse_logits.defined()) return forward;
  return (forward + regard::cross_entropy(answer.reverse_logits, inputs.reverse_targets)) * 0.5;
}

/// Row `query` of each sentence's attention map in one head: [batch, length] from weights [batch, heads,
/// queries, keys]. A clause asks with its only row.
std::vector<double> query_rows(const std::vector<double>& weights, const regard::Shape& shape,
                               std::int64_t head, const std::vector<std::int64_t>& query) {
  const std::int64_t heads = shape[1], queries = shape[2], keys = shape[3];
  std::vector<double> rows;
  for (std::int64_t b = 0; b < shape[0]; ++b) {
    const std::int64_t row = queries == 1 ? 0 : query[static_cast<std::size_t>(b)];
    const auto first = weights.begin() + ((b * heads + head) * queries + row) * keys;
    rows.insert(rows.end(), first, first + keys);
  }
  return rows;
}

std::vector<double> doubles(const Tensor& x) {
  return x.detach().to(regard::float64).to_vector<double>();
}

std::vector<bool> largest_is_target(const Tensor& logits, const Tensor& targets) {
  const std::vector<std::int64_t> guess = regard::argmax(logits).to_vector<std::int64_t>();
  const std::vector<std::int64_t> target = targets.to_vector<std::int64_t>();
  std::vector<bool> right(guess.size());
  for (std::size_t i = 0; i < guess.size(); ++i) right[i] = guess[i] == target[i];
  return right;
}

std::string antecedent_word(const Sentence& sentence) {
  return Lexicon::of(sentence.language).display(sentence.token(sentence.antecedent));
}

}  // namespace

Batches::Batches(std::size_t sentences, const TrainSettings& settings)
    : order_(sentences),
      size_(std::min(sentences, static_cast<std::size_t>(settings.batch))),
      next_(sentences),
      rng_(Rng(settings.seed).split(batch_order)) {
  std::iota(order_.begin(), order_.end(), std::size_t{0});
}

std::vector<std::size_t> Batches::next() {
  if (next_ + size_ > order_.size()) {
    rng_.shuffle(order_);
    next_ = 0;
  }
  const auto first = order_.begin() + static_cast<std::ptrdiff_t>(next_);
  next_ += size_;
  return {first, first + static_cast<std::ptrdiff_t>(size_)};
}

Score evaluate(const Model& model, const std::vector<Sentence>& sentences) {
  const regard::NoGrad no_grad;
  Score score;
  if (sentences.empty()) return score;
  std::vector<Evaluation> per_head(static_cast<std::size_t>(model.settings.heads));
  std::size_t both_right = 0;
  for (std::size_t first = 0; first < sentences.size(); first += evaluation_batch) {
    std::vector<std::size_t> chosen(std::min(evaluation_batch, sentences.size() - first));
    std::iota(chosen.begin(), chosen.end(), first);
    const Batch batch = make_batch(sentences, chosen);
    const Inputs inputs(batch, model.settings.dtype);
    Traces traces;
    const Answer answer = model(inputs, &traces);
    const std::vector<double> logits = doubles(answer.logits), weights = doubles(traces.back().weights);
    for (std::size_t head = 0; head < per_head.size(); ++head)
      per_head[head].add(
          batch, logits,
          query_rows(weights, traces.back().weights.shape(), static_cast<std::int64_t>(head), batch.pronoun));
    if (!answer.reverse_logits.defined()) continue;
    const std::vector<bool> there = largest_is_target(answer.logits, inputs.targets);
    const std::vector<bool> back = largest_is_target(answer.reverse_logits, inputs.reverse_targets);
    for (std::size_t i = 0; i < there.size(); ++i) both_right += there[i] && back[i];
  }
  for (const Evaluation& evaluation : per_head) {
    const Metrics metrics = evaluation.result();
    if (score.mass_per_head.empty() || metrics.mass > score.metrics.mass) score.metrics = metrics;
    score.mass_per_head.push_back(metrics.mass);
  }
  if (model.settings.task == Task::mutual)
    score.metrics.accuracy = static_cast<double>(both_right) / static_cast<double>(sentences.size());
  return score;
}

WatchedSentence watch(const Model& model, const Sentence& sentence) {
  const regard::NoGrad no_grad;
  Traces traces;
  (void)model(Inputs(make_batch({sentence}), model.settings.dtype), &traces);
  WatchedSentence watched{sentence.text(), {}};
  const std::vector<std::string> words = sentence.words();
  for (std::size_t layer = 0; layer < traces.size(); ++layer) {
    const Tensor& weights = traces[layer].weights;
    const std::vector<double> values = doubles(weights);
    const std::int64_t queries = weights.size(2), keys = weights.size(3);
    std::vector<bool> kept;
    if (traces[layer].keep.defined())
      kept = regard::broadcast_to(traces[layer].keep, weights.shape()).to_vector<bool>();
    for (std::int64_t head = 0; head < weights.size(1); ++head) {
      AttentionPanel panel;
      panel.name = "layer " + std::to_string(layer + 1) + ", head " + std::to_string(head + 1);
      panel.keys = words;
      const auto pronoun = static_cast<std::size_t>(sentence.pronoun);
      const bool clause = queries == 1;
      const std::string last =
          sentence.predicate == no_position ? "" : words[static_cast<std::size_t>(sentence.predicate)];
      panel.queries = clause ? std::vector<std::string>{words[pronoun] + " … " + last} : words;
      const auto first = static_cast<std::ptrdiff_t>(head * queries * keys);
      const auto size = static_cast<std::ptrdiff_t>(queries * keys);
      panel.weights.assign(values.begin() + first, values.begin() + first + size);
      if (!kept.empty())
        for (std::ptrdiff_t i = first; i < first + size; ++i)
          panel.hidden.push_back(kept[static_cast<std::size_t>(i)] ? 0 : 1);
      panel.marked_query = clause ? 0 : pronoun;
      if (sentence.antecedent != no_position && layer + 1 == traces.size())
        panel.marked_key = static_cast<std::size_t>(sentence.antecedent);
      watched.panels.push_back(std::move(panel));
    }
  }
  return watched;
}

std::vector<std::vector<double>> readout_rows(const Model& model, const Sentence& sentence) {
  const regard::NoGrad no_grad;
  Traces traces;
  const Batch batch = make_batch({sentence});
  (void)model(Inputs(batch, model.settings.dtype), &traces);
  const Tensor& weights = traces.back().weights;
  std::vector<std::vector<double>> rows;
  for (std::int64_t head = 0; head < weights.size(1); ++head)
    rows.push_back(query_rows(doubles(weights), weights.shape(), head, batch.pronoun));
  return rows;
}

TrainingRun::TrainingRun(const ModelSettings& model, const TrainSettings& train)
    : model_settings_(model),
      train_settings_(train),
      splits_((check(model, train), make_splits(split_options(model, train)))),
      model_(new_model(model, train.seed)) {
  if (train.freeze_embeddings) regard::freeze(model_, "embedding.*");
  watched_ = splits_.seed_sentences;
  if (watched_.empty()) watched_.assign(splits_.validation.begin(), splits_.validation.begin() + 2);
  const std::size_t sample = std::min(logged_sentences, splits_.validation.size());
  log_sample_.assign(splits_.validation.begin(),
                     splits_.validation.begin() + static_cast<std::ptrdiff_t>(sample));
  if (train.shuffle_labels) {
    Rng rng = Rng(train.seed).split(label_order);
    shuffle_labels(splits_.training, rng);
  }
}

Tensor TrainingRun::loss(const Batch& batch) const {
  const Inputs inputs(batch, model_settings_.dtype);
  return loss_of(model_(inputs), inputs);
}

double TrainingRun::antecedent_mass(const Sentence& sentence) const {
  double best = 0;
  for (const std::vector<double>& row : readout_rows(model_, sentence))
    best = std::max(best, row[static_cast<std::size_t>(sentence.antecedent)]);
  return best;
}

AttentionFrame TrainingRun::frame(std::int64_t step, double loss) const {
  const Metrics metrics = evaluate(model_, log_sample_).metrics;
  AttentionFrame frame;
  frame.step = step;
  frame.measures = {{"loss", loss},
                    {"accuracy", metrics.accuracy},
                    {"candidate_accuracy", metrics.candidate_accuracy},
                    {"mass", metrics.mass},
                    {"entropy", metrics.entropy}};
  for (const Sentence& sentence : watched_) frame.sentences.push_back(watch(model_, sentence));
  return frame;
}

Result TrainingRun::train(const std::function<void(const Progress&)>& on_log, const std::atomic<bool>* stop) {
  Result result;
  result.model = model_settings_;
  result.train = train_settings_;
  const auto log = [&](std::int64_t step, double loss) {
    result.film.frames.push_back(frame(step, loss));
    if (on_log) on_log({step, loss, result.film.frames.back()});
  };

  double first_loss = 0;
  {
    const regard::NoGrad no_grad;
    first_loss = loss(make_batch(log_sample_)).item();
  }
  std::vector<double> mass_before;
  for (const Sentence& sentence : splits_.seed_sentences) mass_before.push_back(antecedent_mass(sentence));
  const auto started = std::chrono::steady_clock::now();
  log(0, first_loss);

  Batches batches(splits_.training.size(), train_settings_);
  const std::unique_ptr<regard::Optimizer> optimizer = new_optimizer(model_, train_settings_);
  double loss_since_log = 0;
  std::int64_t steps_since_log = 0;
  while (result.steps < train_settings_.steps && !(stop && *stop)) {
    const Tensor batch_loss = loss(make_batch(splits_.training, batches.next()));
    optimizer->zero_grad();
    regard::backward(batch_loss);
    optimizer->step();
    ++result.steps;
    loss_since_log += batch_loss.item();
    ++steps_since_log;
    if (!std::isfinite(loss_since_log))
      throw regard::Error("training: the loss is no longer finite at step " + std::to_string(result.steps) +
                          "; try a smaller --learning-rate");
    if (result.steps % train_settings_.log_every == 0 || result.steps == train_settings_.steps) {
      log(result.steps, loss_since_log / static_cast<double>(steps_since_log));
      loss_since_log = 0;
      steps_since_log = 0;
    }
  }
  if (steps_since_log > 0) log(result.steps, loss_since_log / static_cast<double>(steps_since_log));
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  result.interrupted = result.steps < train_settings_.steps;

  result.validation = evaluate(model_, splits_.validation);
  result.held_out = evaluate(model_, splits_.held_out);
  result.long_1 = evaluate(model_, splits_.long_1);
  result.long_2 = evaluate(model_, splits_.long_2);
  for (std::size_t i = 0; i < splits_.seed_sentences.size(); ++i) {
    const Sentence& sentence = splits_.seed_sentences[i];
    result.seed_sentences.push_back(
        {sentence.text(), antecedent_word(sentence), mass_before[i], antecedent_mass(sentence)});
  }
  return result;
}

}  // namespace coreference

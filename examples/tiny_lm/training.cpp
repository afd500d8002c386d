#include "tiny_lm/training.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include <regard/error.hpp>
#include <regard/loss.hpp>
#include <regard/nn/module.hpp>
#include <regard/optim.hpp>
#include <regard/study/interventions.hpp>

namespace tiny_lm {
namespace {

using regard::Rng;
using regard::Tensor;
using regard::study::AttentionFrame;
using regard::study::AttentionPanel;
using regard::study::WatchedSentence;

constexpr std::int64_t measured_stretches = 128;
constexpr std::size_t watched_characters = 20;
enum Stream : std::uint64_t { initial_weights = 1, batch_places = 2 };

TinyLm new_model(std::int64_t alphabet, const ModelSettings& settings, std::uint64_t seed) {
  Rng rng = Rng(seed).split(initial_weights);
  return TinyLm(alphabet, settings, rng);
}

/// The first line with enough to look at, its words as far as a picture can show them; the beginning, if
/// there is none.
std::u32string sample_line(std::u32string_view text) {
  constexpr auto nowhere = std::u32string_view::npos;
  for (std::size_t first = 0; first < text.size();) {
    const std::u32string_view line =
        text.substr(first, std::min(text.find(U'\n', first), text.size()) - first);
    const std::size_t cut =
        line.size() <= watched_characters ? line.size() : line.rfind(U' ', watched_characters);
    if (line.size() >= watched_characters / 2)
      return std::u32string(line.substr(0, cut == nowhere || cut == 0 ? watched_characters : cut));
    first += line.size() + 1;
  }
  return std::u32string(text.substr(0, watched_characters));
}

double finite(double loss, std::int64_t step) {
  if (std::isfinite(loss)) return loss;
  throw regard::Error("training: the loss is no longer finite after " + std::to_string(step) +
                      " steps; try a smaller --learning-rate");
}

/// A label that can be seen.
std::string label(char32_t character) {
  if (character == ' ') return "_";
  if (character == '\n') return "\\n";
  if (character == '\t') return "\\t";
  return encode_utf8({&character, 1});
}

}  // namespace

void check(const TrainSettings& settings) {
  const auto require_between = [](const char* what, std::int64_t value, std::int64_t low, std::int64_t high) {
    if (value < low || value > high)
      throw regard::ValueError(std::string(what) + ": expected " + std::to_string(low) + " to " +
                               std::to_string(high) + ", got " + std::to_string(value));
  };
  require_between("steps", settings.steps, 0, 100'000'000);
  require_between("batch", settings.batch, 1, 100'000);
  require_between("log-every", settings.log_every, 1, 100'000'000);
  if (!std::isfinite(settings.learning_rate) || settings.learning_rate <= 0)
    throw regard::ValueError("learning rate: expected a positive number, got " +
                             std::to_string(settings.learning_rate));
}

WatchedSentence watch(const TinyLm& model, const Alphabet& alphabet, std::u32string_view line) {
  const regard::NoGrad off;
  const regard::study::ActivationCache cache(model, "*.weights");
  const std::vector<std::int64_t> ids = alphabet.ids(line);
  const auto tokens = static_cast<std::int64_t>(ids.size());
  (void)model(regard::from_vector(ids, {1, tokens}));

  WatchedSentence watched{encode_utf8(line), {}};
  std::vector<std::string> labels;
  for (const char32_t character : line) labels.push_back(label(character));
  int layer = 0;
  for (const auto& [path, weights] : cache.values()) {
    ++layer;
    const std::vector<double> values = weights.to(regard::float64).to_vector<double>();
    for (std::int64_t head = 0; head < weights.size(1); ++head) {
      AttentionPanel panel;
      panel.name = "layer " + std::to_string(layer) + ", head " + std::to_string(head + 1);
      panel.queries = panel.keys = labels;
      const auto first = values.begin() + head * tokens * tokens;
      panel.weights.assign(first, first + tokens * tokens);
      for (std::int64_t i = 0; i < tokens; ++i)
        for (std::int64_t j = 0; j < tokens; ++j)
          panel.hidden.push_back(j > i || i - j >= model.settings.context ? 1 : 0);
      watched.panels.push_back(std::move(panel));
    }
  }
  return watched;
}

TrainingRun::TrainingRun(std::u32string text, const Alphabet& alphabet, const ModelSettings& model,
                         const TrainSettings& train)
    : text_(std::move(text)),
      ids_(alphabet.ids(text_)),
      stretch_(std::min((model.layers + 1) * model.context, static_cast<std::int64_t>(ids_.size()) - 1)),
      model_settings_(model),
      train_settings_((check(train), train)),
      alphabet_(alphabet),
      model_(new_model(alphabet.size(), model, train.seed)) {
  if (static_cast<std::int64_t>(ids_.size()) <= model.context)
    throw regard::ValueError("the text has " + std::to_string(ids_.size()) +
                             " characters, but a context of " + std::to_string(model.context) +
                             " needs at least " + std::to_string(model.context + 1) +
                             "; give a longer text or a smaller --context");
}

TrainingRun::Batch TrainingRun::batch_at(const std::vector<std::int64_t>& places) const {
  std::vector<std::int64_t> ids, next;
  for (const std::int64_t place : places) {
    const auto first = ids_.begin() + place;
    ids.insert(ids.end(), first, first + stretch_);
    next.insert(next.end(), first + 1, first + 1 + stretch_);
  }
  const regard::Shape shape{static_cast<std::int64_t>(places.size()), stretch_};
  return {regard::from_vector(ids, shape), regard::from_vector(next, shape)};
}

double TrainingRun::text_loss() const {
  const regard::NoGrad off;
  const std::int64_t stretches = (static_cast<std::int64_t>(ids_.size()) - 1) / stretch_;
  const std::int64_t measured = std::min(stretches, measured_stretches);
  double sum = 0;
  for (std::int64_t first = 0; first < measured; first += train_settings_.batch) {
    std::vector<std::int64_t> places;
    for (std::int64_t i = first; i < std::min(first + train_settings_.batch, measured); ++i)
      places.push_back(i * stretches / measured * stretch_);
    const Batch batch = batch_at(places);
    sum += regard::cross_entropy(model_(batch.ids), batch.next).item() * static_cast<double>(places.size());
  }
  return sum / static_cast<double>(measured);
}

AttentionFrame TrainingRun::frame(std::int64_t step, double loss) const {
  return {step, {{"loss", loss}}, {watch(model_, alphabet_, sample_line(text_))}};
}

Result TrainingRun::train(const std::function<void(const Progress&)>& on_log, const std::atomic<bool>* stop) {
  Result result;
  result.model = model_settings_;
  result.train = train_settings_;
  result.parameters = regard::parameter_count(model_);
  result.characters = static_cast<std::int64_t>(text_.size());
  result.alphabet = Alphabet(text_).size();
  result.entropies = entropies(text_);
  const auto log = [&](std::int64_t step) {
    result.loss = finite(text_loss(), step);
    if (result.loss >= result.entropies.bigram)
      result.below_bigram.reset();
    else if (!result.below_bigram)
      result.below_bigram = step;
    result.film.frames.push_back(frame(step, result.loss));
    if (on_log) on_log({step, result.loss});
  };

  const auto started = std::chrono::steady_clock::now();
  log(0);
  result.loss_before = result.loss;
  Rng rng = Rng(train_settings_.seed).split(batch_places);
  regard::AdamOptions options;
  options.learning_rate = train_settings_.learning_rate;
  regard::Adam optimizer(regard::parameters(model_), options);
  const std::int64_t places = static_cast<std::int64_t>(ids_.size()) - stretch_;
  while (result.steps < train_settings_.steps && !(stop && *stop)) {
    std::vector<std::int64_t> chosen(static_cast<std::size_t>(train_settings_.batch));
    for (std::int64_t& place : chosen) place = rng.below(places);
    const Batch batch = batch_at(chosen);
    regard::train(model_);
    const Tensor loss = regard::cross_entropy(model_(batch.ids), batch.next);
    regard::evaluate(model_);
    (void)finite(loss.item(), result.steps);
    optimizer.zero_grad();
    regard::backward(loss);
    regard::clip_gradients_by_norm(optimizer.parameters(), 1.0);
    optimizer.step();
    if (++result.steps % train_settings_.log_every == 0) log(result.steps);
  }
  if (result.film.frames.back().step != result.steps) log(result.steps);
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  result.interrupted = result.steps < train_settings_.steps;
  return result;
}

}  // namespace tiny_lm

#include "babi/training.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>

#include <fmt/format.h>

#include <regard/error.hpp>
#include <regard/loss.hpp>
#include <regard/nn/module.hpp>
#include <regard/ops.hpp>
#include <regard/optim.hpp>

namespace babi {
namespace {

using regard::Rng;
using regard::Tensor;
using regard::study::AttentionFrame;

constexpr std::size_t evaluation_batch = 500;
constexpr std::size_t watched_stories = 3;
enum Stream : std::uint64_t { initial_weights = 1, story_order = 2, gaps = 3 };

/// Numbers of the questions of each batch: every question once an epoch, in a new order each time.
class Order {
 public:
  Order(std::size_t questions, std::size_t batch, Rng rng)
      : all_(questions), batch_(std::min(batch, questions)), rng_(rng) {
    std::iota(all_.begin(), all_.end(), std::int64_t{0});
    next_ = all_.size();
  }

  std::vector<std::int64_t> next() {
    if (next_ + batch_ > all_.size()) {
      rng_.shuffle(all_);
      next_ = 0;
    }
    const auto first = all_.begin() + static_cast<std::ptrdiff_t>(next_);
    next_ += batch_;
    return {first, first + static_cast<std::ptrdiff_t>(batch_)};
  }

 private:
  std::vector<std::int64_t> all_;
  std::size_t batch_, next_ = 0;
  Rng rng_;
};

/// The mean of numbers that may not be there at all.
class Mean {
 public:
  void add(double value) {
    sum_ += value;
    ++count_;
  }
  std::optional<double> value() const {
    return count_ > 0 ? std::optional<double>(sum_ / static_cast<double>(count_)) : std::nullopt;
  }

 private:
  double sum_ = 0;
  std::size_t count_ = 0;
};

std::vector<double> doubles(const Tensor& x) {
  return x.detach().to(regard::float64).to_vector<double>();
}

/// Calls each(first, batch) for stretches of the questions.
void in_batches(const Stories& stories,
                const std::function<void(std::size_t first, const Batch& batch)>& each) {
  for (std::size_t first = 0; first < stories.size(); first += evaluation_batch) {
    std::vector<std::int64_t> chosen(std::min(evaluation_batch, stories.size() - first));
    std::iota(chosen.begin(), chosen.end(), static_cast<std::int64_t>(first));
    each(first, stories.batch(chosen));
  }
}

/// Attention of batch row b, from one sentence (0: the only query) to another.
double weight(const regard::AttentionTrace& trace, const std::vector<double>& weights, std::size_t b,
              std::size_t from, std::size_t to) {
  const auto queries = static_cast<std::size_t>(trace.weights.size(2)),
             keys = static_cast<std::size_t>(trace.weights.size(3));
  return weights[(b * queries + from) * keys + to];
}

void add_masses(const Model& model, const Traces& traces, const std::vector<Question>& questions,
                std::size_t first, std::size_t count, Mean& answer_mass, Mean& edge_mass) {
  const bool window = model.settings.model == ModelKind::window;
  const std::vector<double> last = doubles(traces.back().weights);
  const std::vector<double> local = window ? doubles(traces.front().weights) : std::vector<double>();
  for (std::size_t b = 0; b < count; ++b) {
    const std::vector<std::size_t>& supporting = questions[first + b].supporting;
    answer_mass.add(weight(traces.back(), last, b, 0, supporting.back()));
    if (window && supporting.size() == 2)
      edge_mass.add(weight(traces.front(), local, b, supporting[1], supporting[0]));
  }
}

Score evaluate(const Model& model, const Stories& stories, const std::vector<Question>& questions,
               Weighting weighting) {
  const regard::NoGrad no_grad;
  Score score;
  Mean answer_mass, edge_mass;
  in_batches(stories, [&](std::size_t first, const Batch& batch) {
    Traces traces;
    const bool traced = weighting == Weighting::softmax;
    const Tensor logits = model(batch, weighting, traced ? &traces : nullptr);
    const auto count = static_cast<std::size_t>(batch.answers.numel());
    regard::CrossEntropyOptions total;
    total.reduction = regard::Reduction::sum;
    score.loss += regard::cross_entropy(logits, batch.answers, total).item();
    score.accuracy +=
        regard::sum(regard::equal(regard::argmax(logits), batch.answers).to(regard::float64)).item();
    if (traced) add_masses(model, traces, questions, first, count, answer_mass, edge_mass);
  });
  score.loss /= static_cast<double>(questions.size());
  score.accuracy /= static_cast<double>(questions.size());
  score.answer_mass = answer_mass.value();
  score.edge_mass = edge_mass.value();
  return score;
}

Stories stories_of(const std::vector<Question>& questions, const ModelSettings& settings) {
  return Stories(questions, settings.words, settings.ages, settings.dtype);
}

Model new_model(const ModelSettings& settings, std::uint64_t seed) {
  Rng rng = Rng(seed).split(initial_weights);
  return Model(settings, rng);
}

AttentionFrame frame(std::int64_t step, double loss, const Score& validation, const Model& model,
                     const Part& part) {
  AttentionFrame frame;
  frame.step = step;
  const double none = std::numeric_limits<double>::quiet_NaN();
  frame.measures = {
      {"loss", loss}, {"accuracy", validation.accuracy}, {"mass", validation.answer_mass.value_or(none)}};
  if (model.settings.model == ModelKind::window)
    frame.measures["edge_mass"] = validation.edge_mass.value_or(none);
  const std::size_t shown = std::min(watched_stories, part.questions.size());
  for (std::size_t i = 0; i < shown; ++i)
    frame.sentences.push_back(watch(model, part, (2 * i + 1) * part.questions.size() / (2 * shown)));
  return frame;
}

/// One training run as it goes on.
class Trainer {
 public:
  Trainer(const Data& data, const ModelSettings& model, const TrainSettings& settings)
      : data_(data),
        settings_(settings),
        model_(new_model(model, settings.seed)),
        training_(stories_of(data.training.questions, model)),
        validation_(stories_of(data.validation.questions, model)),
        optimizer_(regard::parameters(model_)),
        order_(training_.size(), static_cast<std::size_t>(settings.batch),
               Rng(settings.seed).split(story_order)),
        gaps_(Rng(settings.seed).split(gaps)) {}

  Run operator()(const std::function<void(const Progress&)>& on_log, const std::atomic<bool>* stop);

 private:
  Weighting weighting(std::int64_t step) const {
    const double share =
        static_cast<double>(step) / static_cast<double>(std::max<std::int64_t>(settings_.steps, 1));
    return share < settings_.linear_start ? Weighting::linear : Weighting::softmax;
  }
  double step(std::int64_t number);
  void log(std::int64_t step, double loss, Weighting weighting, Run& run,
           const std::function<void(const Progress&)>& on_log);

  const Data& data_;
  TrainSettings settings_;
  Model model_;
  Stories training_, validation_;
  std::optional<regard::Adam> optimizer_;
  Order order_;
  Rng gaps_;
};

double Trainer::step(std::int64_t number) {
  const Batch batch = training_.batch(order_.next(), settings_.age_gaps, gaps_);
  if (number > 0 && weighting(number) != weighting(number - 1)) {
    orient(model_, batch);
    optimizer_.emplace(regard::parameters(model_));
  }
  const Tensor loss = regard::cross_entropy(model_(batch, weighting(number)), batch.answers);
  optimizer_->zero_grad();
  regard::backward(loss);
  const double norm = regard::clip_gradients_by_norm(optimizer_->parameters(), settings_.clip_norm,
                                                     regard::NonFinite::report);
  if (!std::isfinite(loss.item()) || !std::isfinite(norm))
    throw regard::Error(
        fmt::format("training: loss or gradient of seed {} are no longer finite at step {}; try a smaller "
                    "--learning-rate",
                    settings_.seed, number + 1));
  regard::CosineOptions cosine;
  cosine.total_steps = settings_.steps;
  optimizer_->set_learning_rate(regard::cosine_rate(settings_.learning_rate, number, cosine));
  optimizer_->step();
  return loss.item();
}

void Trainer::log(std::int64_t step, double loss, Weighting weighting, Run& run,
                  const std::function<void(const Progress&)>& on_log) {
  const Score score = evaluate(model_, validation_, data_.validation.questions, weighting);
  run.frames.push_back(frame(step, loss, score, model_, data_.validation));
  if (on_log) on_log({step, weighting, loss, score.accuracy});
}

Run Trainer::operator()(const std::function<void(const Progress&)>& on_log, const std::atomic<bool>* stop) {
  const auto started = std::chrono::steady_clock::now();
  Run run;
  run.seed = settings_.seed;
  log(0, evaluate(model_, training_, data_.training.questions, weighting(0)).loss, weighting(0), run, on_log);
  double loss_since_log = 0;
  std::int64_t steps_since_log = 0;
  const auto log_mean = [&] {
    log(run.steps, loss_since_log / static_cast<double>(steps_since_log), weighting(run.steps - 1), run,
        on_log);
    loss_since_log = 0;
    steps_since_log = 0;
  };
  while (run.steps < settings_.steps && !(stop && *stop)) {
    loss_since_log += step(run.steps);
    ++run.steps;
    ++steps_since_log;
    if (run.steps % settings_.log_every == 0) log_mean();
  }
  if (steps_since_log > 0) log_mean();
  run.interrupted = run.steps < settings_.steps;
  run.weighting = run.interrupted ? weighting(std::max<std::int64_t>(run.steps - 1, 0)) : Weighting::softmax;
  run.training = evaluate(model_, training_, data_.training.questions, run.weighting);
  run.validation = evaluate(model_, validation_, data_.validation.questions, run.weighting);
  run.numbers = numbers_of(model_);
  run.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  return run;
}

}  // namespace

Run train(const Data& data, const ModelSettings& model, const TrainSettings& settings,
          const std::function<void(const Progress&)>& on_log, const std::atomic<bool>* stop) {
  check(model);
  check(settings);
  return Trainer(data, model, settings)(on_log, stop);
}

const Run& choose(const std::vector<Run>& runs) {
  if (runs.empty()) throw regard::ValueError("choose: expected at least one run, got none");
  return *std::max_element(runs.begin(), runs.end(), [](const Run& a, const Run& b) {
    if (a.training.accuracy != b.training.accuracy) return a.training.accuracy < b.training.accuracy;
    return a.training.loss > b.training.loss;
  });
}

Model model_of(const Run& run, const ModelSettings& settings) {
  Model model = new_model(settings, run.seed);
  assign(model, run.numbers);
  return model;
}

Score evaluate(const Model& model, const std::vector<Question>& questions, Weighting weighting) {
  return evaluate(model, stories_of(questions, model.settings), questions, weighting);
}

std::vector<Answered> answer(const Model& model, const std::vector<Question>& questions,
                             Weighting weighting) {
  const regard::NoGrad no_grad;
  std::vector<Answered> answers;
  in_batches(stories_of(questions, model.settings), [&](std::size_t, const Batch& batch) {
    for (const std::int64_t guess : regard::argmax(model(batch, weighting)).to_vector<std::int64_t>())
      answers.push_back({guess, guess == questions[answers.size()].answer});
  });
  return answers;
}

}  // namespace babi

// The demo: one step of each of its models with their default settings, and whole runs of train_coreference.
#include <memory>

#include <regard/regard.hpp>

#include "beside/work.hpp"
#include "common/parallel.hpp"
#include "coreference/training.hpp"
#include "models/demo.hpp"

namespace beside {
namespace {

using namespace regard;  // NOLINT: a program
using coreference::ModelKind;
using coreference::ModelSettings;

struct Kind {
  ModelKind model;
  const char *step, *runs;  ///< names of works
};
constexpr Kind kinds[] = {{ModelKind::raw, "agreement_raw", "demo_8_seeds_agreement_raw"},
                          {ModelKind::clause, "twist_clause", "demo_8_seeds_twist_clause"},
                          {ModelKind::two_layer, "twist_two_layer", "demo_8_seeds"}};  // what runs by default
constexpr std::uint64_t seeds = 8;
constexpr int compared_steps = 20;  ///< of training, whose losses another library is to see too

// ---- what another library needs for the same work --------------------------------------------------------

Tensor integers(const std::vector<Size>& values, Size rows) {
  const auto count = static_cast<Size>(values.size());
  return from_vector(values, rows == count ? Shape{rows} : Shape{rows, count / rows});
}

NamedTensors data_of(const coreference::Batch& from) {
  const std::vector<Size> candidates(from.candidates.begin(), from.candidates.end());
  return {
      {"tokens", integers(from.tokens, from.size)},    {"referents", integers(from.referents, from.size)},
      {"lengths", integers(from.lengths, from.size)},  {"pronoun", integers(from.pronoun, from.size)},
      {"target", integers(from.target, from.size)},    {"predicate", integers(from.predicate, from.size)},
      {"candidates", integers(candidates, from.size)}, {"antecedent", integers(from.antecedent, from.size)}};
}

void add(NamedTensors& all, const std::string& prefix, const NamedTensors& tensors) {
  for (auto& tensor : with_prefix(prefix, tensors)) all.push_back(std::move(tensor));
}

// ---- one step of training --------------------------------------------------------------------------------

struct Step {
  Step(ModelKind kind, DType dtype)
      : settings(models::demo_settings(kind, dtype)),
        batch(models::demo_batches(settings, 1).at(0)),
        rng(1),
        model(settings, rng),
        adam(regard::parameters(model)) {}

  Tensor operator()(const coreference::Inputs& in) {
    adam.zero_grad();
    const Tensor loss = models::demo_loss(model, in);
    backward(loss);
    adam.step();
    return loss;
  }

  ModelSettings settings;
  coreference::Batch batch;
  Rng rng;
  coreference::Model model;
  Adam adam;
};

/// Eager steps make tensors of the batch each time, as a training does.
Work eager_step(ModelKind kind, DType dtype) {
  const auto step = std::make_shared<Step>(kind, dtype);
  return {[=] { static_cast<void>((*step)(coreference::Inputs(step->batch, dtype))); }};
}

Work replayed_step(ModelKind kind, DType dtype) {
  const auto step = std::make_shared<Step>(kind, dtype);
  const coreference::Inputs inputs(step->batch, dtype);
  const auto captured =
      std::make_shared<CapturedStep>(capture([=](const Tensors&) { return Tensors{(*step)(inputs)}; }));
  return {[=] { captured->replay(Tensors{}); }};
}

template <class T>
Work step_by_hand(ModelKind kind) {
  const Step start(kind, dtype_of<T>());
  const auto hand = std::make_shared<hand_written::Demo<T>>(models::by_hand(kind), hand_written::DemoSizes{},
                                                            models::numbers_of<T>(start.model));
  const auto batch = std::make_shared<coreference::Batch>(start.batch);
  const std::vector<double> clause = coreference::clause_weights(*batch);
  return {[=] { hand->step(models::by_hand(*batch, clause), {}); }};
}

/// The parameters before the first step, the batch, and the losses of the first steps.
NamedTensors step_data(ModelKind kind, DType dtype) {
  Step step(kind, dtype);
  NamedTensors all;
  add(all, "start", values(named_parameters(step.model)));
  add(all, "batch", data_of(step.batch));
  std::vector<double> losses;
  for (int i = 0; i < compared_steps; ++i)
    losses.push_back(step(coreference::Inputs(step.batch, dtype)).item());
  all.emplace_back("losses", from_vector(losses, {compared_steps}));
  return all;
}

// ---- whole runs ------------------------------------------------------------------------------------------

coreference::TrainSettings train_settings(std::uint64_t seed) {
  coreference::TrainSettings settings;
  settings.seed = seed;
  return settings;
}

/// Everything that `train_coreference --seeds 8` does but print: sentences, training, the film's frames and
/// the final figures. As many runs at a time as there are threads.
Work whole_runs(ModelKind kind, DType dtype) {
  const auto threads = static_cast<std::size_t>(blas_threads());
  const ModelSettings settings = models::demo_settings(kind, dtype);
  const auto train = [=](std::size_t i) {
    static_cast<void>(coreference::TrainingRun(settings, train_settings(1 + i)).train());
  };
  return {[=] {
    set_blas_threads(1);
    common::run_in_parallel(
        seeds, threads, train, [] {}, [] {});
  }};
}

/// Of each run: the parameters before the first step, all sentences, which of them make up each batch, and
/// the mean losses that are logged.
NamedTensors runs_data(ModelKind kind, DType dtype) {
  NamedTensors all;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const coreference::TrainSettings settings = train_settings(seed);
    coreference::TrainingRun run(models::demo_settings(kind, dtype), settings);
    NamedTensors of_run;
    add(of_run, "start", values(named_parameters(run.model())));
    const coreference::Splits& splits = run.splits();
    add(of_run, "training", data_of(make_batch(splits.training)));
    add(of_run, "validation", data_of(make_batch(splits.validation)));
    add(of_run, "held_out", data_of(make_batch(splits.held_out)));
    add(of_run, "long_1", data_of(make_batch(splits.long_1)));
    add(of_run, "long_2", data_of(make_batch(splits.long_2)));
    if (!splits.seed_sentences.empty()) add(of_run, "watched", data_of(make_batch(splits.seed_sentences)));
    coreference::Batches batches(splits.training.size(), settings);
    std::vector<Size> order;
    for (Size step = 0; step < settings.steps; ++step)
      for (const std::size_t sentence : batches.next()) order.push_back(static_cast<Size>(sentence));
    of_run.emplace_back("order", integers(order, settings.steps));
    std::vector<double> losses;
    static_cast<void>(run.train([&](const coreference::Progress& at) { losses.push_back(at.loss); }));
    of_run.emplace_back("losses", from_vector(losses, {static_cast<Size>(losses.size())}));
    add(all, std::to_string(seed), of_run);
  }
  return all;
}

}  // namespace

void add_demo(Works& works) {
  for (const Kind& each : kinds) {
    const std::string step = each.step;
    works[step] = [kind = each.model](DType dtype) { return eager_step(kind, dtype); };
    works[step + "_replayed"] = [kind = each.model](DType dtype) { return replayed_step(kind, dtype); };
    works[step + "_by_hand"] = [kind = each.model](DType dtype) {
      return dtype == float32 ? step_by_hand<float>(kind) : step_by_hand<double>(kind);
    };
    works[each.runs] = [kind = each.model](DType dtype) { return whole_runs(kind, dtype); };
  }
}

NamedTensors demo_data(const std::string& work, DType dtype) {
  for (const Kind& each : kinds) {
    if (work == each.step) return step_data(each.model, dtype);
    if (work == each.runs) return runs_data(each.model, dtype);
  }
  throw std::invalid_argument("there is no data of a work " + work);
}

}  // namespace beside

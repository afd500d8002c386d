// A run is a function of its settings: same seed, same bits; what is saved is what was trained.
#include <gtest/gtest.h>

#include <cmath>
#include <thread>

#include <regard/error.hpp>
#include <regard/nn/module.hpp>

#include "coreference/checkpoint.hpp"
#include "coreference/training.hpp"
#include "study/temporary_folder.hpp"
#include "support/throws.hpp"

namespace coreference {
namespace {

TrainSettings short_run() {
  TrainSettings train;
  train.steps = 30;
  train.sentences = 200;
  train.log_every = 7;
  return train;
}

std::vector<double> all_numbers(const Model& model) {
  std::vector<double> numbers;
  for (const auto& [path, parameter] : regard::named_parameters(model))
    for (const double value : parameter.value().to(regard::float64).to_vector<double>())
      numbers.push_back(value);
  return numbers;
}

class EverySetting
    : public testing::TestWithParam<std::tuple<Task, ModelKind, Scores, Positions, MaskKind, regard::DType>> {
 protected:
  ModelSettings settings() const {
    ModelSettings model;
    std::tie(model.task, model.model, model.scores, model.positions, model.mask, model.dtype) = GetParam();
    return model;
  }
  bool makes_sense() const {
    try {
      check(settings(), short_run());
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }
};

// Each combination either trains, moves every trainable number, and stays finite, or is refused with a
// reason.
TEST_P(EverySetting, TrainsOrIsRefused) {
  if (!makes_sense()) {
    EXPECT_THROW(TrainingRun(settings(), short_run()), std::exception);
    return;
  }
  TrainingRun run(settings(), short_run());
  const std::vector<double> before = all_numbers(run.model());
  const Result result = run.train();
  EXPECT_EQ(result.steps, 30);
  EXPECT_EQ(result.film.frames.size(), 6u);  // steps 0, 7, 14, 21, 28, 30
  EXPECT_NO_THROW(regard::study::check(result.film));
  const std::vector<double> after = all_numbers(run.model());
  EXPECT_NE(before, after);
  for (const double value : after) ASSERT_TRUE(std::isfinite(value));
}

std::string setting_name(const testing::TestParamInfo<EverySetting::ParamType>& info) {
  const auto& [task, model, scores, positions, mask, dtype] = info.param;
  std::string text;
  for (const std::string_view part : {name(task), name(model), name(scores), name(positions), name(mask)})
    text += std::string(part) + "_";
  text += regard::name(dtype);
  for (char& c : text)
    if (c == '-') c = '_';
  return text;
}

INSTANTIATE_TEST_SUITE_P(
    Training, EverySetting,
    testing::Combine(testing::Values(Task::agreement, Task::twist, Task::mutual),
                     testing::Values(ModelKind::raw, ModelKind::clause, ModelKind::two_layer),
                     testing::Values(Scores::learned, Scores::shared, Scores::embedding, Scores::uniform),
                     testing::Values(Positions::learned, Positions::rope, Positions::relative),
                     testing::Values(MaskKind::none, MaskKind::causal), testing::Values(regard::float64)),
    setting_name);
INSTANTIATE_TEST_SUITE_P(Float32, EverySetting,
                         testing::Combine(testing::Values(Task::twist),
                                          testing::Values(ModelKind::raw, ModelKind::clause,
                                                          ModelKind::two_layer),
                                          testing::Values(Scores::learned),
                                          testing::Values(Positions::learned, Positions::sinusoidal),
                                          testing::Values(MaskKind::none), testing::Values(regard::float32)),
                         setting_name);

TEST(Training, TheSameSeedGivesTheSameBitsOnAnyThread) {
  std::vector<double> here, there;
  const auto train = [](std::vector<double>& numbers) {
    TrainingRun run(ModelSettings(), short_run());
    run.train();
    numbers = all_numbers(run.model());
  };
  std::thread other([&] { train(there); });
  train(here);
  other.join();
  EXPECT_EQ(here, there);
}

TEST(Training, AnotherSeedGivesOtherNumbers) {
  TrainSettings train = short_run();
  TrainingRun one(ModelSettings(), train);
  train.seed = 2;
  TrainingRun two(ModelSettings(), train);
  EXPECT_NE(all_numbers(one.model()), all_numbers(two.model()));
}

TEST(Training, FrozenEmbeddingsStay) {
  TrainSettings train = short_run();
  train.freeze_embeddings = true;
  TrainingRun run(ModelSettings(), train);
  const std::vector<double> before = run.model().word.value().to_vector<double>();
  run.train();
  EXPECT_EQ(before, run.model().word.value().to_vector<double>());
}

TEST(Training, StopsWhenToldAndSaysSo) {
  TrainingRun run(ModelSettings(), short_run());
  std::atomic<bool> stop{false};
  const Result result = run.train([&](const Progress& at) { stop = at.step >= 14; }, &stop);
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.steps, 14);
  EXPECT_EQ(result.film.frames.back().step, 14);
}

TEST(Training, NoStepsLeaveOneFrameAndTheInitialModel) {
  TrainSettings train = short_run();
  train.steps = 0;
  TrainingRun run(ModelSettings(), train);
  const std::vector<double> before = all_numbers(run.model());
  const Result result = run.train();
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(result.film.frames.size(), 1u);
  EXPECT_EQ(before, all_numbers(run.model()));
}

TEST(Training, SeveralHeadsReportTheMassOfEach) {
  ModelSettings model;
  model.heads = 2;
  const Result result = TrainingRun(model, short_run()).train();
  ASSERT_EQ(result.validation.mass_per_head.size(), 2u);
  EXPECT_EQ(result.validation.metrics.mass,
            std::max(result.validation.mass_per_head[0], result.validation.mass_per_head[1]));
  EXPECT_EQ(result.film.frames[0].sentences[0].panels.size(), 4u);  // two layers of two heads
}

TEST(Training, ALossThatIsNoLongerFiniteIsReported) {
  TrainSettings train = short_run();
  train.optimizer = OptimizerKind::sgd;
  train.learning_rate = 1e200;
  EXPECT_THROWS_WITH(TrainingRun(ModelSettings(), train).train(), regard::Error, "no longer finite");
}

TEST(Training, TracesChangeNoBitOfTheAnswer) {
  TrainingRun run(ModelSettings(), short_run());
  const Inputs inputs(make_batch(run.splits().validation, {0, 1, 2, 3}), regard::float64);
  Traces traces;
  const Answer watched = run.model()(inputs, &traces);
  const Answer plain = run.model()(inputs);
  EXPECT_EQ(watched.logits.to_vector<double>(), plain.logits.to_vector<double>());
}

TEST(Checkpoint, GivesBackTheModelThatWasSaved) {
  const regard::study::TemporaryFolder folder;
  ModelSettings settings;
  settings.positions = Positions::relative;
  settings.heads = 2;
  settings.dtype = regard::float32;
  TrainingRun run(settings, short_run());
  run.train();
  save_model(folder.path() / "model.safetensors", run.model());

  const ModelSettings read = read_settings(folder.path() / "model.safetensors");
  EXPECT_EQ(metadata_of(read), metadata_of(settings));
  TrainingRun again(read, short_run());
  load_model(folder.path() / "model.safetensors", again.model());
  EXPECT_EQ(all_numbers(run.model()), all_numbers(again.model()));
}

TEST(Checkpoint, RefusesMetadataThatDescribeNoModel) {
  Metadata metadata = metadata_of(ModelSettings());
  metadata["heads"] = "two";
  EXPECT_THROWS_WITH(settings_from(metadata), regard::IoError, "'two' for heads");
  metadata["heads"] = "0";
  EXPECT_THROWS_WITH(settings_from(metadata), regard::IoError, "heads");
  metadata.erase("heads");
  EXPECT_THROWS_WITH(settings_from(metadata), regard::IoError, "lack 'heads'");
}

}  // namespace
}  // namespace coreference

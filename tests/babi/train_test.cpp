// The models and their training, in process.

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include <regard/blas.hpp>
#include <regard/error.hpp>
#include <regard/loss.hpp>
#include <regard/nn/module.hpp>
#include <regard/ops.hpp>

#include "babi/heuristics.hpp"
#include "babi/report.hpp"
#include "babi/synthetic.hpp"
#include "babi/training.hpp"
#include "common/parallel.hpp"
#include "support/close.hpp"
#include "support/throws.hpp"

namespace babi {
namespace {

using regard::Tensor;

Question question_of(const std::vector<std::vector<std::int64_t>>& sentences) {
  Question question;
  question.sentences = sentences;
  question.question = {3, 1};
  question.supporting = {0};
  return question;
}

ModelSettings small_model(ModelKind kind) {
  ModelSettings settings;
  settings.model = kind;
  settings.width = 6;
  settings.words = 5;
  settings.answers = 3;
  settings.ages = 4;
  settings.dtype = regard::float64;
  return settings;
}

Model small(ModelKind kind) {
  regard::Rng rng(3);
  return Model(small_model(kind), rng);
}

TEST(PositionWeightedBag, FactorsThePositionEncodingOfMemoryNetworks) {
  const std::vector<std::int64_t> sentence{2, 4, 2, 1};
  constexpr std::int64_t words = 5, d = 6;
  const std::vector<double> bag = position_weighted_bag(sentence, words);
  for (std::int64_t word = 0; word < words; ++word)
    for (std::int64_t k = 1; k <= d; ++k) {
      double expected = 0;  // the paper's l_kj, summed over the places of the word
      for (std::size_t j = 1; j <= sentence.size(); ++j) {
        const double place = static_cast<double>(j) / static_cast<double>(sentence.size());
        if (sentence[j - 1] == word)
          expected += (1 - place) - static_cast<double>(k) / static_cast<double>(d) * (1 - 2 * place);
      }
      const double factored =
          bag[static_cast<std::size_t>(word)] +
          static_cast<double>(k) / static_cast<double>(d) * bag[static_cast<std::size_t>(word + words)];
      EXPECT_NEAR(factored, expected, 1e-15) << "word " << word << ", k " << k;
    }
}

TEST(Stories, AgesCountBackFromTheNewestSentence) {
  const Stories stories({question_of({{1}, {2}, {3}, {4}, {1}, {2}}), question_of({{1}, {2}})}, 5, 4,
                        regard::float32);
  const Batch batch = stories.batch({1, 0});
  EXPECT_SAME_BITS(batch.ages,
                   regard::tensor({{1, 0, 0, 0, 0, 0}, {3, 3, 3, 2, 1, 0}}, regard::int64));  // 4 ages
  EXPECT_SAME_BITS(batch.lengths, regard::tensor({2, 6}, regard::int64));
}

TEST(Stories, GapsMakeSentencesOlderNowAndThen) {
  const Stories stories({question_of(std::vector<std::vector<std::int64_t>>(10, {1}))}, 5, 100,
                        regard::float32);
  regard::Rng rng(1);
  double oldest = 0;
  constexpr int draws = 2000;
  for (int draw = 0; draw < draws; ++draw) {
    const std::vector<std::int64_t> ages = stories.batch({0}, 0.1, rng).ages.to_vector<std::int64_t>();
    for (std::size_t i = 0; i + 1 < ages.size(); ++i) ASSERT_GT(ages[i], ages[i + 1]);
    oldest += static_cast<double>(ages[0]);
  }
  // Nine sentences are newer, and each of the ten has a gap before it in one of ten cases: 9 + 10 · 0.1. The
  // standard error of the mean is sqrt(10 · 0.09 / 2000) = 0.02.
  EXPECT_NEAR(oldest / draws, 10.0, 0.1);
}

class BothModels : public ::testing::TestWithParam<ModelKind> {};
INSTANTIATE_TEST_SUITE_P(Models, BothModels, ::testing::Values(ModelKind::hops, ModelKind::window),
                         [](const auto& kind) { return std::string(name(kind.param)); });

TEST_P(BothModels, AnswerAStoryTheSameAloneAndBesideLongerOnes) {
  const Model model = small(GetParam());
  const Question story = question_of({{1, 2}, {3, 4, 2}});
  const Question longer = question_of({{2}, {4}, {1, 1}, {3}, {2, 3}});
  const Batch alone = Stories({story}, 5, 4, regard::float64).batch({0});
  const Batch beside = Stories({longer, story}, 5, 4, regard::float64).batch({0, 1});
  for (const Weighting weighting : {Weighting::linear, Weighting::softmax})
    EXPECT_TENSOR_NEAR(regard::slice(model(beside, weighting), 0, {1}), model(alone, weighting), 1e-12,
                       1e-12);
}

TEST_P(BothModels, PassGradientsToEveryParameter) {
  for (const Weighting weighting : {Weighting::linear, Weighting::softmax}) {
    const Model model = small(GetParam());
    const Stories stories({question_of({{1, 2}, {3, 4, 2}, {2, 1}, {4}})}, 5, 4, regard::float64);
    const Batch batch = stories.batch({0});
    regard::backward(regard::cross_entropy(model(batch, weighting), batch.answers));
    for (const auto& [path, parameter] : regard::named_parameters(model)) {
      ASSERT_TRUE(parameter.has_gradient()) << path;
      EXPECT_GT(regard::sum(regard::abs(parameter.gradient())).item(), 0) << path;
    }
  }
}

TEST_P(BothModels, TracesOneAttentionPerLayerAndChangesNothing) {
  const Model model = small(GetParam());
  const Batch batch = Stories({question_of({{1, 2}, {3, 4, 2}, {2, 1}})}, 5, 4, regard::float64).batch({0});
  Traces traces;
  EXPECT_SAME_BITS(model(batch, Weighting::softmax, &traces), model(batch, Weighting::softmax));
  ASSERT_EQ(traces.size(), model.layers.size());
  for (const regard::AttentionTrace& trace : traces)
    EXPECT_TENSOR_NEAR(regard::sum(trace.weights, {-1}), regard::ones({1, 1, trace.weights.size(2)}), 1e-12,
                       0);
  EXPECT_SAME_BITS(model(batch, Weighting::linear, &traces), model(batch, Weighting::linear));
}

TEST(Window, SeesNeighboursOnly) {
  const Model model = small(ModelKind::window);
  const Batch batch = Stories({question_of({{1, 2}, {3}, {4, 2}, {1}})}, 5, 4, regard::float64).batch({0});
  Traces traces;
  (void)model(batch, Weighting::softmax, &traces);
  for (regard::Size i = 0; i < 4; ++i)
    for (regard::Size j = 0; j < 4; ++j)
      EXPECT_EQ(traces[0].weights.at({0, 0, i, j}) > 0, std::abs(i - j) <= 1) << i << " to " << j;
}

TEST(LinearStart, WeighsByTheScoresThemselves) {
  regard::Rng rng(5);
  const Hop hop(small_model(ModelKind::hops), rng);
  const Tensor asking = regard::normal({1, 1, 6}, rng), asked = regard::normal({1, 3, 6}, rng);
  const Tensor giving = regard::normal({1, 3, 6}, rng);
  const auto mask =
      regard::Mask::padding(regard::tensor({2}, regard::int64));  // the third sentence is not there
  const Tensor q = regard::matmul(asking, hop.query), k = regard::matmul(asked, hop.key),
               v = regard::matmul(giving, hop.value);
  Tensor expected = regard::zeros({1, 1, 6});
  for (regard::Size i = 0; i < 2; ++i) {
    const Tensor key = regard::reshape(regard::select(k, 1, i), {6}),
                 value = regard::reshape(regard::select(v, 1, i), {1, 1, 6});
    expected = expected + value * (regard::matmul(regard::reshape(q, {6}), key).item() / std::sqrt(6.0));
  }
  EXPECT_TENSOR_NEAR(hop(asking, asked, giving, mask, Weighting::linear, nullptr), expected, 1e-12, 1e-12);
}

// What looks at sentences by large negative scores is turned round: the linear model stays as it was, and
// softmax looks where the linear model did.
TEST_P(BothModels, AreTurnedTowardsTheirPeaksAtTheEndOfTheLinearStart) {
  Model model = small(GetParam());
  const Stories stories({question_of({{1, 2}, {3, 4, 2}, {2, 1}}), question_of({{4}, {3, 4}})}, 5, 4,
                        regard::float64);
  const Batch batch = stories.batch({0, 1});
  const auto mean_of_peaks = [&](const Model& of, std::size_t layer) {
    Traces traces;
    (void)of(batch, Weighting::linear, &traces);
    const Tensor& weights = traces[layer].weights;
    const Tensor places = regard::argmax(regard::abs(weights), -1, regard::keep_axes);
    return regard::mean(regard::sign(regard::gather(weights, places, -1))).item();
  };
  orient(model, batch);
  const Tensor before = model(batch, Weighting::linear);
  for (Hop& hop : model.layers) {
    hop.query.assign(-hop.query.value());
    hop.value.assign(-hop.value.value());
  }
  EXPECT_SAME_BITS(model(batch, Weighting::linear), before);
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    EXPECT_LE(mean_of_peaks(model, i), 0) << "layer " << i;
  orient(model, batch);
  EXPECT_SAME_BITS(model(batch, Weighting::linear), before);
  for (std::size_t i = 0; i < model.layers.size(); ++i)
    EXPECT_GE(mean_of_peaks(model, i), 0) << "layer " << i;
}

TEST(Choose, TakesTheBestInTrainingWhateverValidationSays) {
  std::vector<babi::Run> runs(4);
  const auto set = [&runs](std::size_t i, double training, double loss, double validation) {
    runs[i].training.accuracy = training;
    runs[i].training.loss = loss;
    runs[i].validation.accuracy = validation;
  };
  set(0, 0.3, 1.5, 1.0);
  set(1, 1.0, 0.02, 0.9);
  set(2, 1.0, 0.01, 0.8);
  set(3, 0.99, 0.005, 1.0);
  EXPECT_EQ(&choose(runs), &runs[2]);
  EXPECT_THROWS_WITH(choose({}), regard::ValueError, "at least one run");
}

TEST(StoriesToShow, TellOfMistakesAndSpreadOverTheRest) {
  std::vector<Answered> answers(100, {0, true});
  EXPECT_EQ(stories_to_show(answers), (std::vector<std::size_t>{0, 20, 40, 60, 80}));
  for (const std::size_t wrong : {30, 50, 70}) answers[wrong].right = false;
  EXPECT_EQ(stories_to_show(answers), (std::vector<std::size_t>{0, 30, 33, 50, 66}));
  EXPECT_EQ(stories_to_show({{0, false}, {0, true}, {0, false}, {0, false}}),
            (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(stories_to_show({}).empty());
}

class Learning : public ::testing::Test {
 protected:
  Learning() : data_(load_data(find_files(folder_.path(), 11, DataSize::small), 1)) {}

  ModelSettings settings(ModelKind kind) const {
    ModelSettings model;
    model.model = kind;
    model.words = data_.vocabulary.words();
    model.answers = data_.vocabulary.answers();
    model.ages = 12;
    return model;
  }
  // The runs have threads of their own.
  void SetUp() override { regard::set_blas_threads(1); }

  static TrainSettings schedule(std::int64_t steps, std::uint64_t seed) {
    TrainSettings settings;
    settings.steps = steps;
    settings.seed = seed;
    return settings;
  }

  test::DataFolder folder_;
  Data data_;
};

TEST_F(Learning, SetsWholeStoriesAside) {
  EXPECT_EQ(data_.training.questions.size() + data_.validation.questions.size(), 800u);
  EXPECT_EQ(data_.validation.questions.size(), 80u);
  EXPECT_EQ(data_.test.questions.size(), 200u);
}

// Simple guesses stay far below, so a model that passes follows pronouns.
TEST_F(Learning, BothModelsFollowPronouns) {
  EXPECT_LT(accuracy(last_location, data_.test.text), 0.8);
  EXPECT_LT(accuracy(last_fitting_pronoun, data_.test.text), 0.9);
  for (const ModelKind kind : {ModelKind::hops, ModelKind::window}) {
    std::vector<babi::Run> runs(4);
    common::run_in_parallel(
        runs.size(), 0, [&](std::size_t i) { runs[i] = train(data_, settings(kind), schedule(1500, i + 1)); },
        [] {}, [] {});
    const Model model = model_of(choose(runs), settings(kind));
    const Score score = evaluate(model, data_.test.questions, Weighting::softmax);
    EXPECT_GE(score.accuracy, 0.95) << name(kind);
    EXPECT_EQ(score.edge_mass.has_value(), kind == ModelKind::window);
    EXPECT_GE(score.answer_mass.value(), 0.5) << name(kind);
  }
}

TEST_F(Learning, TheSameSeedGivesTheSameNumbersInAnyThread) {
  std::vector<babi::Run> runs(3);
  common::run_in_parallel(
      3, 3,
      [&](std::size_t i) { runs[i] = train(data_, settings(ModelKind::hops), schedule(30, i == 2 ? 8 : 7)); },
      [] {}, [] {});
  const babi::Run here = train(data_, settings(ModelKind::hops), schedule(30, 7));
  EXPECT_EQ(runs[0].numbers, here.numbers);
  EXPECT_EQ(runs[1].numbers, here.numbers);
  EXPECT_NE(runs[2].numbers, here.numbers);
}

TEST_F(Learning, StopsWhenAskedAndKeepsWhatThereIs) {
  std::atomic<bool> stop{false};
  TrainSettings settings_of_run = schedule(100'000, 1);
  settings_of_run.log_every = 5;
  const babi::Run run = train(
      data_, settings(ModelKind::hops), settings_of_run,
      [&stop](const Progress& at) { stop = at.step >= 10; }, &stop);
  EXPECT_EQ(run.steps, 10);
  EXPECT_TRUE(run.interrupted);
  EXPECT_EQ(run.weighting, Weighting::linear);  // it had not come to softmax
  ASSERT_EQ(run.frames.size(), 3u);             // steps 0, 5 and 10
  EXPECT_FALSE(run.validation.answer_mass.has_value());
}

TEST_F(Learning, SaysWhichSeedWentAstray) {
  TrainSettings wild = schedule(200, 4);
  wild.learning_rate = 1e30;
  EXPECT_THROWS_WITH(train(data_, settings(ModelKind::hops), wild), regard::Error, "seed 4");
}

}  // namespace
}  // namespace babi

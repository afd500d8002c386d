// A short training: what is measured, that it repeats, that it learns more than pairs of characters.
#include "tiny_lm/training.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include <regard/error.hpp>
#include <regard/nn/module.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace tiny_lm {
namespace {

using regard::ValueError;

ModelSettings small(regard::DType dtype = regard::float64) {
  ModelSettings settings;
  settings.width = 8;
  settings.heads = 2;
  settings.context = 6;
  settings.dtype = dtype;
  return settings;
}

TrainSettings steps(std::int64_t count, std::uint64_t seed = 1) {
  TrainSettings settings;
  settings.steps = count;
  settings.batch = 4;
  settings.log_every = 5;
  settings.seed = seed;
  return settings;
}

TrainingRun run_of(const std::u32string& text, const ModelSettings& model, const TrainSettings& train) {
  return TrainingRun(text, Alphabet(text), model, train);
}

TEST(Training, TheSameSeedGivesTheSameBits) {
  const std::u32string text = bundled_text(Language::english).substr(0, 300);
  for (const regard::DType dtype : {regard::float64, regard::float32}) {
    const auto trained = [&](std::uint64_t seed) {
      TrainingRun run = run_of(text, small(dtype), steps(12, seed));
      (void)run.train();
      regard::Tensors numbers;
      for (const regard::Parameter& p : regard::parameters(run.model()))
        numbers.push_back(regard::reshape(p.value(), {-1}));
      return regard::concatenate(numbers);
    };
    const regard::Tensor first = trained(1);
    EXPECT_SAME_BITS(trained(1), first);
    EXPECT_GT(regard::max(regard::abs(trained(2) - first)).item(), 0);
  }
}

TEST(Training, MeasuresTheTextCharacterByCharacter) {
  const std::u32string text = U"một hai ba bốn năm sáu bảy tám chín mười";
  const Alphabet alphabet(text);
  TrainingRun run(text, alphabet, small(), steps(0));
  const std::vector<std::int64_t> ids = alphabet.ids(text);
  double sum = 0;
  int count = 0;
  const regard::NoGrad off;
  for (std::size_t first = 0; first + 18 < ids.size(); first += 18)
    for (std::size_t i = 0; i < 18; ++i, ++count) {
      const std::vector<std::int64_t> seen(ids.begin() + static_cast<std::ptrdiff_t>(first),
                                           ids.begin() + static_cast<std::ptrdiff_t>(first + i + 1));
      const auto scores = run.model()(regard::from_vector(seen, {1, static_cast<std::int64_t>(seen.size())}))
                              .to_vector<double>();
      const double* last = scores.data() + static_cast<std::int64_t>(i) * alphabet.size();
      double total = 0;
      for (std::int64_t c = 0; c < alphabet.size(); ++c) total += std::exp(last[c]);
      sum -= last[ids[first + i + 1]] - std::log(total);
    }
  EXPECT_EQ(count, 36);
  EXPECT_NEAR(run.text_loss(), sum / count, 1e-12);
}

TEST(Training, LogsAndStops) {
  const std::u32string text = bundled_text(Language::vietnamese).substr(0, 200);
  std::vector<std::int64_t> logged;
  TrainingRun run = run_of(text, small(), steps(12));
  const Result result = run.train([&](const Progress& at) { logged.push_back(at.step); });
  EXPECT_EQ(logged, (std::vector<std::int64_t>{0, 5, 10, 12}));
  EXPECT_EQ(result.film.frames.size(), 4u);
  EXPECT_EQ(result.steps, 12);
  EXPECT_FALSE(result.interrupted);
  EXPECT_EQ(result.characters, 200);
  EXPECT_EQ(result.alphabet, Alphabet(text).size());
  EXPECT_EQ(result.parameters, regard::parameter_count(run.model()));
  EXPECT_LT(result.loss, result.loss_before);
  regard::study::check(result.film);

  std::atomic<bool> stop{false};
  TrainingRun another = run_of(text, small(), steps(1000));
  const Result stopped = another.train([&](const Progress& at) { stop = at.step >= 10; }, &stop);
  EXPECT_TRUE(stopped.interrupted);
  EXPECT_EQ(stopped.steps, 10);
  EXPECT_EQ(stopped.film.frames.back().step, 10);
}

TEST(Training, WatchesEachLayerAndHead) {
  const std::u32string text = bundled_text(Language::vietnamese);
  const Alphabet alphabet(text);
  TrainingRun run(text, alphabet, small(), steps(0));
  const auto watched = watch(run.model(), alphabet, U"Con mèo nằm");
  ASSERT_EQ(watched.panels.size(), 4u);
  EXPECT_EQ(watched.panels[3].name, "layer 2, head 2");
  EXPECT_EQ(watched.text, "Con mèo nằm");
  for (const auto& panel : watched.panels) {
    EXPECT_EQ(panel.keys[3], "_");
    EXPECT_EQ(panel.keys[5], "è");
    for (std::size_t i = 0; i < 11; ++i) {
      double row = 0;
      for (std::size_t j = 0; j < 11; ++j) {
        EXPECT_EQ(panel.is_hidden(i, j), j > i || i - j >= 6);
        if (panel.is_hidden(i, j)) {
          EXPECT_EQ(panel.weight(i, j), 0);
        }
        row += panel.weight(i, j);
      }
      EXPECT_NEAR(row, 1, 1e-12);
    }
  }
}

TEST(Training, SaysWhenTheLossIsBelowPairs) {
  TrainingRun none = run_of(bundled_text(Language::english), small(), steps(5));
  EXPECT_FALSE(none.train().below_bigram.has_value());
}

// More than counting pairs can tell, on both bundled texts.
TEST(Training, FallsBelowTheBigramEntropy) {
  for (const Language language : {Language::vietnamese, Language::english}) {
    TrainSettings train;
    train.steps = 150;
    const Result result = run_of(bundled_text(language), ModelSettings(), train).train();
    EXPECT_GT(result.loss_before, result.entropies.unigram) << code(language);
    EXPECT_LT(result.loss, result.entropies.bigram) << code(language);
    ASSERT_TRUE(result.below_bigram.has_value()) << code(language);
    EXPECT_LE(*result.below_bigram, 150);
    for (const auto& frame : result.film.frames)
      EXPECT_EQ(frame.measures.at("loss") < result.entropies.bigram, frame.step >= *result.below_bigram);
  }
}

TEST(Training, RefusesWhatItCannotLearn) {
  EXPECT_THROWS_WITH(run_of(U"sáu.sá", small(), steps(1)), ValueError,
                     "the text has 6 characters, but a context of 6 needs at least 7");
  EXPECT_NO_THROW((void)run_of(U"sáu.sáu", small(), steps(1)).train());
  EXPECT_THROWS_WITH(TrainingRun(U"abcabcabc", Alphabet(U"ab"), small(), steps(1)), ValueError,
                     "'c' (U+0063)");
  const auto refused = [](const auto& change) {
    TrainSettings s;
    change(s);
    check(s);
  };
  EXPECT_THROWS_WITH((refused([](TrainSettings& s) { s.steps = -1; }), 0), ValueError, "steps: expected 0");
  EXPECT_THROWS_WITH((refused([](TrainSettings& s) { s.batch = 0; }), 0), ValueError, "batch: expected 1");
  EXPECT_THROWS_WITH((refused([](TrainSettings& s) { s.log_every = 0; }), 0), ValueError, "log-every");
  EXPECT_THROWS_WITH((refused([](TrainSettings& s) { s.learning_rate = 0; }), 0), ValueError,
                     "learning rate");
  TrainSettings wild = steps(200);
  wild.learning_rate = 1e300;
  EXPECT_THROWS_WITH(run_of(bundled_text(Language::english), small(), wild).train(), regard::Error,
                     "smaller --learning-rate");
}

}  // namespace
}  // namespace tiny_lm

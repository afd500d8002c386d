// Choosing a character, and writing through the cache.
#include "tiny_lm/sampling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace tiny_lm {
namespace {

using regard::Rng;
using regard::Tensor;
using regard::ValueError;

SamplingSettings settings(double temperature, std::int64_t top_k = 0, std::int64_t characters = 10) {
  SamplingSettings result;
  result.temperature = temperature;
  result.top_k = top_k;
  result.characters = characters;
  return result;
}

TEST(Choose, TakesTheLikeliestWhenCold) {
  Rng rng(1);
  EXPECT_EQ(choose({0.5, 2, -1, 2}, settings(0), rng), 1);
  EXPECT_EQ(choose({0.5, 2, -1, 2}, settings(5, 1), rng), 1);
  EXPECT_EQ(choose({-1e300, 1e300}, settings(1e-3), rng), 1);
  EXPECT_EQ(rng.state().counter, 6u) << "each choice draws once";
}

TEST(Choose, FollowsTheSoftmaxOfWhatIsKept) {
  const std::vector<double> scores = {0, 1.5, -0.5, 1, 0.25};
  for (const double temperature : {0.5, 1.0, 2.0})
    for (const std::int64_t top_k : {0, 3, 100}) {
      std::vector<double> expected;
      for (const double s : scores)  // of 1.5, 1, 0.25 alone where three are kept
        expected.push_back(top_k == 3 && s < 0.25 ? 0 : std::exp(s / temperature));
      double total = 0;
      for (const double e : expected) total += e;
      Rng rng(2);
      std::vector<double> seen(5);
      constexpr int draws = 20000;
      for (int i = 0; i < draws; ++i)
        ++seen[static_cast<std::size_t>(choose(scores, settings(temperature, top_k), rng))];
      for (std::size_t i = 0; i < 5; ++i) {
        const double p = expected[i] / total;
        EXPECT_NEAR(seen[i] / draws, p, 5 * std::sqrt(p * (1 - p) / draws)) << i << " at " << temperature;
      }
    }
}

TEST(Choose, RefusesWhatMakesNoSense) {
  Rng rng(1);
  EXPECT_THROWS_WITH(choose({0, std::nan("")}, settings(1), rng), ValueError, "not finite");
  EXPECT_THROWS_WITH(choose({0, std::numeric_limits<double>::infinity()}, settings(1), rng), ValueError,
                     "not finite");
  EXPECT_THROWS_WITH((check(settings(-1)), 0), ValueError, "temperature: expected 0 or a positive number");
  EXPECT_THROWS_WITH((check(settings(std::nan(""))), 0), ValueError, "temperature");
  EXPECT_THROWS_WITH((check(settings(1, -1)), 0), ValueError, "top-k: expected 0 or more, got -1");
  EXPECT_THROWS_WITH((check(settings(1, 0, -5)), 0), ValueError, "sample: expected 0 to 1000000");
}

TinyLm model(const Alphabet& alphabet, const ModelSettings& with) {
  Rng rng(3);
  return TinyLm(alphabet.size(), with, rng);
}

std::vector<ModelSettings> several() {
  std::vector<ModelSettings> all(3);
  for (ModelSettings& s : all) s.dtype = regard::float64;
  all[1].layers = 3;
  all[1].context = 7;  // shorter than the text: the window forgets
  all[2].attention_only = true;
  all[2].heads = 1;
  all[2].context = 1;  // sees itself alone
  return all;
}

TEST(Sample, CachedScoresAreThoseOfTheWholeText) {
  const Alphabet alphabet(bundled_text(Language::vietnamese));
  const std::u32string text = bundled_text(Language::vietnamese).substr(0, 90);
  const std::vector<std::int64_t> ids = alphabet.ids(text);
  const Tensor all = regard::from_vector(ids, {1, static_cast<std::int64_t>(ids.size())});
  for (const ModelSettings& with : several()) {
    const TinyLm lm = model(alphabet, with);
    const regard::NoGrad off;
    auto caches = lm.caches();
    regard::Tensors parts;
    for (const Tensor& part : regard::split(all, std::vector<regard::Size>{20, 1, 1, 5, 1, 60, 1, 1}, 1))
      parts.push_back(lm.step(part, caches));
    EXPECT_TENSOR_NEAR(regard::concatenate(parts, 1), lm(all), 1e-12, 1e-12) << with.context;
  }
}

TEST(Sample, WritesTheSameWithTheCacheAndWithout) {
  const Alphabet alphabet(bundled_text(Language::english));
  for (const ModelSettings& with : several()) {
    const TinyLm lm = model(alphabet, with);
    for (const SamplingSettings& how : {settings(0, 0, 60), settings(1, 0, 60), settings(1.3, 5, 60)}) {
      const std::u32string cached = sample(lm, alphabet, U"The ", how, Rng(4), Decoding::cached);
      EXPECT_EQ(cached.size(), 60u);
      EXPECT_EQ(cached, sample(lm, alphabet, U"The ", how, Rng(4), Decoding::whole));
      EXPECT_EQ(cached, sample(lm, alphabet, U"The ", how, Rng(4)));
      if (how.temperature > 0) {
        EXPECT_NE(cached, sample(lm, alphabet, U"The ", how, Rng(5)));
      }
    }
  }
}

TEST(Sample, RefusesAPromptItCannotRead) {
  const Alphabet alphabet(U"ab ");
  const TinyLm lm = model(alphabet, {});
  EXPECT_THROWS_WITH(sample(lm, alphabet, U"", settings(1), Rng(1)), ValueError, "at least one character");
  EXPECT_THROWS_WITH(sample(lm, alphabet, U"aç", settings(1), Rng(1)), ValueError, "'ç' (U+00E7)");
  EXPECT_EQ(sample(lm, alphabet, U"a", settings(1, 0, 0), Rng(1)), U"");
  EXPECT_EQ(usual_prompt(alphabet), U" ");
  EXPECT_EQ(usual_prompt(Alphabet(U"a\n")), U"\n");
}

TEST(ModelSettings, AreChecked) {
  const auto refused = [](const auto& change) {
    ModelSettings s;
    change(s);
    return [s] { check(s); };
  };
  EXPECT_THROWS_WITH((refused([](ModelSettings& s) { s.width = 50; })(), 0), ValueError,
                     "width 50 with 4 heads: positions turn pairs");
  EXPECT_THROWS_WITH((refused([](ModelSettings& s) { s.width = 0; })(), 0), ValueError, "width: expected 1");
  EXPECT_THROWS_WITH((refused([](ModelSettings& s) { s.heads = 0; })(), 0), ValueError, "heads: expected 1");
  EXPECT_THROWS_WITH((refused([](ModelSettings& s) { s.layers = 0; })(), 0), ValueError,
                     "layers: expected 1");
  EXPECT_THROWS_WITH((refused([](ModelSettings& s) { s.context = 0; })(), 0), ValueError,
                     "context: expected 1");
  EXPECT_THROWS_WITH((refused([](ModelSettings& s) { s.dtype = regard::int64; })(), 0), ValueError,
                     "dtype: expected float32 or float64, got int64");
}

}  // namespace
}  // namespace tiny_lm

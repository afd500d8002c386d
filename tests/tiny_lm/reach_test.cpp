// The whole training: in the end the text is known almost by heart, and what is written looks like it.
#include <gtest/gtest.h>

#include <set>

#include "tiny_lm/sampling.hpp"
#include "tiny_lm/training.hpp"

namespace tiny_lm {
namespace {

std::set<std::u32string> words_of(const std::u32string& text) {
  std::set<std::u32string> words;
  std::u32string word;
  for (const char32_t c : text) {
    if (c != ' ' && c != '\n') {
      word += c;
      continue;
    }
    if (!word.empty()) words.insert(word);
    word.clear();
  }
  return words;
}

TEST(Reach, TheTextIsLearned) {
  for (const Language language : {Language::vietnamese, Language::english}) {
    const std::u32string text = bundled_text(language);
    const Alphabet alphabet(text);
    TrainingRun run(text, alphabet, ModelSettings(), TrainSettings());
    const Result result = run.train();
    EXPECT_LT(result.loss, 0.25 * result.entropies.bigram) << code(language);
    SamplingSettings cold;
    cold.characters = 400;
    cold.temperature = 0.3;
    const std::set<std::u32string> known = words_of(text);
    std::size_t right = 0;
    const std::set<std::u32string> written =
        words_of(sample(run.model(), alphabet, U"\n", cold, regard::Rng(1)));
    for (const std::u32string& word : written) right += known.count(word);
    EXPECT_GT(written.size(), 20u) << code(language);
    EXPECT_GT(right, written.size() / 2) << code(language) << ": most words are words";
  }
}

}  // namespace
}  // namespace tiny_lm

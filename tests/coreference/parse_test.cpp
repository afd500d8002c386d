#include "coreference/parse.hpp"

#include <gtest/gtest.h>

#include <string>

#include "coreference/batch.hpp"
#include "regard/error.hpp"

namespace coreference {
namespace {

std::string error_of(std::string_view text, Language language = Language::vietnamese) {
  try {
    parse_sentence(text, language);
  } catch (const regard::ValueError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ParseSentence, ReadsTheSeedSentence) {
  const Sentence seed = seed_sentences(Language::vietnamese)[0];
  for (const char* text :
       {"Con mèo ngồi trên thảm vì nó mệt", "con mèo ngồi_trên thảm vì nó mệt.",
        "  CON MÈO, NGỒI TRÊN THẢM\tVÌ NÓ MỆT!\n", "con me\u0300o ngồi trên thảm vì nó mê\u0323t"}) {
    const Sentence s = parse_sentence(text, Language::vietnamese);
    EXPECT_EQ(s.tokens, seed.tokens) << text;
    EXPECT_EQ(s.pronoun, seed.pronoun);
    EXPECT_EQ(s.predicate, seed.predicate);
    EXPECT_EQ(s.candidates, seed.candidates);
    EXPECT_EQ(s.referents, (std::vector<std::int64_t>{0, 1, 0, 0, 2, 0, 0, 0}));
    EXPECT_EQ(s.kind, Kind::own);
    EXPECT_EQ(s.antecedent, no_position);
    EXPECT_EQ(s.label, 0);
    EXPECT_EQ(s.text(), "Con mèo ngồi trên thảm vì nó mệt");
  }
}

TEST(ParseSentence, CompoundsMayBeWrittenWithSpaces) {
  const Sentence a = parse_sentence("Lũ trẻ gặp ông nội và cô giáo. Cô ấy rất mệt.", Language::vietnamese);
  const Sentence b = parse_sentence("lũ_trẻ gặp ông_nội và cô_giáo . cô_ấy rất mệt", Language::vietnamese);
  EXPECT_EQ(a.tokens, b.tokens);
  EXPECT_EQ(a.length(), 9);
  EXPECT_EQ(a.text(), "Lũ trẻ gặp ông nội và cô giáo. Cô ấy rất mệt");
  EXPECT_EQ(a.candidates.size(), 3u);
}

TEST(ParseSentence, EverySentenceOfTheGrammarIsReadBack) {
  regard::Rng rng(2);
  for (const Language language : {Language::vietnamese, Language::english})
    for (const Task task : {Task::twist, Task::agreement})
      for (const Length length : {Length::usual, Length::long_2})
        for (int i = 0; i < 200; ++i) {
          GrammarOptions o;
          o.language = language;
          o.task = task;
          o.length = length;
          const Sentence s = draw(o, rng);
          const Sentence read = parse_sentence(s.text(), language);
          EXPECT_EQ(read.tokens, s.tokens) << s.text();
          EXPECT_EQ(read.candidates, s.candidates) << s.text();
          EXPECT_EQ(read.pronoun, s.pronoun) << s.text();
          EXPECT_EQ(read.predicate, s.predicate) << s.text();
        }
}

TEST(ParseSentence, PlacesCarryNumbersButAreNoCandidates) {
  const Sentence s = parse_sentence("trong bếp con chó đuổi con mèo vì nó đói", Language::vietnamese);
  EXPECT_EQ(s.referents, (std::vector<std::int64_t>{0, 1, 0, 2, 0, 0, 3, 0, 0, 0}));
  EXPECT_EQ(s.candidates, (std::vector<std::int64_t>{3, 6}));
}

TEST(ParseSentence, APredicateIsNotNecessary) {
  const Sentence s = parse_sentence("the cat sat on the mat because it", Language::english);
  EXPECT_EQ(s.predicate, no_position);
  const std::vector<double> weights = clause_weights(make_batch({s}));
  EXPECT_EQ(weights[static_cast<std::size_t>(s.pronoun)], 1.0);
}

TEST(ParseSentence, UnknownWordsAreNamedAndTheLexiconIsListed) {
  const std::string error = error_of("con mèo ăn cá vì nó đói");
  for (const char* part :
       {"\"ăn\", \"cá\"", "lexicon vi", "animals: mèo chó", "pronouns: anh_ấy", "time words: hôm_nay"})
    EXPECT_NE(error.find(part), std::string::npos) << part << " is missing in:\n" << error;
}

TEST(ParseSentence, WhatCannotBeAnswered) {
  const auto contains = [](const std::string& error, const char* part) {
    EXPECT_NE(error.find(part), std::string::npos) << error;
  };
  contains(error_of("con mèo ngồi trên thảm"), "expected one pronoun (anh ấy, ");
  contains(error_of("con mèo ngồi trên thảm vì nó mệt vì nó mềm"), "got 2");
  contains(error_of(""), "got 0");
  contains(error_of(" . "), "got 0");
  contains(error_of("nó mệt"), "no noun before \"nó\"");
  contains(error_of("trong nhà nó mệt"), "no noun before \"nó\"");
  contains(error_of("nó mệt vì con mèo"), "no noun before \"nó\"");
  contains(error_of("mèo chó chim chuột gà thỏ vịt bò thảm vì nó mệt"), "at most 8 nouns, got 9");
  contains(error_of("m\xE8o"), "UTF-8");
  std::string endless = "mèo";
  for (int i = 0; i < 40; ++i) endless += " rất";
  contains(error_of(endless + " nó mệt"), "at most 32 tokens, got 43");
}

}  // namespace
}  // namespace coreference

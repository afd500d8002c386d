#include "babi/questions.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "babi/heuristics.hpp"
#include "regard/error.hpp"

namespace babi {
namespace {

std::vector<StoryQuestion> stories(int count) {
  std::string text;
  for (int i = 0; i < count; ++i)
    text +=
        "1 Mary went to the garden.\n2 Afterwards she went to the office.\n3 Where is Mary?\toffice\t1 2\n"
        "4 John moved to the hall.\n5 Then he moved to the garden.\n6 Where is Mary?\toffice\t1 2\n";
  return parse_questions(text, "stories");
}

TEST(BabiVocabulary, WordsAndAnswersInAlphabeticalOrder) {
  const Vocabulary v(stories(1));
  EXPECT_EQ(v.words(), 1 + 15);
  EXPECT_EQ(v.word(0), "");
  EXPECT_EQ(v.word(1), "afterwards");
  for (std::int64_t id = 1; id < v.words(); ++id) EXPECT_EQ(v.word_id(v.word(id)), id);
  EXPECT_EQ(v.answers(), 1);
  EXPECT_EQ(v.answer(v.answer_id("office")), "office");
  EXPECT_THROW(v.word_id(""), regard::ValueError);
  EXPECT_THROW(v.word_id("xylophone"), regard::ValueError);
  EXPECT_THROW(v.answer_id("garden"), regard::ValueError);
  EXPECT_THROW(v.word(16), std::out_of_range);
}

TEST(BabiQuestions, EncodingKeepsWords) {
  const std::vector<StoryQuestion> q = stories(1);
  const Vocabulary v(q);
  const std::vector<Question> encoded = encode(q, v);
  ASSERT_EQ(encoded.size(), q.size());
  for (std::size_t i = 0; i < q.size(); ++i) {
    ASSERT_EQ(encoded[i].sentences.size(), q[i].sentences.size());
    for (std::size_t s = 0; s < q[i].sentences.size(); ++s) {
      Words words;
      for (const std::int64_t id : encoded[i].sentences[s]) words.push_back(v.word(id));
      EXPECT_EQ(words, q[i].sentences[s]);
    }
    EXPECT_EQ(v.answer(encoded[i].answer), q[i].answer);
    EXPECT_EQ(encoded[i].supporting, q[i].supporting);
  }
  EXPECT_EQ(text_of(q[0].sentences[0]), "mary went to the garden");
}

TEST(BabiQuestions, UnknownWordsNameTheLine) {
  const auto other =
      parse_questions("1 Sandra went to the office.\n2 Where is Sandra?\toffice\t1\n", "other");
  try {
    encode(other, Vocabulary(stories(1)));
    FAIL() << "no error";
  } catch (const regard::ValueError& error) {
    EXPECT_NE(std::string(error.what()).find("line 2"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("\"sandra\""), std::string::npos) << error.what();
  }
}

TEST(BabiSplit, SetsWholeStoriesAside) {
  const std::vector<StoryQuestion> all = stories(50);
  const ValidationSplit split = split_validation(all, 0.1, regard::Rng(1));
  EXPECT_EQ(split.validation.size(), 10u);
  EXPECT_EQ(split.training.size(), 90u);
  std::set<std::size_t> trained;
  for (const StoryQuestion& q : split.training) trained.insert(q.story);
  for (const StoryQuestion& q : split.validation) EXPECT_EQ(trained.count(q.story), 0u);
  EXPECT_EQ(split_validation(all, 0.1, regard::Rng(1)).validation[0].story, split.validation[0].story);
}

TEST(BabiSplit, NeitherPartIsEmpty) {
  EXPECT_EQ(split_validation(stories(2), 0.01, regard::Rng(1)).validation.size(), 2u);
  EXPECT_EQ(split_validation(stories(2), 0.99, regard::Rng(1)).training.size(), 2u);
  EXPECT_THROW(split_validation(stories(1), 0.1, regard::Rng(1)), regard::ValueError);
  EXPECT_THROW(split_validation(stories(5), 0, regard::Rng(1)), regard::ValueError);
  EXPECT_THROW(split_validation(stories(5), 1, regard::Rng(1)), regard::ValueError);
}

TEST(BabiHeuristics, GuessFromPositionsAlone) {
  const std::vector<StoryQuestion> q = stories(1);
  EXPECT_EQ(last_location(q[1]), "garden");
  EXPECT_EQ(last_fitting_pronoun(q[1]), "office");
  EXPECT_EQ(after_last_naming(q[1]), "office");
  EXPECT_EQ(majority_answer(q), "office");
  EXPECT_EQ(accuracy(last_location, q), 0.5);
  EXPECT_EQ(accuracy(after_last_naming, q), 1);
  EXPECT_THROW(accuracy(last_location, {}), regard::ValueError);
  EXPECT_THROW(majority_answer({}), regard::ValueError);
}

TEST(BabiHeuristics, NoGuessForSomeoneWhoIsNotNamed) {
  const auto q = parse_questions("1 John went home.\n2 Where is Mary?\thome\t1\n", "q");
  EXPECT_EQ(after_last_naming(q[0]), "");
  EXPECT_EQ(last_fitting_pronoun(q[0]), "");
}

}  // namespace
}  // namespace babi

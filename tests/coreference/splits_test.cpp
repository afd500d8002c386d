#include "coreference/splits.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "regard/error.hpp"

namespace coreference {
namespace {

SplitOptions options(Task task, Language language = Language::vietnamese, std::uint64_t seed = 1) {
  SplitOptions o;
  o.task = task;
  o.language = language;
  o.seed = seed;
  return o;
}

std::set<Pair> pairs_in(const std::vector<Sentence>& sentences) {
  std::set<Pair> pairs;
  for (const Sentence& s : sentences) pairs.insert(pair_of(s));
  return pairs;
}

bool overlap(const std::set<Pair>& a, const std::set<Pair>& b) {
  return std::any_of(a.begin(), a.end(), [&b](const Pair& pair) { return b.count(pair) != 0; });
}

TEST(Splits, SizesAndDefaults) {
  const Splits s = make_splits(options(Task::twist));
  EXPECT_EQ(s.training.size(), 2000u);
  for (const auto* set : {&s.validation, &s.held_out, &s.long_1, &s.long_2}) EXPECT_EQ(set->size(), 1000u);
  EXPECT_TRUE(s.ambiguous.empty());
  EXPECT_EQ(s.seed_sentences.size(), 2u);
  EXPECT_EQ(s.held_out_pairs.size(), 26u);  // 20 % of 4 x 8 x 4
  EXPECT_EQ(all_pairs(Language::vietnamese, Task::twist).size(), 128u);
}

TEST(Splits, HeldOutPairsAreNeverTrained) {
  for (const Task task : {Task::agreement, Task::twist, Task::mutual})
    for (const Language language : {Language::vietnamese, Language::english}) {
      const Splits s = make_splits(options(task, language));
      for (const auto* set : {&s.training, &s.validation, &s.long_1, &s.long_2})
        EXPECT_FALSE(overlap(pairs_in(*set), s.held_out_pairs));
      for (const Pair& pair : pairs_in(s.held_out)) EXPECT_EQ(s.held_out_pairs.count(pair), 1u);
      EXPECT_EQ(pairs_in(s.held_out), s.held_out_pairs);  // 1,000 sentences show each of about 26 pairs
      // Everything that is not held out is trained and validated.
      EXPECT_EQ(pairs_in(s.training).size() + s.held_out_pairs.size(), all_pairs(language, task).size());
      EXPECT_EQ(pairs_in(s.validation), pairs_in(s.training));
    }
}

TEST(Splits, SeedPairsAreHeldOutWhateverTheSeed) {
  for (const Language language : {Language::vietnamese, Language::english})
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
      const std::set<Pair> held_out = choose_held_out(options(Task::twist, language, seed));
      for (const Sentence& s : seed_sentences(language)) EXPECT_EQ(held_out.count(pair_of(s)), 1u) << seed;
    }
  const Splits splits = make_splits(options(Task::twist));
  for (const Sentence& seed : splits.seed_sentences)
    for (const Sentence& s : splits.training) EXPECT_NE(s.tokens, seed.tokens);
}

TEST(Splits, EveryNounAndPredicateKeepsHalfOfItsPairs) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::map<std::pair<std::int64_t, WordClass>, int> of_noun;
    std::map<std::int64_t, int> of_predicate;
    for (const Pair& pair : choose_held_out(options(Task::twist, Language::vietnamese, seed))) {
      ++of_noun[{pair.first, Lexicon::of(Language::vietnamese).word_class(pair.second)}];
      ++of_predicate[pair.second];
    }
    for (const auto& entry : of_noun) EXPECT_LE(entry.second, 2);
    for (const auto& entry : of_predicate) EXPECT_LE(entry.second, 4);
  }
}

TEST(Splits, SeedsChooseOtherPairs) {
  EXPECT_NE(choose_held_out(options(Task::twist, Language::vietnamese, 1)),
            choose_held_out(options(Task::twist, Language::vietnamese, 2)));
}

TEST(Splits, NoValidationSentenceIsATrainingSentence) {
  const Splits s = make_splits(options(Task::twist));
  std::set<std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>> trained;
  for (const Sentence& t : s.training) trained.insert({t.tokens, t.referents});
  for (const Sentence& v : s.validation) EXPECT_EQ(trained.count({v.tokens, v.referents}), 0u) << v.text();
}

TEST(Splits, AreAFunctionOfTheSeed) {
  const Splits a = make_splits(options(Task::twist)), b = make_splits(options(Task::twist));
  const Splits c = make_splits(options(Task::twist, Language::vietnamese, 2));
  EXPECT_EQ(a.held_out_pairs, b.held_out_pairs);
  bool differs = false;
  for (std::size_t i = 0; i < a.training.size(); ++i) {
    EXPECT_EQ(a.training[i].tokens, b.training[i].tokens);
    EXPECT_EQ(a.training[i].referents, b.training[i].referents);
    differs = differs || a.training[i].tokens != c.training[i].tokens;
  }
  EXPECT_TRUE(differs);
}

TEST(Splits, MoreTrainingSentencesLeaveTheFirstOnesAlone) {
  SplitOptions more = options(Task::agreement);
  more.training = 2500;
  const Splits a = make_splits(options(Task::agreement)), b = make_splits(more);
  for (std::size_t i = 0; i < a.training.size(); ++i) EXPECT_EQ(a.training[i].tokens, b.training[i].tokens);
  EXPECT_EQ(a.held_out.front().tokens, b.held_out.front().tokens);
}

TEST(Splits, AmbiguousShareConcernsTrainingAlone) {
  SplitOptions o = options(Task::twist);
  o.ambiguous = 0.2;
  const Splits s = make_splits(o);
  const auto count = [](const std::vector<Sentence>& sentences) {
    return std::count_if(sentences.begin(), sentences.end(), [](const Sentence& x) {
      return Lexicon::of(x.language).word_class(x.token(x.predicate)) == WordClass::ambiguous;
    });
  };
  // Held-out pairs thin out the clear sentences, so the share is 0.2 / (0.2 + 0.8 * 0.8) = 0.24.
  EXPECT_NEAR(static_cast<double>(count(s.training)) / 2000, 0.24, 0.05);
  EXPECT_EQ(count(s.validation), 0);
  EXPECT_EQ(count(s.long_2), 0);
  EXPECT_EQ(count(s.ambiguous), 1000);
}

TEST(Splits, ShuffledLabelsArePermutedAndWorthNothing) {
  Splits s = make_splits(options(Task::mutual));
  const std::vector<Sentence> before = s.training;
  regard::Rng rng(5);
  shuffle_labels(s.training, rng);
  std::map<std::int64_t, int> count;
  int kept = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    ++count[before[i].label];
    --count[s.training[i].label];
    kept += before[i].label == s.training[i].label;
    EXPECT_EQ(before[i].tokens, s.training[i].tokens);
    EXPECT_EQ(before[i].referents, s.training[i].referents);
    EXPECT_EQ(before[i].antecedent, s.training[i].antecedent);
    EXPECT_NE(s.training[i].reverse_label, 0);
  }
  for (const auto& entry : count) EXPECT_EQ(entry.second, 0);
  EXPECT_NEAR(kept / 2000.0, 1.0 / 8, 0.04);  // five standard errors
}

TEST(Splits, ImpossibleOptionsAreErrors) {
  SplitOptions o = options(Task::twist);
  o.held_out_share = 0.6;
  EXPECT_THROW(make_splits(o), regard::ValueError);
  o = options(Task::twist);
  o.training = 0;
  EXPECT_THROW(make_splits(o), regard::ValueError);
  o = options(Task::mutual);
  o.ambiguous = 0.2;
  EXPECT_THROW(make_splits(o), regard::ValueError);
}

TEST(Splits, NothingHeldOutIsPossible) {
  SplitOptions o = options(Task::agreement);
  o.held_out_share = 0;
  const Splits s = make_splits(o);
  EXPECT_TRUE(s.held_out_pairs.empty());
  EXPECT_TRUE(s.held_out.empty());
  EXPECT_TRUE(s.seed_sentences.empty());
}

}  // namespace
}  // namespace coreference

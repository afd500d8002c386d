#include "coreference/metrics.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "coreference/splits.hpp"
#include "regard/error.hpp"

namespace coreference {
namespace {

std::vector<Sentence> sample(Task task, std::size_t count) {
  SplitOptions o;
  o.task = task;
  o.training = count;
  o.evaluation = 1;
  return make_splits(o).training;
}

TEST(Batch, PadsToTheLongestSentence) {
  const std::vector<Sentence> sentences = sample(Task::twist, 20);
  const Batch batch = make_batch(sentences, {3, 0, 7});
  ASSERT_EQ(batch.size, 3);
  EXPECT_EQ(batch.length, std::max({sentences[3].length(), sentences[0].length(), sentences[7].length()}));
  ASSERT_EQ(batch.tokens.size(), static_cast<std::size_t>(3 * batch.length));
  ASSERT_EQ(batch.referents.size(), batch.tokens.size());
  ASSERT_EQ(batch.candidates.size(), batch.tokens.size());
  const std::vector<std::size_t> chosen{3, 0, 7};
  for (std::size_t row = 0; row < 3; ++row) {
    const Sentence& s = sentences[chosen[row]];
    EXPECT_EQ(batch.lengths[row], s.length());
    EXPECT_EQ(batch.pronoun[row], s.pronoun);
    EXPECT_EQ(batch.predicate[row], s.predicate);
    EXPECT_EQ(batch.antecedent[row], s.antecedent);
    EXPECT_EQ(batch.target[row], s.label - 1);
    for (std::int64_t i = 0; i < batch.length; ++i) {
      const auto at = row * static_cast<std::size_t>(batch.length) + static_cast<std::size_t>(i);
      const bool real = i < s.length();
      EXPECT_EQ(batch.tokens[at], real ? s.token(i) : 0);
      EXPECT_EQ(batch.referents[at], real ? s.referent(i) : 0);
      EXPECT_EQ(batch.candidates[at] != 0, i == s.candidates[0] || i == s.candidates[1]);
    }
  }
  EXPECT_TRUE(batch.reverse_target.empty());
}

TEST(Batch, MutualSentencesHaveTwoTargets) {
  const std::vector<Sentence> sentences = sample(Task::mutual, 5);
  const Batch batch = make_batch(sentences);
  ASSERT_EQ(batch.reverse_target.size(), 5u);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(batch.reverse_target[i], sentences[i].reverse_label - 1);
}

TEST(Batch, ClauseWeightsAreAMean) {
  const std::vector<Sentence> sentences = sample(Task::twist, 50);
  const Batch batch = make_batch(sentences);
  const std::vector<double> weights = clause_weights(batch);
  for (std::size_t row = 0; row < 50; ++row) {
    const Sentence& s = sentences[row];
    const auto first = weights.begin() + static_cast<std::ptrdiff_t>(row) * batch.length;
    EXPECT_NEAR(std::accumulate(first, first + batch.length, 0.0), 1, 1e-15);
    EXPECT_EQ(first[s.pronoun], first[s.predicate]);
    EXPECT_EQ(first[s.pronoun - 1], 0);
  }
}

TEST(Batch, ImpossibleChoicesAreErrors) {
  const std::vector<Sentence> sentences = sample(Task::twist, 2);
  EXPECT_THROW(make_batch(sentences, {}), regard::ValueError);
  EXPECT_THROW(make_batch({}), regard::ValueError);
  EXPECT_THROW(make_batch(sentences, {2}), std::out_of_range);
  EXPECT_THROW(make_batch({Sentence{}}), regard::ValueError);
}

struct Outputs {
  std::vector<double> logits, attention;
};

// All attention and the largest logit on position `look(sentence)`.
template <class Look>
Outputs look_at(const Batch& batch, const std::vector<Sentence>& sentences, Look look) {
  Outputs out;
  out.logits.resize(static_cast<std::size_t>(batch.size * referent_numbers));
  out.attention.resize(static_cast<std::size_t>(batch.size * batch.length));
  for (std::int64_t i = 0; i < batch.size; ++i) {
    const Sentence& s = sentences[static_cast<std::size_t>(i)];
    const std::int64_t position = look(s);
    out.logits[static_cast<std::size_t>(i * referent_numbers + s.referent(position) - 1)] = 1;
    out.attention[static_cast<std::size_t>(i * batch.length + position)] = 1;
  }
  return out;
}

Metrics evaluate(const Batch& batch, const Outputs& outputs) {
  Evaluation evaluation;
  evaluation.add(batch, outputs.logits, outputs.attention);
  return evaluation.result();
}

TEST(Metrics, PerfectModel) {
  const std::vector<Sentence> sentences = sample(Task::twist, 30);
  const Batch batch = make_batch(sentences);
  const Metrics m =
      evaluate(batch, look_at(batch, sentences, [](const Sentence& s) { return s.antecedent; }));
  EXPECT_EQ(m.count, 30);
  EXPECT_EQ(m.accuracy, 1);
  EXPECT_EQ(m.candidate_accuracy, 1);
  EXPECT_EQ(m.mass, 1);
  EXPECT_EQ(m.other_mass, 0);
  EXPECT_EQ(m.peak_share, 1);
  EXPECT_EQ(m.entropy, 0);
}

TEST(Metrics, AlwaysTheFirstCandidate) {
  const std::vector<Sentence> sentences = sample(Task::twist, 300);
  const Batch batch = make_batch(sentences);
  const Metrics m =
      evaluate(batch, look_at(batch, sentences, [](const Sentence& s) { return s.candidates[0]; }));
  EXPECT_NEAR(m.accuracy, 0.5, 0.15);
  EXPECT_EQ(m.candidate_accuracy, m.accuracy);
  EXPECT_EQ(m.mass, m.accuracy);
  EXPECT_NEAR(m.other_mass, 1 - m.mass, 1e-12);
  EXPECT_EQ(m.peak_share, m.accuracy);
}

TEST(Metrics, CandidateAccuracyIgnoresOtherNumbers) {
  const std::vector<Sentence> sentences = sample(Task::twist, 10);
  const Batch batch = make_batch(sentences);
  Outputs out = look_at(batch, sentences, [](const Sentence& s) { return s.antecedent; });
  for (std::size_t i = 0; i < 10; ++i) {
    std::int64_t elsewhere = 1;  // a number that neither candidate has gets the largest logit
    while (elsewhere == sentences[i].referent(sentences[i].candidates[0]) ||
           elsewhere == sentences[i].referent(sentences[i].candidates[1]))
      ++elsewhere;
    out.logits[i * referent_numbers + static_cast<std::size_t>(elsewhere - 1)] = 2;
  }
  const Metrics m = evaluate(batch, out);
  EXPECT_EQ(m.accuracy, 0);
  EXPECT_EQ(m.candidate_accuracy, 1);
}

TEST(Metrics, UniformAttentionHasTheEntropyOfTheLength) {
  const std::vector<Sentence> seed{seed_sentences(Language::vietnamese)[0]};
  const Batch batch = make_batch(seed);
  Evaluation evaluation;
  evaluation.add(batch, std::vector<double>(8), std::vector<double>(8, 0.125));
  const Metrics m = evaluation.result();
  EXPECT_NEAR(m.entropy, std::log(8.0), 1e-15);
  EXPECT_EQ(m.mass, 0.125);
  EXPECT_EQ(m.other_mass, 0.125);
  EXPECT_EQ(m.accuracy, 0);  // equal logits know nothing
  EXPECT_EQ(m.candidate_accuracy, 0);
  EXPECT_EQ(m.peak_share, 0);
}

TEST(Metrics, BatchesAddUpByTheirSizes) {
  const std::vector<Sentence> sentences = sample(Task::agreement, 10);
  const std::vector<Sentence> head(sentences.begin(), sentences.begin() + 3);
  const std::vector<Sentence> tail(sentences.begin() + 3, sentences.end());
  const auto right = [](const Sentence& s) { return s.antecedent; };
  const auto wrong = [](const Sentence& s) {
    return s.candidates[0] == s.antecedent ? s.candidates[1] : s.candidates[0];
  };
  Evaluation evaluation;
  const Batch a = make_batch(head), b = make_batch(tail);
  const Outputs x = look_at(a, head, right), y = look_at(b, tail, wrong);
  evaluation.add(a, x.logits, x.attention);
  evaluation.add(b, y.logits, y.attention);
  EXPECT_EQ(evaluation.result().count, 10);
  EXPECT_DOUBLE_EQ(evaluation.result().accuracy, 0.3);
  EXPECT_DOUBLE_EQ(evaluation.result().mass, 0.3);
}

TEST(Metrics, NanIsAMiss) {
  const std::vector<Sentence> seed{seed_sentences(Language::vietnamese)[0]};
  const Batch batch = make_batch(seed);
  Evaluation evaluation;
  evaluation.add(batch, std::vector<double>(8, std::nan("")), std::vector<double>(8, std::nan("")));
  EXPECT_EQ(evaluation.result().accuracy, 0);
  EXPECT_EQ(evaluation.result().peak_share, 0);
  EXPECT_TRUE(std::isnan(evaluation.result().mass));
}

TEST(Metrics, ShuffledLabelsDoNotChangeWhatIsRight) {
  std::vector<Sentence> sentences = sample(Task::twist, 30);
  regard::Rng rng(1);
  shuffle_labels(sentences, rng);
  const Batch batch = make_batch(sentences);
  EXPECT_EQ(
      evaluate(batch, look_at(batch, sentences, [](const Sentence& s) { return s.antecedent; })).accuracy, 1);
}

TEST(Metrics, WrongSizesAreErrors) {
  const std::vector<Sentence> seed{seed_sentences(Language::vietnamese)[0]};
  const Batch batch = make_batch(seed);
  Evaluation evaluation;
  EXPECT_THROW(evaluation.add(batch, std::vector<double>(7), std::vector<double>(8)), regard::ValueError);
  EXPECT_THROW(evaluation.add(batch, std::vector<double>(8), std::vector<double>(9)), regard::ValueError);
  EXPECT_THROW(evaluation.result(), regard::ValueError);
}

}  // namespace
}  // namespace coreference

#include "coreference/grammar.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "coreference/heuristics.hpp"
#include "regard/error.hpp"

namespace coreference {
namespace {

GrammarOptions options(Task task, Language language = Language::vietnamese, Length length = Length::usual) {
  GrammarOptions o;
  o.task = task;
  o.language = language;
  o.length = length;
  return o;
}

std::vector<Sentence> many(const GrammarOptions& o, int count = 20000) {
  regard::Rng rng(1);
  std::vector<Sentence> sentences;
  for (int i = 0; i < count; ++i) sentences.push_back(draw(o, rng));
  return sentences;
}

struct Lengths {
  std::int64_t shortest, longest;
  double mean;
};

Lengths lengths(const std::vector<Sentence>& sentences) {
  Lengths l{1000, 0, 0};
  for (const Sentence& s : sentences) {
    l.shortest = std::min(l.shortest, s.length());
    l.longest = std::max(l.longest, s.length());
    l.mean += static_cast<double>(s.length()) / static_cast<double>(sentences.size());
  }
  return l;
}

// All kinds of options that a generated sentence can come from.
std::vector<GrammarOptions> every_option() {
  std::vector<GrammarOptions> all;
  for (const Task task : {Task::agreement, Task::twist, Task::mutual})
    for (const Language language : {Language::vietnamese, Language::english})
      for (const Length length : {Length::usual, Length::long_1, Length::long_2})
        all.push_back(options(task, language, length));
  GrammarOptions ambiguous = options(Task::twist);
  ambiguous.ambiguous = 0.5;
  all.push_back(ambiguous);
  return all;
}

TEST(Grammar, EverySentenceIsWellFormed) {
  for (const GrammarOptions& o : every_option()) {
    const Lexicon& lexicon = Lexicon::of(o.language);
    for (const Sentence& s : many(o, 500)) {
      SCOPED_TRACE(s.text());
      ASSERT_EQ(s.tokens.size(), s.referents.size());
      ASSERT_LE(s.length(), longest_sentence);
      EXPECT_EQ(lexicon.word_class(s.token(s.pronoun)), WordClass::pronoun);
      EXPECT_TRUE(is_predicate(lexicon.word_class(s.token(s.predicate))));
      EXPECT_EQ(s.predicate, s.length() - 1);
      EXPECT_LT(s.pronoun, s.predicate);
      EXPECT_LE(s.predicate - s.pronoun, o.language == Language::english ? 3 : 2);
      EXPECT_EQ(s.candidates.size(), o.task == Task::twist ? 2u : 3u);
      EXPECT_EQ(std::count(s.candidates.begin(), s.candidates.end(), s.antecedent), 1);
      EXPECT_EQ(s.label, s.referent(s.antecedent));
      EXPECT_TRUE(std::is_sorted(s.candidates.begin(), s.candidates.end()));
      EXPECT_LT(s.candidates.back(), s.pronoun);
      std::set<std::int64_t> numbers;
      for (std::int64_t i = 0; i < s.length(); ++i) {
        const bool carries =
            is_noun(lexicon.word_class(s.token(i))) || (o.task == Task::mutual && i == s.pronoun);
        ASSERT_EQ(s.referent(i) != 0, carries) << "position " << i;
        if (!carries) continue;
        EXPECT_GE(s.referent(i), 1);
        EXPECT_LE(s.referent(i), referent_numbers);
        EXPECT_TRUE(numbers.insert(s.referent(i)).second) << "the number " << s.referent(i) << " comes twice";
      }
      EXPECT_EQ(s.reverse_label, o.task == Task::mutual ? s.referent(s.pronoun) : 0);
    }
  }
}

TEST(Grammar, PredicateDecidesTheTwist) {
  for (const Language language : {Language::vietnamese, Language::english}) {
    const Lexicon& lexicon = Lexicon::of(language);
    int role = 0;
    for (const Sentence& s : many(options(Task::twist, language), 4000)) {
      SCOPED_TRACE(s.text());
      const WordClass antecedent = lexicon.word_class(s.token(s.antecedent));
      switch (lexicon.word_class(s.token(s.predicate))) {
        case WordClass::animate:
          EXPECT_EQ(s.kind, Kind::twist_class);
          EXPECT_EQ(antecedent, WordClass::animal);
          break;
        case WordClass::inanimate:
          EXPECT_EQ(s.kind, Kind::twist_class);
          EXPECT_EQ(antecedent, WordClass::thing);
          break;
        case WordClass::subject:
          EXPECT_EQ(s.antecedent, s.candidates[0]);
          break;
        case WordClass::object:
          EXPECT_EQ(s.antecedent, s.candidates[1]);
          break;
        default:
          ADD_FAILURE() << "unexpected predicate";
      }
      role += s.kind == Kind::twist_role;
      EXPECT_NE(s.token(s.candidates[0]), s.token(s.candidates[1]));
    }
    EXPECT_NEAR(role / 4000.0, 0.5, 0.04);  // five standard errors
  }
}

TEST(Grammar, PronounDecidesTheAgreement) {
  for (const Task task : {Task::agreement, Task::mutual})
    for (const Language language : {Language::vietnamese, Language::english}) {
      const Lexicon& lexicon = Lexicon::of(language);
      for (const Sentence& s : many(options(task, language), 1000)) {
        SCOPED_TRACE(s.text());
        const auto fits = [&](std::int64_t position) {
          for (const AgreementClass& c : lexicon.agreement())
            if (c.pronoun == s.token(s.pronoun))
              return std::count(c.nouns.begin(), c.nouns.end(), s.token(position)) == 1;
          return false;
        };
        for (const std::int64_t position : s.candidates) EXPECT_EQ(fits(position), position == s.antecedent);
      }
    }
}

TEST(Grammar, LengthsAreThoseOfTheTask) {
  const Lengths twist = lengths(many(options(Task::twist)));
  EXPECT_EQ(twist.shortest, 8);
  EXPECT_EQ(twist.longest, 15);
  EXPECT_NEAR(twist.mean, 10.5, 0.1);

  const Lengths long_2 = lengths(many(options(Task::twist, Language::vietnamese, Length::long_2)));
  EXPECT_EQ(long_2.shortest, 15);
  EXPECT_EQ(long_2.longest, 22);

  const Lengths long_1 = lengths(many(options(Task::twist, Language::vietnamese, Length::long_1)));
  EXPECT_EQ(long_1.shortest, 13);
  EXPECT_EQ(long_1.longest, 20);

  const Lengths agreement = lengths(many(options(Task::agreement)));
  EXPECT_EQ(agreement.shortest, 8);
  EXPECT_EQ(agreement.longest, 16);

  const Lengths english = lengths(many(options(Task::twist, Language::english)));
  EXPECT_EQ(english.shortest, 9);
  EXPECT_EQ(english.longest, 19);
}

// What positions alone are worth: coreference has to be learned from the words.
TEST(Grammar, HeuristicsReachTheirShare) {
  const std::vector<Sentence> twist = many(options(Task::twist));
  EXPECT_NEAR(accuracy(nearest_candidate, twist), 0.50, 0.02);
  EXPECT_NEAR(accuracy(first_candidate, twist), 0.50, 0.02);
  EXPECT_NEAR(accuracy(nearest_noun, twist), 0.40, 0.025);
  const std::vector<Sentence> agreement = many(options(Task::agreement));
  EXPECT_NEAR(accuracy(nearest_candidate, agreement), 1.0 / 3, 0.02);
  EXPECT_NEAR(accuracy(first_candidate, agreement), 1.0 / 3, 0.02);
  EXPECT_NEAR(accuracy(nearest_noun, agreement), 0.24, 0.03);
}

// The label must not follow from the words: every number is as likely for every predicate.
TEST(Grammar, NumbersAreIndependentOfTheWords) {
  std::map<std::int64_t, std::map<std::int64_t, int>> count;
  for (const Sentence& s : many(options(Task::twist), 32000)) ++count[s.token(s.predicate)][s.label];
  for (const auto& [predicate, labels] : count) {
    double total = 0, chi_square = 0;
    for (const auto& entry : labels) total += entry.second;
    for (std::int64_t n = 1; n <= referent_numbers; ++n) {
      const double expected = total / referent_numbers;
      const double observed = labels.count(n) ? labels.at(n) : 0;
      chi_square += (observed - expected) * (observed - expected) / expected;
    }
    // 99.99 % point with 7 degrees of freedom, for 16 predicates.
    EXPECT_LT(chi_square, 29.9) << Lexicon::of(Language::vietnamese).word(predicate);
  }
}

TEST(Grammar, AmbiguousSentencesFitBothAndACoinDecides) {
  GrammarOptions o = options(Task::twist);
  o.ambiguous = 0.2;
  int ambiguous = 0, first = 0;
  for (const Sentence& s : many(o)) {
    if (Lexicon::of(o.language).word_class(s.token(s.predicate)) != WordClass::ambiguous) continue;
    ++ambiguous;
    first += s.antecedent == s.candidates[0];
  }
  EXPECT_NEAR(ambiguous / 20000.0, 0.2, 0.015);
  EXPECT_NEAR(static_cast<double>(first) / ambiguous, 0.5, 0.04);
}

TEST(Grammar, SameSeedSameSentences) {
  for (const GrammarOptions& o : every_option()) {
    regard::Rng a(3), b(3);
    for (int i = 0; i < 50; ++i) {
      const Sentence x = draw(o, a), y = draw(o, b);
      EXPECT_EQ(x.tokens, y.tokens);
      EXPECT_EQ(x.referents, y.referents);
      EXPECT_EQ(x.antecedent, y.antecedent);
    }
  }
}

TEST(Grammar, TextReadsLikeASentence) {
  const auto vietnamese = seed_sentences(Language::vietnamese);
  EXPECT_EQ(vietnamese[0].text(), "Con mèo ngồi trên thảm vì nó mệt");
  EXPECT_EQ(vietnamese[1].text(), "Con mèo ngồi trên thảm vì nó mềm");
  const auto english = seed_sentences(Language::english);
  EXPECT_EQ(english[0].text(), "The cat sat on the mat because it was tired");
  EXPECT_EQ(english[1].text(), "The cat sat on the mat because it was soft");
  Sentence two;
  const Lexicon& lexicon = Lexicon::of(Language::vietnamese);
  for (const char* word : {"lũ_trẻ", "gặp", "ông_nội", ".", "ông_ấy", "ốm"})
    two.tokens.push_back(lexicon.id(word));
  EXPECT_EQ(two.text(), "Lũ trẻ gặp ông nội. Ông ấy ốm");
  EXPECT_EQ(two.words(), (std::vector<std::string>{"lũ trẻ", "gặp", "ông nội", ".", "ông ấy", "ốm"}));
}

TEST(Grammar, SeedSentencesDifferInOneWordAndInTheAnswer) {
  for (const Language language : {Language::vietnamese, Language::english}) {
    const auto [animal, thing] = seed_sentences(language);
    EXPECT_EQ(animal.referents, thing.referents);
    EXPECT_EQ(animal.candidates, thing.candidates);
    EXPECT_EQ(animal.antecedent, animal.candidates[0]);
    EXPECT_EQ(thing.antecedent, thing.candidates[1]);
    EXPECT_EQ(animal.label, 3);
    EXPECT_EQ(thing.label, 5);
    int different = 0;
    for (std::int64_t i = 0; i < animal.length(); ++i) different += animal.token(i) != thing.token(i);
    EXPECT_EQ(different, 1);
  }
  EXPECT_EQ(seed_sentences(Language::vietnamese)[0].length(), 8);  // uniform attention: 1/8 on each token
}

TEST(Grammar, ImpossibleOptionsAreErrors) {
  regard::Rng rng;
  GrammarOptions o = options(Task::twist);
  o.role_share = 1.5;
  EXPECT_THROW(draw(o, rng), regard::ValueError);
  o = options(Task::agreement);
  o.ambiguous = 0.1;
  EXPECT_THROW(draw(o, rng), regard::ValueError);
  EXPECT_THROW(task_of("twisted"), regard::ValueError);
  EXPECT_EQ(task_of("mutual"), Task::mutual);
}

}  // namespace
}  // namespace coreference

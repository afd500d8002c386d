#pragma once
// Sentences in which a pronoun has one right antecedent, drawn at random.
//
//   twist-class  con mèo ngồi trên thảm vì nó mệt       an animal and a thing; the predicate fits one of them
//   twist-role   con mèo đuổi con chó vì nó đói          two animals; the predicate tells who acts from who
//   suffers agreement    lũ_trẻ gặp con mèo và ông_nội . họ mệt  three nouns of different pronoun classes;
//   the pronoun decides
//
// Each noun carries a referent number 1..8, new for every sentence. The number of the antecedent is the
// label: it is independent of the words, so that only a model that looks at the antecedent's position can
// know it.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "coreference/lexicon.hpp"
#include "regard/random.hpp"

namespace coreference {

/// Referent numbers are 1 .. referent_numbers; 0 marks a token that refers to nothing.
constexpr std::int64_t referent_numbers = 8;
/// No sentence of the grammar has more tokens.
constexpr std::int64_t longest_sentence = 32;
/// A position that does not exist: the antecedent of a sentence of the user's own, for example.
constexpr std::int64_t no_position = -1;

enum class Task { agreement, twist, mutual };
enum class Kind { twist_class, twist_role, agreement, own };

std::string_view name(Task task);
/// "agreement", "twist" or "mutual". Throws regard::ValueError, naming the three.
Task task_of(std::string_view name);
std::string_view name(Kind kind);

/// long_1: an extra place phrase before the clause and one after it. long_2: one before, two after. Both
/// begin with a time word.
enum class Length { usual, long_1, long_2 };

/// One sentence; positions count tokens from 0.
struct Sentence {
  Language language = Language::vietnamese;
  Kind kind = Kind::own;
  std::vector<std::int64_t> tokens;  // [length] ids of the lexicon
  std::vector<std::int64_t>
      referents;  // [length] 0 except on nouns (and on the pronoun, if references are mutual)
  std::int64_t pronoun = no_position;
  std::int64_t predicate = no_position;   // after the pronoun; the clause query spans pronoun .. predicate
  std::int64_t antecedent = no_position;  // one of the candidates
  std::vector<std::int64_t> candidates;   // nouns that the pronoun could stand for, in order of position
  std::int64_t label = 0;                 // referent number to be read at the pronoun
  std::int64_t reverse_label = 0;  // and, if references are mutual, the one to be read at the antecedent

  std::int64_t length() const { return static_cast<std::int64_t>(tokens.size()); }
  std::int64_t token(std::int64_t position) const { return tokens.at(static_cast<std::size_t>(position)); }
  std::int64_t referent(std::int64_t position) const {
    return referents.at(static_cast<std::size_t>(position));
  }
  /// The tokens as people write them, one by one: spaces for underscores, no capitals.
  std::vector<std::string> words() const;
  /// The sentence as people write it: "Con mèo ngồi trên thảm vì nó mệt".
  std::string text() const;
};

struct GrammarOptions {
  Language language = Language::vietnamese;
  Task task = Task::twist;
  Length length = Length::usual;
  double role_share = 0.5;  // share of twist-role among the sentences of the twist
  double ambiguous = 0;     // share of twist sentences whose predicate fits both candidates: a coin decides
};

/// A sentence of the grammar. Twist sentences have 8 to 15 Vietnamese tokens, long_1 13 to 20, long_2 15 to
/// 22; agreement sentences up to one more, English ones one to four more. Throws regard::ValueError for a
/// share outside [0, 1], and for ambiguous > 0 if the task is not the twist.
Sentence draw(const GrammarOptions& options, regard::Rng& rng);

/// The two sentences that are never trained, whose pairs of antecedent and predicate are never trained
/// either: "Con mèo ngồi trên thảm vì nó mệt" (or "mềm"), "The cat sat on the mat because it was tired" (or
/// "soft"). The animal is number 3 and the thing is number 5 in both.
std::array<Sentence, 2> seed_sentences(Language language);

}  // namespace coreference

#pragma once
// The closed vocabularies of the coreference task: 106 Vietnamese and 97 English words, sorted by what the
// grammar does with them. A fixed compound is one token and written with underscores ("anh_ấy", "hôm_qua"); a
// verb with its preposition is two ("ngồi trên").

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace coreference {

enum class Language { vietnamese, english };

/// "vi" or "en".
std::string_view code(Language language);
/// The language of a code. Throws regard::ValueError, naming the two codes.
Language language_of(std::string_view code);

/// Every word belongs to one class.
enum class WordClass {
  padding,
  animal,
  thing,
  person,  // singular or plural, see AgreementClass
  place,   // a noun that is never an antecedent
  pronoun,
  animate,           // predicates that fit an animal only: mệt, tired
  inanimate,         // predicates that fit a thing only: mềm, soft
  subject,           // of two animals, the one that acts is like that: đói, hungry
  object,            // of two animals, the one that suffers it is like that: chậm, slow
  ambiguous,         // could be either: đẹp, pretty
  verb,              // a verb or its preposition
  animal_adjective,  // for animals and things
  person_adjective,
  time,
  function,
};

/// The name of a class as an error message lists it, in the plural.
std::string_view name(WordClass word_class);

bool is_noun(WordClass word_class);
bool is_predicate(WordClass word_class);

/// A pronoun and the nouns that it can stand for.
struct AgreementClass {
  std::int64_t pronoun;
  std::vector<std::int64_t> nouns;
};

/// A language's words and their token ids. Id 0 is padding.
class Lexicon {
 public:
  using Phrases = std::vector<std::vector<std::int64_t>>;  // each a sequence of ids

  /// The lexicon of a language; built once, lives until the program ends.
  static const Lexicon& of(Language language);

  Language language() const { return language_; }
  /// Number of ids, padding included.
  std::int64_t size() const { return static_cast<std::int64_t>(words_.size()); }

  /// The id of a word spelled as in the lexicon (lower case, underscores).
  std::optional<std::int64_t> find(std::string_view word) const;
  /// The same; throws regard::ValueError for a word that is not in the lexicon.
  std::int64_t id(std::string_view word) const;

  /// The word with this id, as spelled in the lexicon. Throws std::out_of_range.
  const std::string& word(std::int64_t id) const { return words_.at(static_cast<std::size_t>(id)); }
  /// The word as people write it: spaces for underscores.
  std::string display(std::int64_t id) const;
  WordClass word_class(std::int64_t id) const { return classes_.at(static_cast<std::size_t>(id)); }
  /// All words of a class, in the order of the lexicon.
  std::vector<std::int64_t> words(WordClass word_class) const;

  /// Verbs by who does it to whom.
  const Phrases& animal_to_thing() const { return animal_to_thing_; }
  const Phrases& thing_to_animal() const { return thing_to_animal_; }
  const Phrases& animal_to_animal() const { return animal_to_animal_; }
  /// "trong nhà", "in the house": the place noun is the last word.
  const Phrases& place_phrases() const { return place_phrases_; }
  /// The pronouns with their nouns: six classes in Vietnamese, four in English.
  const std::vector<AgreementClass>& agreement() const { return agreement_; }

  /// All words, one line a class.
  std::string listing() const;

 private:
  struct Source;
  explicit Lexicon(const Source& source);

  std::int64_t add(std::string_view word, WordClass word_class);
  std::vector<std::int64_t> add_all(std::string_view words, WordClass word_class);
  Phrases add_phrases(std::string_view phrases, WordClass word_class);

  Language language_;
  std::vector<std::string> words_;
  std::vector<WordClass> classes_;
  std::unordered_map<std::string, std::int64_t> ids_;
  Phrases animal_to_thing_, thing_to_animal_, animal_to_animal_, place_phrases_;
  std::vector<AgreementClass> agreement_;
};

}  // namespace coreference

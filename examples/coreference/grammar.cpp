#include "coreference/grammar.hpp"

#include <algorithm>
#include <utility>

#include "regard/error.hpp"

namespace coreference {

namespace {

// Shares of the optional parts. They shift every position by a random amount; with these values a Vietnamese
// twist sentence has 10.5 tokens on average, and a place stands between antecedent and pronoun in one
// sentence of five.
constexpr double time_share = 0.4;
constexpr double place_before_share = 0.3;
constexpr double place_after_share = 0.22;
constexpr double adjective_share = 0.3;
constexpr double very_share = 0.45;
// Not everything at once.
constexpr int most_options = 5;

template <class T>
const T& choose(const std::vector<T>& items, regard::Rng& rng) {
  return items[static_cast<std::size_t>(rng.below(static_cast<std::int64_t>(items.size())))];
}

// The optional parts of one sentence.
struct Extras {
  bool time = false, very = false;
  int places_before = 0, places_after = 0;
  std::vector<bool> adjective;  // for each noun
};

// `numbers`: how many referent numbers the nouns, and the pronoun of a mutual reference, use up. Each place
// takes one more, so draws with too many places are thrown away.
Extras draw_extras(Length length, std::size_t nouns, std::int64_t numbers, regard::Rng& rng) {
  while (true) {
    Extras extras;
    int options = 0;
    const auto option = [&](double share) {
      const bool taken = rng.chance(share);
      options += taken;
      return taken;
    };
    extras.time = option(time_share);
    extras.places_before = option(place_before_share);
    extras.places_after = option(place_after_share);
    for (std::size_t i = 0; i < nouns; ++i) extras.adjective.push_back(option(adjective_share));
    extras.very = option(very_share);
    if (length != Length::usual) {
      extras.time = true;
      extras.places_before += 1;
      extras.places_after += length == Length::long_2 ? 2 : 1;
    }
    const bool enough_numbers = numbers + extras.places_before + extras.places_after <= referent_numbers;
    if (options <= most_options && enough_numbers) return extras;
  }
}

// Writes a sentence from left to right.
class Writer {
 public:
  Writer(Language language, Kind kind, regard::Rng& rng) : lexicon_(Lexicon::of(language)), rng_(rng) {
    sentence_.language = language;
    sentence_.kind = kind;
    for (std::int64_t n = 1; n <= referent_numbers; ++n) numbers_.push_back(n);
    rng_.shuffle(numbers_);
    places_ = lexicon_.place_phrases();
    rng_.shuffle(places_);
  }

  // `language` picks one of two spellings of a function word.
  void word(std::string_view vietnamese, std::string_view english) {
    put(lexicon_.id(lexicon_.language() == Language::vietnamese ? vietnamese : english));
  }
  void words(const std::vector<std::int64_t>& ids) {
    for (const std::int64_t id : ids) put(id);
  }
  void put(std::int64_t id, std::int64_t number = 0) {
    sentence_.tokens.push_back(id);
    sentence_.referents.push_back(number);
  }

  void time() { put(choose(lexicon_.words(WordClass::time), rng_)); }

  // A fifth place repeats the first one's words; its number is its own.
  void places(int count) {
    for (int i = 0; i < count; ++i) {
      words(places_[place_++ % places_.size()]);
      sentence_.referents.back() = new_number();
    }
  }

  // [con] noun [adjective], the [adjective] noun. Becomes a candidate.
  void noun(std::int64_t id, bool with_adjective) {
    const WordClass word_class = lexicon_.word_class(id);
    const std::int64_t adjective =
        !with_adjective
            ? 0
            : choose(lexicon_.words(word_class == WordClass::person ? WordClass::person_adjective
                                                                    : WordClass::animal_adjective),
                     rng_);
    const bool english = lexicon_.language() == Language::english;
    if (english) put(lexicon_.id("the"));
    if (!english && word_class == WordClass::animal) put(lexicon_.id("con"));
    if (english && with_adjective) put(adjective);
    sentence_.candidates.push_back(sentence_.length());
    put(id, new_number());
    if (!english && with_adjective) put(adjective);
  }

  // pronoun [was] [very] predicate.
  void clause(std::int64_t pronoun, std::string_view copula, bool very, std::int64_t predicate,
              bool numbered) {
    sentence_.pronoun = sentence_.length();
    put(pronoun, numbered ? new_number() : 0);
    if (lexicon_.language() == Language::english) put(lexicon_.id(copula));
    if (very) word("rất", "very");
    sentence_.predicate = sentence_.length();
    put(predicate);
  }

  Sentence finish(std::size_t right_candidate) {
    sentence_.antecedent = sentence_.candidates.at(right_candidate);
    sentence_.label = sentence_.referent(sentence_.antecedent);
    sentence_.reverse_label = sentence_.referent(sentence_.pronoun);
    return std::move(sentence_);
  }

 private:
  std::int64_t new_number() {
    const std::int64_t number = numbers_.back();
    numbers_.pop_back();
    return number;
  }

  const Lexicon& lexicon_;
  regard::Rng& rng_;
  Sentence sentence_;
  std::vector<std::int64_t> numbers_;  // not used yet
  Lexicon::Phrases places_;            // in random order
  std::size_t place_ = 0;
};

// Who does what to whom, and which of the two the predicate is about.
struct Twist {
  std::int64_t first, second;
  std::vector<std::int64_t> verb;
  std::int64_t predicate;
  std::size_t antecedent;  // 0 or 1
};

Twist draw_class(const Lexicon& lexicon, bool ambiguous, regard::Rng& rng) {
  const bool animal_first = rng.chance(0.5);
  const bool about_animal = rng.chance(0.5);
  const std::int64_t animal = choose(lexicon.words(WordClass::animal), rng);
  const std::int64_t thing = choose(lexicon.words(WordClass::thing), rng);
  const WordClass predicate = ambiguous      ? WordClass::ambiguous
                              : about_animal ? WordClass::animate
                                             : WordClass::inanimate;
  return {animal_first ? animal : thing, animal_first ? thing : animal,
          choose(animal_first ? lexicon.animal_to_thing() : lexicon.thing_to_animal(), rng),
          choose(lexicon.words(predicate), rng), about_animal == animal_first ? std::size_t{0} : 1};
}

Twist draw_role(const Lexicon& lexicon, bool ambiguous, regard::Rng& rng) {
  const bool about_subject = rng.chance(0.5);
  std::vector<std::int64_t> animals = lexicon.words(WordClass::animal);
  rng.shuffle(animals);
  const WordClass predicate = ambiguous       ? WordClass::ambiguous
                              : about_subject ? WordClass::subject
                                              : WordClass::object;
  return {animals[0], animals[1], choose(lexicon.animal_to_animal(), rng),
          choose(lexicon.words(predicate), rng), about_subject ? std::size_t{0} : 1};
}

// [time] [place] NP1 verb NP2 [place] because it [very] predicate.
Sentence write(const Twist& twist, Kind kind, Language language, const Extras& extras, regard::Rng& rng) {
  Writer writer(language, kind, rng);
  if (extras.time) writer.time();
  writer.places(extras.places_before);
  writer.noun(twist.first, extras.adjective[0]);
  writer.words(twist.verb);
  writer.noun(twist.second, extras.adjective[1]);
  writer.places(extras.places_after);
  writer.word("vì", "because");
  const std::int64_t pronoun = Lexicon::of(language).id(language == Language::vietnamese ? "nó" : "it");
  writer.clause(pronoun, "was", extras.very, twist.predicate, false);
  return writer.finish(twist.antecedent);
}

Sentence draw_twist(const GrammarOptions& options, regard::Rng& rng) {
  const Lexicon& lexicon = Lexicon::of(options.language);
  const Kind kind = rng.chance(options.role_share) ? Kind::twist_role : Kind::twist_class;
  const bool ambiguous = rng.chance(options.ambiguous);
  const Twist twist =
      kind == Kind::twist_role ? draw_role(lexicon, ambiguous, rng) : draw_class(lexicon, ambiguous, rng);
  return write(twist, kind, options.language, draw_extras(options.length, 2, 2, rng), rng);
}

// [time] [place] N1 meets N2 and N3 [place] . pronoun [very] predicate.
Sentence draw_agreement(const GrammarOptions& options, regard::Rng& rng) {
  const Lexicon& lexicon = Lexicon::of(options.language);
  const bool mutual = options.task == Task::mutual;
  std::vector<AgreementClass> classes = lexicon.agreement();
  rng.shuffle(classes);
  const auto right = static_cast<std::size_t>(rng.below(3));
  const std::int64_t pronoun = classes[right].pronoun;
  const Extras extras = draw_extras(options.length, 3, mutual ? 4 : 3, rng);

  Writer writer(options.language, Kind::agreement, rng);
  if (extras.time) writer.time();
  writer.places(extras.places_before);
  writer.noun(choose(classes[0].nouns, rng), extras.adjective[0]);
  writer.word("gặp", "met");
  writer.noun(choose(classes[1].nouns, rng), extras.adjective[1]);
  writer.word("và", "and");
  writer.noun(choose(classes[2].nouns, rng), extras.adjective[2]);
  writer.places(extras.places_after);
  writer.word(".", ".");
  const std::string_view copula = lexicon.word(pronoun) == "they" ? "were" : "was";
  writer.clause(pronoun, copula, extras.very, choose(lexicon.words(WordClass::animate), rng), mutual);
  return writer.finish(right);
}

void check(const GrammarOptions& options) {
  const auto share = [](const char* name, double value) {
    if (!(value >= 0 && value <= 1))
      throw regard::ValueError(std::string("grammar: expected ") + name + " in [0, 1], got " +
                               std::to_string(value));
  };
  share("role_share", options.role_share);
  share("ambiguous", options.ambiguous);
  if (options.ambiguous > 0 && options.task != Task::twist)
    throw regard::ValueError("grammar: only the twist has ambiguous sentences; the pronoun of the task " +
                             std::string(name(options.task)) + " always fits one noun alone");
}

}  // namespace

Sentence draw(const GrammarOptions& options, regard::Rng& rng) {
  check(options);
  return options.task == Task::twist ? draw_twist(options, rng) : draw_agreement(options, rng);
}

std::array<Sentence, 2> seed_sentences(Language language) {
  const Lexicon& lexicon = Lexicon::of(language);
  const bool vietnamese = language == Language::vietnamese;
  const std::int64_t animal = lexicon.id(vietnamese ? "mèo" : "cat");
  const std::int64_t thing = lexicon.id(vietnamese ? "thảm" : "mat");
  const auto sentence = [&](std::string_view predicate, std::size_t antecedent) {
    regard::Rng unused;
    const Twist twist{animal, thing, lexicon.animal_to_thing().front(), lexicon.id(predicate), antecedent};
    Extras plain;
    plain.adjective = {false, false};
    Sentence s = write(twist, Kind::twist_class, language, plain, unused);
    s.referents[static_cast<std::size_t>(s.candidates[0])] = 3;
    s.referents[static_cast<std::size_t>(s.candidates[1])] = 5;
    s.label = s.referent(s.antecedent);
    return s;
  };
  return {sentence(vietnamese ? "mệt" : "tired", 0), sentence(vietnamese ? "mềm" : "soft", 1)};
}

}  // namespace coreference

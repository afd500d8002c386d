#include "coreference/parse.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "coreference/vietnamese.hpp"
#include "regard/error.hpp"

namespace coreference {

namespace {

// Words and sentence stops; compounds fall into their parts.
std::vector<std::string> pieces_of(std::string_view text) {
  std::vector<std::string> pieces;
  std::string piece;
  const auto finish = [&] {
    if (!piece.empty()) pieces.push_back(piece);
    piece.clear();
  };
  for (const char c : fold_vietnamese(text)) {
    if (std::string_view(" \t\r\n_,;:!?\"'()").find(c) != std::string_view::npos) {
      finish();
    } else if (c == '.') {
      finish();
      pieces.emplace_back(".");
    } else {
      piece += c;
    }
  }
  finish();
  while (!pieces.empty() && pieces.back() == ".") pieces.pop_back();
  return pieces;
}

struct Match {
  std::int64_t id = 0;
  std::size_t pieces = 0;  // 0: nothing fits
};

// The longest word of the lexicon that begins at `start`.
Match longest_match(const Lexicon& lexicon, const std::vector<std::string>& pieces, std::size_t start) {
  constexpr std::size_t longest_compound = 3;
  Match match;
  std::string word;
  for (std::size_t n = 0; n < longest_compound && start + n < pieces.size(); ++n) {
    word += (n == 0 ? "" : "_") + pieces[start + n];
    if (const auto id = lexicon.find(word)) match = {*id, n + 1};
  }
  return match;
}

std::vector<std::int64_t> tokens_of(const Lexicon& lexicon, const std::vector<std::string>& pieces) {
  std::vector<std::int64_t> tokens;
  std::string unknown;
  for (std::size_t i = 0; i < pieces.size();) {
    const Match match = longest_match(lexicon, pieces, i);
    if (match.pieces == 0)
      unknown += (unknown.empty() ? "\"" : ", \"") + pieces[i] + "\"";
    else
      tokens.push_back(match.id);
    i += std::max<std::size_t>(match.pieces, 1);
  }
  if (!unknown.empty())
    throw regard::ValueError("sentence: not in the lexicon " + std::string(code(lexicon.language())) + ": " +
                             unknown + "; it has the words\n" + lexicon.listing());
  return tokens;
}

std::string pronouns_of(const Lexicon& lexicon) {
  std::string list;
  for (const std::int64_t id : lexicon.words(WordClass::pronoun))
    list += (list.empty() ? "" : ", ") + lexicon.display(id);
  return list;
}

}  // namespace

Sentence parse_sentence(std::string_view text, Language language) {
  const Lexicon& lexicon = Lexicon::of(language);
  Sentence sentence;
  sentence.language = language;
  sentence.tokens = tokens_of(lexicon, pieces_of(text));
  if (sentence.length() > longest_sentence)
    throw regard::ValueError("sentence: expected at most " + std::to_string(longest_sentence) +
                             " tokens, got " + std::to_string(sentence.length()));

  std::int64_t nouns = 0, pronouns = 0;
  for (std::int64_t position = 0; position < sentence.length(); ++position) {
    const WordClass word_class = lexicon.word_class(sentence.token(position));
    sentence.referents.push_back(is_noun(word_class) ? ++nouns : 0);
    if (is_noun(word_class) && word_class != WordClass::place) sentence.candidates.push_back(position);
    if (word_class == WordClass::pronoun) {
      ++pronouns;
      sentence.pronoun = position;
    }
    const bool first_after_pronoun = pronouns > 0 && sentence.predicate == no_position;
    if (is_predicate(word_class) && first_after_pronoun) sentence.predicate = position;
  }
  if (pronouns != 1)
    throw regard::ValueError("sentence: expected one pronoun (" + pronouns_of(lexicon) + "), got " +
                             std::to_string(pronouns));
  if (sentence.candidates.empty() || sentence.candidates.front() > sentence.pronoun)
    throw regard::ValueError("sentence: no noun before \"" +
                             lexicon.display(sentence.token(sentence.pronoun)) +
                             "\" that it could stand for; places do not count");
  if (nouns > referent_numbers)
    throw regard::ValueError("sentence: expected at most " + std::to_string(referent_numbers) +
                             " nouns, got " + std::to_string(nouns));
  return sentence;
}

}  // namespace coreference

#include "coreference/heuristics.hpp"

#include <algorithm>

#include "regard/error.hpp"

namespace coreference {

std::int64_t nearest_candidate(const Sentence& sentence) {
  std::int64_t nearest = no_position;
  for (const std::int64_t position : sentence.candidates)
    if (position < sentence.pronoun) nearest = position;
  return nearest;
}

std::int64_t first_candidate(const Sentence& sentence) {
  return sentence.candidates.empty() ? no_position : sentence.candidates.front();
}

std::int64_t nearest_noun(const Sentence& sentence) {
  const Lexicon& lexicon = Lexicon::of(sentence.language);
  std::int64_t position = sentence.pronoun - 1;
  while (position >= 0 && !is_noun(lexicon.word_class(sentence.token(position)))) --position;
  return position >= 0 ? position : no_position;
}

double accuracy(std::int64_t (*guess)(const Sentence&), const std::vector<Sentence>& sentences) {
  if (sentences.empty()) throw regard::ValueError("accuracy: expected at least one sentence, got none");
  const auto hits = std::count_if(sentences.begin(), sentences.end(),
                                  [guess](const Sentence& s) { return guess(s) == s.antecedent; });
  return static_cast<double>(hits) / static_cast<double>(sentences.size());
}

}  // namespace coreference

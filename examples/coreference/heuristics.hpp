#pragma once
// Guesses that look at positions alone: what a model has to beat.

#include <cstdint>
#include <vector>

#include "coreference/grammar.hpp"

namespace coreference {

/// Each returns the position that it takes for the antecedent, or no_position.
std::int64_t nearest_candidate(const Sentence& sentence);
std::int64_t first_candidate(const Sentence& sentence);
/// The last noun before the pronoun, a place included.
std::int64_t nearest_noun(const Sentence& sentence);

/// Share of the sentences whose antecedent the guess hits. Throws regard::ValueError if there are none.
double accuracy(std::int64_t (*guess)(const Sentence&), const std::vector<Sentence>& sentences);

}  // namespace coreference

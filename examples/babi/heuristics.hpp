#pragma once
// Guesses without learning, for the English files of the tasks on where people are (1, 11, 13). Attention
// that is trained badly gets stuck at what they reach.

#include <functional>
#include <string>
#include <vector>

#include "babi/reader.hpp"

namespace babi {

/// Each takes the last word of a sentence for a location and that of the question for a person. An empty
/// string means no guess.

/// The location of the last sentence.
std::string last_location(const StoryQuestion& question);
/// The location of the last sentence with the pronoun "he" (John, Daniel, ...) or "she" (Mary, Sandra, ...).
std::string last_fitting_pronoun(const StoryQuestion& question);
/// The location of the sentence that follows the last one in which the person is named.
std::string after_last_naming(const StoryQuestion& question);

/// The most frequent answer, the first in the alphabet if several are. Throws regard::ValueError for no
/// questions.
std::string majority_answer(const std::vector<StoryQuestion>& questions);

/// Share of the questions that `guess` answers. Throws regard::ValueError for no questions.
double accuracy(const std::function<std::string(const StoryQuestion&)>& guess,
                const std::vector<StoryQuestion>& questions);

}  // namespace babi

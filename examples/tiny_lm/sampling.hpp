#pragma once
// Text that the model goes on with, one character after the other.

#include <cstdint>
#include <string>
#include <vector>

#include "tiny_lm/model.hpp"
#include "tiny_lm/text.hpp"

namespace tiny_lm {

struct SamplingSettings {
  std::int64_t characters = 200;
  double temperature = 0.5;  ///< of the softmax; 0: always the most likely
  std::int64_t top_k = 0;    ///< only the k most likely; 0: all
};

/// Throws regard::ValueError, with the reason, for what makes no sense.
void check(const SamplingSettings& settings);

/// An id drawn from softmax(scores / temperature) over the top_k largest scores, lower ids first where they
/// are equal. One draw, also where nothing is left to chance. Throws regard::ValueError when a score is not
/// finite.
std::int64_t choose(const std::vector<double>& scores, const SamplingSettings& settings, regard::Rng& rng);

/// cached: each step computes the new character alone. whole: the whole text again each time, to compare.
enum class Decoding { cached, whole };

/// What follows the prompt, which must not be empty. The same characters with either decoding. Throws
/// regard::ValueError for a prompt that is empty or holds what the alphabet does not.
std::u32string sample(const TinyLm& model, const Alphabet& alphabet, std::u32string_view prompt,
                      const SamplingSettings& settings, regard::Rng rng,
                      Decoding decoding = Decoding::cached);

/// What a sample begins with if nothing is said: the start of a line, or the text's first character.
std::u32string usual_prompt(const Alphabet& alphabet);

}  // namespace tiny_lm

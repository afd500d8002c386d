#pragma once
// A sentence of the user's own.

#include <string_view>

#include "coreference/grammar.hpp"

namespace coreference {

/// Reads a sentence over the lexicon: case and the way accents are encoded do not matter, compounds may be
/// written with spaces or underscores (the longest word of the lexicon that fits is taken), commas, quotes
/// and the final stop are skipped. Nouns get the referent numbers 1, 2, ... in order; all but places are
/// candidates. The predicate is the first one after the pronoun, if there is one. Which noun is the
/// antecedent is for a model to say: antecedent = no_position, label = 0.
///
/// Throws regard::ValueError for words that are not in the lexicon (the message lists the lexicon by
/// class), for no or several pronouns, for no candidate before the pronoun, for more than 8 nouns or more
/// than longest_sentence tokens.
Sentence parse_sentence(std::string_view text, Language language);

}  // namespace coreference

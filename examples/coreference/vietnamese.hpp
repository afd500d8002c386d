#pragma once
// Vietnamese letters as the lexicon spells them: lower case, one code point a letter.

#include <string>
#include <string_view>

namespace coreference {

/// Lower-cases ASCII and Vietnamese letters and joins separate accents with their vowel (some keyboards and
/// file systems send "e" + circumflex + dot below for "ệ"). Other characters stay. Throws
/// regard::ValueError if `text` is not UTF-8.
std::string fold_vietnamese(std::string_view text);

/// The same text with its first letter in upper case.
std::string capitalised(std::string_view text);

}  // namespace coreference

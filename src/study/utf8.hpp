// Just enough Unicode for labels: code points, display width, Vietnamese letters taken apart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace regard::study {

/// Code points of UTF-8 text; every byte that belongs to no valid sequence becomes U+FFFD.
std::u32string decode_utf8(std::string_view text);

/// Appends one code point as UTF-8.
void append_utf8(std::string& text, char32_t code);

/// Marks that stand on or below the letter before them, and other code points without a width of their own.
bool is_zero_width(char32_t code);

/// Columns a terminal gives to a code point: 0, 1, or 2 for wide East Asian characters and emoji.
int column_width(char32_t code);

/// A Vietnamese (or Latin-1) letter as base letter and combining marks, as Unicode's NFD does; any other code
/// point as it is. The horn and the bar of đ count as marks here, U+031B and U+0335.
std::u32string decompose(char32_t code);

}  // namespace regard::study

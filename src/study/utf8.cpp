#include "study/utf8.hpp"

#include <cstddef>

namespace regard::study {
namespace {

constexpr char32_t replacement = 0xFFFD;

struct Range {
  char32_t first, last;
};

constexpr Range zero_width[] = {{0x0300, 0x036F}, {0x1AB0, 0x1AFF}, {0x1DC0, 0x1DFF}, {0x200B, 0x200F},
                                {0x202A, 0x202E}, {0x2060, 0x2064}, {0x20D0, 0x20FF}, {0xFE00, 0xFE0F},
                                {0xFE20, 0xFE2F}, {0xFEFF, 0xFEFF}};

// The blocks Unicode's EastAsianWidth.txt calls wide, in the rough: enough for labels.
constexpr Range wide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0x33FF},  {0x3400, 0x4DBF},
                          {0x4E00, 0x9FFF},   {0xA000, 0xA4CF},   {0xAC00, 0xD7A3},  {0xF900, 0xFAFF},
                          {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},  {0x1F300, 0x1F64F},
                          {0x1F680, 0x1F6FF}, {0x1F900, 0x1F9FF}, {0x20000, 0x3FFFD}};

template <std::size_t N>
bool in(const Range (&ranges)[N], char32_t code) {
  for (const Range& range : ranges)
    if (code >= range.first && code <= range.last) return true;
  return false;
}

// Marks by a letter: ` grave, ' acute, ? hook above, ~ tilde, . dot below, ^ circumflex, ( breve, + horn,
// - bar, : diaeresis.
char32_t mark_of(char letter) {
  switch (letter) {
    case '`':
      return 0x0300;
    case '\'':
      return 0x0301;
    case '^':
      return 0x0302;
    case '~':
      return 0x0303;
    case '(':
      return 0x0306;
    case ':':
      return 0x0308;
    case '?':
      return 0x0309;
    case '+':
      return 0x031B;
    case '.':
      return 0x0323;
    default:
      return 0x0335;
  }
}

std::u32string spelled(std::string_view spelling) {
  std::u32string letters(1, static_cast<char32_t>(spelling[0]));
  for (const char mark : spelling.substr(1)) letters += mark_of(mark);
  return letters;
}

// U+1EA0..U+1EF9, "Latin Extended Additional": pairs of capital and small letter.
constexpr std::string_view vietnamese_pairs[] = {
    "A.",  "A?",  "A^'", "A^`", "A^?", "A^~", "A^.", "A('", "A(`", "A(?", "A(~", "A(.", "E.",  "E?",  "E~",
    "E^'", "E^`", "E^?", "E^~", "E^.", "I?",  "I.",  "O.",  "O?",  "O^'", "O^`", "O^?", "O^~", "O^.", "O+'",
    "O+`", "O+?", "O+~", "O+.", "U.",  "U?",  "U+'", "U+`", "U+?", "U+~", "U+.", "Y`",  "Y.",  "Y?",  "Y~"};

// U+00C0..U+00DD and, 32 higher, their small letters; "" where Vietnamese and its neighbours have none.
constexpr std::string_view latin1[] = {"A`", "A'", "A^", "A~", "A:", "",   "",   "",   "E`", "E'",
                                       "E^", "E:", "I`", "I'", "I^", "I:", "",   "N~", "O`", "O'",
                                       "O^", "O~", "O:", "",   "",   "U`", "U'", "U^", "U:", "Y'"};

struct Extended {
  char32_t capital;
  std::string_view spelling;
};
constexpr Extended latin_extended[] = {{0x0102, "A("}, {0x0110, "D-"}, {0x0128, "I~"},
                                       {0x0168, "U~"}, {0x01A0, "O+"}, {0x01AF, "U+"}};

std::u32string small(std::u32string letters) {
  letters[0] += U'a' - U'A';
  return letters;
}

}  // namespace

std::u32string decode_utf8(std::string_view text) {
  std::u32string codes;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xC2 ? 0
                               : lead < 0xE0 ? 2
                               : lead < 0xF0 ? 3
                               : lead < 0xF5 ? 4
                                             : 0;
    char32_t code = length == 1 ? lead : length == 2 ? lead & 0x1F : length == 3 ? lead & 0x0F : lead & 0x07;
    bool valid = length > 0 && i + length <= text.size();
    for (std::size_t k = 1; valid && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      valid = (next & 0xC0) == 0x80;
      code = (code << 6) | (next & 0x3F);
    }
    // Overlong forms and surrogates are not characters.
    valid = valid && !(length == 3 && (code < 0x800 || (code >= 0xD800 && code <= 0xDFFF))) &&
            !(length == 4 && (code < 0x10000 || code > 0x10FFFF));
    codes += valid ? code : replacement;
    i += valid ? length : 1;
  }
  return codes;
}

void append_utf8(std::string& text, char32_t code) {
  const auto byte = [&](char32_t value) { text += static_cast<char>(value); };
  const auto tail = [&](int shift) { byte(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80) {
    byte(code);
  } else if (code < 0x800) {
    byte(0xC0 | (code >> 6));
    tail(0);
  } else if (code < 0x10000) {
    byte(0xE0 | (code >> 12));
    tail(6);
    tail(0);
  } else {
    byte(0xF0 | (code >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

bool is_zero_width(char32_t code) {
  return in(zero_width, code);
}

int column_width(char32_t code) {
  if (code < 0x20 || (code >= 0x7F && code < 0xA0) || is_zero_width(code)) return 0;
  return in(wide, code) ? 2 : 1;
}

std::u32string decompose(char32_t code) {
  if (code >= 0x1EA0 && code <= 0x1EF9) {
    const std::u32string capital = spelled(vietnamese_pairs[(code - 0x1EA0) / 2]);
    return code % 2 == 0 ? capital : small(capital);
  }
  const bool is_small = code >= 0xE0 && code <= 0xFD;
  if (is_small || (code >= 0xC0 && code <= 0xDD)) {
    const std::string_view spelling = latin1[code - (is_small ? 0xE0 : 0xC0)];
    if (!spelling.empty()) return is_small ? small(spelled(spelling)) : spelled(spelling);
  }
  for (const Extended& letter : latin_extended) {
    if (code == letter.capital) return spelled(letter.spelling);
    if (code == letter.capital + 1) return small(spelled(letter.spelling));
  }
  return std::u32string(1, code);
}

}  // namespace regard::study

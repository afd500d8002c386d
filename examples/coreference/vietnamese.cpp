#include "coreference/vietnamese.hpp"

#include <array>
#include <cstddef>
#include <optional>

#include "regard/error.hpp"

namespace coreference {

namespace {

// Each vowel without a tone, then with the tones in the order of `tones`.
constexpr std::array<std::u32string_view, 12> vowels{U"aàáảãạ", U"ăằắẳẵặ", U"âầấẩẫậ", U"eèéẻẽẹ",
                                                     U"êềếểễệ", U"iìíỉĩị", U"oòóỏõọ", U"ôồốổỗộ",
                                                     U"ơờớởỡợ", U"uùúủũụ", U"ưừứửữự", U"yỳýỷỹỵ"};
constexpr std::array<std::u32string_view, 12> capitals{U"AÀÁẢÃẠ", U"ĂẰẮẲẴẶ", U"ÂẦẤẨẪẬ", U"EÈÉẺẼẸ",
                                                       U"ÊỀẾỂỄỆ", U"IÌÍỈĨỊ", U"OÒÓỎÕỌ", U"ÔỒỐỔỖỘ",
                                                       U"ƠỜỚỞỠỢ", U"UÙÚỦŨỤ", U"ƯỪỨỬỮỰ", U"YỲÝỶỸỴ"};
constexpr std::u32string_view tones = U"\u0300\u0301\u0309\u0303\u0323";

struct Place {
  std::size_t vowel, tone;
};

std::optional<Place> find(const std::array<std::u32string_view, 12>& table, char32_t letter) {
  for (std::size_t vowel = 0; vowel < table.size(); ++vowel) {
    const std::size_t tone = table[vowel].find(letter);
    if (tone != std::u32string_view::npos) return Place{vowel, tone};
  }
  return std::nullopt;
}

char32_t lower(char32_t letter) {
  if (letter >= U'A' && letter <= U'Z') return letter + (U'a' - U'A');
  if (letter == U'Đ') return U'đ';
  if (const auto place = find(capitals, letter)) return vowels[place->vowel][place->tone];
  return letter;
}

char32_t upper(char32_t letter) {
  if (letter >= U'a' && letter <= U'z') return letter - (U'a' - U'A');
  if (letter == U'đ') return U'Đ';
  if (const auto place = find(vowels, letter)) return capitals[place->vowel][place->tone];
  return letter;
}

// The toneless vowel that a circumflex, breve or horn makes of a plain one.
std::optional<char32_t> with_shape(char32_t vowel, char32_t mark) {
  constexpr std::u32string_view circumflex = U"aâeêoô", breve = U"aă", horn = U"oơuư";
  const std::u32string_view pairs = mark == U'\u0302'   ? circumflex
                                    : mark == U'\u0306' ? breve
                                    : mark == U'\u031B' ? horn
                                                        : std::u32string_view{};
  for (std::size_t i = 0; i < pairs.size(); i += 2)
    if (pairs[i] == vowel) return pairs[i + 1];
  return std::nullopt;
}

// `letter` (lower case) with one more accent, if that is a letter of the alphabet. The accents come in any
// order.
std::optional<char32_t> joined(char32_t letter, char32_t mark) {
  const auto place = find(vowels, letter);
  if (!place) return std::nullopt;
  const std::size_t tone = tones.find(mark);
  if (tone != std::u32string_view::npos && place->tone == 0) return vowels[place->vowel][tone + 1];
  const auto shaped = with_shape(vowels[place->vowel][0], mark);
  if (!shaped) return std::nullopt;
  return vowels[find(vowels, *shaped)->vowel][place->tone];
}

std::u32string decoded(std::string_view text) {
  std::u32string letters;
  for (std::size_t i = 0; i < text.size();) {
    const auto lead = static_cast<unsigned char>(text[i]);
    const std::size_t length = lead < 0x80             ? 1
                               : (lead & 0xE0) == 0xC0 ? 2
                               : (lead & 0xF0) == 0xE0 ? 3
                               : (lead & 0xF8) == 0xF0 ? 4
                                                       : 0;
    bool valid = length != 0 && i + length <= text.size();
    char32_t letter = length == 1 ? lead : lead & (0x7Fu >> length);
    for (std::size_t k = 1; valid && k < length; ++k) {
      const auto next = static_cast<unsigned char>(text[i + k]);
      valid = (next & 0xC0) == 0x80;
      letter = letter << 6 | (next & 0x3F);
    }
    if (!valid)
      throw regard::ValueError("sentence: byte " + std::to_string(i + 1) + " is not part of UTF-8 text");
    letters += letter;
    i += length;
  }
  return letters;
}

std::string encoded(const std::u32string& letters) {
  std::string text;
  const auto put = [&text](char32_t byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  for (const char32_t c : letters) {
    if (c < 0x80) {
      put(c);
    } else if (c < 0x800) {
      put(0xC0 | c >> 6), put(0x80 | (c & 0x3F));
    } else if (c < 0x10000) {
      put(0xE0 | c >> 12), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    } else {
      put(0xF0 | c >> 18), put(0x80 | (c >> 12 & 0x3F)), put(0x80 | (c >> 6 & 0x3F)), put(0x80 | (c & 0x3F));
    }
  }
  return text;
}

}  // namespace

std::string fold_vietnamese(std::string_view text) {
  std::u32string folded;
  for (const char32_t letter : decoded(text)) {
    const auto together = folded.empty() ? std::nullopt : joined(folded.back(), letter);
    if (together)
      folded.back() = *together;
    else
      folded += lower(letter);
  }
  return encoded(folded);
}

std::string capitalised(std::string_view text) {
  std::u32string letters = decoded(text);
  if (!letters.empty()) letters.front() = upper(letters.front());
  return encoded(letters);
}

}  // namespace coreference

// Bytes, code points, alphabets, and what counting gives.
#include "tiny_lm/text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>

#include <regard/error.hpp>

#include "study/temporary_folder.hpp"
#include "support/throws.hpp"

namespace tiny_lm {
namespace {

using regard::IoError;
using regard::ValueError;
using regard::study::TemporaryFolder;

TEST(Utf8, DecodesAndEncodes) {
  EXPECT_EQ(decode_utf8("aé ế đ€😀"), U"aé ế đ€😀");
  EXPECT_EQ(decode_utf8(""), U"");
  std::u32string all;  // around every border
  for (const char32_t border :
       {0x0u, 0x80u, 0x800u, 0xD800u, 0xE000u, 0x10000u, 0x40000u, 0x100000u, 0x110000u})
    for (char32_t c = border < 3 ? 0 : border - 3; c < border + 3; ++c)
      if (c < 0x110000 && (c < 0xD800 || c > 0xDFFF)) all += c;
  EXPECT_EQ(decode_utf8(encode_utf8(all)), all);
  EXPECT_EQ(encode_utf8(U"ế"), "\xE1\xBA\xBF");
}

TEST(Utf8, RefusesWhatIsNotWellFormed) {
  const std::pair<std::string, const char*> wrong[] = {
      {"ab\x80", "byte 0x80 at offset 2 begins no character"},
      {"\xC0\xAF", "byte 0xC0 at offset 0 begins no character"},
      {"\xC1\xBF", "byte 0xC1"},
      {"\xFF", "byte 0xFF"},
      {"\xF5\x80\x80\x80", "byte 0xF5"},
      {"\xE0\x9F\xBF", "byte 0x9F at offset 1 cannot follow 0xE0"},      // overlong
      {"\xED\xA0\x80", "byte 0xA0 at offset 1 cannot follow 0xED"},      // surrogate
      {"\xF0\x8F\xBF\xBF", "byte 0x8F at offset 1 cannot follow 0xF0"},  // overlong
      {"\xF4\x90\x80\x80", "byte 0x90 at offset 1 cannot follow 0xF4"},  // above U+10FFFF
      {"x\xE1\xBA", "byte 0xE1 at offset 1 begins a character that the end cuts off"},
      {"\xE1\xBAz", "byte 0x7A at offset 2 cannot follow 0xBA"},
      {"\xC3(", "byte 0x28 at offset 1 cannot follow 0xC3"}};
  for (const auto& [bytes, what] : wrong) EXPECT_THROWS_WITH(decode_utf8(bytes), ValueError, what);
}

TEST(Alphabet, IsSortedAndGivesIds) {
  const Alphabet alphabet(U"ba bắc bán cầu");
  EXPECT_EQ(alphabet.characters(), U" abcnuáầắ");
  EXPECT_EQ(alphabet.size(), 9);
  EXPECT_EQ(alphabet.ids(U"ắb"), (std::vector<std::int64_t>{8, 2}));
  EXPECT_EQ(alphabet.character(7), U'ầ');
  EXPECT_THROWS_WITH(alphabet.ids(U"ab€"), ValueError, "the character '€' (U+20AC) is not among the 9");
  EXPECT_THROWS_WITH(alphabet.ids(U"\n"), ValueError, "the character U+000A is not");
  EXPECT_THROWS_WITH(Alphabet(U""), ValueError, "empty");
}

/// -Σ over places, with counts made anew for each: nothing shared with the function.
double bigram_by_loops(const std::u32string& text) {
  double sum = 0;
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    double pair = 0, first = 0;
    for (std::size_t j = 0; j + 1 < text.size(); ++j)
      if (text[j] == text[i]) {
        ++first;
        pair += text[j + 1] == text[i + 1];
      }
    sum -= std::log(pair / first);
  }
  return sum / static_cast<double>(text.size() - 1);
}

TEST(Entropies, AreThoseOfCounting) {
  EXPECT_DOUBLE_EQ(entropies(U"abab").unigram, std::log(2));
  EXPECT_DOUBLE_EQ(entropies(U"abcd").unigram, std::log(4));
  EXPECT_EQ(entropies(U"aaaa").unigram, 0);
  EXPECT_EQ(entropies(U"aaaa").bigram, 0);
  EXPECT_NEAR(entropies(U"abababab").bigram, 0, 1e-15);
  // After a: a or b, once each; after b: a.
  EXPECT_NEAR(entropies(U"aaba").bigram, 2 * std::log(2) / 3, 1e-15);
  for (const Language language : {Language::vietnamese, Language::english}) {
    const std::u32string text = bundled_text(language);
    EXPECT_NEAR(entropies(text).bigram, bigram_by_loops(text), 1e-12);
    EXPECT_LT(entropies(text).bigram, entropies(text).unigram);
  }
  EXPECT_EQ(entropies(U"").bigram, 0);
  EXPECT_EQ(entropies(U"x").bigram, 0);
}

TEST(BundledText, IsCleanAndComposed) {
  for (const Language language : {Language::vietnamese, Language::english}) {
    const std::u32string text = bundled_text(language);
    std::map<std::u32string, int> lines;
    std::u32string line;
    for (const char32_t c : text) {
      EXPECT_FALSE(c >= 0x300 && c < 0x370) << "a letter and its mark are one code point";
      if (language == Language::english) {
        EXPECT_LT(c, 0x80u) << describe(c);
      }
      if (c != '\n') {
        line += c;
        continue;
      }
      EXPECT_EQ(line.back(), U'.');
      EXPECT_EQ(line.find(U"  "), std::u32string::npos);
      EXPECT_EQ(++lines[line], 1);
      line.clear();
    }
    EXPECT_TRUE(line.empty()) << "ends with a line's end";
    EXPECT_EQ(lines.size(), 60u);
  }
}

TEST(Language, HasACode) {
  EXPECT_EQ(language_of(code(Language::english)), Language::english);
  EXPECT_EQ(language_of("vi"), Language::vietnamese);
  EXPECT_THROWS_WITH(language_of("fr"), ValueError, "'fr' is neither vi nor en");
}

std::filesystem::path file_with(const TemporaryFolder& folder, const std::string& bytes) {
  const std::filesystem::path path = folder / "text.txt";
  std::ofstream(path, std::ios::binary) << bytes;
  return path;
}

TEST(ReadText, TakesMarksAndLineEnds) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_text(file_with(folder, "\xEF\xBB\xBFmột\r\nhai\r\n\r\nba\tbốn")), U"một\nhai\n\nba\tbốn");
  EXPECT_EQ(read_text(file_with(folder, "x")), U"x");
}

TEST(ReadText, SaysWhatIsWrongWithAFile) {
  const TemporaryFolder folder;
  EXPECT_THROWS_WITH(read_text(folder / "none.txt"), IoError, "none.txt: cannot be read: No such file");
  EXPECT_THROWS_WITH(read_text(folder.path()), IoError, "is a folder");
  EXPECT_THROWS_WITH(read_text(file_with(folder, "")), IoError, "text.txt: is empty");
  EXPECT_THROWS_WITH(read_text(file_with(folder, "\xEF\xBB\xBF")), IoError, "is empty");
  EXPECT_THROWS_WITH(read_text(file_with(folder, "good\n\xE9t\xE9")), IoError,
                     "text.txt: not UTF-8: byte 0x74 at offset 6 cannot follow 0xE9; save the file as UTF-8");
  EXPECT_THROWS_WITH(read_text(file_with(folder, std::string("a\nb\0c", 5))), IoError,
                     "is no text: it holds the control character U+0000 in line 2");
  EXPECT_THROWS_WITH(read_text(file_with(folder, "a\x1B[31m")), IoError, "U+001B in line 1");
}

}  // namespace
}  // namespace tiny_lm

#include "study/utf8.hpp"

#include <gtest/gtest.h>

#include <string>

#include "study/stroke_font.hpp"

namespace regard::study {
namespace {

const std::string all_vietnamese =
    "aàáảãạăằắẳẵặâầấẩẫậbcdđeèéẻẽẹêềếểễệghiìíỉĩịklmnoòóỏõọôồốổỗộơờớởỡợpqrstuùúủũụưừứửữựvxyỳýỷỹỵ"
    "AÀÁẢÃẠĂẰẮẲẴẶÂẦẤẨẪẬBCDĐEÈÉẺẼẸÊỀẾỂỄỆGHIÌÍỈĨỊKLMNOÒÓỎÕỌÔỒỐỔỖỘƠỜỚỞỠỢPQRSTUÙÚỦŨỤƯỪỨỬỮỰVXYỲÝỶỸỴ";

TEST(Utf8, DecodesAndReplacesWhatIsBroken) {
  EXPECT_EQ(decode_utf8("aệ漢😀"), U"aệ漢😀");
  EXPECT_EQ(decode_utf8("a\xC3"), U"a\uFFFD");
  EXPECT_EQ(decode_utf8("\xC0\x80"), U"\uFFFD\uFFFD");         // overlong
  EXPECT_EQ(decode_utf8("\xED\xA0\x80").find(U'\uFFFD'), 0u);  // surrogate
  EXPECT_EQ(decode_utf8("\xF5\x80\x80\x80").size(), 4u);       // beyond U+10FFFF
}

TEST(Utf8, EncodesWhatItDecodes) {
  std::string again;
  for (const char32_t code : decode_utf8(all_vietnamese + "漢😀")) append_utf8(again, code);
  EXPECT_EQ(again, all_vietnamese + "漢😀");
}

TEST(Utf8, TakesLettersApartAsUnicodeDoes) {
  EXPECT_EQ(decompose(U'ệ'), U"e\u0302\u0323");
  EXPECT_EQ(decompose(U'Ằ'), U"A\u0306\u0300");
  EXPECT_EQ(decompose(U'ữ'), U"u\u031B\u0303");
  EXPECT_EQ(decompose(U'ỹ'), U"y\u0303");
  EXPECT_EQ(decompose(U'Ý'), U"Y\u0301");
  EXPECT_EQ(decompose(U'đ'), U"d\u0335");
  EXPECT_EQ(decompose(U'×'), U"×");
  EXPECT_EQ(decompose(U'q'), U"q");
}

TEST(StrokeFont, HasAsciiAndEveryVietnameseLetter) {
  for (char32_t code = 0x20; code < 0x7F; ++code) EXPECT_TRUE(has_glyph(code)) << static_cast<int>(code);
  std::string letter;
  for (const char32_t code : decode_utf8(all_vietnamese)) {
    letter.clear();
    append_utf8(letter, code);
    EXPECT_TRUE(has_glyph(code)) << letter;
  }
  EXPECT_FALSE(has_glyph(U'漢'));
}

// A mark that is not drawn would make two words look the same.
TEST(StrokeFont, NoTwoVietnameseLettersLookAlike) {
  const std::u32string letters = decode_utf8(all_vietnamese);
  const auto drawn = [](char32_t code) {
    std::string text;
    append_utf8(text, code);
    std::string shape;
    for (const auto& stroke : stroke_text(text)) {
      for (const Point& point : stroke)
        shape += std::to_string(point.x) + "," + std::to_string(point.y) + " ";
      shape += "; ";
    }
    return shape;
  };
  for (std::size_t i = 0; i < letters.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      ASSERT_NE(drawn(letters[i]), drawn(letters[j])) << static_cast<int>(letters[i]);
}

TEST(StrokeFont, ComposedAndDecomposedTextAreTheSame) {
  EXPECT_EQ(text_width("mệt", 10), text_width("me\u0302\u0323t", 10));
  EXPECT_GT(text_width("mmm", 10), text_width("iii", 10));
  EXPECT_DOUBLE_EQ(text_width("0.12", 10), text_width("0.97", 10));  // figures are of one width
  EXPECT_EQ(text_width("", 10), 0);
}

TEST(StrokeFont, CutsWhatIsTooWide) {
  EXPECT_EQ(cut_text("thảm", 10, 100), "thảm");
  const std::string cut = cut_text("Mary went to the kitchen", 10, 60);
  EXPECT_LE(text_width(cut, 10), 60);
  EXPECT_EQ(cut.substr(0, 4), "Mary");
  EXPECT_EQ(cut.substr(cut.size() - 3), "…");
  EXPECT_EQ(cut_text("me\u0302\u0323t me\u0302\u0323t", 10, text_width("mệt…", 10)), "me\u0302\u0323t…");
  EXPECT_EQ(cut_text("thảm", 10, 0), "…");
}

TEST(StrokeFont, WrapsAtSpaces) {
  const auto lines = wrap_text("một hai ba bốn năm", 10, text_width("một hai ba", 10) + 1);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "một hai ba");
  EXPECT_EQ(lines[1], "bốn năm");
  EXPECT_TRUE(wrap_text("", 10, 100).empty());
  EXPECT_EQ(wrap_text("unbreakable", 10, 1).size(), 1u);
}

}  // namespace
}  // namespace regard::study

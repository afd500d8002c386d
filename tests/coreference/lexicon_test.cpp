#include "coreference/lexicon.hpp"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "coreference/vietnamese.hpp"
#include "regard/error.hpp"

namespace coreference {
namespace {

TEST(Lexicon, HasAsManyWordsAsTheTaskIsDescribedWith) {
  EXPECT_EQ(Lexicon::of(Language::vietnamese).size(), 1 + 106);  // padding + words
  EXPECT_EQ(Lexicon::of(Language::english).size(), 1 + 97);
}

TEST(Lexicon, IdsAndWordsAreInverse) {
  for (const Language language : {Language::vietnamese, Language::english}) {
    const Lexicon& lexicon = Lexicon::of(language);
    EXPECT_EQ(lexicon.language(), language);
    EXPECT_EQ(lexicon.word_class(0), WordClass::padding);
    std::set<std::string> seen;
    for (std::int64_t id = 1; id < lexicon.size(); ++id) {
      EXPECT_EQ(lexicon.id(lexicon.word(id)), id);
      EXPECT_TRUE(seen.insert(lexicon.word(id)).second) << lexicon.word(id);
      EXPECT_EQ(fold_vietnamese(lexicon.word(id)), lexicon.word(id)) << "not in folded spelling";
    }
  }
}

TEST(Lexicon, ClassesHaveTheirSizes) {
  for (const Language language : {Language::vietnamese, Language::english}) {
    const Lexicon& lexicon = Lexicon::of(language);
    EXPECT_EQ(lexicon.words(WordClass::animal).size(), 8u);
    EXPECT_EQ(lexicon.words(WordClass::thing).size(), 8u);
    for (const WordClass predicate :
         {WordClass::animate, WordClass::inanimate, WordClass::subject, WordClass::object})
      EXPECT_EQ(lexicon.words(predicate).size(), 4u) << name(predicate);
    EXPECT_EQ(lexicon.words(WordClass::ambiguous).size(), 2u);
    EXPECT_EQ(lexicon.words(WordClass::place).size(), 4u);
    EXPECT_EQ(lexicon.animal_to_thing().size(), 4u);
    EXPECT_EQ(lexicon.thing_to_animal().size(), 4u);
    EXPECT_EQ(lexicon.animal_to_animal().size(), 4u);
    for (const auto& phrase : lexicon.place_phrases())
      EXPECT_EQ(lexicon.word_class(phrase.back()), WordClass::place);
  }
  EXPECT_EQ(Lexicon::of(Language::vietnamese).agreement().size(), 6u);
  EXPECT_EQ(Lexicon::of(Language::english).agreement().size(), 4u);
}

TEST(Lexicon, ShowsCompoundsWithSpaces) {
  const Lexicon& lexicon = Lexicon::of(Language::vietnamese);
  EXPECT_EQ(lexicon.display(lexicon.id("anh_ấy")), "anh ấy");
}

TEST(Lexicon, UnknownWordsAndCodesAreErrors) {
  const Lexicon& lexicon = Lexicon::of(Language::english);
  EXPECT_FALSE(lexicon.find("xylophone"));
  EXPECT_FALSE(lexicon.find(""));
  EXPECT_THROW(lexicon.id("xylophone"), regard::ValueError);
  EXPECT_THROW(lexicon.word(lexicon.size()), std::out_of_range);
  EXPECT_THROW(lexicon.word(-1), std::out_of_range);
  EXPECT_EQ(language_of("vi"), Language::vietnamese);
  EXPECT_EQ(code(language_of("en")), "en");
  EXPECT_THROW(language_of("fr"), regard::ValueError);
}

TEST(Vietnamese, LowerCase) {
  EXPECT_EQ(fold_vietnamese("CON MÈO NGỒI TRÊN THẢM VÌ NÓ MỆT"), "con mèo ngồi trên thảm vì nó mệt");
  EXPECT_EQ(fold_vietnamese("ĐƯỜNG Ỹ Ẳ Ộ Ở"), "đường ỹ ẳ ộ ở");
}

TEST(Vietnamese, SeparateAccentsJoinTheirVowel) {
  EXPECT_EQ(fold_vietnamese("me\u0323\u0302t"), "mệt");  // dot below, then circumflex (canonical order)
  EXPECT_EQ(fold_vietnamese("me\u0302\u0323t"), "mệt");
  EXPECT_EQ(fold_vietnamese("M\u00CA\u0323T"), "mệt");
  EXPECT_EQ(fold_vietnamese("ngo\u0302\u0300i gu\u031B\u0300"), "ngồi gừ");
  EXPECT_EQ(fold_vietnamese("a\u0306\u0303"), "ẵ");
  EXPECT_EQ(fold_vietnamese("x\u0301"), "x\u0301");  // no such letter: left alone
}

TEST(Vietnamese, Capitalises) {
  EXPECT_EQ(capitalised("đó"), "Đó");
  EXPECT_EQ(capitalised("ở bếp"), "Ở bếp");
  EXPECT_EQ(capitalised("cat"), "Cat");
  EXPECT_EQ(capitalised(""), "");
}

TEST(Vietnamese, OtherCharactersStay) {
  EXPECT_EQ(fold_vietnamese("日本 😀 é1"), "日本 😀 é1");
}

TEST(Vietnamese, NotUtf8IsAnError) {
  for (const char* text : {"m\xE8o", "\x80", "abc\xE1\xBB", "\xFF"})
    EXPECT_THROW(fold_vietnamese(text), regard::ValueError) << text;
}

}  // namespace
}  // namespace coreference

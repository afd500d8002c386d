// What lessons share: claims decide the exit code; numbers, tables and paragraphs keep their form.
#include "lessons/common/lesson.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "lessons/common/course.hpp"
#include "support/throws.hpp"

namespace lessons {
namespace {

using regard::ones;
using regard::tensor;

struct Outcome {
  int exit_code;
  std::string out, err;
};

Outcome teach(const std::function<void(Lesson&)>& body, std::vector<std::string> arguments = {}) {
  arguments.insert(arguments.begin(), "/somewhere/99_lesson");
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  Lesson lesson(static_cast<int>(argv.size()), argv.data(), {"Title", "Tiêu đề"}, {"About.", "Về bài."});
  const int code = lesson.run([&] { body(lesson); });
  const std::string out = testing::internal::GetCapturedStdout();
  return {code, out, testing::internal::GetCapturedStderr()};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Claims, AllThatHoldEndWithZero) {
  const Outcome got = teach([](Lesson& lesson) {
    lesson.claim("en", "vi", true, "seen");
    lesson.at_most("small", "nhỏ", 1, 1);
    lesson.at_least("large", "lớn", 2, 2);
  });
  EXPECT_EQ(got.exit_code, 0);
  EXPECT_TRUE(contains(got.out, "  ✓ en (seen)\n  ✓ small (1 ≤ 1)\n  ✓ large (2 ≥ 2)\n")) << got.out;
  EXPECT_TRUE(contains(got.out, "3 of 3 claims hold.\n"));
}

TEST(Claims, OneThatDoesNotHoldEndsWithOneAfterTheRest) {
  const Outcome got = teach([](Lesson& lesson) {
    lesson.claim("wrong", "sai", false, 0.25);
    lesson.claim("right", "đúng", true, 1e-9);
  });
  EXPECT_EQ(got.exit_code, 1);
  EXPECT_TRUE(contains(got.out, "  ✗ wrong (0.25)\n  ✓ right (1e-09)\n")) << got.out;
  EXPECT_TRUE(contains(got.out, "1 of 2 claims hold.\n"));
}

TEST(Claims, NoBoundIsKeptByNaNOrByWhatIsJustBeyond) {
  const double nan = std::nan(""), above = std::nextafter(1.0, 2.0);
  for (const auto& claim : std::vector<std::function<void(Lesson&)>>{
           [&](Lesson& lesson) { lesson.at_most("en", "vi", nan, 1); },
           [&](Lesson& lesson) { lesson.at_least("en", "vi", nan, 1); },
           [&](Lesson& lesson) { lesson.at_most("en", "vi", above, 1); },
           [&](Lesson& lesson) { lesson.at_least("en", "vi", 1, above); }})
    EXPECT_EQ(teach(claim).exit_code, 1);
}

TEST(Claims, WhatIsThrownEndsTheLesson) {
  Outcome got = teach([](Lesson&) { throw regard::ValueError("broken"); });
  EXPECT_EQ(got.exit_code, 1);
  EXPECT_EQ(got.err, "99_lesson: broken\n");
  got = teach([](Lesson&) { throw UsageError("bad file"); });
  EXPECT_EQ(got.exit_code, 2);
  EXPECT_TRUE(contains(got.err, "99_lesson: bad file\nRun with --help"));
}

TEST(Language, IsChosenByAFlagInEitherForm) {
  const auto say = [](Lesson& lesson) { lesson.say("English text", "Lời tiếng Việt"); };
  EXPECT_TRUE(contains(teach(say).out, "English text\n"));
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--language", "vi"}, {"--language=vi"}}) {
    const Outcome got = teach(say, flags);
    EXPECT_TRUE(contains(got.out, "Lời tiếng Việt\n")) << got.out;
    EXPECT_TRUE(contains(got.out, "Tiêu đề\n═══════\n")) << got.out;
    EXPECT_FALSE(contains(got.out, "English"));
  }
}

TEST(Show, LinesNumbersUpUnderTheirLabels) {
  const Outcome got = teach([](Lesson& lesson) {
    lesson.show("S", "Q·Kᵀ", tensor({{1, -2}, {10.5, -0.00001}}), {"mèo", "nó"}, {"a", "b"}, 2);
    lesson.show("v", "", tensor({1, 2}), {}, {}, 0);
    lesson.show("x", "½", regard::scalar(0.5));
  });
  EXPECT_TRUE(contains(got.out,
                       "S = Q·Kᵀ   [2, 2]\n"
                       "           a      b\n"
                       "  mèo   1.00  -2.00\n"
                       "  nó   10.50   0.00\n"))
      << got.out;
  EXPECT_TRUE(contains(got.out, "v   [2]\n    1  2\n")) << got.out;
  EXPECT_TRUE(contains(got.out, "x = ½ = 0.5000\n")) << got.out;
}

TEST(Show, NamesWhatIsNoNumber) {
  const double inf = std::numeric_limits<double>::infinity();
  const Outcome got = teach([&](Lesson& lesson) { lesson.show("S", "", tensor({{-inf, std::nan(""), 1}})); });
  EXPECT_TRUE(contains(got.out, "-inf     nan  1.0000\n")) << got.out;
}

TEST(Tables, NumbersEndAtTheRightAndMarksTakeNoRoom) {
  Table table({"từ", "trọng số"});
  table.row({"mèo", "0.5"});
  table.row({"con chó", "-12.25"});
  EXPECT_EQ(table.lines(),
            (Labels{"từ       trọng số", "─────────────────", "mèo           0.5", "con chó    -12.25"}));
  Table words({"a", "b"});
  words.row({"x", "long"});
  words.row({"longer", "y"});
  EXPECT_EQ(words.lines(), (Labels{"a       b", "────────────", "x       long", "longer  y"}));
  EXPECT_THROWS_WITH(table.row({"one"}), regard::ShapeError, "a row of 1 cells under a header of 2");
}

TEST(Paragraphs, BreakAtSpacesByTheWidthOfTheTerminal) {
  EXPECT_EQ(wrapped("một hai ba bốn", 7), (Labels{"một hai", "ba bốn"}));
  EXPECT_EQ(wrapped("một hai ba", 9, "→ "), (Labels{"→ một hai", "  ba"}));
  EXPECT_EQ(wrapped("unbreakable it is", 5), (Labels{"unbreakable", "it is"}));
  EXPECT_TRUE(wrapped("  ", 5).empty());
}

TEST(Numbers, TakeOneMatrixOutOfItsAxes) {
  EXPECT_EQ(matrix(ones({1, 1, 2, 3})).shape(), regard::Shape({2, 3}));
  EXPECT_THROWS_WITH(matrix(ones({2, 2, 3})), regard::ShapeError, "[2, 2, 3]");
  EXPECT_THROWS_WITH(matrix(ones({3})), regard::ShapeError, "[3]");
  EXPECT_EQ(largest(tensor({1, -3, 2})), 3);
  EXPECT_TRUE(std::isnan(largest(tensor({std::nan(""), -3}))));
  EXPECT_EQ(largest_difference(tensor({1, 2}), tensor({1, 4})), 2);
  EXPECT_THROWS_WITH(largest_difference(ones({2}), ones({1})), regard::ShapeError, "[2] and [1]");
}

TEST(Numbers, PanelsKnowWhatIsHidden) {
  const auto made = weights_panel("P", {"a", "b"}, {"a", "b"}, tensor({{1, 0}, {0.5, 0.5}}),
                                  tensor({{1, 0}, {1, 1}}, regard::boolean));
  EXPECT_EQ(made.hidden, (std::vector<std::uint8_t>{0, 1, 0, 0}));
  EXPECT_EQ(made.values, (std::vector<double>{1, 0, 0.5, 0.5}));
  EXPECT_EQ(made.scale, regard::study::MatrixScale::weight);
  EXPECT_TRUE(panel("S", {"a"}, {"b"}, tensor({{-1}})).hidden.empty());
}

}  // namespace
}  // namespace lessons

// The exercises: the solutions are right, the skeletons are not written yet, and wrong answers are told
// where.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

#include <regard/regard.hpp>

#include "lessons/27_exercises/exercises.hpp"
#include "lessons/27_exercises/hidden_tests/marks.hpp"
#include "lessons/program.hpp"

namespace regard::test {
namespace {

using exercises::Answers;
using exercises::Mark;
using exercises::State;

enum Exercise : std::size_t { softmax_vjp, matmul_vjp, masked_softmax, soft_cap };

// One wrong answer among right ones.
template <class Change>
Mark mark_with(Exercise exercise, const Change& change) {
  Answers answers = exercises::reference();
  change(answers);
  const std::vector<Mark> marks = exercises::mark(answers);
  for (std::size_t i = 0; i < marks.size(); ++i)
    EXPECT_EQ(marks[i].state == State::right, i != exercise) << marks[i].exercise;
  return marks.at(exercise);
}

void expect_wrong(const Mark& mark, const std::string& place, const std::string& hint) {
  EXPECT_EQ(mark.state, State::wrong) << mark.exercise;
  EXPECT_LT(mark.passed, mark.tests);
  EXPECT_NE(mark.where.find(place), std::string::npos) << mark.where;
  EXPECT_FALSE(mark.test.en.empty());
  EXPECT_FALSE(mark.test.vi.empty());
  if (hint.empty()) {
    EXPECT_EQ(mark.hint.en, "");
  } else {
    EXPECT_NE(mark.hint.en.find(hint), std::string::npos) << mark.hint.en;
    EXPECT_FALSE(mark.hint.vi.empty());
  }
}

TEST(Exercises, SolutionsAreRight) {
  const std::vector<Mark> marks = exercises::mark(exercises::reference());
  ASSERT_EQ(marks.size(), 4u);
  for (const Mark& mark : marks) {
    EXPECT_EQ(mark.state, State::right) << mark.exercise << ": " << mark.test.en << "\n" << mark.where;
    EXPECT_EQ(mark.passed, mark.tests);
    EXPECT_GE(mark.tests, 6);
    EXPECT_EQ(mark.where, "");
    EXPECT_EQ(mark.hint.en, "");
  }
}

// Until a reader has filled one in; then it may be anything.
TEST(Exercises, SkeletonsAreNotWrittenYet) {
  for (const Mark& mark : exercises::mark(exercises::yours())) {
    const std::string text = text_of(std::string(EXERCISES) + "/" + mark.exercise + ".cpp");
    ASSERT_NE(text.find("Tensor"), std::string::npos) << mark.exercise;
    if (text.find("not_written_yet(") == std::string::npos) continue;
    EXPECT_EQ(mark.state, State::not_yet) << mark.exercise << "\n" << mark.where;
    EXPECT_EQ(mark.passed, 0);
  }
}

TEST(Exercises, TypicalMistakesAreAllWrong) {
  for (const Mark& mark : exercises::mark(exercises::mistaken())) {
    EXPECT_EQ(mark.state, State::wrong) << mark.exercise;
    EXPECT_NE(mark.where, "");
    EXPECT_NE(mark.hint.en, "");
  }
}

// ---- softmax -------------------------------------------------------------------------------------------

Mark softmax_with(const std::function<Tensor(const Tensor& y, const Tensor& dy)>& answer) {
  return mark_with(softmax_vjp, [&](Answers& answers) { answers.softmax_vjp = answer; });
}

TEST(SoftmaxVjp, MistakesAreNamed) {
  expect_wrong(softmax_with([](const Tensor& y, const Tensor& dy) { return y * dy; }), "x[",
               "Σ y·dy is missing");
  expect_wrong(softmax_with([](const Tensor& y, const Tensor& dy) { return y * (1.0 - y) * dy; }), "x[",
               "diagonal");
  expect_wrong(
      softmax_with([](const Tensor& y, const Tensor& dy) { return y * (dy - sum(dy, {-1}, keep_axes)); }),
      "x[", "Σ dy");
}

TEST(SoftmaxVjp, OneSumForAllRowsIsRightForOneRowOnly) {
  const Mark mark = softmax_with([](const Tensor& y, const Tensor& dy) { return y * (dy - sum(y * dy)); });
  expect_wrong(mark, "x[", "sum runs over all rows");
  EXPECT_GE(mark.passed, 2);
  EXPECT_EQ(mark.test.en, "three rows of four");
}

TEST(SoftmaxVjp, TwoInAThousandAreSeen) {
  expect_wrong(softmax_with([](const Tensor& y, const Tensor& dy) {
                 return y * (dy - 1.002 * sum(y * dy, {-1}, keep_axes));
               }),
               "x[", "");
}

TEST(SoftmaxVjp, WhatIsNoGradientAtAllIsWrongAndNoCrash) {
  expect_wrong(softmax_with([](const Tensor&, const Tensor&) { return Tensor(); }), "x", "");
  expect_wrong(softmax_with([](const Tensor& y, const Tensor&) { return zeros_like(y); }), "x[", "");
  expect_wrong(softmax_with([](const Tensor&, const Tensor& dy) { return sum(dy, {-1}); }), "softmax", "");
  expect_wrong(softmax_with([](const Tensor&, const Tensor& dy) { return dy.to(float32); }), "float", "");
  expect_wrong(softmax_with([](const Tensor&, const Tensor&) -> Tensor { throw std::runtime_error("oh"); }),
               "oh", "");
  expect_wrong(softmax_with([](const Tensor&, const Tensor&) -> Tensor { throw 7; }), "exception", "");
  expect_wrong(softmax_with([](const Tensor& y, const Tensor&) { return y * std::nan(""); }), "x", "");
}

// ---- products ------------------------------------------------------------------------------------------

Mark matmul_with(const std::function<Tensors(const Tensor& a, const Tensor& b, const Tensor& dy)>& answer) {
  return mark_with(matmul_vjp, [&](Answers& answers) { answers.matmul_vjp = answer; });
}

TEST(MatmulVjp, ForgottenTransposesAreNamed) {
  expect_wrong(matmul_with([](const Tensor& a, const Tensor& b, const Tensor& dy) {
                 return Tensors{matmul(dy, b), matmul(a, dy)};
               }),
               "[", "transposes are missing");
  expect_wrong(matmul_with([](const Tensor& a, const Tensor& b, const Tensor& dy) {
                 return Tensors{matmul(dy, transpose(b)), matmul(a, dy)};
               }),
               "b[", "in db the transpose");
  expect_wrong(matmul_with([](const Tensor& a, const Tensor& b, const Tensor& dy) {
                 return Tensors{matmul(dy, b), matmul(transpose(a), dy)};
               }),
               "a[", "in da the transpose");
}

TEST(MatmulVjp, OtherOrdersAreNamed) {
  expect_wrong(matmul_with([](const Tensor& a, const Tensor& b, const Tensor& dy) {
                 return Tensors{matmul(transpose(a), dy), matmul(dy, transpose(b))};
               }),
               "[", "da comes first");
  expect_wrong(matmul_with([](const Tensor& a, const Tensor& b, const Tensor& dy) {
                 return Tensors{matmul(transpose(b), dy), matmul(dy, transpose(a))};
               }),
               "[", "wrong order");
}

TEST(MatmulVjp, ThePartThatIsRightIsNamed) {
  expect_wrong(matmul_with([](const Tensor&, const Tensor& b, const Tensor& dy) {
                 return Tensors{matmul(dy, transpose(b)), matmul(b, dy)};
               }),
               "b", "da is right, db is not");
  expect_wrong(matmul_with([](const Tensor& a, const Tensor&, const Tensor& dy) {
                 return Tensors{matmul(a, dy), matmul(transpose(a), dy)};
               }),
               "a", "db is right, da is not");
}

TEST(MatmulVjp, WhatHoldsForMatricesOnlyFailsOnABatch) {
  const Mark mark = matmul_with([](const Tensor& a, const Tensor& b, const Tensor& dy) {
    return Tensors{matmul(dy, transpose(b, 0, 1)), matmul(transpose(a, 0, 1), dy)};
  });
  expect_wrong(mark, "", "");
  EXPECT_EQ(mark.test.en.substr(0, 7), "a batch");
}

TEST(MatmulVjp, AnotherNumberOfGradientsIsWrongAndNoCrash) {
  expect_wrong(matmul_with([](const Tensor&, const Tensor&, const Tensor&) { return Tensors(); }), "matmul",
               "");
  expect_wrong(matmul_with([](const Tensor&, const Tensor&, const Tensor&) { return Tensors(2); }), "", "");
  expect_wrong(matmul_with([](const Tensor& a, const Tensor& b, const Tensor&) {
                 return Tensors{a, b, a};
               }),
               "matmul", "");
}

// ---- masks ---------------------------------------------------------------------------------------------

Mark masked_with(const std::function<Tensor(const Tensor& scores, const Tensor& keep)>& answer) {
  return mark_with(masked_softmax, [&](Answers& answers) { answers.masked_softmax = answer; });
}

TEST(MaskedSoftmax, MistakesAreNamed) {
  expect_wrong(
      masked_with([](const Tensor& s, const Tensor& keep) { return softmax(s) * keep.to(s.dtype()); }),
      "P[0,0]: expected 1, got 0.", "behind softmax");
  expect_wrong(masked_with([](const Tensor& s, const Tensor& keep) { return softmax(s, logical_not(keep)); }),
               "P[", "other way round");
  expect_wrong(masked_with([](const Tensor& s, const Tensor&) { return softmax(s); }), "P[", "not used");
  expect_wrong(
      masked_with([](const Tensor& s, const Tensor& keep) { return softmax(s * keep.to(s.dtype())); }), "P[",
      "score of 0");
}

TEST(MaskedSoftmax, ARowThatKeepsNothingIsSeen) {
  const Mark infinite = masked_with([](const Tensor& s, const Tensor& keep) {
    return softmax(masked_fill(s, logical_not(keep), -std::numeric_limits<double>::infinity()));
  });
  expect_wrong(infinite, "P[1,0]: expected 0, got NaN", "divided by its sum");
  EXPECT_EQ(infinite.test.en, "a row that keeps nothing");
  const Mark large = masked_with(
      [](const Tensor& s, const Tensor& keep) { return softmax(masked_fill(s, logical_not(keep), -1e9)); });
  expect_wrong(large, "P[1,0]: expected 0, got 0.25", "equal shares");
}

TEST(MaskedSoftmax, OverflowAndHiddenNumbersAreSeen) {
  const Mark plain = masked_with([](const Tensor& s, const Tensor& keep) {
    const Tensor e = masked_fill(exp(s), logical_not(keep), 0), total = sum(e, {-1}, keep_axes);
    return e / masked_fill(total, equal(total, zeros_like(total)), 1);
  });
  expect_wrong(plain, "P[0,0]", "");
  EXPECT_EQ(plain.test.en, "scores of 1000");
  const Mark hidden_maximum = masked_with([](const Tensor& s, const Tensor& keep) {
    const Tensor e = masked_fill(exp(s - max(s, {-1}, keep_axes)), logical_not(keep), 0);
    const Tensor total = sum(e, {-1}, keep_axes);
    return e / masked_fill(total, equal(total, zeros_like(total)), 1);
  });
  expect_wrong(hidden_maximum, "P[1,2]: expected 1, got 0", "");
  EXPECT_EQ(hidden_maximum.test.en, "hidden scores of 10000");
}

TEST(MaskedSoftmax, OtherShapesAndDtypesAreWrong) {
  expect_wrong(masked_with([](const Tensor& s, const Tensor&) { return sum(s, {-1}); }),
               "expected shape [2, 4]", "");
  expect_wrong(masked_with([](const Tensor& s, const Tensor& keep) { return softmax(s, keep).to(float64); }),
               "expected float32, got float64", "");
  expect_wrong(masked_with([](const Tensor&, const Tensor&) { return Tensor(); }), "empty Tensor", "");
}

// ---- an operation of one's own -------------------------------------------------------------------------

Mark cap_with(const std::function<Tensor(const RuleInputs& at, double cap)>& rule) {
  return mark_with(soft_cap, [&rule](Answers& answers) {
    answers.soft_cap = [&rule](const Tensor& x, double cap) {
      const CustomOp op(
          "soft_cap", [cap](const Tensors& in) { return tanh(in[0] / cap) * cap; },
          [&rule, cap](const RuleInputs& at) { return Tensors{rule(at, cap)}; });
      return op({x});
    };
  });
}

TEST(SoftCap, MistakesOfTheRuleAreNamed) {
  using At = const RuleInputs&;
  expect_wrong(cap_with([](At at, double) { return at.dy; }), "x[", "slope of the cap is missing");
  expect_wrong(cap_with([](At at, double) { return at.dy * (1.0 - square(at.output)); }), "x[",
               "divide it by the cap");
  expect_wrong(cap_with([](At at, double) { return at.dy * (1.0 - square(tanh(at.inputs[0]))); }), "x[",
               "x is to be divided");
  expect_wrong(cap_with([](At at, double cap) { return at.dy * (1.0 - square(at.output / cap)) / cap; }),
               "x[", "Too small");
  expect_wrong(cap_with([](At at, double cap) { return at.dy * (1.0 - square(at.output / cap)) * cap; }),
               "x[", "Too large");
}

TEST(SoftCap, ARuleThatCannotBeDifferentiatedIsSeen) {
  const Mark mark = cap_with(
      [](const RuleInputs& at, double cap) { return at.dy * (1.0 - square(at.output.detach() / cap)); });
  expect_wrong(mark, "x", "");
  EXPECT_EQ(mark.test.en, "the gradient's gradient");
}

TEST(SoftCap, PlainOperationsAreNoOperationOfOnesOwn) {
  const Mark mark = mark_with(soft_cap, [](Answers& answers) {
    answers.soft_cap = [](const Tensor& x, double cap) { return tanh(x / cap) * cap; };
  });
  expect_wrong(mark, "no CustomOp called \"soft_cap\"", "");
  EXPECT_EQ(mark.passed, mark.tests - 1);
}

TEST(SoftCap, AWrongValueIsSeen) {
  const Mark mark = mark_with(soft_cap, [](Answers& answers) {
    answers.soft_cap = [](const Tensor& x, double cap) { return clamp(x, -cap, cap); };
  });
  expect_wrong(mark, "y[", "");
}

// ---- the program ---------------------------------------------------------------------------------------

TEST(Program, TheSolutionsHoldAndTheMistakesDoNot) {
  for (const std::string language : {"en", "vi"}) {
    const Outcome right = run("27_exercises", "--answers reference --language " + language);
    EXPECT_EQ(right.exit_code, 0) << right.out;
    EXPECT_EQ(right.out.find("✗"), std::string::npos);
    const Outcome wrong = run("27_exercises", "--answers mistaken --language " + language);
    EXPECT_EQ(wrong.exit_code, 1) << wrong.out;
    EXPECT_EQ(wrong.out.find("✓"), std::string::npos);
    EXPECT_NE(wrong.out.find("P[0,0]: expected 1, got 0."), std::string::npos) << wrong.out;
    EXPECT_NE(wrong.out.find(language == "en" ? "Look for: " : "Hãy để ý: "), std::string::npos);
    EXPECT_EQ(wrong.out.find(" \n"), std::string::npos);
    EXPECT_EQ(wrong.out.find("\n\n\n"), std::string::npos);
  }
}

TEST(Program, WhatIsNotWrittenIsNotWrong) {
  const Outcome got = run("27_exercises");
  const std::vector<Mark> marks = exercises::mark(exercises::yours());
  int wrong = 0, not_yet = 0;
  for (const Mark& mark : marks) {
    wrong += mark.state == State::wrong ? 1 : 0;
    not_yet += mark.state == State::not_yet ? 1 : 0;
  }
  EXPECT_EQ(got.exit_code, wrong == 0 ? 0 : 1) << got.out;
  if (not_yet == 4) {
    EXPECT_NE(got.out.find("4 of 4 exercises are not written yet"), std::string::npos);
  }
}

TEST(Program, WrongUsageIsExplained) {
  const Outcome got = run("27_exercises", "--answers theirs");
  EXPECT_EQ(got.exit_code, 2);
  EXPECT_NE(got.err.find("theirs"), std::string::npos);
}

}  // namespace
}  // namespace regard::test

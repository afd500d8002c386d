#include "regard/study/tape_walk.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include <regard/regard.hpp>

#include "study/tape_words.hpp"
#include "support/close.hpp"
#include "support/throws.hpp"

namespace regard::study {
namespace {

// A rule's formula is computed as it reads, for every way of turning a product's factors.
TEST(TapeWords, TheFormulasOfAProductAreItsGradients) {
  const std::vector<std::string> in = {"A", "B"};
  const auto rules = [&](const char* attributes) {
    return rule_formula("matmul", attributes, in, "Y", "dY", 0) + " and " +
           rule_formula("matmul", attributes, in, "Y", "dY", 1);
  };
  EXPECT_EQ(forward_formula("matmul", "a·b", in), "A·B");
  EXPECT_EQ(rules("a·b"), "dY·Bᵀ and Aᵀ·dY");
  EXPECT_EQ(rules("a·bᵀ"), "dY·B and dYᵀ·A");
  EXPECT_EQ(rules("aᵀ·b"), "B·dYᵀ and A·dY");
  EXPECT_EQ(rules("aᵀ·bᵀ"), "Bᵀ·dYᵀ and dYᵀ·Aᵀ");
  EXPECT_EQ(forward_formula("matmul", "a·bᵀ, alpha=0.5", in), "0.5·A·Bᵀ");
  EXPECT_EQ(rules("a·bᵀ, alpha=0.5"), "0.5·dY·B and 0.5·dYᵀ·A");
  EXPECT_EQ(forward_formula("masked_scores", "value=1", in), "A·Bᵀ where kept");
  EXPECT_EQ(forward_formula("unheard_of", "axis=1", {"A", "", "C"}), "unheard_of(A, C; axis=1)");
  EXPECT_EQ(rule_formula("unheard_of", "", in, "Y", "dY", 0), "");
  EXPECT_EQ(translated("softmax Z over M", "vi"), "softmax Z trên M");
  EXPECT_EQ(translated("2·A·Bᵀ where kept", "vi"), "2·A·Bᵀ ở chỗ được giữ");
  EXPECT_EQ(translated("dY / n in every place", "vi"), "dY / n ở mọi chỗ");
  EXPECT_EQ(translated("dY in every place", "en"), "dY in every place");
}

TEST(TapeWords, EveryWordIsThereInBothLanguagesOrInNone) {
  for (const char* op : {"add",
                         "subtract",
                         "multiply",
                         "divide",
                         "multiply_scalar",
                         "add_scalar",
                         "power",
                         "negate",
                         "exp",
                         "log",
                         "sqrt",
                         "square",
                         "tanh",
                         "sigmoid",
                         "relu",
                         "sum",
                         "mean",
                         "transpose",
                         "softmax",
                         "log_softmax",
                         "matmul",
                         "masked_scores",
                         "masked_mix",
                         "masked_mix_transposed"})
    for (const Direction direction : {Direction::forward, Direction::backward})
      EXPECT_EQ(operation_words(op, direction, "en").empty(), operation_words(op, direction, "vi").empty())
          << op;
}

TEST(TapeWalk, WalksOnBackAndTo) {
  TapeRecorder tape(TapeKeep::values);
  const Tensor x = variable(tensor({1, 2}));
  backward(sum(exp(x)));
  TapeWalk walk(tape);
  walk.name("x", x);
  ASSERT_EQ(walk.size(), 5u) << "exp, sum, their rules, and the leaf";
  EXPECT_FALSE(walk.back());
  EXPECT_THROW((void)walk.here(), ValueError);
  while (walk.step()) {
  }
  EXPECT_EQ(walk.place(), 5u);
  EXPECT_FALSE(walk.step());
  EXPECT_TRUE(walk.back());
  EXPECT_EQ(walk.here().operation, "exp");
  EXPECT_EQ(walk.here().phase, Phase::backward);
  walk.goto_step(0);
  EXPECT_EQ(walk.place(), 0u);
  EXPECT_THROW(walk.goto_step(6), ValueError);
  EXPECT_THROW((void)walk.at(0), ValueError);
}

TEST(TapeWalk, ValuesAndGradientsAppearWhenTheyAreComputed) {
  TapeRecorder tape(TapeKeep::values);
  const Tensor x = variable(tensor({1, 2}));
  const Tensor y = x * x;
  (void)grad(sum(y), x);
  TapeWalk walk(tape);
  walk.name("x", x);
  walk.name("y", y);
  EXPECT_TRUE(all(equal(walk.find("x"), x.detach()))) << "older than the tape";
  EXPECT_THROWS_WITH((void)walk.find("y"), ValueError, "computed at step 1; this is step 0");
  EXPECT_THROWS_WITH((void)walk.find("dx"), ValueError, "arrives at step 4");
  EXPECT_THROWS_WITH((void)walk.find("z"), ValueError, "there are: x, y, %1");
  walk.goto_step(4);
  EXPECT_TRUE(all(equal(walk.find("dx"), 2.0 * x.detach()))) << "two parts, added up";
  EXPECT_EQ(walk.here().sentence,
            "vjp of multiply (step 1): dx = dy∘x [2], dx += dy∘x [2]; dx is the sum of 2 parts now");
  EXPECT_EQ(walk.find("%1").rank(), 0) << "the sum has no name";
}

TEST(TapeWalk, WhatNoGradientReachesIsSaid) {
  TapeRecorder tape(TapeKeep::values);
  const Tensor c = tensor({1, 2}), y = c * 2.0;
  TapeWalk walk(tape, "vi");
  walk.name("c", c);
  EXPECT_THROWS_WITH((void)walk.find("dc"), ValueError, "không có gradient nào đến c");
}

TEST(TapeWalk, NamesAreCheckedAndParametersHaveTheirOwn) {
  TapeRecorder tape(TapeKeep::values);
  const Parameter w(ones({2}), "w"), twin(ones({2}), "w");
  const Tensor x = ones({2}), y = Tensor(w) * twin * x;
  backward(sum(y));
  TapeWalk walk(tape);
  EXPECT_NO_THROW((void)walk.find("w"));
  EXPECT_NO_THROW((void)walk.find("w#2"));
  walk.name("x", x);
  walk.name("x", x);
  EXPECT_THROWS_WITH(walk.name("x", y), ValueError, "two tensors");
  for (const char* bad : {"", "a b", "%1", "a;b"})
    EXPECT_THROWS_WITH(walk.name(bad, y), ValueError, "cannot be a name");
  EXPECT_THROWS_WITH(walk.name("z", ones({2})), ValueError, "not on the tape");
}

TEST(TapeWalk, NeedsATapeThatKeepsValues) {
  TapeRecorder tape;
  (void)exp(ones({2}));
  EXPECT_THROWS_WITH(TapeWalk{tape}, ValueError, "TapeKeep::values");
  TapeRecorder empty;
  TapeWalk nothing(empty);
  EXPECT_EQ(nothing.size(), 0u);
  EXPECT_FALSE(nothing.step());
  EXPECT_NE(tape_html(nothing).find("</html>"), std::string::npos);
}

// A walk is over what there was when it began, though the tape goes on.
TEST(TapeWalk, LooksAtATapeThatStillRuns) {
  TapeRecorder tape(TapeKeep::values);
  const Tensor y = exp(ones({2}));
  TapeWalk walk(tape);
  (void)exp(y);
  EXPECT_EQ(walk.size(), 1u);
  EXPECT_TRUE(walk.step());
  (void)show(walk);
  (void)tape_html(walk);
  EXPECT_EQ(walk.size(), 1u);
}

// The whole engine: heads, mask, grouping. Every reshaping goes by the name of what it reshapes.
void expect_attention_is_read(AttentionPath path, const char* sentence) {
  for (const DType dtype : {float32, float64}) {
    Rng rng(2);
    const Tensor q = variable(normal({3, 4}, rng, 0, 1, dtype)),
                 k = variable(normal({3, 4}, rng, 0, 1, dtype));
    const Tensor v = normal({3, 2}, rng, 0, 1, dtype), u = normal({3, 2}, rng, 0, 1, dtype);
    TapeRecorder tape(TapeKeep::values);
    AttentionOptions options;
    options.path = path;
    const Tensor y = attention(q, k, v, Mask::causal(), options);
    const Tensors gradients = grad({sum(y * u)}, {q, k});
    tape.stop();
    TapeWalk walk(tape);
    walk.name("q", q);
    walk.name("k", k);
    walk.name("v", v);
    walk.name("y", y);
    walk.goto_step(walk.size());
    EXPECT_TRUE(all(equal(walk.find("dq"), gradients[0])));
    EXPECT_TRUE(all(equal(walk.find("dk"), gradients[1])));
    bool found = false;
    for (std::size_t place = 1; place <= walk.size(); ++place) {
      const WalkStep step = walk.at(place);
      EXPECT_EQ(step.sentence.find("reshape"), std::string::npos) << step.sentence;
      found = found || step.sentence.find(sentence) != std::string::npos;
    }
    EXPECT_TRUE(found);
  }
}

TEST(TapeWalk, ReadsAnAttentionCall) {
  expect_attention_is_read(AttentionPath::dense, "= 0.5·q·kᵀ where kept");
  expect_attention_is_read(AttentionPath::blocked, "= softmax(0.5·q·kᵀ)·v");
  expect_attention_is_read(AttentionPath::blocked, "0.5·dSᵀ·q");
}

TEST(TapeWalk, SecondOrderHooksAndTheOptimiser) {
  Parameter w(tensor({0.5, 2}), "w");
  Sgd optimizer({w}, {});
  TapeRecorder tape(TapeKeep::values);
  {
    const Tensor at = w;
    const Tensor y = exp(at);
    add_hook(y, [](const Tensor& dy) { return dy * 3.0; });
    GradOptions options;
    options.create_graph = true;
    const Tensor slope = grad(sum(y), at, options);
    backward(sum(slope));
  }
  optimizer.step();
  tape.stop();
  TapeWalk walk(tape);
  std::string all_sentences;
  for (std::size_t place = 1; place <= walk.size(); ++place) all_sentences += walk.at(place).sentence + "\n";
  EXPECT_NE(all_sentences.find("sgd("), std::string::npos) << all_sentences;
  EXPECT_NE(all_sentences.find("vjp of multiply"), std::string::npos)
      << "of the first backward's own product\n"
      << all_sentences;
  EXPECT_EQ(walk.at(walk.size()).phase, Phase::optimiser);
  walk.goto_step(walk.size());
  EXPECT_TRUE(all(equal(walk.find("dw"), w.gradient()))) << "the newest";
  for (const WalkValue& value : walk.known()) EXPECT_TRUE(value.tensor.defined()) << value.name;
}

// ---- commands ------------------------------------------------------------------------------------------

TEST(TapeCommands, AnswerEveryLineKindly) {
  TapeRecorder tape(TapeKeep::values);
  const Tensor x = variable(tensor({1, 2}));
  (void)grad(sum(exp(x)), x);
  TapeWalk walk(tape);
  walk.name("x", x);
  const auto says = [&](const std::string& command) { return obey(walk, command).text; };
  EXPECT_NE(says("back").find("beginning"), std::string::npos);
  EXPECT_NE(says("show").find("beginning"), std::string::npos);
  EXPECT_NE(says("step").find("1/5 forward"), std::string::npos);
  EXPECT_NE(says("").find("2/5"), std::string::npos);
  EXPECT_NE(says("  s  2 ").find("4/5 backward"), std::string::npos);
  EXPECT_NE(says("step 9").find("the end"), std::string::npos);
  EXPECT_NE(says("b").find("4/5"), std::string::npos);
  EXPECT_NE(says("show").find("dx [2]"), std::string::npos);
  EXPECT_NE(says("print dx").find("2.71828183"), std::string::npos);
  EXPECT_NE(says("p").find("print what?"), std::string::npos);
  EXPECT_NE(says("print nothing").find("nothing is called"), std::string::npos);
  EXPECT_NE(says("list").find(">   4/5"), std::string::npos);
  EXPECT_NE(says("names").find("dx [2]"), std::string::npos);
  EXPECT_NE(says("help").find("goto n"), std::string::npos);
  for (const char* bad :
       {"goto", "goto x", "goto -1", "goto 6", "goto 1e3", "step 0", "step -2", "step 99999999999999999999"})
    EXPECT_NE(says(bad).find("whole number"), std::string::npos) << bad;
  for (const char* bad : {"hlep", "list 3", "step 1 2", "\x01\xff", "print a b"})
    EXPECT_NE(says(bad).find("no command"), std::string::npos) << bad;
  EXPECT_EQ(walk.place(), 4u) << "what was not understood changed nothing";
  EXPECT_TRUE(obey(walk, "q").quit);
  EXPECT_FALSE(obey(walk, "goto 0").quit);
  EXPECT_EQ(walk.place(), 0u);
}

TEST(TapePage, HoldsEveryNumberUnroundedAndNothingThatEndsItsScript) {
  TapeRecorder tape(TapeKeep::values);
  const double nan = std::nan("");
  const Tensor x = variable(tensor({{0.1, nan}, {3, 1e300}})), y = x * x;
  (void)grad(sum(y), x);
  TapeWalk walk(tape, "vi");
  walk.name("</script>", x);
  TapePageOptions options;
  options.title = "<b>Băng</b>";
  const std::string page = tape_html(walk, options);
  EXPECT_NE(page.find("&lt;b&gt;Băng"), std::string::npos);
  EXPECT_EQ(page.find("<b>Băng"), std::string::npos);
  EXPECT_NE(page.find("0.010000000000000002"), std::string::npos);
  EXPECT_NE(page.find("\"NaN\""), std::string::npos);
  EXPECT_NE(page.find("\"Infinity\""), std::string::npos);
  EXPECT_EQ(page.find("\"</script>\""), std::string::npos);
  EXPECT_NE(page.find("Đã biết tới đây"), std::string::npos);
}

TEST(TapePage, CutsWhatIsLargeAndSaysSo) {
  TapeRecorder tape(TapeKeep::values);
  const Tensor y = exp(zeros({2, 30, 40})), none = exp(zeros({0, 3}));
  const std::string page = tape_html(TapeWalk(tape));
  EXPECT_NE(page.find("\"shape\":\"[2, 30, 40]\",\"rank\":3,\"cut\":true"), std::string::npos);
  EXPECT_NE(page.find("\"shape\":\"[0, 3]\",\"rank\":2,\"cut\":false"), std::string::npos);
  EXPECT_LT(page.size(), 60000u);
}

}  // namespace
}  // namespace regard::study

// The leak audit on models whose dependences are known, and on models that are ill.
#include <regard/study/leaks.hpp>

#include <cmath>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include <regard/regard.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::study {
namespace {

using test::random_tensor;

constexpr double infinity = std::numeric_limits<double>::infinity();

Tensor lower_triangle(Size sequences, Size n) {
  return broadcast_to(equal(tril(ones({n, n})), scalar(1.0)), {sequences, n, n});
}

/// The course's attention, with the mask as a sum or a fill, as one pleases.
template <class Hide>
Tensor course_attention(const Tensor& x, const Hide& hide) {
  const Tensor scores = hide(matmul(x, transpose(x)));
  return matmul(softmax(scores), x);
}
Tensor future(const Tensor& scores) {
  return equal(triu(ones(scores.shape(), scores.dtype()), 1), scalar(1.0, scores.dtype()));
}

TEST(LeakAudit, CausalAttentionHasAnEmptyUpperTriangle) {
  Rng rng(1);
  for (const DType dtype : {float64, float32}) {
    nn::MultiHeadAttentionOptions settings;
    settings.dtype = dtype;
    const nn::MultiHeadAttention layer(4, 2, rng, settings);
    const LeakReport report = audit_leak([&](const Tensor& x) { return layer(x, Mask::causal()); },
                                         random_tensor({2, 5, 4}, rng, test::Domain::normal, dtype));
    EXPECT_SAME_BITS(report.by_values, lower_triangle(2, 5));
    EXPECT_SAME_BITS(report.by_gradients, lower_triangle(2, 5));
    EXPECT_SAME_BITS(report.by_nan, lower_triangle(2, 5));
    EXPECT_SAME_BITS(greater(report.strength, scalar(0.0)), lower_triangle(2, 5));
    EXPECT_TRUE(report.agree());
    EXPECT_TRUE(report.leaks().empty());
    EXPECT_TRUE(report.across.empty());
  }
}

TEST(LeakAudit, WithoutMaskEverythingDependsOnEverything) {
  Rng rng(2);
  const nn::MultiHeadAttention layer(4, 2, rng);
  const LeakReport report = audit_leak([&](const Tensor& x) { return layer(x); }, random_tensor({4, 4}, rng));
  EXPECT_SAME_BITS(report.by_values, ones({1, 4, 4}, boolean));
  EXPECT_TRUE(report.agree());
  EXPECT_EQ(report.leaks().size(), 6u);
  EXPECT_EQ(report.leaks().front(), (Dependence{0, 0, 0, 1}));
  EXPECT_TRUE(report.leaks(Mask::none()).empty());
}

TEST(LeakAudit, MasksOfEveryKindAreKept) {
  Rng rng(3);
  const nn::MultiHeadAttention layer(4, 2, rng);
  const Tensor x = random_tensor({2, 6, 4}, rng);
  const Mask masks[] = {Mask::window(1), Mask::causal() & Mask::window(2),
                        Mask::padding(tensor({4, 6}, int64)),
                        Mask::documents(tensor({0, 0, 1, 1, 1, 2}, int64))};
  // A token that is padding still asks: its output depends on itself.
  const Tensor itself = equal(eye(6), scalar(1.0));
  for (const Mask& mask : masks) {
    const LeakReport report = audit_leak([&](const Tensor& at) { return layer(at, mask); }, x);
    EXPECT_TRUE(report.agree()) << mask;
    const Tensor keep = squeeze(broadcast_to(mask.resolve(2, 1, 6, 6).keep, {2, 1, 6, 6}), {1});
    EXPECT_SAME_BITS(report.by_values, logical_or(keep, itself)) << mask;
    EXPECT_TRUE(report.leaks(Mask::keep(logical_or(keep, itself))).empty()) << mask;
    EXPECT_EQ(report.leaks(mask).size(), mask.describe() == "padding [2]" ? 2u : 0u) << mask;
  }
}

TEST(LeakAudit, CatchesAMaskWhoseResultIsDropped) {
  Rng rng(4);
  const auto model = [](const Tensor& x) {
    return course_attention(x, [](const Tensor& scores) {
      static_cast<void>(
          masked_fill(scores, future(scores), -infinity));  // the mistake: a Tensor never changes
      return scores;
    });
  };
  const LeakReport report = audit_leak(model, random_tensor({4, 3}, rng));
  EXPECT_TRUE(report.agree());
  EXPECT_EQ(report.leaks(),
            (std::vector<Dependence>{
                {0, 0, 0, 1}, {0, 0, 0, 2}, {0, 0, 0, 3}, {0, 1, 0, 2}, {0, 1, 0, 3}, {0, 2, 0, 3}}));
  EXPECT_NE(to_string(report).find(
                "outputs that depend on a later input: 0 on 1, 0 on 2, 0 on 3, 1 on 2, 1 on 3 and 1 more"),
            std::string::npos)
      << report;
}

// The weight is exactly 0, but 0·NaN is NaN.
TEST(LeakAudit, TellsWhatIsMultipliedByZeroFromWhatIsLeftOut) {
  Rng rng(5);
  for (const double fill : {-infinity, -1e9}) {
    const auto model = [&](const Tensor& x) {
      return course_attention(
          x, [&](const Tensor& scores) { return masked_fill(scores, future(scores), fill); });
    };
    const LeakReport report = audit_leak(model, random_tensor({4, 3}, rng));
    EXPECT_SAME_BITS(report.depends(), lower_triangle(1, 4));
    EXPECT_TRUE(report.agree());
    EXPECT_TRUE(report.leaks().empty());
    EXPECT_SAME_BITS(report.by_nan, ones({1, 4, 4}, boolean));
    EXPECT_EQ(to_string(report),
              "leak audit, 4 outputs (down) of 4 inputs\n"
              "  0123\n"
              "0 ●nnn\n"
              "1 ●●nn\n"
              "2 ●●●n\n"
              "3 ●●●●\n"
              "● depends\n"
              "n does not depend, but NaN gets through, as in 0·NaN\n"
              "values and gradients agree\n"
              "no output depends on a later input\n");
  }
}

// Not low enough: a weight of e^-10 hides nothing.
TEST(LeakAudit, CatchesAFillThatIsTooHigh) {
  Rng rng(6);
  const auto model = [](const Tensor& x) {
    return course_attention(x,
                            [](const Tensor& scores) { return masked_fill(scores, future(scores), -10.0); });
  };
  EXPECT_EQ(audit_leak(model, random_tensor({3, 3}, rng)).leaks().size(), 3u);
}

TEST(LeakAudit, SaysWhereValuesAndGradientsDisagree) {
  Rng rng(7);
  const auto previous = [](const Tensor& x) {  // row i - 1 at row i, zeros at row 0
    return concatenate({zeros({1, x.size(1)}), slice(x, 0, {0, x.size(0) - 1})});
  };
  const LeakReport hidden =
      audit_leak([&](const Tensor& x) { return x + previous(x).detach(); }, random_tensor({3, 2}, rng));
  EXPECT_FALSE(hidden.agree());
  EXPECT_SAME_BITS(squeeze(hidden.by_gradients, {0}), equal(eye(3), scalar(1.0)));
  EXPECT_EQ(to_string(hidden),
            "leak audit, 3 outputs (down) of 3 inputs\n"
            "  012\n"
            "0 ●··\n"
            "1 v●·\n"
            "2 ·v●\n"
            "● depends\n"
            "· does not depend\n"
            "v changes with it, but its gradient is 0\n"
            "values and gradients disagree\n"
            "no output depends on a later input\n");

  const CustomOp wrong(
      "pass", [](const Tensors& in) { return zeros_like(in[0]); },
      [](const RuleInputs& at) { return Tensors{at.dy}; });
  const LeakReport lying =
      audit_leak([&](const Tensor& x) { return wrong({x}); }, random_tensor({2, 2}, rng));
  EXPECT_FALSE(lying.agree());
  EXPECT_NE(to_string(lying).find("0 g·\n1 ·g\n"), std::string::npos) << lying;
}

TEST(LeakAudit, SeesThroughAWholeTransformer) {
  Rng rng(8);
  const nn::MultiHeadAttention first(4, 2, rng), second(4, 2, rng);
  const nn::LayerNorm norm(4);
  const nn::Linear mlp(4, 4, rng);
  const auto model = [&](const Tensor& x) {
    const Tensor y = x + first(norm(x), Mask::causal());
    return mlp(gelu(y + second(norm(y), Mask::causal())));
  };
  const LeakReport report = audit_leak(model, random_tensor({2, 4, 4}, rng));
  EXPECT_SAME_BITS(report.depends(), lower_triangle(2, 4));
  EXPECT_TRUE(report.agree());
}

TEST(LeakAudit, SeesSequencesOfABatchMix) {
  Rng rng(9);
  const LeakReport report =
      audit_leak([](const Tensor& x) { return x - mean(x, {0}, keep_axes); }, random_tensor({2, 2, 3}, rng));
  EXPECT_EQ(report.across, (std::vector<Dependence>{{0, 0, 1, 0}, {0, 1, 1, 1}, {1, 0, 0, 0}, {1, 1, 0, 1}}));
  EXPECT_EQ(report.leaks(), report.across);
  EXPECT_NE(to_string(report).find("sequences of the batch mix: output 0 on 0 (sequence 0 on 1), "),
            std::string::npos)
      << report;
}

TEST(LeakAudit, SequencesThatDifferHaveAGridEach) {
  Rng rng(10);
  const Mask mask = Mask::padding(tensor({1, 2}, int64));
  const LeakReport report =
      audit_leak([&](const Tensor& x) { return attention(x, x, x, mask); }, random_tensor({2, 2, 3}, rng));
  EXPECT_NE(to_string(report).find("sequence 0\n  01\n0 ●·\n1 ●n\nsequence 1\n  01\n0 ●●\n1 ●●\n"),
            std::string::npos)
      << report;
}

// ---- ids -----------------------------------------------------------------------------------------------

TEST(LeakAudit, TakesIdsByValuesOnly) {
  Rng rng(11);
  const nn::Embedding embedding(7, 4, rng);
  const nn::MultiHeadAttention layer(4, 2, rng);
  const Tensor ids = tensor({{3, 1, 1, 5}, {0, 6, 2, 2}}, int64);
  LeakAuditOptions options;
  options.vocabulary = 7;
  for (const LeakAuditOptions& o : {options, LeakAuditOptions()}) {
    const LeakReport causal =
        audit_leak([&](const Tensor& x) { return layer(embedding(x), Mask::causal()); }, ids, o);
    EXPECT_SAME_BITS(causal.by_values, lower_triangle(2, 4));
    EXPECT_FALSE(causal.by_gradients.defined());
    EXPECT_FALSE(causal.by_nan.defined());
    EXPECT_TRUE(causal.agree());
    EXPECT_TRUE(causal.leaks().empty());
    EXPECT_NE(to_string(causal).find("alike in 2 sequences"), std::string::npos);
    EXPECT_NE(to_string(causal).find("by values only"), std::string::npos);
  }
  const LeakReport open = audit_leak([&](const Tensor& x) { return layer(embedding(x)); }, ids, options);
  EXPECT_EQ(open.leaks().size(), 12u);
  EXPECT_THROWS_WITH(audit_leak([&](const Tensor& x) { return embedding(x); }, tensor({2, 2}, int64)),
                     ValueError, "one id only");
  EXPECT_SAME_BITS(
      audit_leak([&](const Tensor& x) { return embedding(x); }, tensor({2, 2}, int64), options).by_values,
      expand_dims(equal(eye(2), scalar(1.0)), {0}));
}

// ---- shapes, and what is refused
// ---------------------------------------------------------------------------

TEST(LeakAudit, OutputsMayBeFewerAndOfAnyRank) {
  Rng rng(12);
  const LeakReport pooled = audit_leak(
      [](const Tensor& x) {
        return expand_dims(sum(slice(x, 1, {1, 3}), {1}), {1, -1});
      },
      random_tensor({2, 4, 3}, rng));
  EXPECT_SAME_BITS(pooled.by_values, broadcast_to(tensor({0, 1, 1, 0}, boolean), {2, 1, 4}));
  EXPECT_THROWS_WITH(pooled.leaks(), ShapeError, "causal");
  EXPECT_NE(to_string(pooled).find("1 output (down) of 4 inputs, alike in 2 sequences\n  0123\n0 ·●●·\n"),
            std::string::npos)
      << pooled;

  LeakAuditOptions often;
  often.changes = 20;
  const LeakReport chosen =
      audit_leak([](const Tensor& x) { return argmax(x); }, random_tensor({3, 4}, rng), often);
  EXPECT_SAME_BITS(squeeze(chosen.by_values, {0}), equal(eye(3), scalar(1.0)));
  EXPECT_FALSE(chosen.by_gradients.defined());
  EXPECT_EQ(audit_leak([](const Tensor& x) { return x; }, zeros({0, 3})).by_values.shape(), (Shape{1, 0, 0}));
}

TEST(LeakAudit, NumbersOfColumnsAreReadDownwards) {
  Rng rng(13);
  const LeakReport report = audit_leak([](const Tensor& x) { return x; }, random_tensor({11, 1}, rng));
  EXPECT_NE(to_string(report).find("\n             1\n   01234567890\n 0 ●··········\n"), std::string::npos)
      << report;
}

TEST(LeakAudit, RefusesWhatItCannotJudge) {
  Rng rng(14);
  const auto same = [](const Tensor& x) { return x; };
  EXPECT_THROWS_WITH(audit_leak(same, zeros({3})), ShapeError,
                     "expected x [tokens, width] or [batch, tokens, width], got [3]");
  EXPECT_THROWS_WITH(audit_leak(same, zeros({3, 2, 1}, int64)), ShapeError,
                     "ids [tokens] or [batch, tokens]");
  EXPECT_THROWS_WITH(audit_leak(same, zeros({3, 2}, boolean)), DTypeError, "got boolean [3, 2]");
  EXPECT_THROWS_WITH(audit_leak([](const Tensor& x) { return sum(x); }, zeros({3, 2})), ShapeError,
                     "the model must give [outputs, ..], got []");
  EXPECT_THROWS_WITH(audit_leak([](const Tensor& x) { return sum(x, {0}); }, zeros({3, 2, 4})), ShapeError,
                     "the model must give [3, outputs, ..], got [2, 4]");
  nn::Dropout dropout(0.5, rng);
  EXPECT_THROWS_WITH(audit_leak([&](const Tensor& x) { return dropout(x); }, ones({3, 4})), ValueError,
                     "other numbers for the same input; is dropout on?");
  evaluate(dropout);
  EXPECT_TRUE(audit_leak([&](const Tensor& x) { return dropout(x); }, ones({3, 4})).leaks().empty());
}

TEST(LeakAudit, PrintsToAStream) {
  Rng rng(15);
  const LeakReport report = audit_leak([](const Tensor& x) { return x; }, random_tensor({2, 2}, rng));
  std::ostringstream out;
  out << report;
  EXPECT_EQ(out.str(), to_string(report));
}

}  // namespace
}  // namespace regard::study

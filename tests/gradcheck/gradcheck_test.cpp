// What the checker says of functions that are right, and of those that are neither right nor wrong.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <regard/attention.hpp>
#include <regard/error.hpp>
#include <regard/gradcheck.hpp>
#include <regard/gradcheck_gtest.hpp>
#include <regard/nn/linear.hpp>
#include <regard/ops.hpp>
#include <regard/random.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

using test::Domain;
using test::random_tensor;

GradientCheckOptions with(Coverage coverage, Formula formula = Formula::five_point, int order = 1) {
  GradientCheckOptions options;
  options.coverage = coverage;
  options.formula = formula;
  options.order = order;
  return options;
}

constexpr Coverage both[] = {Coverage::fast, Coverage::slow};
constexpr Formula all_formulas[] = {Formula::central, Formula::five_point, Formula::taylor};

Tensor two_layers(const Tensors& x) {
  return sum(tanh(matmul(relu(matmul(x[0], x[1])), x[2])), {-1});
}

Tensors two_layers_inputs(DType dtype = float64) {
  Rng rng(3);
  return {random_tensor({2, 3}, rng, Domain::normal, dtype),
          random_tensor({3, 4}, rng, Domain::normal, dtype),
          random_tensor({4, 2}, rng, Domain::normal, dtype)};
}

TEST(Gradcheck, AcceptsWhatIsRight) {
  for (const Coverage coverage : both) {
    for (const Formula formula : all_formulas)
      EXPECT_GRADIENTS_OK(two_layers, two_layers_inputs(), with(coverage, formula));
    for (const Formula formula : {Formula::central, Formula::five_point})
      EXPECT_GRADIENTS_OK(two_layers, two_layers_inputs(float32), with(coverage, formula));
    // In float32 a remainder is lost in rounding before it can confirm four digits.
    EXPECT_LE(
        check_gradients(two_layers, two_layers_inputs(float32), with(coverage, Formula::taylor)).verdict(),
        Verdict::precision_limited);
  }
}

TEST(Gradcheck, ChecksTheThirdOrder) {
  Rng rng(5);
  const Tensor x = random_tensor({2, 3}, rng);
  const Tensor w = random_tensor({3}, rng), b = random_tensor({3}, rng);
  for (const Coverage coverage : both) {
    const GradientCheckOptions third = with(coverage, Formula::five_point, 3);
    EXPECT_GRADIENTS_OK([](const Tensors& in) { return softmax(in[0]); }, Tensors{x}, third);
    EXPECT_GRADIENTS_OK([](const Tensors& in) { return log_softmax(in[0]); }, Tensors{x}, third);
    EXPECT_GRADIENTS_OK([](const Tensors& in) { return matmul(in[0], transpose(in[0])); }, Tensors{x}, third);
    EXPECT_GRADIENTS_OK([](const Tensors& in) { return layer_norm(in[0], in[1], in[2]); }, (Tensors{x, w, b}),
                        third);
    EXPECT_GRADIENTS_OK([](const Tensors& in) { return attention(in[0], in[1], in[1], Mask::causal()); },
                        (Tensors{x, random_tensor({2, 3}, rng)}), third);
  }
}

TEST(Gradcheck, ChecksJvpAgainstDifferences) {
  const GradientReport report =
      check_gradients(two_layers, two_layers_inputs(), with(Coverage::fast, Formula::central, 2));
  int found = 0;
  for (const GradientFinding& finding : report.findings)
    found += finding.input == "jvp" && finding.verdict == Verdict::ok;
  EXPECT_EQ(found, 1) << to_string(report);
}

// pytorch/pytorch #114234, BVLC/caffe #1334: a kink was taken for a wrong gradient.
TEST(B39, CallsAKinkAKinkAndNamesTheSlopes) {
  for (const DType dtype : {float64, float32}) {
    for (const Coverage coverage : both) {
      for (const Formula formula : all_formulas) {
        const GradientReport report = check_gradients([](const Tensors& x) { return relu(x[0]); },
                                                      {tensor({-1, 0, 2}, dtype)}, with(coverage, formula));
        const GradientFinding& worst = report.worst();
        EXPECT_EQ(worst.verdict, Verdict::kink) << to_string(report);
        EXPECT_EQ(worst.where, "x0[1]");
        EXPECT_EQ(worst.failed, 1);
        EXPECT_EQ(worst.analytic, 0);
        EXPECT_NEAR(std::min(std::fabs(worst.left), std::fabs(worst.right)), 0, 1e-6);
        EXPECT_GT(std::max(std::fabs(worst.left), std::fabs(worst.right)), 0.4);
        EXPECT_NE(to_string(report).find("slope"), std::string::npos);
      }
      const auto verdict = [&](const FunctionOfMany& f, const Tensor& x) {
        return check_gradients(f, {x}, with(coverage)).verdict();
      };
      EXPECT_EQ(verdict([](const Tensors& x) { return abs(x[0]); }, tensor({1, 0}, dtype)), Verdict::kink);
      EXPECT_EQ(verdict([](const Tensors& x) { return max(x[0], {0}); }, tensor({2, 2, 1}, dtype)),
                Verdict::kink);
      EXPECT_EQ(verdict([](const Tensors& x) { return maximum(x[0], scalar(0, x[0].dtype())); },
                        tensor({0, 3}, dtype)),
                Verdict::kink);
      EXPECT_EQ(verdict([](const Tensors& x) { return sqrt(x[0]); }, tensor({1, 4}, dtype)), Verdict::ok);
      // Near a kink, a step that does not cross it exists.
      EXPECT_GRADIENTS_OK([](const Tensors& x) { return relu(x[0]); }, Tensors{tensor({-1, 0.01, 2}, dtype)},
                          with(coverage));
    }
  }
}

TEST(Gradcheck, AKinkCanBeAccepted) {
  GradientCheckOptions options;
  options.also_accept = {Verdict::kink};
  EXPECT_GRADIENTS_OK([](const Tensors& x) { return relu(x[0]); }, Tensors{tensor({-1, 0, 2})}, options);
}

// PaddlePaddle/Paddle #4283, jax PR #39821, pytorch/pytorch #8659: x + h was x.
TEST(B40, NamesAStepThatVanishesInFloat32) {
  const auto f = [](const Tensors& x) { return square(x[0]); };
  for (const Coverage coverage : both) {
    GradientCheckOptions options = with(coverage);
    options.step = 1e-6;
    const GradientReport report = check_gradients(f, {tensor({1000}, float32)}, options);
    EXPECT_EQ(report.verdict(), Verdict::precision_limited) << to_string(report);
    EXPECT_EQ(report.worst().analytic, 2000);
    EXPECT_NE(report.worst().note.find("the step 1e-06 vanishes in x; with a step of"), std::string::npos)
        << to_string(report);
    options.step.reset();
    EXPECT_GRADIENTS_OK(f, Tensors{tensor({1000}, float32)}, options);
  }
}

TEST(Gradcheck, SaysWhenRoundingHidesMoreThanTheTolerance) {
  GradientCheckOptions options;
  options.tolerance = 1e-12;
  const GradientReport report =
      check_gradients([](const Tensors& x) { return exp(x[0]); }, {tensor({0.5, 1}, float32)}, options);
  EXPECT_EQ(report.verdict(), Verdict::precision_limited) << to_string(report);
  EXPECT_GT(report.worst().tolerance, 1e-7);
  EXPECT_LT(report.worst().tolerance, 1e-3);
  EXPECT_NE(report.worst().note.find("would be meaningful"), std::string::npos);
}

TEST(Gradcheck, FindsWhatIsNotDeterministic) {
  Rng rng(1);
  const auto f = [&rng](const Tensors& x) { return dropout(x[0], 0.5, rng); };
  Rng values(2);
  for (const Coverage coverage : both) {
    const GradientReport report = check_gradients(f, {random_tensor({4, 5}, values)}, with(coverage));
    EXPECT_EQ(report.verdict(), Verdict::nondeterministic) << to_string(report);
    EXPECT_NE(to_string(report).find("Rng"), std::string::npos);
  }
  const auto fixed = [](const Tensors& x) {
    Rng same(1);
    return dropout(x[0], 0.5, same);
  };
  EXPECT_GRADIENTS_OK(fixed, Tensors{random_tensor({4, 5}, values)});
}

TEST(Gradcheck, SaysWhenNothingWasChecked) {
  Rng rng(4);
  for (const DType dtype : {float64, float32}) {
    for (const Coverage coverage : both) {
      const Tensor x = random_tensor({5}, rng, Domain::normal, dtype);
      EXPECT_EQ(check_gradients([](const Tensors& in) { return sum(softmax(in[0])); }, {x}, with(coverage))
                    .verdict(),
                Verdict::vacuous);
      EXPECT_EQ(check_gradients([](const Tensors& in) { return in[0]; }, {x, x}, with(coverage)).verdict(),
                Verdict::vacuous);
      EXPECT_GRADIENTS_OK([](const Tensors& in) { return softmax(in[0]); }, Tensors{x}, with(coverage));
    }
  }
}

TEST(Gradcheck, NamesWhereTheGraphWasCut) {
  for (const Coverage coverage : both) {
    GradientCheckOptions options = with(coverage);
    options.names = {"weight", "x"};
    const auto f = [](const Tensors& x) { return matmul(exp(x[0].detach()), x[1]); };
    const GradientReport report = check_gradients(f, {tensor({{1, 2}}), tensor({3, 4})}, options);
    EXPECT_EQ(report.verdict(), Verdict::not_connected) << to_string(report);
    EXPECT_EQ(report.worst().input, "weight");
    EXPECT_NE(report.worst().note.find("the graph was cut between exp and matmul"), std::string::npos)
        << to_string(report);
  }
}

TEST(Gradcheck, ChecksAModuleByParameterName) {
  Rng rng(6);
  const nn::Linear layer(3, 2, rng);
  const Tensor x = random_tensor({4, 3}, rng), weight = test::deep_copy(layer.weight.value());
  const auto loss = [&] { return tanh(layer(x)); };
  for (const int order : {1, 2})
    EXPECT_GRADIENTS_OK(layer, loss, with(Coverage::slow, Formula::five_point, order));
  EXPECT_SAME_BITS(layer.weight.value(), weight);
  EXPECT_FALSE(layer.weight.has_gradient());

  const auto cut = [&] { return matmul(x, Tensor(layer.weight).detach()) + Tensor(layer.bias); };
  const GradientReport report = check_gradients(layer, cut);
  EXPECT_EQ(report.verdict(), Verdict::not_connected);
  EXPECT_EQ(report.worst().input, "weight");
  EXPECT_EQ(report.findings.size(), 2U);

  freeze(layer, "weight");
  EXPECT_GRADIENTS_OK(layer, cut);
}

TEST(Gradcheck, TakesAnyShapeAlsoEmpty) {
  for (const Coverage coverage : both) {
    EXPECT_GRADIENTS_OK([](const Tensors& x) { return x[0] * 2.0; }, Tensors{zeros({0, 3})}, with(coverage));
    EXPECT_GRADIENTS_OK([](const Tensors& x) { return sum(x[0]) + x[1]; }, (Tensors{zeros({0}), scalar(2)}),
                        with(coverage));
    EXPECT_GRADIENTS_OK(
        [](const Tensors& x) {
          return slice(x[0], 0, {0, 0});
        },
        Tensors{ones({3})}, with(coverage));
    EXPECT_GRADIENTS_OK([](const Tensors&) { return scalar(1); }, Tensors{}, with(coverage));
  }
  EXPECT_THROWS_WITH(GradientReport().worst(), ValueError, "nothing was checked");
}

TEST(Gradcheck, RefusesWhatHasNoGradient) {
  const auto f = [](const Tensors& x) { return take(x[0], x[1]); };
  const Tensors inputs = {tensor({1, 2, 3}), tensor({2, 0, 2}, int64)};
  EXPECT_THROWS_WITH(check_gradients(f, inputs), DTypeError, "x1 is int64 [3], which has no gradient");
  GradientCheckOptions options;
  options.constants = {1};
  EXPECT_GRADIENTS_OK(f, inputs, options);
  EXPECT_THROWS_WITH(check_gradients([](const Tensors& x) { return x[0].to(int64); }, {tensor({1})}),
                     DTypeError, "returned int64");
  options.constants = {2};
  EXPECT_THROWS_WITH(check_gradients(f, inputs, options), ValueError, "constant 2 is none of the 2");
  options = {};
  options.names = {"x"};
  EXPECT_THROWS_WITH(check_gradients(f, inputs, options), ValueError, "1 names for 2 inputs");
  options = {};
  options.order = 4;
  EXPECT_THROWS_WITH(check_gradients(f, inputs, options), ValueError, "order is 4; expected 1, 2 or 3");
  options = {};
  options.step = 0;
  EXPECT_THROWS_WITH(check_gradients(f, inputs, options), ValueError, "expected a positive number");
}

TEST(Gradcheck, KeepsTheVCurve) {
  const GradientReport report = check_gradients([](const Tensors& x) { return exp(x[0]); },
                                                {tensor({0.5, 1})}, with(Coverage::fast, Formula::central));
  const std::vector<StepError>& curve = report.worst().curve;
  ASSERT_EQ(curve.size(), 41U);
  EXPECT_GT(curve.front().step / curve.back().step, 1e12);
  // It falls to the best step as h², and rises behind it.
  EXPECT_LT(report.worst().absolute, 1e-9);
  EXPECT_NEAR(curve[4].error / curve[8].error, 256, 5);
  EXPECT_GT(curve.back().error, 1e3 * report.worst().absolute);
}

}  // namespace
}  // namespace regard

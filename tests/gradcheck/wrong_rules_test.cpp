// The checker is checked: what is wrong is rejected, in fast and in slow mode, and what is right is not.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>

#include <regard/gradcheck.hpp>
#include <regard/ops.hpp>
#include <regard/random.hpp>

#include "support/tensors.hpp"

namespace regard {
namespace {

using test::Domain;
using test::random_tensor;

/// A function, where to evaluate it, and the rule it has instead of the right one.
struct Mistake {
  std::string name;
  FunctionOfMany right;
  CustomOp::Rule rule;
  std::vector<Shape> shapes;
  int order = 1;      ///< of derivative that is wrong
  std::string where;  ///< what the report must name, with or without brackets
};

Tensor last_writer_wins(const Tensor& ids, const Tensor& dy, const Shape& shape) {
  std::vector<double> dx(static_cast<std::size_t>(numel(shape)), 0.0);
  for (Size k = 0; k < ids.numel(); ++k) dx[static_cast<std::size_t>(ids.at({k}))] = dy.at({k});
  return test::from_values(dx, shape, dy.dtype());
}

std::vector<Mistake> mistakes() {
  const Tensor ids = tensor({0, 2, 0}, int64);
  return {
      {"a tenth of a percent",
       [](const Tensors& x) { return square(x[0]); },
       [](const RuleInputs& at) { return Tensors{at.dy * at.inputs[0] * 2.002}; },
       {{3, 4}},
       1,
       "x0"},
      {"a tenth of a percent in one coordinate",
       [](const Tensors& x) { return exp(x[0]); },
       [](const RuleInputs& at) {
         std::vector<double> factor(12, 1.0);
         factor[7] = 1.001;
         return Tensors{at.dy * at.output * test::from_values(factor, {3, 4}, at.dy.dtype())};
       },
       {{3, 4}},
       1,
       "x0[1,3]"},
      {"one input",
       [](const Tensors& x) { return x[0] * x[1] * x[2]; },
       [](const RuleInputs& at) {
         const Tensors& x = at.inputs;
         return Tensors{at.dy * x[1] * x[2], at.dy * x[0] * x[2] * 1.001, at.dy * x[0] * x[1]};
       },
       {{2, 3}, {2, 3}, {2, 3}},
       1,
       "x1"},
      {"the sign of one input",
       [](const Tensors& x) { return x[0] - x[1]; },
       [](const RuleInputs& at) {
         return Tensors{at.dy, at.dy};
       },
       {{4}, {4}},
       1,
       "x1"},
      {"transposed",
       [](const Tensors& x) { return matmul(x[0], x[1]); },
       [](const RuleInputs& at) {
         return Tensors{matmul(at.dy, at.inputs[1]),
                        matmul(transpose(at.inputs[0]), at.dy)};  // not transposed
       },
       {{3, 3}, {3, 3}},
       1,
       "x0"},
      {"overwriting instead of adding up",
       [ids](const Tensors& x) { return take(x[0], ids); },
       [ids](const RuleInputs& at) { return Tensors{last_writer_wins(ids, at.dy, at.inputs[0].shape())}; },
       {{4}},
       1,
       "x0[0]"},
      {"one use of two",
       [](const Tensors& x) { return x[0] * sum(x[0]); },
       [](const RuleInputs& at) { return Tensors{at.dy * sum(at.inputs[0])}; },
       {{5}},
       1,
       "x0"},
      {"only under broadcasting",
       [](const Tensors& x) { return x[0] * x[1]; },
       [](const RuleInputs& at) {
         const Tensor db = sum(at.dy * at.inputs[0], {0}, keep_axes);
         // Stretched axes are averaged, not summed; without stretching both are the same.
         return Tensors{at.dy * at.inputs[1], at.inputs[1].size(0) == 1
                                                  ? db / static_cast<double>(at.dy.size(0))
                                                  : at.dy * at.inputs[0]};
       },
       {{3, 4}, {1, 4}},
       1,
       "x1"},
      {"only in second order",
       [](const Tensors& x) { return square(x[0]); },
       [](const RuleInputs& at) { return Tensors{at.dy * at.inputs[0].detach() * 2.0}; },
       {{2, 3}},
       2,
       "x0"},
      {"only in second order, by a tenth of a percent",
       [](const Tensors& x) { return x[0] * x[0] * x[0]; },
       [](const RuleInputs& at) {
         // 3·x·x, with a derivative of its own that is slightly wrong.
         const CustomOp slope(
             "slope", [](const Tensors& x) { return square(x[0]) * 3.0; },
             [](const RuleInputs& in) { return Tensors{in.dy * in.inputs[0] * 6.006}; });
         return Tensors{at.dy * slope({at.inputs[0]})};
       },
       {{2, 3}},
       2,
       "x0"},
      {"a gradient that is left out",
       [](const Tensors& x) { return x[0] * x[1]; },
       [](const RuleInputs& at) {
         return Tensors{at.dy * at.inputs[1], Tensor()};
       },
       {{3}, {3}},
       1,
       "x1"},
      {"NaN",
       [](const Tensors& x) { return x[0] * 2.0; },
       [](const RuleInputs& at) { return Tensors{at.dy * std::nan("")}; },
       {{3}},
       1,
       "x0"},
  };
}

TEST(CheckerIsChecked, RejectsEveryMistakeInFastAndSlowMode) {
  for (const DType dtype : {float64, float32}) {
    for (const Mistake& mistake : mistakes()) {
      Rng rng(11);
      Tensors inputs;
      for (const Shape& shape : mistake.shapes)
        inputs.push_back(random_tensor(shape, rng, Domain::away_from_zero, dtype));
      const CustomOp op(
          "op", [&mistake](const Tensors& x) { return mistake.right(x); }, mistake.rule);
      const auto wrong = [&op](const Tensors& x) { return op(x); };
      for (const Coverage coverage : {Coverage::fast, Coverage::slow}) {
        for (const Formula formula : {Formula::central, Formula::five_point, Formula::taylor}) {
          GradientCheckOptions options;
          options.coverage = coverage;
          options.formula = formula;
          // In float32 a remainder is lost in rounding before it can confirm four digits.
          const Verdict passes =
              dtype == float32 && formula == Formula::taylor ? Verdict::precision_limited : Verdict::ok;
          if (mistake.order > 1) {
            EXPECT_LE(check_gradients(wrong, inputs, options).verdict(), passes) << mistake.name;
          }
          options.order = mistake.order;
          const GradientReport report = check_gradients(wrong, inputs, options);
          const std::string about = std::string(name(dtype)) + ", " + mistake.name + ", formula " +
                                    std::to_string(static_cast<int>(formula)) + "\n" + to_string(report);
          // Of one coordinate in twelve, a tenth of a percent is what float32 just resolves along a
          // direction.
          const bool too_fine = dtype == float32 && coverage == Coverage::fast && mistake.where == "x0[1,3]";
          EXPECT_TRUE(too_fine || !report.ok()) << about;
          if (dtype == float64) {
            EXPECT_TRUE(report.verdict() == Verdict::wrong || report.verdict() == Verdict::not_connected)
                << about;
            if (mistake.order == 1) {
              EXPECT_EQ(report.worst().where.find(mistake.where), 0U) << about;
            }
          }
          const GradientReport right = check_gradients(mistake.right, inputs, options);
          EXPECT_LE(right.verdict(), passes) << mistake.name << "\n" << to_string(right);
        }
      }
    }
  }
}

/// A composition of smooth operations, drawn at random: matrices of one width, combined and transformed.
Tensor random_composition(const Tensors& x, std::uint64_t seed) {
  Rng rng(seed);
  Tensors values = x;
  const auto any = [&]() -> const Tensor& {
    return values[static_cast<std::size_t>(rng.below(static_cast<Size>(values.size())))];
  };
  const Size length = 3 + rng.below(5);
  for (Size step = 0; step < length; ++step) {
    const Tensor a = any(), b = any();
    switch (rng.below(14)) {
      case 0:
        values.push_back(a + b);
        break;
      case 1:
        values.push_back(a * b);
        break;
      case 2:
        values.push_back(tanh(a));
        break;
      case 3:
        values.push_back(softmax(a));
        break;
      case 4:
        values.push_back(matmul(a, transpose(b)) * 0.3);
        break;
      case 5:
        values.push_back(sigmoid(a) - b);
        break;
      case 6:
        values.push_back(gelu(a));
        break;
      case 7:
        values.push_back(a - mean(b, {0}, keep_axes));
        break;
      case 8:
        values.push_back(a / (softplus(b) + 1.0));
        break;
      case 9:
        values.push_back(log_softmax(a, 0));
        break;
      case 10:
        values.push_back(sum(a, {1}, keep_axes) + transpose(b));
        break;
      case 11:
        values.push_back(relu(a) + b);
        break;
      case 12:
        values.push_back(exp(tanh(a)));
        break;
      default:
        values.push_back(concatenate({slice(a, 0, {0, 1}), slice(b, 0, {1, 3})}));
        break;
    }
  }
  return values.back();
}

TEST(CheckerIsChecked, RaisesNoFalseAlarmOnTwoHundredCompositions) {
  for (const DType dtype : {float64, float32}) {
    int limited = 0, vacuous = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
      Rng rng(seed);
      const Tensors inputs = {random_tensor({3, 3}, rng, Domain::normal, dtype),
                              random_tensor({3, 3}, rng, Domain::normal, dtype)};
      const auto f = [seed](const Tensors& x) { return random_composition(x, seed); };
      for (const Coverage coverage : {Coverage::fast, Coverage::slow}) {
        GradientCheckOptions options;
        options.coverage = coverage;
        options.order = dtype == float64 ? 2 : 1;
        options.seed = seed;
        const GradientReport report = check_gradients(f, inputs, options);
        // An input that the last values do not use is vacuous, rightly.
        for (const GradientFinding& finding : report.findings) {
          limited += finding.verdict == Verdict::precision_limited;
          vacuous += finding.verdict == Verdict::vacuous;
          EXPECT_TRUE(finding.verdict == Verdict::ok || finding.verdict == Verdict::vacuous ||
                      (dtype == float32 && finding.verdict == Verdict::precision_limited))
              << name(dtype) << ", seed " << seed << "\n"
              << to_string(finding);
        }
      }
    }
    // Of 800 findings in float32, only few may be ones that differences cannot decide.
    EXPECT_LE(limited, dtype == float32 ? 40 : 0);
    EXPECT_LE(vacuous, 200);
    RecordProperty(std::string("precision_limited_") + name(dtype), limited);
  }
}

}  // namespace
}  // namespace regard

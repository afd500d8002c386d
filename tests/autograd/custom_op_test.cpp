// An operation of the user's own.
#include <gtest/gtest.h>

#include <string>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

const CustomOp cube(
    "cube", [](const Tensors& x) { return x[0] * x[0] * x[0]; },
    [](const RuleInputs& at) { return Tensors{at.dy * 3.0 * square(at.inputs[0])}; });

TEST(CustomOp, HasDerivativesOfEveryOrder) {
  const auto f = [](const Tensors& x) { return cube({x[0]}); };
  const Tensor x = tensor({0.5, -2});
  EXPECT_SAME_BITS(cube({x}), tensor({0.125, -8}));
  expect_gradients(f, {x});
  expect_second_order(f, {x});
}

TEST(CustomOp, RunsItsForwardUnrecorded) {
  const Size before = live_nodes();
  const Tensor x = variable(tensor({1, 2}));
  const Tensor y = cube({x});
  EXPECT_EQ(live_nodes(), before + 2);  // the leaf and one node
}

TEST(CustomOp, RecordsNothingWithoutNeed) {
  const Size before = live_nodes();
  EXPECT_FALSE(cube({ones({2})}).requires_grad());
  const Tensor x = variable(ones({2}));
  {
    const NoGrad guard;
    EXPECT_FALSE(cube({x}).requires_grad());
  }
  EXPECT_EQ(live_nodes(), before + 1);
}

TEST(CustomOp, TakesMoreInputsThanANodeHoldsInside) {
  const CustomOp total(
      "total",
      [](const Tensors& x) {
        Tensor out = x[0];
        for (std::size_t i = 1; i < x.size(); ++i) out = out + x[i] * static_cast<double>(i + 1);
        return out;
      },
      [](const RuleInputs& at) {
        Tensors dx;
        for (std::size_t i = 0; i < at.inputs.size(); ++i) dx.push_back(at.dy * static_cast<double>(i + 1));
        return dx;
      });
  Rng rng(1);
  Tensors inputs;
  for (int i = 0; i < 9; ++i) inputs.push_back(random_tensor({2}, rng));
  expect_gradients([&total](const Tensors& x) { return total(x); }, inputs);
}

TEST(CustomOp, AnUndefinedGradientIsNone) {
  const CustomOp first(
      "first", [](const Tensors& x) { return x[0] * 1.0; },
      [](const RuleInputs& at) {
        return Tensors{at.dy, Tensor()};
      });
  const Tensor a = variable(ones({2})), b = variable(ones({2}));
  GradOptions options;
  options.allow_unused = true;
  const Tensors g = grad(Tensors{sum(first({a, b}))}, Tensors{a, b}, options);
  EXPECT_SAME_BITS(g[0], ones({2}));
  EXPECT_SAME_BITS(g[1], zeros({2}));
}

TEST(CustomOp, MayReturnItsInput) {
  const CustomOp same(
      "same", [](const Tensors& x) { return x[0]; },
      [](const RuleInputs& at) { return Tensors{at.dy * 2.0}; });
  const Tensor x = variable(tensor({1, 2}));
  const Tensor y = same({x});
  EXPECT_SAME_BITS(grad(sum(y), x), tensor({2, 2}));
  EXPECT_SAME_BITS(grad(sum(x), x), tensor({1, 1}));  // x itself has not changed its place
}

CustomOp with_rule(CustomOp::Rule rule) {
  return CustomOp(
      "mine", [](const Tensors& x) { return x[0] * 1.0; }, std::move(rule));
}

TEST(CustomOp, ARuleThatBreaksTheContractIsNamed) {
  const Tensor x = variable(ones({2, 3}));
  const auto walk = [&x](const CustomOp& op) { backward(sum(op({x}))); };
  EXPECT_THROWS_WITH(
      (walk(with_rule([](const RuleInputs& at) { return Tensors{sum(at.dy)}; })), 0), GraphError,
      "backward: the rule of mine gave float64 [] as the gradient of input 0, which is float64 [2, 3]");
  EXPECT_THROWS_WITH(walk(with_rule([](const RuleInputs& at) { return Tensors{at.dy.to(float32)}; })),
                     GraphError, "the rule of mine gave float32 [2, 3]");
  EXPECT_THROWS_WITH(walk(with_rule([](const RuleInputs& at) {
                       return Tensors{at.dy, at.dy};
                     })),
                     GraphError, "the rule of mine returned 2 gradients for 1 inputs");
  EXPECT_THROWS_WITH(walk(with_rule([](const RuleInputs&) { return Tensors{}; })), GraphError,
                     "the rule of mine returned 0 gradients for 1 inputs");
  EXPECT_THROWS_WITH(walk(with_rule([](const RuleInputs&) -> Tensors { throw ValueError("no rule"); })),
                     ValueError, "no rule");
}

TEST(CustomOp, OutlivesTheObjectThatMadeIt) {
  const Tensor x = variable(tensor({2}));
  Tensor y;
  {
    const CustomOp local(
        "local", [](const Tensors& in) { return square(in[0]); },
        [factor = std::string(100, 'x')](const RuleInputs& at) {
          return Tensors{at.dy * at.inputs[0] * (0.02 * static_cast<double>(factor.size()))};
        });
    y = local({x});
  }
  EXPECT_SAME_BITS(grad(y, x,
                        [] {
                          GradOptions options;
                          options.seeds = {ones({1})};
                          return options;
                        }()),
                   tensor({4}));
}

TEST(CustomOp, ThatGivesIdsHasNoGradient) {
  const CustomOp rounded(
      "rounded", [](const Tensors& x) { return x[0].to(int64); },
      [](const RuleInputs&) { return Tensors{Tensor()}; });
  EXPECT_FALSE(rounded({variable(tensor({1.5}))}).requires_grad());
}

}  // namespace
}  // namespace regard::test

// The checkers are checked: they accept what is right and reject what is slightly wrong.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

using namespace test;  // NOLINT: the helpers are what is tested

// Its rule is off by a factor of 1 + error.
FunctionOfMany square_with_error(double error) {
  const CustomOp op(
      "square", [](const Tensors& x) { return x[0] * x[0]; },
      [error](const RuleInputs& at) { return Tensors{at.dy * at.inputs[0] * (2 * (1 + error))}; });
  return [op](const Tensors& x) { return op({x[0]}); };
}

TEST(GradientChecker, AcceptsARightRule) {
  Rng rng(1);
  for (const Domain domain : {Domain::normal, Domain::small, Domain::large, Domain::distinct}) {
    const Tensor x = random_tensor({2, 3}, rng, domain);
    expect_gradients(square_with_error(0), {x});
    expect_second_order(square_with_error(0), {x});
  }
}

TEST(GradientChecker, RejectsARuleThatIsWrongByOnePartInTenMillion) {
  const Tensor x = tensor({0.5, 1, 2});
  const auto first = gradients_agree(square_with_error(1e-7), {x});
  EXPECT_FALSE(first);
  EXPECT_NE(std::string(first.message()).find("x0[2]: wrong"), std::string::npos) << first.message();
}

TEST(GradientChecker, RejectsASecondDerivativeThatIsLost) {
  const CustomOp op(
      "square", [](const Tensors& x) { return x[0] * x[0]; },
      [](const RuleInputs& at) { return Tensors{at.dy * at.inputs[0].detach() * 2.0}; });
  const auto f = [&op](const Tensors& x) { return op({x[0]}); };
  const Tensor x = tensor({0.5, 1, 2});
  EXPECT_TRUE(gradients_agree(f, {x}));
  EXPECT_FALSE(second_order_agrees(f, {x}));
}

TEST(GradientChecker, RejectsNaN) {
  const CustomOp op(
      "square", [](const Tensors& x) { return x[0] * x[0]; },
      [](const RuleInputs& at) { return Tensors{at.dy * std::nan("")}; });
  EXPECT_FALSE(gradients_agree([&op](const Tensors& x) { return op({x[0]}); }, {tensor({1, 2})}));
}

TEST(Close, NamesTheWorstElement) {
  const Tensor a = tensor({{1, 2}, {3, 4}}), b = tensor({{1, 2.01}, {3, 4.5}});
  EXPECT_TENSOR_NEAR(a, b, 0, 0.6);
  const auto result = tensors_near("a", "b", "0", "1e-3", a, b, 0, 1e-3);
  EXPECT_FALSE(result);
  EXPECT_NE(std::string(result.message()).find("2 of 4 elements of a and b differ; worst at [1, 1]"),
            std::string::npos)
      << result.message();
}

TEST(Close, TellsInfinitiesAndNaNApart) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  EXPECT_TENSOR_NEAR(tensor({inf, nan}), tensor({inf, nan}), 0, 0);
  EXPECT_FALSE(tensors_near("", "", "", "", tensor({inf}), tensor({-inf}), 1, 1));
  EXPECT_FALSE(tensors_near("", "", "", "", tensor({nan}), tensor({0}), 1, 1));
  EXPECT_FALSE(tensors_near("", "", "", "", tensor({1e300}), tensor({inf}), 1, 1));
}

TEST(Close, WantsTheSameShapeAndDType) {
  EXPECT_FALSE(tensors_near("", "", "", "", zeros({2}), zeros({2, 1}), 1, 1));
  EXPECT_FALSE(same_bits("", "", zeros({2}), zeros({2}, float32)));
}

TEST(Close, BitsTellMinusZeroFromZero) {
  EXPECT_TENSOR_NEAR(tensor({-0.0}), tensor({0.0}), 0, 0);
  EXPECT_FALSE(same_bits("", "", tensor({-0.0}), tensor({0.0})));
}

TEST(Layouts, HoldTheSameValuesInOtherPlaces) {
  Rng rng(2);
  for (const DType dtype : {float32, float64, int64, boolean}) {
    const Tensor x = from_values({1, 0, 3, 4, 0, 6}, {2, 3}, dtype);
    for (const Layout layout : all_layouts) {
      EXPECT_SAME_BITS(with_layout(x, layout), x) << layout;
      EXPECT_EQ(with_layout(x, layout).is_contiguous(), layout == Layout::row_major) << layout;
      EXPECT_EQ(with_layout(zeros({0, 3}, dtype), layout).numel(), 0);
    }
  }
  EXPECT_SAME_BITS(stretched(tensor({1, 2}), {3, 2}), tensor({{1, 2}, {1, 2}, {1, 2}}));
  EXPECT_EQ(stretched(tensor({1, 2}), {3, 2}).strides(), (Strides{0, 1}));
}

TEST(Throws, WantsTypeAndText) {
  const auto throwing = [] { throw ShapeError("axis 3 is out of range"); };
  EXPECT_THROWS_WITH(throwing(), ShapeError, "axis 3");
  EXPECT_THROWS_WITH(throwing(), Error, "out of range");
  EXPECT_FALSE(throws_with<ShapeError>("", "axis 4", throwing));
  EXPECT_FALSE(throws_with<ValueError>("", "axis 3", throwing));
  EXPECT_FALSE(throws_with<ShapeError>("", "axis 3", [] {}));
}

}  // namespace
}  // namespace regard

#include <regard/nn/positions.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/modules.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::nn {
namespace {

using test::random_tensor;

// ---- learned -------------------------------------------------------------------------------------------

TEST(LearnedPositions, AddTheRowsFromTheFirstOn) {
  Rng rng(1);
  LearnedPositions layer(4, 2, rng);
  layer.weight.assign(tensor({{1, 2}, {3, 4}, {5, 6}, {7, 8}}));
  EXPECT_SAME_BITS(layer(tensor({{10, 10}, {20, 20}})), tensor({{11, 12}, {23, 24}}));
  EXPECT_SAME_BITS(layer(zeros({2, 2, 2}), 2), tensor({{{5, 6}, {7, 8}}, {{5, 6}, {7, 8}}}));
}

TEST(LearnedPositions, GradientsAgreeWithDifferences) {
  Rng rng(2);
  const LearnedPositions layer(4, 3, rng);
  test::expect_module_gradients(layer, {random_tensor({2, 2, 3}, rng)},
                                [&](const Tensors& x) { return square(layer(x[0], 1)); });
}

TEST(LearnedPositions, RefuseWhatDoesNotFit) {
  Rng rng(1);
  const LearnedPositions layer(4, 2, rng);
  EXPECT_THROWS_WITH(layer(zeros({5, 2})), ShapeError, "5 tokens from position 0 on are more than the 4");
  EXPECT_THROWS_WITH(layer(zeros({2, 2}), 3), ShapeError, "2 tokens from position 3 on");
  EXPECT_THROWS_WITH(layer(zeros({2, 2}), INT64_MAX), ShapeError, "are more than");
  EXPECT_THROWS_WITH(layer(zeros({2, 2}), -1), ValueError, "negative");
  EXPECT_THROWS_WITH(layer(zeros({2, 3})), ShapeError, "expected x [.., tokens, 2], got [2, 3]");
  EXPECT_THROWS_WITH(layer(zeros({2})), ShapeError, "got [2]");
  EXPECT_THROWS_WITH(LearnedPositions(0, 2, rng), ValueError, "the length must be positive");
}

// ---- sinusoidal ----------------------------------------------------------------------------------------

TEST(SinusoidalPositions, AreThoseOfThePaper) {
  const Tensor waves = sinusoidal_positions(3, 4);
  EXPECT_TENSOR_NEAR(select(waves, 0, 0), tensor({0, 1, 0, 1}), 0, 0);
  EXPECT_TENSOR_NEAR(select(waves, 0, 2),
                     tensor({std::sin(2.0), std::cos(2.0), std::sin(0.02), std::cos(0.02)}), 1e-15, 0);
}

TEST(SinusoidalPositions, AreAddedInTheDtypeOfX) {
  const SinusoidalPositions layer;
  const Tensor y = layer(ones({2, 3, 4}, float32), 5);
  EXPECT_EQ(y.dtype(), float32);
  EXPECT_TENSOR_NEAR(select(y, 0, 1).to(float64), sinusoidal_positions(3, 4, 5) + 1.0, 1e-6, 1e-6);
  EXPECT_EQ(parameter_count(layer), 0);
}

TEST(SinusoidalPositions, RefuseWhatMakesNoSense) {
  EXPECT_THROWS_WITH(sinusoidal_positions(-1, 4), ValueError, "must not be negative");
  EXPECT_THROWS_WITH(sinusoidal_positions(1, 0), ValueError, "the width must be positive");
  EXPECT_THROWS_WITH(sinusoidal_positions(1, 4, 0, float64, 0), ValueError, "base must be positive");
  EXPECT_THROWS_WITH(SinusoidalPositions()(zeros({3})), ShapeError, "got [3]");
}

// ---- rotary --------------------------------------------------------------------------------------------

// The matrix that turns each pair of a row vector by its angle.
Tensor rotation(double position, Size width, double base) {
  std::vector<double> matrix(static_cast<std::size_t>(width * width));
  const auto at = [&](Size row, Size column) -> double& {
    return matrix[static_cast<std::size_t>(row * width + column)];
  };
  for (Size i = 0; i < width / 2; ++i) {
    const double turned =
        position * std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(width));
    at(2 * i, 2 * i) = at(2 * i + 1, 2 * i + 1) = std::cos(turned);
    at(2 * i, 2 * i + 1) = std::sin(turned);
    at(2 * i + 1, 2 * i) = -std::sin(turned);
  }
  return from_vector(matrix, {width, width});
}

TEST(RotaryPositions, EqualRotationMatrices) {
  Rng rng(3);
  const RotaryPositions rotary;
  const Tensor x = random_tensor({2, 5, 6}, rng);
  const Tensor y = rotary(x, 3);
  for (Size token = 0; token < 5; ++token)
    EXPECT_TENSOR_NEAR(select(y, 1, token),
                       matmul(select(x, 1, token), rotation(static_cast<double>(token + 3), 6, 10000)), 1e-14,
                       1e-14);
}

TEST(RotaryPositions, TakePositionsOneByOne) {
  Rng rng(4);
  const RotaryPositions rotary{100};
  const Tensor x = random_tensor({3, 4}, rng);
  const Tensor y = rotary(x, tensor({7, 0, -2}, int64));
  const double positions[] = {7, 0, -2};
  for (Size token = 0; token < 3; ++token)
    EXPECT_TENSOR_NEAR(select(y, 0, token), matmul(select(x, 0, token), rotation(positions[token], 4, 100)),
                       1e-14, 1e-14);
  EXPECT_SAME_BITS(rotary(x, 2), rotary(x, tensor({2, 3, 4}, int64)));
}

TEST(RotaryPositions, MakeProductsDependOnTheDistanceAlone) {
  Rng rng(5);
  const RotaryPositions rotary;
  const Tensor q = random_tensor({1, 8}, rng), k = random_tensor({1, 8}, rng);
  const auto product = [&](Size p, Size r) { return matmul(rotary(q, p), transpose(rotary(k, r))).item(); };
  EXPECT_NEAR(product(3, 1), product(50, 48), 1e-13);
  EXPECT_NEAR(product(3, 1), product(1002, 1000), 1e-12);
  EXPECT_GT(std::abs(product(3, 1) - product(1, 3)), 1e-3);
}

TEST(RotaryPositions, KeepLengthsAndDtype) {
  Rng rng(6);
  const RotaryPositions rotary;
  const Tensor x = random_tensor({2, 4, 6}, rng);
  EXPECT_TENSOR_NEAR(sum(square(rotary(x)), {-1}), sum(square(x), {-1}), 1e-14, 0);
  EXPECT_EQ(rotary(x.to(float32)).dtype(), float32);
  EXPECT_EQ(rotary(zeros({0, 3, 4})).shape(), (Shape{0, 3, 4}));
}

TEST(RotaryPositions, GradientsAgreeWithDifferences) {
  Rng rng(7);
  const RotaryPositions rotary;
  const FunctionOfMany f = [&](const Tensors& x) { return square(rotary(x[0], 2)); };
  test::expect_gradients(f, {random_tensor({2, 3, 4}, rng)});
  test::expect_second_order(f, {random_tensor({3, 4}, rng)});
}

TEST(RotaryPositions, RefuseWhatDoesNotFit) {
  const RotaryPositions rotary;
  EXPECT_THROWS_WITH(rotary(zeros({3, 5})), ShapeError, "the width must be even, got [3, 5]");
  EXPECT_THROWS_WITH(rotary(zeros({4})), ShapeError, "expected x [.., tokens, width]");
  EXPECT_THROWS_WITH(rotary(zeros({3, 4}), zeros({2}, int64)), ShapeError,
                     "one position for each token of x [3, 4], got [2]");
  EXPECT_THROWS_WITH(rotary(zeros({3, 4}), zeros({3})), DTypeError, "positions must be int64");
  EXPECT_THROWS_WITH(RotaryPositions{0}(zeros({3, 4})), ValueError, "base must be positive");
}

}  // namespace
}  // namespace regard::nn

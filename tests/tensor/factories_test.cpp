#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

TEST(Factories, Constants) {
  for (const DType dtype : {float32, float64, int64, boolean}) {
    EXPECT_SAME_BITS(zeros({2}, dtype), tensor({0, 0}, dtype));
    EXPECT_SAME_BITS(ones({2}, dtype), tensor({1, 1}, dtype));
    EXPECT_SAME_BITS(full({}, 1, dtype), scalar(1, dtype));
    EXPECT_EQ(zeros({0, 2}, dtype).numel(), 0);
  }
  EXPECT_SAME_BITS(zeros_like(ones({2, 1}, float32)), zeros({2, 1}, float32));
  EXPECT_SAME_BITS(ones_like(zeros({2}, int64)), ones({2}, int64));
  EXPECT_SAME_BITS(eye(2), tensor({{1, 0}, {0, 1}}));
  EXPECT_EQ(eye(0).shape(), (Shape{0, 0}));
  EXPECT_THROWS_WITH(eye(-1), ShapeError, "negative extent");
}

TEST(Factories, NestedLists) {
  EXPECT_EQ(tensor({}).shape(), (Shape{0}));
  EXPECT_EQ(tensor({1}).shape(), (Shape{1}));
  EXPECT_EQ(tensor({{1}}).shape(), (Shape{1, 1}));
  EXPECT_EQ(tensor({{1, 2, 3}, {4, 5, 6}}).shape(), (Shape{2, 3}));
  EXPECT_EQ(tensor({{{1}, {2}}, {{3}, {4}}}).shape(), (Shape{2, 2, 1}));
  EXPECT_EQ(tensor({{}, {}}).shape(), (Shape{2, 0}));
  EXPECT_SAME_BITS(tensor({1, 2.5, 3.0f, true, Size{4}}),
                   from_vector(std::vector<double>{1, 2.5, 3, 1, 4}, {5}));
  EXPECT_EQ(tensor({1, 2}, int64).dtype(), int64);
}

TEST(Factories, RaggedListsAreNamed) {
  EXPECT_THROWS_WITH(tensor({{1, 2}, {3}}), ShapeError, "ragged: lists of 2 and 1 items at depth 1");
  EXPECT_THROWS_WITH(tensor({{1, 2}, 3}), ShapeError,
                     "ragged: a number stands where a list is expected, at depth 1");
  EXPECT_THROWS_WITH(tensor({1, {2}}), ShapeError,
                     "ragged: a list stands where a number is expected, at depth 1");
  EXPECT_THROWS_WITH(tensor({{{1}}, {{}}}), ShapeError, "ragged");
  EXPECT_THROWS_WITH(tensor({{{{{{{{{1}}}}}}}}}), ShapeError, "at most 8 axes");
}

TEST(Factories, FromVectorAndMemory) {
  const std::vector<float> values = {1, 2, 3, 4};
  EXPECT_SAME_BITS(from_vector(values, {2, 2}), tensor({{1, 2}, {3, 4}}, float32));
  EXPECT_SAME_BITS(from_memory(values.data() + 1, {2}), tensor({2, 3}, float32));
  EXPECT_SAME_BITS(from_vector(std::vector<bool>{true, false}, {2}), tensor({1, 0}, boolean));
  EXPECT_EQ(from_memory<double>(nullptr, {0}).numel(), 0);
  EXPECT_THROWS_WITH(from_vector(values, {3}), ShapeError,
                     "from_vector: 4 values do not fill shape [3], which has 3 elements");
  EXPECT_THROWS_WITH(from_vector(values, {2, -2}), ShapeError, "negative extent");
  const Size exact = (Size{1} << 53) + 1;  // more digits than a double has
  EXPECT_EQ(from_vector(std::vector<Size>{exact}, {1}).to_vector<Size>()[0], exact);
}

// The tensor has its own numbers.
TEST(Factories, FromMemoryCopies) {
  std::vector<double> values = {1, 2};
  const Tensor x = from_memory(values.data(), {2});
  values[0] = 9;
  EXPECT_SAME_BITS(x, tensor({1, 2}));
}

TEST(Factories, Arange) {
  EXPECT_SAME_BITS(arange(3), tensor({0, 1, 2}, int64));
  EXPECT_SAME_BITS(arange(3, float32), tensor({0, 1, 2}, float32));
  EXPECT_EQ(arange(0).shape(), (Shape{0}));
  EXPECT_SAME_BITS(arange(1, 2, 0.25), tensor({1, 1.25, 1.5, 1.75}));
  EXPECT_SAME_BITS(arange(2, 0, -1), tensor({2, 1}));
  EXPECT_EQ(arange(2, 0, 1).numel(), 0);
  EXPECT_EQ(arange(0, 1, 0.1).numel(), 10);
  EXPECT_THROWS_WITH(arange(-1), ValueError, "arange: expected a count of 0 or more, got -1");
  EXPECT_THROWS_WITH(arange(0, 1, 0), ValueError, "step not 0");
  EXPECT_THROWS_WITH(arange(0, std::nan(""), 1), ValueError, "must be finite");
  EXPECT_THROWS_WITH(arange(0, 1e300, 1), ValueError, "are too many");
}

TEST(Factories, RandomNumbersFollowTheSeed) {
  Rng a(1), b(1);
  EXPECT_SAME_BITS(uniform({3, 4}, a), uniform({3, 4}, b));
  EXPECT_SAME_BITS(normal({3, 4}, a), normal({3, 4}, b));
  EXPECT_EQ(a, b);
  Rng c(2);
  EXPECT_FALSE(same_bits("", "", uniform({3}, a), uniform({3}, c)));
}

TEST(Factories, RandomNumbersHaveTheirMoments) {
  Rng rng(3);
  const Size n = 40000;
  const Tensor u = uniform({n}, rng, -1, 3);
  EXPECT_NEAR(mean(u).item(), 1, 5 * 4 / std::sqrt(12.0 * n));  // five standard errors
  EXPECT_TRUE(all(greater_equal(u, scalar(-1))));
  EXPECT_TRUE(all(less(u, scalar(3))));
  const Tensor z = normal({n}, rng, 2, 0.5);
  EXPECT_NEAR(mean(z).item(), 2, 5 * 0.5 / std::sqrt(n));
  EXPECT_NEAR(variance(z, {0}).item(), 0.25, 5 * 0.25 * std::sqrt(2.0 / n));
}

TEST(Factories, GlorotHasTheVarianceOfThePaper) {
  Rng rng(4);
  const Shape shape{100, 300};
  const double expected = 2.0 / (100 + 300);
  const double error = 5 * std::sqrt(2.0 / 30000) * expected;
  EXPECT_NEAR(variance(reshape(glorot_uniform(shape, rng), {-1}), {0}).item(), expected, error);
  EXPECT_NEAR(variance(reshape(glorot_normal(shape, rng), {-1}), {0}).item(), expected, error);
  EXPECT_LE(max(abs(glorot_uniform(shape, rng))).item(), std::sqrt(6.0 / 400));
  EXPECT_EQ(glorot_uniform({2, 3}, rng, float32).dtype(), float32);
  EXPECT_THROWS_WITH(glorot_uniform({5}, rng), ShapeError,
                     "glorot_uniform: expected rank 2 or more ([.., fan_in, fan_out]), got shape [5]");
  EXPECT_THROWS_WITH(glorot_normal({}, rng), ShapeError, "glorot_normal: expected rank 2 or more");
}

}  // namespace
}  // namespace regard::test

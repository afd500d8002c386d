#include <regard/nn/init.hpp>

#include <gtest/gtest.h>

#include <cmath>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/throws.hpp"

namespace regard::nn {
namespace {

Tensor start(const char* name, const Shape& shape, Rng& rng, DType dtype = float64) {
  return initial(shape, init(name), 0.1, dtype, rng);
}

TEST(Init, IsKnownByName) {
  const std::pair<const char*, Init> names[] = {{"glorot_uniform", Init::glorot_uniform},
                                                {"xavier_uniform", Init::glorot_uniform},
                                                {"glorot_normal", Init::glorot_normal},
                                                {"xavier_normal", Init::glorot_normal},
                                                {"kaiming_uniform", Init::kaiming_uniform},
                                                {"kaiming_normal", Init::kaiming_normal},
                                                {"normal", Init::normal},
                                                {"orthogonal", Init::orthogonal},
                                                {"identity", Init::identity},
                                                {"zeros", Init::zeros}};
  for (const auto& [name, expected] : names) EXPECT_EQ(init(name), expected) << name;
  EXPECT_THROWS_WITH(init("ortogonal"), ValueError,
                     "init: there is no \"ortogonal\"; there are: glorot_uniform");
  EXPECT_THROWS_WITH(init(""), ValueError, "kaiming_normal, orthogonal, identity, zeros, normal");
}

TEST(Init, IsWhatItsFactoryDraws) {
  const Shape shape{4, 6};
  Rng a(5), b(5);
  EXPECT_SAME_BITS(start("glorot_uniform", shape, a), glorot_uniform(shape, b));
  EXPECT_SAME_BITS(start("glorot_normal", shape, a), glorot_normal(shape, b));
  EXPECT_SAME_BITS(start("kaiming_uniform", shape, a), kaiming_uniform(shape, b));
  EXPECT_SAME_BITS(start("kaiming_normal", shape, a), kaiming_normal(shape, b));
  EXPECT_SAME_BITS(start("orthogonal", shape, a), orthogonal(shape, b));
  EXPECT_SAME_BITS(start("normal", shape, a), normal(shape, b, 0, 0.1));
  EXPECT_SAME_BITS(start("zeros", shape, a, float32), zeros(shape, float32));
}

TEST(Init, IdentityHasOnesOnItsDiagonal) {
  Rng rng(1);
  EXPECT_SAME_BITS(start("identity", {2, 3}, rng), tensor({{1, 0, 0}, {0, 1, 0}}));
  EXPECT_SAME_BITS(start("identity", {3, 2}, rng, float32), tensor({{1, 0}, {0, 1}, {0, 0}}, float32));
  EXPECT_THROWS_WITH(start("identity", {2, 2, 2}, rng), ShapeError, "identity needs a matrix, got [2, 2, 2]");
}

TEST(Init, KaimingHasTheVarianceOfThePaper) {
  Rng rng(4);
  const Shape shape{100, 300};
  const double expected = 2.0 / 100, error = 5 * std::sqrt(2.0 / 30000) * expected;
  EXPECT_NEAR(variance(reshape(kaiming_uniform(shape, rng), {-1}), {0}).item(), expected, error);
  EXPECT_NEAR(variance(reshape(kaiming_normal(shape, rng), {-1}), {0}).item(), expected, error);
  EXPECT_LE(max(abs(kaiming_uniform(shape, rng))).item(), std::sqrt(6.0 / 100));
  EXPECT_EQ(kaiming_normal({0, 3}, rng, float32).shape(), (Shape{0, 3}));
  EXPECT_THROWS_WITH(kaiming_uniform({5}, rng), ShapeError, "kaiming_uniform: expected rank 2 or more");
  EXPECT_THROWS_WITH(kaiming_normal({}, rng), ShapeError, "kaiming_normal: expected rank 2 or more");
}

TEST(Init, OrthogonalKeepsLengthsOnItsShorterSide) {
  Rng rng(6);
  for (const Shape& shape : {Shape{5, 5}, Shape{3, 8}, Shape{8, 3}, Shape{1, 4}, Shape{60, 64}}) {
    const Tensor q = orthogonal(shape, rng);
    ASSERT_EQ(q.shape(), shape);
    const Tensor gram = shape[0] <= shape[1] ? matmul(q, transpose(q)) : matmul(transpose(q), q);
    EXPECT_TENSOR_NEAR(gram, eye(gram.size(0)), 0, 1e-14);
  }
  EXPECT_EQ(orthogonal({0, 3}, rng).shape(), (Shape{0, 3}));
  EXPECT_EQ(orthogonal({2, 3}, rng, float32).dtype(), float32);
  EXPECT_THROWS_WITH(orthogonal({2, 2, 2}, rng), ShapeError,
                     "orthogonal: expected a matrix, got shape [2, 2, 2]");
}

// A first entry as often above 0 as below, and of mean square 1 / n: no direction is preferred.
TEST(Init, OrthogonalPrefersNoDirection) {
  Rng rng(7);
  constexpr int draws = 4000;
  double sum = 0, squares = 0;
  for (int i = 0; i < draws; ++i) {
    const double entry = orthogonal({3, 3}, rng).at({2, 1});
    sum += entry;
    squares += entry * entry;
  }
  EXPECT_NEAR(sum / draws, 0, 5 * std::sqrt(1.0 / 3 / draws));
  EXPECT_NEAR(squares / draws, 1.0 / 3,
              5 * std::sqrt(4.0 / 45 / draws));  // E q⁴ = 1/5 on a sphere in three dimensions
}

}  // namespace
}  // namespace regard::nn

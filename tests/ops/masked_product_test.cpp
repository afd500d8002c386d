#include "ops/masked_product.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "ops/twin.hpp"

namespace regard::test {
namespace {

using detail::masked_mix;
using detail::masked_mix_transposed;
using detail::masked_scores;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

// Σ over an index of products of pairs that exist, by loops over elements read one by one. `which`: 0 scores,
// 1 mix, 2 mix transposed.
Tensor by_loops(int which, const Tensor& a, const Tensor& b, const Tensor& keep, double alpha) {
  const auto leading = [](const Tensor& x) {
    Shape shape = x.shape();
    for (int i = 0; i < 2; ++i) shape.erase(shape.rank() - 1);
    return shape;
  };
  const auto with = [](Shape shape, Size rows, Size columns) {
    shape.push_back(rows);
    shape.push_back(columns);
    return shape;
  };
  const Shape batch = broadcast_shapes(leading(a), leading(b), "twin");
  const Size n = a.size(-2), m = which == 0 ? b.size(-2) : a.size(-1), d = b.size(-1);
  const Tensor x =
      reshape(stretched(a, with(batch, a.size(-2), a.size(-1))), {numel(batch), a.size(-2), a.size(-1)});
  const Tensor y =
      reshape(stretched(b, with(batch, b.size(-2), b.size(-1))), {numel(batch), b.size(-2), b.size(-1)});
  const Tensor kept = reshape(stretched(keep, with(batch, n, m)), {numel(batch), n, m});
  const Size rows = which == 2 ? m : n, columns = which == 0 ? m : d;
  std::vector<double> out(static_cast<std::size_t>(numel(batch) * rows * columns), 0.0);
  for (Size matrix = 0; matrix < numel(batch); ++matrix)
    for (Size i = 0; i < n; ++i)
      for (Size j = 0; j < m; ++j) {
        if (kept.at({matrix, i, j}) == 0) continue;
        for (Size c = 0; c < d; ++c) {
          const Size row = which == 2 ? j : i, column = which == 0 ? j : c;
          const double factor = which == 0 ? x.at({matrix, i, c}) : x.at({matrix, i, j});
          const double other = y.at({matrix, which == 2 ? i : j, c});
          out[static_cast<std::size_t>((matrix * rows + row) * columns + column)] += alpha * factor * other;
        }
      }
  return from_values(out, with(batch, rows, columns), a.dtype());
}

Tensor run(int which, const Tensor& a, const Tensor& b, const Tensor& keep, double alpha) {
  return which == 0   ? masked_scores(a, b, keep, alpha)
         : which == 1 ? masked_mix(a, b, keep, alpha)
                      : masked_mix_transposed(a, b, keep, alpha);
}

struct Case {
  Shape leading_a, leading_b, keep;
  Size n, m, d;
};

const std::vector<Case> cases = {{{}, {}, {3, 4}, 3, 4, 2},
                                 {{}, {}, {4}, 3, 4, 2},
                                 {{2}, {2}, {2, 1, 4}, 3, 4, 2},
                                 {{2, 3}, {2, 3}, {12, 11}, 12, 11, 9},
                                 {{2, 2}, {2, 1}, {2, 1, 5, 6}, 5, 6, 3},
                                 {{2, 1, 3}, {2, 2, 1}, {2, 1, 1, 4, 4}, 4, 4, 2},
                                 {{}, {2}, {2, 3, 4}, 3, 4, 2},
                                 {{2}, {}, {2, 3, 4}, 3, 4, 2},
                                 {{}, {}, {1, 1}, 1, 1, 1},
                                 {{2}, {2}, {2, 0, 4}, 0, 4, 3},
                                 {{2}, {2}, {1, 1}, 3, 0, 3},
                                 {{2}, {2}, {3, 4}, 3, 4, 0},
                                 {{0}, {0}, {3, 4}, 3, 4, 2}};

Tensor operand(const Shape& leading, Size rows, Size columns, Rng& rng, DType dtype) {
  Shape shape = leading;
  shape.push_back(rows);
  shape.push_back(columns);
  return random_tensor(shape, rng, Domain::normal, dtype);
}

Tensors operands(int which, const Case& c, Rng& rng, DType dtype = float64) {
  if (which == 0)
    return {operand(c.leading_a, c.n, c.d, rng, dtype), operand(c.leading_b, c.m, c.d, rng, dtype)};
  return {operand(c.leading_a, c.n, c.m, rng, dtype),
          operand(c.leading_b, which == 1 ? c.m : c.n, c.d, rng, dtype)};
}

TEST(MaskedProduct, EqualsLoopsOverThePairsThatExist) {
  Rng rng(1);
  for (const DType dtype : {float32, float64})
    for (const Case& c : cases)
      for (int which = 0; which < 3; ++which) {
        SCOPED_TRACE(testing::Message() << which << " " << to_string(c.leading_a) << to_string(c.keep));
        const Tensors in = operands(which, c, rng, dtype);
        const Tensor keep = random_mask(c.keep, rng, 0.6);
        const Tensor expected = by_loops(which, in[0], in[1], keep, 0.5);
        const double near = dtype == float32 ? 1e-5 : 1e-13;
        for (const Layout layout : all_layouts)
          EXPECT_TENSOR_NEAR(run(which, with_layout(in[0], layout), with_layout(in[1], layout),
                                 with_layout(keep, layout), 0.5),
                             expected, near, near);
      }
}

TEST(MaskedProduct, WithoutAMaskIsAPlainProduct) {
  Rng rng(2);
  for (const Case& c : cases)
    for (int which = 0; which < 3; ++which) {
      const Tensors in = operands(which, c, rng);
      EXPECT_TENSOR_NEAR(run(which, in[0], in[1], Tensor(), 2),
                         by_loops(which, in[0], in[1], from_values({1}, {1, 1}, boolean), 2), 1e-13, 1e-13);
    }
}

TEST(MaskedProduct, Gradients) {
  Rng rng(3);
  for (const Case& c : cases) {
    if (c.n > 6) continue;
    for (int which = 0; which < 3; ++which) {
      SCOPED_TRACE(testing::Message() << which << " " << to_string(c.leading_a) << to_string(c.keep));
      const Tensor keep = random_mask(c.keep, rng, 0.6);
      expect_derivatives([&](const Tensors& x) { return run(which, x[0], x[1], keep, -0.7); },
                         operands(which, c, rng));
    }
  }
}

// Hidden elements of M, and the rows of the other operand that only hidden pairs would reach, hold NaN and
// infinity: every finite result is what it is without them.
TEST(MaskedProduct, NothingHiddenLeaks) {
  Rng rng(4);
  for (const Size n : {3, 20}) {
    const Size m = n + 1, d = n;
    const Tensor row = reshape(arange(n), {n, 1}), column = arange(m);
    // Causal, and the last column is hidden from everyone.
    const Tensor keep =
        logical_and(less_equal(column, row), less(column, scalar(static_cast<double>(m - 1), int64)));
    const Tensor hidden = logical_not(keep);
    const Tensor weights = random_tensor({2, n, m}, rng), v = random_tensor({2, m, d}, rng);
    const Tensor last_row = equal(reshape(arange(m), {m, 1}), scalar(static_cast<double>(m - 1), int64));
    for (const double poison : {nan, infinity}) {
      const Tensor bad_weights = masked_fill(weights, hidden, poison),
                   bad_v = masked_fill(v, last_row, poison);
      const Tensor expected = by_loops(1, weights, v, keep, 1);
      EXPECT_TENSOR_NEAR(masked_mix(bad_weights, v, keep), expected, 1e-13, 1e-13);
      EXPECT_TENSOR_NEAR(masked_mix(weights, bad_v, keep), expected, 1e-13, 1e-13);
      EXPECT_TENSOR_NEAR(masked_mix(bad_weights, bad_v, keep), expected, 1e-13, 1e-13);
      const Tensor a = random_tensor({2, n, d}, rng);
      EXPECT_TENSOR_NEAR(masked_scores(a, bad_v, keep), by_loops(0, a, v, keep, 1), 1e-13, 1e-13);
      EXPECT_TENSOR_NEAR(masked_mix_transposed(bad_weights, a, keep), by_loops(2, weights, a, keep, 1), 1e-13,
                         1e-13);
      // Its transpose: the row that is hidden from everyone is one of a.
      const Tensor turned = transpose(keep), turned_weights = transpose(weights);
      EXPECT_TENSOR_NEAR(
          masked_mix_transposed(masked_fill(turned_weights, transpose(hidden), poison), bad_v, turned),
          by_loops(2, turned_weights, v, turned, 1), 1e-13, 1e-13);
    }
  }
}

TEST(MaskedProduct, HiddenPairsGetExactlyZero) {
  Rng rng(5);
  const Tensor keep = random_mask({6, 7}, rng), hidden = logical_not(keep);
  const Tensor x = random_tensor({6, 3}, rng), y = random_tensor({7, 3}, rng);
  const Tensor scores = masked_scores(x, y, keep);
  EXPECT_SAME_BITS(masked_fill(scores, keep, 0.0), zeros({6, 7}));
  const Tensor weights = variable(random_tensor({6, 7}, rng));
  GradOptions options;
  options.seeds = {ones({6, 3})};
  const Tensor dweights = grad(masked_mix(weights, y, keep), weights, options);
  EXPECT_SAME_BITS(masked_fill(dweights, keep, 0.0), zeros({6, 7}));
}

// Gradients too: the row of v that nobody may see gets exactly 0, whatever it holds, and spoils nothing.
TEST(MaskedProduct, GradientsDoNotLeakEither) {
  Rng rng(6);
  const Tensor keep = from_values({1, 1, 0, 1, 0, 0}, {2, 3}, boolean);
  const Tensor weights = variable(random_tensor({2, 3}, rng));
  const Tensor v = variable(tensor({{1, 2}, {3, 4}, {nan, infinity}}));
  GradOptions options;
  options.seeds = {ones({2, 2})};
  const Tensors gradients = grad(Tensors{masked_mix(weights, v, keep)}, Tensors{weights, v}, options);
  expect_tensor(gradients[0], {2, 3}, {3, 7, 0, 3, 0, 0});
  expect_tensor(select(gradients[1], 0, 2), {2}, {0, 0});
  EXPECT_TRUE(all(isfinite(gradients[1])));
}

TEST(MaskedProduct, RefusesWhatDoesNotFit) {
  const Tensor keep = from_values({1}, {1, 1}, boolean);
  EXPECT_THROWS_WITH(masked_scores(zeros({3, 2}), zeros({4, 3}), keep), ShapeError,
                     "masked_scores: expected [.., n, d] and [.., m, d], got [3, 2] and [4, 3]");
  EXPECT_THROWS_WITH(masked_mix(zeros({3, 4}), zeros({3, 2}), keep), ShapeError,
                     "masked_mix: expected [.., n, m] and");
  EXPECT_THROWS_WITH(masked_mix_transposed(zeros({3, 4}), zeros({4, 2}), keep), ShapeError,
                     "masked_mix_transposed:");
  EXPECT_THROWS_WITH(masked_scores(zeros({3}), zeros({3}), keep), ShapeError, "rank below 2");
  EXPECT_THROWS_WITH(masked_scores(zeros({3, 2}), zeros({4, 2}), zeros({3, 4})), DTypeError,
                     "keep must be boolean");
  EXPECT_THROWS_WITH(masked_scores(zeros({3, 2}), zeros({4, 2}), from_values({1, 1}, {2, 1, 1}, boolean)),
                     ShapeError, "keep [2, 1, 1] does not stretch to [3, 4]");
  EXPECT_THROWS_WITH(masked_scores(zeros({3, 2}), zeros({4, 2}, float32), keep), DTypeError,
                     "do not go together");
}

}  // namespace
}  // namespace regard::test

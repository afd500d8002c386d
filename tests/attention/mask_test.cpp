#include <cmath>
#include <functional>
#include <limits>
#include <sstream>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/mask.hpp>
#include <regard/ops.hpp>

#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::test {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct Scores {
  Size batch, heads, queries, keys;
};

using Visible = std::function<bool(Size b, Size h, Size i, Size j)>;

// Every position of the resolved mask against a plain condition.
void expect_visible(const Mask& mask, const Scores& s, const Visible& visible) {
  const ResolvedMask resolved = mask.resolve(s.batch, s.heads, s.queries, s.keys);
  const Tensor keep = resolved.keep.defined()
                          ? broadcast_to(resolved.keep, {s.batch, s.heads, s.queries, s.keys})
                          : ones({s.batch, s.heads, s.queries, s.keys}, boolean);
  for (Size b = 0; b < s.batch; ++b)
    for (Size h = 0; h < s.heads; ++h)
      for (Size i = 0; i < s.queries; ++i)
        for (Size j = 0; j < s.keys; ++j)
          ASSERT_EQ(keep.at({b, h, i, j}) != 0, visible(b, h, i, j))
              << mask << " at batch " << b << ", head " << h << ", query " << i << ", key " << j;
}

Tensor lengths(const std::vector<Size>& values) {
  return from_vector<Size>(values, {static_cast<Size>(values.size())});
}

}  // namespace

TEST(Mask, NoneHidesNothing) {
  for (const Mask& mask : {Mask(), Mask::none(), Mask() & Mask::none()}) {
    EXPECT_TRUE(mask.is_none());
    const ResolvedMask resolved = mask.resolve(2, 3, 4, 5);
    EXPECT_FALSE(resolved.keep.defined());
    EXPECT_FALSE(resolved.bias.defined());
    EXPECT_EQ(mask.describe(), "everything visible");
  }
}

TEST(Mask, KeepAndHideAreOpposites) {
  const Tensor lower = tensor({{1, 0, 0}, {1, 1, 0}, {1, 1, 1}}, boolean);
  expect_visible(Mask::keep(lower), {2, 2, 3, 3}, [](Size, Size, Size i, Size j) { return j <= i; });
  expect_visible(Mask::hide(lower), {2, 2, 3, 3}, [](Size, Size, Size i, Size j) { return j > i; });
}

TEST(Mask, RanksSayWhichAxesTheyAre) {
  Rng rng(7);
  const auto random = [&rng](const Shape& shape) { return greater(uniform(shape, rng), scalar(0.5)); };
  const Tensor rank2 = random({3, 4}), rank3 = random({2, 3, 4}), rank4 = random({2, 2, 3, 4});
  const Tensor per_head = random({1, 2, 1, 4});
  const Scores scores{2, 2, 3, 4};
  expect_visible(Mask::keep(rank2), scores, [&](Size, Size, Size i, Size j) {
    return rank2.at({i, j}) != 0;
  });
  expect_visible(Mask::keep(rank3), scores, [&](Size b, Size, Size i, Size j) {
    return rank3.at({b, i, j}) != 0;
  });
  expect_visible(Mask::keep(rank4), scores, [&](Size b, Size h, Size i, Size j) {
    return rank4.at({b, h, i, j}) != 0;
  });
  expect_visible(Mask::keep(per_head), scores, [&](Size, Size h, Size, Size j) {
    return per_head.at({0, h, 0, j}) != 0;
  });
}

TEST(Mask, StaysAsSmallAsItsTerms) {
  const ResolvedMask causal = Mask::causal().resolve(8, 4, 5, 5);
  EXPECT_EQ(causal.keep.shape(), (Shape{1, 1, 5, 5}));
  const ResolvedMask padded = Mask::padding(lengths({1, 2})).resolve(2, 4, 5, 5);
  EXPECT_EQ(padded.keep.shape(), (Shape{2, 1, 1, 5}));
  const ResolvedMask both = (Mask::causal() & Mask::padding(lengths({1, 2}))).resolve(2, 4, 5, 5);
  EXPECT_EQ(both.keep.shape(), (Shape{2, 1, 5, 5}));
}

TEST(Mask, IsUndefinedWhereItHidesNothingWhateverTheNumbers) {
  EXPECT_FALSE(Mask::causal(Align::bottom_right).resolve(1, 1, 1, 6).keep.defined());
  EXPECT_FALSE(Mask::window(2).resolve(1, 1, 3, 3).keep.defined());
  // The next lengths may be others; a step that was captured with these goes the same way with those.
  EXPECT_TRUE(Mask::padding(lengths({3, 3})).resolve(2, 1, 3, 3).keep.defined());
  EXPECT_TRUE(Mask::keep(ones({3, 3}, boolean)).resolve(1, 1, 3, 3).keep.defined());
}

TEST(Mask, CausalHidesTheFuture) {
  expect_visible(Mask::causal(), {2, 2, 4, 4}, [](Size, Size, Size i, Size j) { return j <= i; });
  for (const auto& [queries, keys] : {std::pair<Size, Size>{2, 5}, {5, 2}, {1, 4}, {3, 3}}) {
    const Size shift = keys - queries;
    expect_visible(Mask::causal(Align::top_left), {1, 1, queries, keys},
                   [](Size, Size, Size i, Size j) { return j <= i; });
    expect_visible(Mask::causal(Align::bottom_right), {1, 1, queries, keys},
                   [shift](Size, Size, Size i, Size j) { return j <= i + shift; });
  }
}

TEST(Mask, DifferentLengthsDemandAnAlignment) {
  for (const Mask& mask : {Mask::causal(), Mask::window(1), Mask::padding(lengths({2})) & Mask::causal()}) {
    EXPECT_THROWS_WITH(mask.resolve(1, 1, 2, 4), ShapeError, "2 queries and 4 keys");
    EXPECT_THROWS_WITH(mask.resolve(1, 1, 2, 4), ShapeError, "Align::top_left");
    EXPECT_THROWS_WITH(mask.resolve(1, 1, 2, 4), ShapeError, "Align::bottom_right");
  }
}

TEST(Mask, WindowIsSymmetricAndSlidesWithCausal) {
  expect_visible(Mask::window(0), {1, 1, 4, 4}, [](Size, Size, Size i, Size j) { return i == j; });
  expect_visible(Mask::window(1), {1, 1, 5, 5},
                 [](Size, Size, Size i, Size j) { return std::abs(i - j) <= 1; });
  expect_visible(Mask::causal() & Mask::window(1), {1, 1, 5, 5},
                 [](Size, Size, Size i, Size j) { return j <= i && i - j <= 1; });
  expect_visible(Mask::window(1, Align::top_left), {1, 1, 2, 5},
                 [](Size, Size, Size i, Size j) { return std::abs(i - j) <= 1; });
  expect_visible(Mask::window(1, Align::bottom_right), {1, 1, 2, 5},
                 [](Size, Size, Size i, Size j) { return std::abs(i + 3 - j) <= 1; });
  EXPECT_THROWS_WITH(Mask::window(-1), ValueError, "Mask::window: the radius must be 0 or more, got -1");
}

TEST(Mask, PaddingHidesTheKeysBehindEachLength) {
  const std::vector<Size> n = {2, 0, 4};
  expect_visible(Mask::padding(lengths(n)), {3, 2, 3, 4},
                 [&](Size b, Size, Size, Size j) { return j < n[static_cast<std::size_t>(b)]; });
}

TEST(Mask, PaddingChecksLengths) {
  const auto resolve = [](const Tensor& n) { return Mask::padding(n).resolve(2, 1, 3, 4); };
  EXPECT_THROWS_WITH(resolve(lengths({2, 5})), ValueError, "sequence 1 is 5 keys long, expected 0..4");
  EXPECT_THROWS_WITH(resolve(lengths({-1, 2})), ValueError, "sequence 0 is -1 keys long, expected 0..4");
  EXPECT_THROWS_WITH(
      resolve(lengths({1, 2, 3})), ShapeError,
      "padding [3] does not fit scores [2, 1, 3, 4] (batch, heads, queries, keys): axis batch is 3, "
      "expected 2");
  EXPECT_THROWS_WITH(Mask::padding(tensor({1, 2})), DTypeError,
                     "Mask::padding: expected int64, got float64 [2]");
  EXPECT_THROWS_WITH(Mask::padding(tensor({{1, 2}}, int64)), ShapeError,
                     "Mask::padding: expected [batch], got [1, 2]");
}

TEST(Mask, DocumentsSeeTheirOwnOnly) {
  const Tensor ids = tensor({{0, 0, 1, 1}, {4, 5, 5, 4}}, int64);
  expect_visible(Mask::documents(ids), {2, 2, 4, 4}, [&](Size b, Size, Size i, Size j) {
    return ids.at({b, i}) == ids.at({b, j});
  });
  const Tensor shared = tensor({7, 7, 8}, int64);
  expect_visible(Mask::documents(shared), {2, 1, 3, 3},
                 [&](Size, Size, Size i, Size j) { return shared.at({i}) == shared.at({j}); });
  const Tensor of_queries = tensor({{0, 1}}, int64), of_keys = tensor({{1, 0, 1}}, int64);
  expect_visible(Mask::documents(of_queries, of_keys), {1, 1, 2, 3}, [&](Size, Size, Size i, Size j) {
    return of_queries.at({0, i}) == of_keys.at({0, j});
  });

  EXPECT_THROWS_WITH(
      Mask::documents(ids).resolve(2, 1, 4, 6), ShapeError,
      "documents [2, 4] does not fit scores [2, 1, 4, 6] (batch, heads, queries, keys): axis keys is "
      "4, expected 6");
  EXPECT_THROWS_WITH(Mask::documents(ids).resolve(3, 1, 4, 4), ShapeError, "axis batch is 2, expected 3");
  EXPECT_THROWS_WITH(Mask::documents(ones({2, 2})), DTypeError, "Mask::documents: expected int64");
  EXPECT_THROWS_WITH(Mask::documents(ones({1, 2, 2}, int64)), ShapeError,
                     "expected [batch, tokens] or [tokens], got [1, 2, 2]");
}

TEST(Mask, CombinedHidesTheUnion) {
  const std::vector<Size> n = {4, 2};
  const Tensor ids = tensor({0, 0, 1, 1}, int64);
  const Mask mask = Mask::causal() & Mask::padding(lengths(n)) & Mask::documents(ids);
  expect_visible(mask, {2, 1, 4, 4}, [&](Size b, Size, Size i, Size j) {
    return j <= i && j < n[static_cast<std::size_t>(b)] && ids.at({i}) == ids.at({j});
  });
  EXPECT_EQ(mask.describe(), "causal & padding [2] & documents [4]");
}

TEST(Mask, BiasesAddAndMinusInfinityHides) {
  const Tensor a = tensor({{0.5, -infinity}, {1, 2}}), b = tensor({{{{1.0}}, {{2.0}}}});
  const ResolvedMask mask = (Mask::bias(a) & Mask::bias(b)).resolve(1, 2, 2, 2);
  EXPECT_EQ(mask.bias.shape(), (Shape{1, 2, 2, 2}));
  EXPECT_EQ(mask.bias.at({0, 1, 1, 0}), 3.0);
  expect_visible(Mask::bias(a) & Mask::bias(b), {1, 2, 2, 2},
                 [](Size, Size, Size i, Size j) { return i != 0 || j != 1; });
  EXPECT_FALSE(Mask::bias(b).resolve(1, 2, 2, 2).keep.defined());
}

TEST(Mask, ALearnedBiasGetsItsGradientInItsOwnShape) {
  const Tensor bias = variable(tensor({{1, 2, 3}}));
  const ResolvedMask mask = Mask::bias(bias).resolve(2, 2, 4, 3);
  const Tensor loss = sum(broadcast_to(mask.bias, {2, 2, 4, 3}));
  EXPECT_EQ(grad(loss, bias).to_vector<double>(), (std::vector<double>{16, 16, 16}));
}

TEST(Mask, SaysWhatDoesNotFit) {
  const auto fit = [](const Mask& mask) { return mask.resolve(2, 4, 5, 6); };
  EXPECT_THROWS_WITH(
      fit(Mask::keep(ones({5, 5}, boolean))), ShapeError,
      "attention: mask [5, 5] does not fit scores [2, 4, 5, 6] (batch, heads, queries, keys): axis "
      "keys is 5, expected 6");
  EXPECT_THROWS_WITH(fit(Mask::hide(ones({3, 4, 5, 6}, boolean))), ShapeError, "axis batch is 3, expected 2");
  EXPECT_THROWS_WITH(fit(Mask::bias(ones({2, 3, 5, 6}))), ShapeError, "axis heads is 3, expected 4");
  EXPECT_THROWS_WITH(fit(Mask::bias(ones({4, 5, 6}))), ShapeError,
                     "one mask per head is [1, heads, queries, keys]");
  EXPECT_THROWS_WITH(
      Mask::keep(ones({5}, boolean)), ShapeError,
      "Mask::keep: expected [queries, keys], [batch, queries, keys] or [batch, heads, queries, keys], "
      "got [5]");
}

TEST(Mask, NumbersAreNoConditions) {
  const Tensor ones_and_zeros = tensor({{1, 0}, {1, 1}});
  EXPECT_THROWS_WITH(Mask::keep(ones_and_zeros), DTypeError,
                     "Mask::keep: expected a boolean tensor, got float64 [2, 2]; convert ones and zeros with "
                     ".to(boolean), and give what is to be added to the scores to Mask::bias");
  EXPECT_THROWS_WITH(Mask::hide(ones({2, 2}, int64)), DTypeError, "Mask::hide: expected a boolean tensor");
  EXPECT_THROWS_WITH(Mask::bias(ones({2, 2}, boolean)), DTypeError,
                     "Mask::keep and Mask::hide take conditions");
  const Mask mixed = Mask::bias(ones({2, 2}, float32)) & Mask::bias(ones({2, 2}));
  EXPECT_THROWS_WITH(mixed.resolve(1, 1, 2, 2), DTypeError, "mask biases of float32 and float64");
}

TEST(Mask, PrintsItselfAsAGrid) {
  EXPECT_EQ(to_string(Mask::causal(), 3, 3),
            "·██\n"
            "··█\n"
            "···\n");
  EXPECT_EQ(to_string(Mask::bias(tensor({{0, 1, -infinity}})) & Mask::causal(Align::bottom_right), 2, 3),
            "·+█\n"
            "·+█\n");
  EXPECT_EQ(Mask::padding(lengths({1, 2})).grid(2, 4, 1, 2),
            "sequence 0\n"
            "·█\n"
            "sequence 1\n"
            "··\n");
  EXPECT_EQ(
      (Mask::padding(lengths({1, 2})) & Mask::bias(tensor({{{{0}}, {{1}}}}))).grid(2, 2, 1, 2),
      "sequence 0, head 0\n·█\nsequence 0, head 1\n+█\nsequence 1, head 0\n··\nsequence 1, head 1\n++\n");
  EXPECT_EQ(to_string(Mask(), 1, 2), "··\n");
}

TEST(Mask, DescribesItself) {
  std::ostringstream out;
  out << (Mask::causal(Align::top_left) & Mask::window(3, Align::bottom_right) & Mask::window(1) &
          Mask::keep(ones({2, 2}, boolean)) & Mask::hide(ones({1, 2, 2}, boolean)) &
          Mask::bias(ones({1, 1, 2, 2})));
  EXPECT_EQ(out.str(),
            "causal(top_left) & window(3, bottom_right) & window(1) & keep [2, 2] & hide [1, 2, 2] & bias "
            "[1, 1, 2, 2]");
}

TEST(Mask, TakesNoTokensAtAll) {
  EXPECT_FALSE(Mask::causal().resolve(0, 2, 0, 0).keep.defined());
  EXPECT_EQ(Mask::padding(lengths({0, 0})).resolve(2, 1, 3, 0).keep.shape(), (Shape{2, 1, 1, 0}));
  EXPECT_EQ(Mask::causal(Align::top_left).grid(1, 1, 0, 3), "");
}

}  // namespace regard::test

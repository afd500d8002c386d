#include <algorithm>
#include <functional>

#include <gtest/gtest.h>

#include "ops/twin.hpp"

namespace regard::test {
namespace {

// 0, 1, 2, ... in the given shape.
Tensor counting(const Shape& shape, DType dtype = float64) {
  return reshape(arange(numel(shape), dtype), shape);
}

TEST(Reshape, KeepsRowMajorOrderAndFillsInOneExtent) {
  const Tensor x = counting({2, 6});
  expect_tensor(reshape(x, {3, -1}), {3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  EXPECT_EQ(reshape(x, {3, 4}).data<double>(), x.data<double>());
  expect_tensor(reshape(scalar(7), {1, 1}), {1, 1}, {7});
  expect_tensor(reshape(tensor({7}), {}), {}, {7});
  EXPECT_EQ(reshape(zeros({0, 3}), {3, 0, 2}).shape(), (Shape{3, 0, 2}));
  EXPECT_EQ(reshape(zeros({4, 0}), {2, -1}).shape(), (Shape{2, 0}));
}

TEST(Reshape, LooksAtStridesWhereTheyAllowAndCopiesOtherwise) {
  const Tensor x = counting({4, 3, 2});
  const Tensor columns = slice(x, 2, {0, 1});  // [4, 3, 1], strides [6, 2, 1]
  const Tensor flat = reshape(columns, {12});  // every second element
  EXPECT_EQ(flat.strides(), (Strides{2}));
  expect_tensor(flat, {12}, {0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22});
  const Tensor turned = transpose(x, 0, 1);                                    // [3, 4, 2]
  EXPECT_EQ(reshape(turned, {3, 2, 2, 2}).strides(), (Strides{2, 12, 6, 1}));  // splitting needs no copy
  expect_tensor(reshape(turned, {12, 2}), {12, 2},
                {0, 1, 6, 7, 12, 13, 18, 19, 2, 3, 8, 9, 14, 15, 20, 21, 4, 5, 10, 11, 16, 17, 22, 23});
  const Tensor stretched = broadcast_to(tensor({1, 2}), {3, 2});
  expect_tensor(reshape(stretched, {6}), {6}, {1, 2, 1, 2, 1, 2});
}

TEST(Reshape, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  EXPECT_THROWS_WITH(reshape(x, {4, -1}), ShapeError,
                     "reshape: cannot look at [2, 3] (6 elements) as [4, -1]");
  EXPECT_THROWS_WITH(reshape(x, {4, 2}), ShapeError, "that has 8 elements");
  EXPECT_THROWS_WITH(reshape(x, {-1, -1}), ShapeError, "only one extent may be -1");
  EXPECT_THROWS_WITH(reshape(x, {-2, -3}), ShapeError, "an extent is negative");
  EXPECT_THROWS_WITH(reshape(zeros({0, 3}), {0, -1}), ShapeError, "could be anything");
  EXPECT_THROWS_WITH(reshape(Tensor(), {1}), GraphError, "empty");
}

TEST(Permute, PutsAxisIOfTheResultWhereTheListSays) {
  const Tensor x = counting({2, 3, 4});
  const Tensor y = permute(x, {2, 0, -2});
  ASSERT_EQ(y.shape(), (Shape{4, 2, 3}));
  for (Size i = 0; i < 4; ++i)
    for (Size j = 0; j < 2; ++j)
      for (Size k = 0; k < 3; ++k) EXPECT_EQ(y.at({i, j, k}), x.at({j, k, i}));
  expect_tensor(permute(scalar(3), {}), {}, {3});
  EXPECT_THROWS_WITH(permute(x, {0, 1}), ShapeError, "permute: [0, 1] does not name each of the 3 axes");
  EXPECT_THROWS_WITH(permute(x, {0, 1, 1}), ShapeError, "named 2 times");
  EXPECT_THROWS_WITH(permute(x, {0, 1, 3}), ShapeError, "permute: axis 3 is out of range");
}

TEST(Transpose, SwapsTwoAxes) {
  expect_tensor(transpose(tensor({{1, 2, 3}, {4, 5, 6}})), {3, 2}, {1, 4, 2, 5, 3, 6});
  EXPECT_EQ(transpose(zeros({2, 3, 4}), 0, -1).shape(), (Shape{4, 3, 2}));
  EXPECT_THROWS_WITH(transpose(zeros({2})), ShapeError, "transpose: axis -2 is out of range for rank 1");
}

// An assignment of a transpose to its own source once read what it had overwritten (xtensor #389).
TEST(Transpose, OfItselfMayReplaceItself) {
  Tensor x = tensor({{0, 1, 1, 1}});
  x = transpose(x);
  expect_tensor(x, {4, 1}, {0, 1, 1, 1});
}

TEST(Squeeze, DropsAxesOfExtentOne) {
  const Tensor x = counting({1, 3, 1, 2});
  EXPECT_EQ(squeeze(x).shape(), (Shape{3, 2}));
  EXPECT_EQ(squeeze(x, {-2}).shape(), (Shape{1, 3, 2}));
  EXPECT_EQ(squeeze(x, {2, 0}).shape(), (Shape{3, 2}));
  EXPECT_EQ(squeeze(zeros({1, 1})).shape(), Shape{});
  EXPECT_THROWS_WITH(squeeze(x, {1}), ShapeError, "squeeze: axis 1 of [1, 3, 1, 2] has extent 3");
}

TEST(ExpandDims, InsertsAxesAtPlacesOfTheResult) {
  const Tensor x = counting({2, 3});
  EXPECT_EQ(expand_dims(x, {0}).shape(), (Shape{1, 2, 3}));
  EXPECT_EQ(expand_dims(x, {-1, 1}).shape(), (Shape{2, 1, 3, 1}));
  EXPECT_EQ(expand_dims(scalar(1), {0, 1}).shape(), (Shape{1, 1}));
  EXPECT_THROWS_WITH(expand_dims(x, {3}), ShapeError, "expand_dims: axis 3 is out of range for rank 3");
  EXPECT_THROWS_WITH(expand_dims(zeros({1, 1, 1, 1, 1, 1, 1, 1}), {0}), ShapeError, "would have rank 9");
}

TEST(BroadcastTo, RepeatsWithoutCopies) {
  const Tensor x = tensor({{1}, {2}});
  const Tensor y = broadcast_to(x, {2, 2, 3});
  expect_tensor(y, {2, 2, 3}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2});
  EXPECT_EQ(y.strides(), (Strides{0, 1, 0}));
  EXPECT_EQ(broadcast_to(x, {2, 0}).shape(), (Shape{2, 0}));
  expect_tensor(broadcast_to(scalar(5), {2}), {2}, {5, 5});
  EXPECT_THROWS_WITH(broadcast_to(x, {3, 3}), ShapeError, "broadcast_to: [2, 1] does not stretch to [3, 3]");
  EXPECT_THROWS_WITH(broadcast_to(x, {2}), ShapeError, "does not stretch");
  EXPECT_THROWS_WITH(broadcast_to(x, {2, -1}), ShapeError, "negative");
}

// Every combination of bounds against Python's rule, spelled out as a walk.
TEST(Slice, FollowsPython) {
  for (const Size extent : {0, 1, 5}) {
    const Tensor x = counting({extent});
    for (Size start = -7; start <= 7; ++start)
      for (Size stop = -7; stop <= 7; ++stop)
        for (const Size step : {-3, -2, -1, 1, 2, 3, 100, -100}) {
          const auto clip = [&](Size bound, Size low, Size high) {
            return std::min(std::max(bound < 0 ? bound + extent : bound, low), high);
          };
          std::vector<double> expected;
          if (step > 0)
            for (Size i = clip(start, 0, extent); i < clip(stop, 0, extent); i += step)
              expected.push_back(static_cast<double>(i));
          else
            for (Size i = clip(start, -1, extent - 1); i > clip(stop, -1, extent - 1); i += step)
              expected.push_back(static_cast<double>(i));
          SCOPED_TRACE(testing::Message() << extent << ": " << start << ":" << stop << ":" << step);
          expect_tensor(slice(x, 0, {start, stop, step}), {static_cast<Size>(expected.size())}, expected);
        }
  }
}

TEST(Slice, LeavesBoundsOpen) {
  const Tensor x = counting({5});
  expect_tensor(slice(x, 0, {}), {5}, {0, 1, 2, 3, 4});
  expect_tensor(slice(x, 0, {2}), {3}, {2, 3, 4});
  expect_tensor(slice(x, 0, Slice::reversed()), {5}, {4, 3, 2, 1, 0});
  expect_tensor(slice(x, 0, {Slice::end, Slice::end, -2}), {3}, {4, 2, 0});
  expect_tensor(slice(x, 0, {0, Slice::end, INT64_MAX}), {1}, {0});
  expect_tensor(slice(x, 0, {Slice::end, Slice::end, INT64_MIN}), {1}, {4});
  expect_tensor(slice(slice(x, 0, Slice::reversed()), 0, {1, Slice::end, 2}), {2}, {3, 1});
  expect_tensor(slice(transpose(counting({2, 3})), 0, {1, 2}), {1, 2}, {1, 4});
  EXPECT_THROWS_WITH(slice(x, 0, {0, 1, 0}), ValueError, "slice: the step must not be 0");
  EXPECT_THROWS_WITH(slice(x, 1, {}), ShapeError, "slice: axis 1 is out of range for rank 1");
}

TEST(Select, DropsTheAxis) {
  const Tensor x = counting({2, 3});
  expect_tensor(select(x, 1, -1), {2}, {2, 5});
  expect_tensor(select(x, 0, 1), {3}, {3, 4, 5});
  EXPECT_EQ(select(zeros({2, 0}), 0, 1).shape(), (Shape{0}));
  EXPECT_THROWS_WITH(select(x, 1, 3), ValueError, "select: index 3 is out of range for axis 1 of [2, 3]");
  EXPECT_THROWS_WITH(select(zeros({0}), 0, 0), ValueError, "select: index 0 is out of range");
}

TEST(Split, IntoEqualAndGivenParts) {
  const Tensor x = counting({2, 6});
  const Tensors halves = split(x, 2, 1);
  ASSERT_EQ(halves.size(), 2u);
  expect_tensor(halves[1], {2, 3}, {3, 4, 5, 9, 10, 11});
  const Tensors parts = split(x, {1, 0, 5}, -1);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(parts[1].shape(), (Shape{2, 0}));
  expect_tensor(parts[2], {2, 5}, {1, 2, 3, 4, 5, 7, 8, 9, 10, 11});
  EXPECT_THROWS_WITH(split(x, 4, 1), ShapeError,
                     "split: axis 1 of [2, 6] does not divide into 4 equal parts");
  EXPECT_THROWS_WITH(split(x, Size{0}, 1), ShapeError, "equal parts");
  EXPECT_THROWS_WITH(split(x, {2, 3}, 1), ShapeError, "add up to 6");
  EXPECT_THROWS_WITH(split(x, {-1, 7}, 1), ShapeError, "add up to 6");
}

// Merging heads needs a permute before the reshape; without it tokens and heads mix.
TEST(SplitAndMergeOfHeads, AreEachOthersInverse) {
  const Tensor heads = tensor({{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}});  // [batch, heads, tokens, width]
  const Tensor merged = reshape(permute(heads, {0, 2, 1, 3}), {1, 2, 4});
  expect_tensor(merged, {1, 2, 4}, {1, 2, 5, 6, 3, 4, 7, 8});
  const Tensor again = permute(reshape(merged, {1, 2, 2, 2}), {0, 2, 1, 3});
  expect_tensor(again, heads.shape(), values_of(heads));
}

TEST(ShapeOps, TakeEveryDtype) {
  for (const DType dtype : {float32, float64, int64, boolean}) {
    const Tensor x = counting({2, 3}, int64).to(dtype);
    for (const Tensor& y :
         {reshape(transpose(x), {2, 3}), permute(x, {1, 0}), squeeze(x), expand_dims(x, {0}),
          broadcast_to(x, {2, 2, 3}), slice(x, 1, {0, 2}), select(x, 0, 1)})
      EXPECT_EQ(y.dtype(), dtype);
  }
}

TEST(ShapeOps, Gradients) {
  Rng rng(1);
  const Tensor x = random_tensor({2, 3, 4}, rng);
  int row = 0;
  const auto check = [&](const std::function<Tensor(const Tensor&)>& f) {
    SCOPED_TRACE(testing::Message() << "row " << row++);
    expect_derivatives([&](const Tensors& in) { return f(in[0]) * f(in[0]); }, {x});
  };
  check([](const Tensor& t) { return reshape(t, {6, -1}); });
  check([](const Tensor& t) { return reshape(transpose(t), {4, 6}); });
  check([](const Tensor& t) { return permute(t, {2, 0, 1}); });
  check([](const Tensor& t) { return transpose(t, 0, 2); });
  check([](const Tensor& t) { return squeeze(expand_dims(t, {1, -1}), {1}); });
  check([](const Tensor& t) { return broadcast_to(expand_dims(t, {1}), {2, 2, 2, 3, 4}); });
  check([](const Tensor& t) { return slice(t, 2, {3, 0, -2}); });
  check([](const Tensor& t) { return slice(slice(t, 1, Slice::reversed()), 0, {1}); });
  check([](const Tensor& t) { return select(t, 1, -1); });
  check([](const Tensor& t) { return split(t, 2, 2)[1] * split(t, {2, 2}, 2)[0]; });
}

TEST(ShapeOps, GradientsOfNothing) {
  const Tensor x = variable(zeros({0, 3}));
  const auto gradient_of = [&](const Tensor& y) {
    GradOptions options;
    options.seeds = {ones(y.shape())};
    return grad(y, x, options).shape();
  };
  EXPECT_EQ(gradient_of(slice(x, 1, {1, 3, 2})), x.shape());
  EXPECT_EQ(gradient_of(reshape(x, {3, 0})), x.shape());
  EXPECT_EQ(gradient_of(broadcast_to(x, {2, 0, 3})), x.shape());
  EXPECT_EQ(gradient_of(select(x, 1, 0)), x.shape());
  const Tensor y = variable(ones({2}));
  GradOptions options;
  options.seeds = {zeros({0})};
  expect_tensor(grad(slice(y, 0, {1, 1}), y, options), {2}, {0, 0});
}

}  // namespace
}  // namespace regard::test

#include <gtest/gtest.h>

#include "ops/twin.hpp"

namespace regard::test {
namespace {

constexpr DType all_dtypes[] = {float32, float64, int64, boolean};

Tensor ids_of(const std::vector<Size>& values, const Shape& shape) {
  return from_vector(values, shape);
}

// The index of an element, with one entry replaced.
std::vector<Size> with(std::vector<Size> index, int axis, Size value) {
  index[static_cast<std::size_t>(axis)] = value;
  return index;
}

TEST(Take, ReplacesTheAxisByTheIds) {
  Rng rng(1);
  for (const DType dtype : all_dtypes) {
    const Tensor x = random_tensor({3, 4, 2}, rng).to(dtype);
    for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0}, Shape{2, 0}})
      for (int axis = 0; axis < 3; ++axis) {
        const Tensor ids = random_ids(shape, rng, x.shape()[axis]);
        const Tensor y = take(x, ids, axis - 3);
        ASSERT_EQ(y.rank(), 2 + ids.rank());
        for (Size place = 0; place < y.numel(); ++place) {
          const std::vector<Size> at = unravel(place, y.shape());
          const std::vector<Size> at_ids(at.begin() + axis, at.begin() + axis + ids.rank());
          std::vector<Size> at_x(at.begin(), at.begin() + axis);
          at_x.push_back(static_cast<Size>(ids.at(at_ids)));
          at_x.insert(at_x.end(), at.begin() + axis + ids.rank(), at.end());
          EXPECT_EQ(y.at(at), x.at(at_x));
        }
        for (const Layout layout : all_layouts)
          EXPECT_SAME_BITS(take(with_layout(x, layout), with_layout(ids, layout), axis), y);
      }
  }
  EXPECT_EQ(take(zeros({0, 3}), zeros({0}, int64)).shape(), (Shape{0, 3}));
}

TEST(Gather, PicksElementByElement) {
  Rng rng(2);
  for (const DType dtype : all_dtypes) {
    const Tensor x = random_tensor({3, 4, 2}, rng).to(dtype);
    for (int axis = 0; axis < 3; ++axis)
      for (const Size count : {Size{0}, Size{1}, Size{6}}) {
        Shape shape{2, 3, 1};  // may be smaller than x on the other axes
        shape[axis] = count;
        const Tensor ids = random_ids(shape, rng, x.shape()[axis]);
        const Tensor y = gather(x, ids, axis);
        ASSERT_EQ(y.shape(), shape);
        for (Size place = 0; place < y.numel(); ++place) {
          const std::vector<Size> at = unravel(place, shape);
          EXPECT_EQ(y.at(at), x.at(with(at, axis, static_cast<Size>(ids.at(at)))));
        }
        for (const Layout layout : all_layouts)
          EXPECT_SAME_BITS(gather(with_layout(x, layout), with_layout(ids, layout), axis - 3), y);
      }
  }
}

TEST(ScatterAdd, AddsUpWhereIdsRepeat) {
  Rng rng(3);
  for (const DType dtype : {float32, float64, int64}) {
    // Small integers: sums are exact, in any order.
    const Tensor x = random_ids({3, 4, 2}, rng, 100).to(dtype);
    for (int axis = 0; axis < 3; ++axis) {
      Shape shape{3, 3, 2};
      shape[axis] = 5;
      const Tensor ids = random_ids(shape, rng, x.shape()[axis]),
                   updates = random_ids(shape, rng, 100).to(dtype);
      std::vector<double> expected = values_of(x);
      for (Size place = 0; place < ids.numel(); ++place) {
        const std::vector<Size> at = unravel(place, shape),
                                to = with(at, axis, static_cast<Size>(ids.at(at)));
        expected[static_cast<std::size_t>((to[0] * 4 + to[1]) * 2 + to[2])] += updates.at(at);
      }
      for (const Layout layout : all_layouts)
        EXPECT_SAME_BITS(
            scatter_add(with_layout(x, layout), with_layout(ids, layout), with_layout(updates, layout), axis),
            from_values(expected, x.shape(), dtype));
    }
  }
  expect_tensor(scatter_add(zeros({3}), ids_of({1, 1, 1}, {3}), tensor({1, 2, 4}), 0), {3}, {0, 7, 0});
}

TEST(OneHot, IsOneAtTheId) {
  for (const DType dtype : all_dtypes) {
    const Tensor y = one_hot(ids_of({2, 0}, {2}), 3, dtype);
    EXPECT_EQ(y.dtype(), dtype);
    expect_tensor(y, {2, 3}, {0, 0, 1, 1, 0, 0});
  }
  expect_tensor(one_hot(scalar(1, int64), 2), {2}, {0, 1});
  EXPECT_EQ(one_hot(zeros({2, 0}, int64), 0).shape(), (Shape{2, 0, 0}));
}

TEST(Indexing, Gradients) {
  Rng rng(4);
  const Tensor x = random_tensor({3, 4, 2}, rng);
  const auto squared = [](const Tensor& y) { return y * y; };
  for (int axis = 0; axis < 3; ++axis) {
    const Tensor ids = random_ids({2, 2}, rng, x.shape()[axis]);
    expect_derivatives([&](const Tensors& in) { return squared(take(in[0], ids, axis)); }, {x});
    expect_derivatives([&](const Tensors& in) { return squared(take(transpose(in[0]), ids, 0)); },
                       {random_tensor({3, 3, 4}, rng)});
    Shape shape{2, 3, 2};
    shape[axis] = 5;
    const Tensor places = random_ids(shape, rng, x.shape()[axis]);
    expect_derivatives([&](const Tensors& in) { return squared(gather(in[0], places, axis)); }, {x});
    expect_derivatives([&](const Tensors& in) { return squared(scatter_add(in[0], places, in[1], axis)); },
                       {x, random_tensor(shape, rng)});
  }
  const Tensor nothing = zeros({0}, int64);
  expect_derivatives([&](const Tensors& in) { return take(in[0], nothing); }, {x});
}

// Ids outside the table once read foreign memory (pytorch #12670, #15508). The message names place and value.
TEST(Indexing, RefusesIdsOutOfRange) {
  const Tensor table = zeros({5, 3});
  for (const Size bad : {Size{-1}, Size{5}, Size{1} << 31, INT64_MIN, INT64_MAX}) {
    const std::string text =
        "id " + std::to_string(bad) + " at position [1, 0] of ids [2, 2] is out of range for ";
    const Tensor ids = ids_of({0, 4, bad, bad}, {2, 2});
    EXPECT_THROWS_WITH(take(table, ids), ValueError, "take: " + text + "axis 0 of [5, 3]; expected 0 to 4");
    EXPECT_THROWS_WITH(gather(table, ids, 0), ValueError, "gather: " + text);
    EXPECT_THROWS_WITH(scatter_add(table, ids, zeros({2, 2}), 0), ValueError, "scatter_add: " + text);
    EXPECT_THROWS_WITH(one_hot(ids, 5), ValueError, "one_hot: " + text + "5 classes; expected 0 to 4");
    // The position counts in ids as they are, not as they lie in memory.
    EXPECT_THROWS_WITH(take(table, transpose(ids)), ValueError, "at position [0, 1]");
  }
  EXPECT_THROWS_WITH(take(zeros({0, 3}), scalar(0, int64)), ValueError,
                     "position [] of ids [] is out of range");
  EXPECT_THROWS_WITH(take(zeros({0, 3}), scalar(0, int64)), ValueError, "there is nothing to index");
  EXPECT_THROWS_WITH(one_hot(scalar(0, int64), -1), ValueError, "one_hot: expected a number of classes");
}

TEST(Indexing, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({3, 4});
  EXPECT_THROWS_WITH(take(x, zeros({2})), DTypeError, "take: ids must be int64, got float64 [2]");
  EXPECT_THROWS_WITH(one_hot(zeros({2}), 3), DTypeError, "one_hot: ids must be int64");
  EXPECT_THROWS_WITH(take(scalar(1), zeros({2}, int64)), ShapeError,
                     "take: axis 0 is out of range for rank 0");
  EXPECT_THROWS_WITH(take(zeros({1, 1, 1, 1, 1}), zeros({1, 1, 1, 1, 1}, int64)), ShapeError,
                     "more than 8 axes");
  EXPECT_THROWS_WITH(gather(x, zeros({3}, int64), 0), ShapeError, "gather: ids [3] do not fit x [3, 4]");
  EXPECT_THROWS_WITH(gather(x, zeros({2, 5}, int64), 0), ShapeError,
                     "no larger extent than x's but on axis 0");
  EXPECT_THROWS_WITH(scatter_add(x, zeros({2, 4}, int64), zeros({2, 3}), 0), ShapeError,
                     "must have the same shape");
  EXPECT_THROWS_WITH(scatter_add(x, zeros({2, 4}, int64), zeros({2, 4}, float32), 0), DTypeError,
                     "scatter_add: x is float64 but the updates are float32");
  EXPECT_THROWS_WITH(scatter_add(x.to(boolean), zeros({2, 4}, int64), zeros({2, 4}, boolean), 0), DTypeError,
                     "scatter_add: not defined for boolean");
}

}  // namespace
}  // namespace regard::test

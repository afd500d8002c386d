#include <limits>

#include <gtest/gtest.h>

#include "ops/twin.hpp"

namespace regard::test {
namespace {

constexpr DType all_dtypes[] = {float32, float64, int64, boolean};

Tensor counting(const Shape& shape, DType dtype = float64) {
  return reshape(arange(numel(shape), int64), shape).to(dtype);
}

TEST(Concatenate, PutsPartsOneAfterAnother) {
  for (const DType dtype : all_dtypes) {
    const Tensor a = counting({2, 1}, dtype), b = counting({2, 3}, dtype);
    const double many = dtype == boolean ? 1 : 5;
    const Tensor y = concatenate({a, b, zeros({2, 0}, dtype), a}, -1);
    EXPECT_EQ(y.dtype(), dtype);
    ASSERT_EQ(y.shape(), (Shape{2, 5}));
    EXPECT_EQ(y.at({1, 3}), many);
    EXPECT_EQ(y.at({1, 4}), 1);
    EXPECT_EQ(y.at({0, 4}), 0);
  }
  expect_tensor(concatenate({tensor({{1, 2}}), tensor({{3, 4}, {5, 6}})}), {3, 2}, {1, 2, 3, 4, 5, 6});
}

TEST(Concatenate, ReadsEveryLayout) {
  Rng rng(2);
  const Tensor a = random_tensor({2, 3, 2}, rng), b = random_tensor({2, 1, 2}, rng);
  const Tensor expected = concatenate({a, b}, 1);
  for (const Layout layout : all_layouts)
    EXPECT_SAME_BITS(concatenate({with_layout(a, layout), with_layout(b, layout)}, 1), expected);
}

TEST(Concatenate, RefusesWhatDoesNotFit) {
  const Tensor x = zeros({2, 3});
  EXPECT_THROWS_WITH(concatenate({}), ValueError, "concatenate: expected at least one tensor");
  EXPECT_THROWS_WITH(concatenate({x, zeros({2, 4})}), ShapeError,
                     "concatenate: part 0 is [2, 3] but part 1 is [2, 4]; all axes but axis 0 must agree");
  EXPECT_THROWS_WITH(concatenate({x, zeros({2})}), ShapeError, "part 1 is [2]");
  EXPECT_THROWS_WITH(concatenate({x, zeros({2, 3}, float32)}), DTypeError, "part 1 is float32");
  EXPECT_THROWS_WITH(concatenate({x}, 2), ShapeError, "concatenate: axis 2 is out of range for rank 2");
}

TEST(Stack, PutsPartsSideBySideAlongANewAxis) {
  const Tensor a = tensor({1, 2}), b = tensor({3, 4});
  expect_tensor(stack({a, b}), {2, 2}, {1, 2, 3, 4});
  expect_tensor(stack({a, b}, -1), {2, 2}, {1, 3, 2, 4});
  expect_tensor(stack({scalar(1), scalar(2)}), {2}, {1, 2});
  EXPECT_EQ(stack({zeros({0, 2})}, 1).shape(), (Shape{0, 1, 2}));
  EXPECT_THROWS_WITH(stack({}), ValueError, "stack: expected at least one tensor");
  EXPECT_THROWS_WITH(stack({a, zeros({3})}), ShapeError, "all shapes must agree");
  EXPECT_THROWS_WITH(stack({zeros(Sizes::filled(8, 1))}), ShapeError, "would make rank 9");
}

TEST(Triangles, KeepOneSideOfADiagonal) {
  for (const DType dtype : all_dtypes) {
    for (const Shape& shape : {Shape{3, 4}, Shape{4, 3}, Shape{2, 3, 3}, Shape{2, 0}, Shape{0, 2}}) {
      const Tensor x = counting(shape, dtype);
      for (const Size diagonal : {Size{-9}, Size{-1}, Size{0}, Size{2}, Size{9}, INT64_MAX, INT64_MIN}) {
        const std::vector<double> all = values_of(x);
        std::vector<double> above = all, below = all;
        for (Size place = 0; place < x.numel(); ++place) {
          const std::vector<Size> index = unravel(place, shape);
          const Size row = index[index.size() - 2], column = index.back();
          if (column - row < diagonal) above[static_cast<std::size_t>(place)] = 0;
          if (column - row > diagonal) below[static_cast<std::size_t>(place)] = 0;
        }
        for (const Layout layout : all_layouts) {
          EXPECT_SAME_BITS(triu(with_layout(x, layout), diagonal), from_values(above, shape, dtype));
          EXPECT_SAME_BITS(tril(with_layout(x, layout), diagonal), from_values(below, shape, dtype));
        }
      }
    }
  }
  EXPECT_THROWS_WITH(triu(zeros({3})), ShapeError, "triu: expected [.., rows, columns], got [3]");
  EXPECT_THROWS_WITH(tril(scalar(1)), ShapeError, "tril: expected [.., rows, columns], got []");
}

// What the triangle leaves out is not multiplied by zero: a NaN there is gone.
TEST(Triangles, DropNaN) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_tensor(tril(tensor({{1, nan}, {2, 3}})), {2, 2}, {1, 0, 2, 3});
}

TEST(Movement, Gradients) {
  Rng rng(3);
  const Tensor a = random_tensor({2, 3}, rng), b = random_tensor({2, 2}, rng), c = random_tensor({2, 3}, rng);
  const auto squared = [](const Tensor& y) { return y * y; };
  expect_derivatives([&](const Tensors& x) { return squared(concatenate({x[0], x[1], x[0]}, 1)); }, {a, b});
  expect_derivatives([&](const Tensors& x) { return squared(stack({x[0], x[1], x[0]}, 1)); }, {a, c});
  expect_derivatives([&](const Tensors& x) { return squared(triu(x[0], 1)) * tril(x[0], 1); }, {a});
}

// Six rules fit a row of rules; nine parts need the rule of the whole node.
TEST(Movement, GradientsOfManyParts) {
  Tensors parts;
  for (int i = 0; i < 9; ++i) parts.push_back(variable(scalar(i)));
  GradOptions options;
  options.seeds = {arange(9, float64)};
  const Tensors gradients = grad({stack(parts)}, parts, options);
  for (int i = 0; i < 9; ++i)
    expect_tensor(gradients[static_cast<std::size_t>(i)], {}, {static_cast<double>(i)});
}

TEST(Movement, ConstantsAmongPartsGetNoGradient) {
  const Tensor x = variable(tensor({1, 2}));
  GradOptions options;
  options.seeds = {tensor({1, 2, 3, 4})};
  expect_tensor(grad(concatenate({zeros({2}), x}), x, options), {2}, {3, 4});
}

}  // namespace
}  // namespace regard::test

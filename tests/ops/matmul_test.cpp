#include "ops/matmul.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <regard/blas.hpp>

#include "autograd/observer.hpp"
#include "autograd/op.hpp"
#include "ops/twin.hpp"

namespace regard::test {
namespace {

using detail::product;
using detail::Transpose;

constexpr DType floats[] = {float32, float64};

double tolerance(DType dtype) {
  return dtype == float32 ? 1e-5 : 1e-13;
}

// alpha·op(a)·op(b) by three loops over elements read one by one, leading axes stretched.
Tensor product_by_loops(const Tensor& a, const Tensor& b, bool ta = false, bool tb = false,
                        double alpha = 1) {
  const Tensor x = ta ? transpose(a) : a, y = tb ? transpose(b) : b;
  Shape batch_x = x.shape(), batch_y = y.shape();
  for (Shape* batch : {&batch_x, &batch_y})
    for (int i = 0; i < 2; ++i) batch->erase(batch->rank() - 1);
  const Shape batch = broadcast_shapes(batch_x, batch_y, "twin");
  const Size rows = x.size(-2), inner = x.size(-1), columns = y.size(-1);
  Shape shape = batch, full_x = batch, full_y = batch;
  for (const Size extent : {rows, columns}) shape.push_back(extent);
  for (const Size extent : {rows, inner}) full_x.push_back(extent);
  for (const Size extent : {inner, columns}) full_y.push_back(extent);
  const std::vector<double> p = values_of(stretched(x, full_x)), q = values_of(stretched(y, full_y));
  std::vector<double> out;
  for (Size matrix = 0; matrix < numel(batch); ++matrix)
    for (Size i = 0; i < rows; ++i)
      for (Size j = 0; j < columns; ++j) {
        double sum = 0;
        for (Size k = 0; k < inner; ++k)
          sum += p[static_cast<std::size_t>((matrix * rows + i) * inner + k)] *
                 q[static_cast<std::size_t>((matrix * inner + k) * columns + j)];
        out.push_back(alpha * sum);
      }
  return from_values(out, shape, a.dtype());
}

struct Shapes {
  Shape a, b;
};

// Small ones are computed by the plain loop, larger ones by BLAS.
const std::vector<Shapes> matrix_shapes = {
    {{3, 4}, {4, 2}},       {{1, 1}, {1, 1}},          {{1, 5}, {5, 1}},
    {{5, 1}, {1, 5}},       {{20, 17}, {17, 9}},       {{1, 40}, {40, 30}},
    {{40, 30}, {30, 1}},    {{40, 1}, {1, 30}},        {{2, 3, 4}, {2, 4, 5}},
    {{2, 3, 4}, {4, 5}},    {{3, 4}, {2, 4, 5}},       {{2, 1, 3, 4}, {5, 4, 2}},
    {{3, 10, 12}, {12, 9}}, {{2, 3, 10, 12}, {12, 9}}, {{2, 2, 10, 9}, {2, 1, 9, 8}},
    {{10, 12}, {3, 12, 9}}, {{4, 1, 20}, {20, 8}},     {{1, 9, 9}, {3, 9, 9}},
    {{0, 3}, {3, 2}},       {{2, 0}, {0, 3}},          {{2, 3}, {3, 0}},
    {{0, 2, 3}, {3, 4}},    {{2, 0, 3}, {2, 3, 4}},    {{2, 3, 0}, {0, 4}},
    {{0, 0}, {0, 0}}};

TEST(Matmul, EqualsThreeLoopsForEveryShapeLayoutAndTranspose) {
  Rng rng(5);
  for (const DType dtype : floats)
    for (const Shapes& shapes : matrix_shapes) {
      const Tensor a = random_tensor(shapes.a, rng, Domain::normal, dtype);
      const Tensor b = random_tensor(shapes.b, rng, Domain::normal, dtype);
      const Tensor expected = product_by_loops(a, b);
      for (const Layout layout_a : all_layouts)
        for (const Layout layout_b : all_layouts) {
          SCOPED_TRACE(testing::Message() << to_string(shapes.a) << layout_a << " x " << to_string(shapes.b)
                                          << layout_b << " " << name(dtype));
          const Tensor x = with_layout(a, layout_a), y = with_layout(b, layout_b);
          const double near = tolerance(dtype);
          EXPECT_TENSOR_NEAR(matmul(x, y), expected, near, near);
          const Tensor xt = with_layout(deep_copy(transpose(a)), layout_a);
          const Tensor yt = with_layout(deep_copy(transpose(b)), layout_b);
          EXPECT_TENSOR_NEAR(product(xt, y, Transpose::yes, Transpose::no), expected, near, near);
          EXPECT_TENSOR_NEAR(product(x, yt, Transpose::no, Transpose::yes), expected, near, near);
          EXPECT_TENSOR_NEAR(product(xt, yt, Transpose::yes, Transpose::yes), expected, near, near);
        }
    }
}

TEST(Matmul, ReadsStretchedOperands) {
  Rng rng(6);
  const Tensor row = random_tensor({1, 12}, rng), column = random_tensor({12, 1}, rng), one = scalar(2);
  for (const Shape& left : {Shape{10, 12}, Shape{3, 10, 12}})
    for (const Shape& right : {Shape{12, 9}, Shape{3, 12, 9}})
      for (const Tensor& a : {stretched(row, left), stretched(one, left)})
        for (const Tensor& b : {stretched(column, right), stretched(one, right)})
          EXPECT_TENSOR_NEAR(matmul(a, b), product_by_loops(a, b), 1e-13, 1e-13);
  // One row per matrix, two elements apart: neither the rows nor their fold are what BLAS can read.
  const Tensor spaced = slice(random_tensor({6, 1, 40}, rng), 2, {0, Slice::end, 2});
  const Tensor weight = random_tensor({20, 7}, rng);
  EXPECT_TENSOR_NEAR(matmul(spaced, weight), product_by_loops(spaced, weight), 1e-13, 1e-13);
}

TEST(Matmul, ScalesWithAlpha) {
  Rng rng(7);
  for (const Size n : {2, 30}) {
    const Tensor a = random_tensor({2, n, n}, rng), b = random_tensor({2, n, n}, rng);
    EXPECT_TENSOR_NEAR(product(a, b, Transpose::no, Transpose::yes, 0.3),
                       product_by_loops(a, b, false, true, 0.3), 1e-13, 1e-13);
  }
}

TEST(Matmul, TakesVectorsAsNumPyDoes) {
  const Tensor v = tensor({1, 2, 3}), m = tensor({{1, 0, 2}, {0, 1, 1}});
  expect_tensor(matmul(v, v), {}, {14});
  expect_tensor(matmul(m, v), {2}, {7, 5});
  expect_tensor(matmul(v, transpose(m)), {2}, {7, 5});
  expect_tensor(matmul(stack({m, m}), v), {2, 2}, {7, 5, 7, 5});
  EXPECT_EQ(matmul(v, zeros({4, 2, 3, 5})).shape(), (Shape{4, 2, 5}));
  expect_tensor(matmul(zeros({0}), zeros({0})), {}, {0});
}

// x·xᵀ of different lengths from one buffer: a shortcut by address gave a square matrix (xtensor-blas' dot).
TEST(Matmul, OfOneBufferWithItself) {
  const Tensor x = tensor({{1, 2}, {3, 4}, {5, 6}});
  expect_tensor(matmul(x, slice(transpose(x), 1, {0, 2})), {3, 2}, {5, 11, 11, 25, 17, 39});
}

// NumPy: NaN times 0 is NaN, and what one row holds stays in that row.
TEST(Matmul, NaNStaysInItsRow) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const Size n : {2, 40}) {
    Tensor a = ones({n, n});
    a = masked_fill(a, equal(arange(n), scalar(0, int64)), 0.0);  // column 0 is 0
    const Tensor b =
        masked_fill(ones({n, n}), logical_not(greater(reshape(arange(n), {n, 1}), scalar(0, int64))), nan);
    const Tensor y = matmul(b, a);  // only row 0 of b is NaN
    EXPECT_TRUE(std::isnan(y.at({0, 1})));
    EXPECT_EQ(y.at({1, 1}), static_cast<double>(n));
    EXPECT_TRUE(std::isnan(matmul(a, b).at({0, 0})));
  }
}

TEST(Matmul, IsTheSameEveryTime) {
  Rng rng(8);
  const Tensor a = random_tensor({4, 33, 70}, rng), b = random_tensor({70, 65}, rng);
  const Tensor first = matmul(a, b);
  for (int i = 0; i < 5; ++i) EXPECT_SAME_BITS(matmul(a, b), first);
}

TEST(Matmul, Gradients) {
  Rng rng(9);
  const auto check = [&](const Shape& left, const Shape& right, bool ta, bool tb, double alpha) {
    SCOPED_TRACE(testing::Message() << to_string(left) << ta << " x " << to_string(right) << tb);
    const auto flag = [](bool transposed) { return transposed ? Transpose::yes : Transpose::no; };
    expect_derivatives([&](const Tensors& x) { return product(x[0], x[1], flag(ta), flag(tb), alpha); },
                       {random_tensor(left, rng), random_tensor(right, rng)});
  };
  for (const double alpha : {1.0, -0.7}) {
    check({2, 3}, {3, 4}, false, false, alpha);
    check({3, 2}, {3, 4}, true, false, alpha);
    check({2, 3}, {4, 3}, false, true, alpha);
    check({3, 2}, {4, 3}, true, true, alpha);
  }
  for (const bool ta : {false, true})
    for (const bool tb : {false, true}) {
      check({2, 2, 2}, {2, 2}, ta, tb, 1);
      check({2, 2}, {3, 2, 2}, ta, tb, 1);
      check({2, 1, 2, 2}, {3, 2, 2}, ta, tb, 1);
      check({2, 3, 2, 2}, {2, 1, 2, 2}, ta, tb, 1);
      check({3, 2, 2}, {1, 1, 2, 2}, ta, tb, 1);
      check({1, 2, 2}, {3, 1, 2, 2}, ta, tb, 1);
    }
}

// Names what runs.
struct Names : detail::Observer {
  void before(const detail::Run& run) override { names.emplace_back(run.name); }
  std::vector<std::string> names;
};

// No transpose is copied, and a weight that meets a batch gets its gradient from one product.
TEST(Matmul, TheBackwardIsTwoProductsAndNothingElse) {
  const std::vector<std::string> two_products = {"matmul", "matmul"};
  for (const bool ta : {false, true})
    for (const bool tb : {false, true})
      for (const bool batched : {false, true}) {
        if (batched && ta) continue;
        Shape left = ta ? Shape{4, 3} : Shape{3, 4};
        if (batched) left = {2, 5, 3, 4};
        const Tensor a = variable(ones(left)), b = variable(ones(tb ? Shape{6, 4} : Shape{4, 6}));
        const auto flag = [](bool transposed) { return transposed ? Transpose::yes : Transpose::no; };
        const Tensor y = product(a, b, flag(ta), flag(tb));
        GradOptions options;
        options.seeds = {ones(y.shape())};
        const Names ran;
        (void)grad(Tensors{y}, Tensors{a, b}, options);
        EXPECT_EQ(ran.names, two_products) << ta << tb << batched;
      }
}

// The second and third product are added to what the first gave, unless somebody watches.
TEST(Matmul, AGradientThatIsAddedInPlaceHasTheBitsOfAnAddition) {
  for (const DType dtype : {float32, float64})
    for (const auto& [rows, inner, columns] :
         {std::array<Size, 3>{5, 3, 7}, {20, 32, 32}, {3, 200, 256}, {70, 90, 257}, {130, 150, 256}}) {
      Rng rng(3);
      const auto draw = [&, dtype = dtype](const Shape& shape) { return normal(shape, rng, 0, 1, dtype); };
      const Tensor x = variable(draw({2, rows, inner}));
      const Tensors weights = {draw({inner, columns}), transpose(draw({columns, inner})), draw({inner, columns})};
      const auto gradient = [&] {
        Tensor y = matmul(x, weights[0]);
        for (const std::size_t i : {1u, 2u}) y = y + square(matmul(x, weights[i]));
        return grad(sum(y), x);
      };
      const Tensor alone = gradient();
      const Names watching;
      EXPECT_SAME_BITS(gradient(), alone) << rows << " " << inner << " " << columns;
    }
}

TEST(Matmul, GradientsOfVectorsAndOfOneTensorTwice) {
  Rng rng(10);
  const Tensor v = random_tensor({3}, rng), w = random_tensor({3}, rng), m = random_tensor({3, 3}, rng);
  const auto f = [](const Tensors& x) { return matmul(x[0], x[1]); };
  expect_derivatives(f, {v, w});
  expect_derivatives(f, {m, v});
  expect_derivatives(f, {v, m});
  expect_derivatives(f, {random_tensor({2, 2, 3}, rng), v});
  expect_derivatives([](const Tensors& x) { return matmul(x[0], transpose(x[0])); }, {m});
  expect_derivatives([](const Tensors& x) { return matmul(slice(x[0], 0, Slice::reversed()), x[0]); }, {m});
}

TEST(Matmul, RefusesWhatDoesNotFit) {
  EXPECT_THROWS_WITH(
      matmul(zeros({2, 5, 8}), zeros({4, 8})), ShapeError,
      "matmul: expected [.., n, k] x [.., k, m], got [2, 5, 8] x [4, 8]: inner axes 8 and 4 differ");
  EXPECT_THROWS_WITH(matmul(zeros({3}), zeros({2})), ShapeError, "got [3] x [2]: inner axes 3 and 2 differ");
  EXPECT_THROWS_WITH(matmul(scalar(1), zeros({2})), ShapeError, "a single number is no matrix");
  EXPECT_THROWS_WITH(matmul(zeros({2, 3, 4}), zeros({3, 4, 5})), ShapeError,
                     "matmul: the leading axes of [2, 3, 4] and [3, 4, 5] do not broadcast");
  EXPECT_THROWS_WITH(matmul(zeros({2, 2}), zeros({2, 2}, float32)), DTypeError,
                     "matmul: dtypes float64 [2, 2]");
  EXPECT_THROWS_WITH(matmul(zeros({2, 2}, int64), zeros({2, 2}, int64)), DTypeError,
                     "expected float32 or float64");
  EXPECT_THROWS_WITH(matmul(Tensor(), zeros({2, 2})), GraphError, "empty");
  EXPECT_THROWS_WITH(product(zeros({2, 3}), zeros({2, 4}), Transpose::yes, Transpose::yes), ShapeError,
                     "[2, 3]ᵀ x [2, 4]ᵀ: inner axes 2 and 4 differ");
  // 2^32 columns, of one number stretched: more than BLAS counts.
  const Tensor wide = stretched(scalar(1), {1, Size{1} << 32});
  EXPECT_THROWS_WITH(matmul(zeros({0, 1}), wide), ShapeError, "does not fit the 32 bits");
}

TEST(Blas, TellsWhatItIsAndTakesAThreadCount) {
  EXPECT_NE(blas_description().find("BLAS"), std::string::npos);
  const int before = blas_threads();
  set_blas_threads(1);
  EXPECT_EQ(blas_threads(), 1);
  set_blas_threads(before);
  EXPECT_THROWS_WITH(set_blas_threads(0), ValueError, "set_blas_threads: expected at least 1, got 0");
}

}  // namespace
}  // namespace regard::test

// Small matrix products on every instruction set against three loops: every remainder of every tile,
// transposed and strided operands, and the choice between our own loop and BLAS.
#include <algorithm>

#include "kernels/every_set.hpp"
#include "kernels/small_product.hpp"

namespace regard::test {
namespace {

/// An operand whose element (i, j) lies at i·row + j·column; what lies between is NaN.
template <class T>
struct Operand {
  Size row, column;
  std::vector<T> numbers;

  Operand(Size rows, Size columns, Size its_row, Size its_column, unsigned seed)
      : row(its_row),
        column(its_column),
        numbers(static_cast<std::size_t>((rows - 1) * row + (columns - 1) * column + 1), nan_of<T>) {
    const std::vector<T> values = random_numbers<T>(rows * columns, -1, 1, seed);
    for (Size i = 0; i < rows * columns; ++i)
      (*this)(i / columns, i % columns) = values[static_cast<std::size_t>(i)];
  }
  T& operator()(Size i, Size j) { return numbers[static_cast<std::size_t>(i * row + j * column)]; }
};

enum class Layout { rows, columns, wide_rows, wide_columns, apart };

template <class T>
Operand<T> operand(Size rows, Size columns, Layout layout, unsigned seed) {
  switch (layout) {
    case Layout::rows:
      return {rows, columns, columns, 1, seed};
    case Layout::columns:
      return {rows, columns, 1, rows, seed};
    case Layout::wide_rows:
      return {rows, columns, columns + 3, 1, seed};
    case Layout::wide_columns:
      return {rows, columns, 1, rows + 5, seed};
    case Layout::apart:
      return {rows, columns, 2 * columns + 1, 2, seed};
  }
  throw std::logic_error("no such layout");
}

template <class T>
std::vector<T> product_of(const kernels::Rows<T>& rows, Operand<T>& a, Operand<T>& b, Size m, Size n, Size k,
                          T alpha) {
  Guarded<T> c(m * n);
  rows.small_product(
      {m, n, k, alpha, a.numbers.data(), a.row, a.column, b.numbers.data(), b.row, b.column, c.data()});
  EXPECT_TRUE(c.is_intact()) << "writes beyond " << m << " x " << n;
  return c.values();
}

template <class T>
void expect_product(const kernels::Rows<T>& rows, Size m, Size n, Size k, Layout left, Layout right) {
  Operand<T> a = operand<T>(m, k, left, 1), b = operand<T>(k, n, right, 2);
  const T alpha = T(0.75);
  const std::vector<T> c = product_of(rows, a, b, m, n, k, alpha);
  for (Size i = 0; i < m; ++i) {
    for (Size j = 0; j < n; ++j) {
      long double sum = 0, magnitude = 0;
      for (Size p = 0; p < k; ++p) {
        const long double term = static_cast<long double>(alpha) * a(i, p) * b(p, j);
        sum += term;
        magnitude += std::abs(term);
      }
      const T got = c[static_cast<std::size_t>(i * n + j)];
      ASSERT_LE(std::abs(got - sum),
                static_cast<long double>(k + 2) * std::numeric_limits<T>::epsilon() * magnitude)
          << m << " x " << n << " x " << k << ", layouts " << static_cast<int>(left) << " and "
          << static_cast<int>(right) << ", at " << i << ", " << j << ": " << got << ", should be " << sum;
    }
  }
}

constexpr Layout layouts[] = {Layout::rows, Layout::columns, Layout::wide_rows, Layout::wide_columns,
                              Layout::apart};

TEST(SmallProduct, AgreesWithThreeLoops) {
  on_every_set([](const auto& rows) {
    for (const Layout left : layouts)
      for (const Layout right : layouts) {
        for (Size m = 1; m <= 17; ++m)
          for (const Size n : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 50})
            expect_product(rows, m, n, 5, left, right);
        for (const Size k : {1, 2, 29, 40}) expect_product(rows, 13, 11, k, left, right);
        expect_product(rows, 40, 51, 40, left, right);  // all that there is room for where that is little
        expect_product(rows, 7, 99, 103, left, right);  // and where it is more
      }
  });
}

// So a row of scores is the same whoever else is in the batch.
TEST(SmallProduct, OfARowIsTheSameInAnyCompany) {
  on_every_set([](const auto& rows) {
    using T = typename std::decay_t<decltype(rows)>::Number;
    Operand<T> a = operand<T>(19, 12, Layout::rows, 1), b = operand<T>(12, 37, Layout::columns, 2);
    const std::vector<T> together = product_of<T>(rows, a, b, 19, 37, 12, 1);
    for (Size i = 0; i < 19; ++i) {
      T alone[37];
      rows.small_product({1, 37, 12, 1, &a(i, 0), a.row, a.column, b.numbers.data(), b.row, b.column, alone});
      for (Size j = 0; j < 37; ++j)
        ASSERT_TRUE(same_bits(alone[j], together[static_cast<std::size_t>(i * 37 + j)])) << i << ", " << j;
    }
  });
}

TEST(SmallProduct, NaNReachesItsOwnRowOnly) {
  on_every_set([](const auto& rows) {
    using T = typename std::decay_t<decltype(rows)>::Number;
    Operand<T> a = operand<T>(9, 6, Layout::rows, 1), b = operand<T>(6, 21, Layout::rows, 2);
    a(4, 2) = nan_of<T>;
    const std::vector<T> c = product_of<T>(rows, a, b, 9, 21, 6, 1);
    for (Size i = 0; i < 9; ++i)
      for (Size j = 0; j < 21; ++j) ASSERT_EQ(std::isnan(c[static_cast<std::size_t>(i * 21 + j)]), i == 4);
  });
}

TEST(SmallProduct, LimitsAreOfTheSetAndOfTheBlas) {
  EXPECT_GT(kernels::small_product_limits("avx2", "Haswell").plain,
            kernels::small_product_limits("avx2", "SkylakeX").plain);
  EXPECT_GT(kernels::small_product_limits("avx512", "Zen").plain,
            kernels::small_product_limits("baseline", "Zen").plain);
  EXPECT_GT(kernels::small_product_limits("avx512", "").thin, 0);
}

TEST(SmallProduct, WhatHasNoRoomGoesToBlas) {
  const Size k = 8, n = kernels::small_product_limits().room / k;
  EXPECT_LE(n * k, kernels::small_product_room);
  kernels::SmallProduct<float> at{8, n, k, 1, nullptr, k, 1, nullptr, n, 1, nullptr};
  const Size most =
      std::max(kernels::small_product_limits().plain, kernels::small_product_limits().turned_twice);
  EXPECT_EQ(kernels::is_small(at), 8 * n * k <= kernels::small_product_limits().plain);
  std::swap(at.b_row, at.b_column);
  EXPECT_EQ(kernels::is_small(at), 8 * n * k <= kernels::small_product_limits().turned_twice);
  at.n += 1;  // more than can be turned
  EXPECT_FALSE(kernels::is_small(at));
  std::swap(at.b_row, at.b_column);
  at.n = at.k = 64;
  at.m = most / (64 * 64) + 4;
  EXPECT_FALSE(kernels::is_small(at));
  at.n = at.k = at.m = Size{1} << 31;
  EXPECT_FALSE(kernels::is_small(at));
}

TEST(SmallProduct, OfABatchIsEachAlone) {
  on_every_set([](const auto& rows) {
    using T = typename std::decay_t<decltype(rows)>::Number;
    constexpr Size m = 5, n = 6, k = 7, count = 3;
    const std::vector<T> a = random_numbers<T>(count * m * k), shared = random_numbers<T>(k * n, -1, 1, 2);
    for (const bool turned : {false, true}) {
      std::vector<T> together(static_cast<std::size_t>(count * (m * n + 1)), T{-77}), alone(m * n);
      kernels::SmallProduct<T> at{
          m, n, k, 1, a.data(), k, 1, shared.data(), turned ? 1 : n, turned ? k : 1, together.data()};
      at.count = count, at.next_a = m * k, at.next_b = 0, at.next_c = m * n + 1;
      rows.small_product(at);
      at.count = 1, at.c = alone.data();
      for (Size i = 0; i < count; ++i) {
        at.a = a.data() + i * m * k;
        rows.small_product(at);
        const auto from = together.begin() + static_cast<std::ptrdiff_t>(i * at.next_c);
        EXPECT_TRUE(std::equal(alone.begin(), alone.end(), from)) << i;
        EXPECT_EQ(from[m * n], T{-77});
      }
    }
  });
}

}  // namespace
}  // namespace regard::test

// Products in blocks against three loops: edges, transposes, rows far apart, what is added to C, any number
// of threads.
#include "kernels/large_product.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "kernels/every_set.hpp"
#include "support/threads.hpp"

namespace regard::test {
namespace {

struct Shape3 {
  Size m, n, k;
};
// Around the blocks' sizes, and through several of them.
const Shape3 shapes[] = {{8, 32, 8},     {1, 1, 1},      {64, 256, 256}, {65, 257, 257},
                         {63, 129, 511}, {130, 33, 600}, {9, 520, 40}};

template <class T>
class LargeProduct : public testing::Test {};
using Floats = testing::Types<float, double>;
TYPED_TEST_SUITE(LargeProduct, Floats);

/// A matrix rows x columns, stored as it is or turned, each line followed by `gap` numbers that are none of
/// its own.
template <class T>
struct Operand {
  std::vector<T> numbers;
  Size row, column;

  Operand(Size rows, Size columns, bool turned, Size gap, unsigned seed) {
    const Size lines = turned ? columns : rows, length = (turned ? rows : columns) + gap;
    numbers = random_numbers<T>(lines * length, T{-1}, T{1}, seed);
    row = turned ? 1 : length;
    column = turned ? length : 1;
  }
  T at(Size i, Size j) const { return numbers[static_cast<std::size_t>(i * row + j * column)]; }
};

template <class T>
void check(const Shape3& s, bool turned_a, bool turned_b, Size gap, bool adds) {
  SCOPED_TRACE(std::to_string(s.m) + " x " + std::to_string(s.n) + " x " + std::to_string(s.k) +
               (turned_a ? " T" : " N") + (turned_b ? "T" : "N") + (adds ? ", added" : "") + ", gap " +
               std::to_string(gap));
  const Operand<T> a(s.m, s.k, turned_a, gap, 1), b(s.k, s.n, turned_b, gap, 2);
  std::vector<T> start = random_numbers<T>(s.m * s.n, T{-1}, T{1}, 3);
  if (!adds) std::fill(start.begin(), start.end(), nan_of<T>);  // what is there must not be read
  const auto product = [&](int threads) {
    const WithThreads with(threads);
    Guarded<T> c(start);
    kernels::SmallProduct<T> at{
        s.m,   s.n,      s.k,     T{0.5}, a.numbers.data(), a.row, a.column, b.numbers.data(),
        b.row, b.column, c.data()};
    at.adds = adds;
    kernels::large_product(at);
    EXPECT_TRUE(c.is_intact());
    return c.values();
  };
  const std::vector<T> one = product(1);
  for (Size i = 0; i < s.m; ++i)
    for (Size j = 0; j < s.n; ++j) {
      const auto place = static_cast<std::size_t>(i * s.n + j);
      double sum = 0;
      for (Size p = 0; p < s.k; ++p) sum += static_cast<double>(a.at(i, p)) * static_cast<double>(b.at(p, j));
      const double right = sum / 2 + (adds ? static_cast<double>(start[place]) : 0);
      ASSERT_NEAR(static_cast<double>(one[place]), right,
                  4 * std::numeric_limits<T>::epsilon() * static_cast<double>(s.k + 1))
          << "element " << i << ", " << j;
    }
  for (const int threads : {2, 3}) EXPECT_EQ(product(threads), one) << threads << " threads";
}

TYPED_TEST(LargeProduct, EqualsThreeLoops) {
  const SmallBlocks small(6);
  for (const Shape3& s : shapes)
    for (const bool turned_a : {false, true})
      for (const bool turned_b : {false, true})
        for (const Size gap : {0, 3, 700})  // the last: so far apart that the operand is packed
          for (const bool adds : {false, true}) check<TypeParam>(s, turned_a, turned_b, gap, adds);
}

// However rows and columns are cut, and whoever is in the batch.
TYPED_TEST(LargeProduct, AnElementDependsOnItsRowAndColumnAlone) {
  using T = TypeParam;
  const Size m = 150, n = 300, k = 300, row = 77, column = 270;
  const Operand<T> a(m, k, false, 0, 1), b(k, n, false, 0, 2);
  std::vector<T> all(static_cast<std::size_t>(m * n)),
      part(static_cast<std::size_t>((m - row) * (n - column)));
  kernels::large_product(kernels::SmallProduct<T>{m, n, k, T{1}, a.numbers.data(), a.row, a.column,
                                                  b.numbers.data(), b.row, b.column, all.data()});
  kernels::large_product(kernels::SmallProduct<T>{m - row, n - column, k, T{1},
                                                  a.numbers.data() + row * a.row, a.row, a.column,
                                                  b.numbers.data() + column, b.row, b.column, part.data()});
  for (Size i = row; i < m; ++i)
    for (Size j = column; j < n; ++j)
      ASSERT_EQ(all[static_cast<std::size_t>(i * n + j)],
                part[static_cast<std::size_t>((i - row) * (n - column) + j - column)]);
}

}  // namespace
}  // namespace regard::test

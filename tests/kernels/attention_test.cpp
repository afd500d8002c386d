// Blocks of attention on every instruction set against plain loops: products in a band, softmax and its
// gradient row by row, and what lies beside the band.
#include <algorithm>
#include <memory>

#include "kernels/every_set.hpp"

namespace regard::test {
namespace {

using kernels::Band;

template <class Rows>
using NumberOf = typename std::decay_t<Rows>::Number;

/// Numbers in rows, `step` apart; what lies between is NaN.
template <class T>
struct Grid {
  Size rows, columns, step;
  std::vector<T> numbers;

  Grid(Size its_rows, Size its_columns, Size its_step, unsigned seed)
      : rows(its_rows),
        columns(its_columns),
        step(its_step),
        numbers(static_cast<std::size_t>(rows * step), nan_of<T>) {
    const std::vector<T> values = random_numbers<T>(rows * columns, -1, 1, seed);
    for (Size i = 0; i < rows * columns; ++i)
      (*this)(i / columns, i % columns) = values[static_cast<std::size_t>(i)];
  }
  T& operator()(Size i, Size j) { return numbers[static_cast<std::size_t>(i * step + j)]; }
  T* data() { return numbers.data(); }
};

bool within(const Band& band, Size i, Size j) {
  return band.low <= j - i && j - i <= band.high;
}

/// All, causal, windows, bands that miss the block or end in it.
std::vector<Band> bands(Size rows, Size columns) {
  return {{-rows, columns}, {-rows, 0}, {-rows, 5},     {0, columns}, {-3, 2}, {-40, -20},
          {4, 9},           {20, 30},   {-1000, -rows}, {2, 1},       {-7, -9}};
}

const std::vector<std::pair<Size, Size>> block_sizes = {{1, 1},   {5, 5},   {12, 12}, {3, 40},  {17, 33},
                                                        {40, 17}, {64, 70}, {31, 64}, {10, 100}};

/// Room behind a row for what a vector or a tile may reach.
Size room_of(Size columns) {
  return (columns + 15) / 16 * 16 + 16;
}

TEST(BandScores, AreThoseOfThreeLoopsInTheBand) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    for (const auto& [m, n] : block_sizes) {
      for (const Size k : {0, 1, 7, 32}) {
        for (const Band& band : bands(m, n)) {
          Grid<T> a(m, k, k + 3, 1), b(k, n, n + 2, 2);
          Guarded<T> c(m * room_of(n));
          rows.band_scores(
              {m, n, k, T(0.5), a.data(), a.step, 1, b.data(), b.step, c.data(), room_of(n), band});
          ASSERT_TRUE(c.is_intact());
          for (Size i = 0; i < m; ++i) {
            for (Size j = 0; j < n; ++j) {
              if (!within(band, i, j)) continue;
              long double sum = 0;
              for (Size p = 0; p < k; ++p) sum += static_cast<long double>(a(i, p)) * b(p, j);
              ASSERT_NEAR(c.data()[i * room_of(n) + j], static_cast<double>(sum / 2),
                          10 * std::numeric_limits<T>::epsilon() * static_cast<double>(k + 1))
                  << m << " x " << n << " x " << k << " in " << band.low << ".." << band.high << " at " << i
                  << ", " << j;
            }
          }
        }
      }
    }
  });
}

/// A block of weights: 0 beside the band as far as a tile reaches, NaN beyond.
template <class T>
Grid<T> weights(Size rows, Size columns, const Band& band) {
  Grid<T> a(rows, columns, room_of(columns), 3);
  for (Size i = 0; i < rows; ++i)
    for (Size j = 0; j < columns; ++j) {
      if (within(band, i, j)) continue;
      const bool near = within({band.low - kernels::most_tile_rows, band.low - 1}, i, j) ||
                        within({band.high + 1, band.high + kernels::most_tile_rows}, i, j);
      a(i, j) = near ? T{0} : nan_of<T>;
    }
  return a;
}

TEST(BandMix, AddsWhatThreeLoopsDoPlainAndTurned) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    for (const auto& [m, n] : block_sizes) {
      for (const Size width : {1, 8, 15, 32, 50}) {
        for (const Band& band : bands(m, n)) {
          for (const bool turned : {false, true}) {
            Grid<T> a = weights<T>(m, n, band);
            const Size outer = turned ? n : m, inner = turned ? m : n;
            Grid<T> b(inner, width, width + 1, 4), c(outer, width, width, 5);
            Guarded<T> got(c.numbers);
            rows.band_mix({outer, width, inner, T(-1.5), a.data(), turned ? 1 : a.step, turned ? a.step : 1,
                           b.data(), b.step, got.data(), width, turned ? Band{-band.high, -band.low} : band});
            ASSERT_TRUE(got.is_intact());
            for (Size i = 0; i < outer; ++i) {
              for (Size j = 0; j < width; ++j) {
                long double sum = 0;
                for (Size p = 0; p < inner; ++p) {
                  const Size row = turned ? p : i, column = turned ? i : p;
                  if (within(band, row, column)) sum += static_cast<long double>(a(row, column)) * b(p, j);
                }
                ASSERT_NEAR(got.data()[i * width + j], static_cast<double>(c(i, j) - 1.5L * sum),
                            10 * std::numeric_limits<T>::epsilon() * static_cast<double>(inner + 1))
                    << m << " x " << n << (turned ? " turned" : "") << " in " << band.low << ".." << band.high
                    << " at " << i << ", " << j;
              }
            }
          }
        }
      }
    }
  });
}

// So what is in a row does not depend on who else is in the block.
TEST(BandProducts, OfARowAreTheSameInAnyCompany) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    const Size m = 23, n = 37, k = 12, room = room_of(n);
    const Band causal{-m, 14};
    Grid<T> q(m, k, k, 1), keys(k, n, n, 2), values(n, k, k, 3), p = weights<T>(m, n, causal);
    std::vector<T> scores(static_cast<std::size_t>(m * room)), mixes(static_cast<std::size_t>(m * k), T{0});
    rows.band_scores({m, n, k, 1, q.data(), k, 1, keys.data(), n, scores.data(), room, causal});
    rows.band_mix({m, k, n, 1, p.data(), room, 1, values.data(), k, mixes.data(), k, causal});
    for (Size i = 0; i < m; ++i) {
      std::vector<T> score(static_cast<std::size_t>(room)), mixed(static_cast<std::size_t>(k), T{0});
      const Band own{causal.low + i, causal.high + i};
      rows.band_scores({1, n, k, 1, &q(i, 0), k, 1, keys.data(), n, score.data(), room, own});
      rows.band_mix({1, k, n, 1, &p(i, 0), room, 1, values.data(), k, mixed.data(), k, own});
      for (Size j = 0; j < std::min(n, i + causal.high + 1); ++j)
        ASSERT_TRUE(
            same_bits(score[static_cast<std::size_t>(j)], scores[static_cast<std::size_t>(i * room + j)]));
      for (Size j = 0; j < k; ++j)
        ASSERT_TRUE(
            same_bits(mixed[static_cast<std::size_t>(j)], mixes[static_cast<std::size_t>(i * k + j)]));
    }
  });
}

TEST(Turn, PutsRowsForColumns) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    for (Size m = 1; m <= 10; ++m) {
      for (Size n = 1; n <= 10; ++n) {
        Grid<T> x(m, n, n + 2, 6);
        Guarded<T> y(n * (m + 1) - 1);
        rows.turn(m, n, x.data(), x.step, y.data(), m + 1);
        ASSERT_TRUE(y.is_intact());
        for (Size i = 0; i < m; ++i)
          for (Size j = 0; j < n; ++j) ASSERT_EQ(y.data()[j * (m + 1) + i], x(i, j)) << m << " x " << n;
      }
    }
  });
}

TEST(ScaleRows, MultipliesEachRowByItsFactor) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    Grid<T> x(5, 19, 21, 7), factors(5, 1, 2, 8);
    Grid<T> y = x;
    rows.scale_rows(5, 19, y.data(), y.step, factors.data(), factors.step);
    for (Size i = 0; i < 5; ++i)
      for (Size j = 0; j < 21; ++j)
        ASSERT_TRUE(same_bits(y(i, j), j < 19 ? x(i, j) * factors(i, 0) : nan_of<T>));
  });
}

TEST(AllFinite, FindsEachThatIsNot) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    Grid<T> x(3, 19, 20, 9);
    x(0, 0) = std::numeric_limits<T>::max();
    x(1, 1) = std::numeric_limits<T>::denorm_min();
    EXPECT_TRUE(rows.all_finite(3, 19, x.data(), x.step));
    EXPECT_TRUE(rows.all_finite(0, 19, x.data(), x.step));
    for (Size i = 0; i < 3; ++i) {
      for (Size j = 0; j < 19; ++j) {
        for (const T bad : {nan_of<T>, infinity<T>, -infinity<T>}) {
          Grid<T> y = x;
          y(i, j) = bad;
          ASSERT_FALSE(rows.all_finite(3, 19, y.data(), y.step)) << i << ", " << j << ": " << bad;
        }
      }
    }
  });
}

// ---- softmax of blocks ----------------------------------------------------------------------------------

/// Whose true elements lie as scores do.
struct Keep {
  Keep(Size rows, Size step) : numbers(new bool[static_cast<std::size_t>(rows * step)]), step_(step) {
    std::mt19937 engine(10);
    for (Size i = 0; i < rows * step; ++i) numbers[static_cast<std::size_t>(i)] = engine() % 3 != 0;
  }
  bool operator()(Size i, Size j) const { return numbers[static_cast<std::size_t>(i * step_ + j)]; }
  std::unique_ptr<bool[]> numbers;

 private:
  Size step_;
};

/// f(rows, m, n, band, keep or null) for every set, size, band, with and without a table.
template <class F>
void on_every_block(F f) {
  on_every_set([&](const auto& rows) {
    for (const auto& [m, n] : block_sizes) {
      const Keep keep(m, room_of(n));
      for (const Band& band : bands(m, n)) {
        SCOPED_TRACE(std::to_string(m) + " x " + std::to_string(n) + " in " + std::to_string(band.low) +
                     ".." + std::to_string(band.high));
        f(rows, m, n, band, static_cast<const Keep*>(nullptr));
        f(rows, m, n, band, &keep);
      }
    }
  });
}

/// Is (i, j) hidden, and so near to the band that it must be 0?
bool must_be_zero(const Band& band, Size i, Size j) {
  return within({band.low - kernels::most_tile_rows + 1, band.high + kernels::most_tile_rows - 1}, i, j);
}

// The first half of the keys, then the rest, as one softmax.
TEST(OnlineSoftmax, IsTheSoftmaxOfAllBlocks) {
  on_every_block([](const auto& rows, Size m, Size n, const Band& band, const Keep* keep) {
    using T = NumberOf<decltype(rows)>;
    const Size room = room_of(n);
    Grid<T> first(m, n, room, 11), second(m, n, room, 12);
    Grid<T> p = first, q = second;
    const auto size = static_cast<std::size_t>(m);
    std::vector<T> largest(size, -infinity<T>), corrections(size);
    std::vector<double> total(size, 0.0);
    const bool* const kept = keep ? keep->numbers.get() : nullptr;
    EXPECT_FALSE(rows.online_softmax({m, n, room, p.data(), band, kept, false}, largest.data(), total.data(),
                                     corrections.data()));
    const bool corrects = rows.online_softmax({m, n, room, q.data(), band, kept, false}, largest.data(),
                                              total.data(), corrections.data());
    EXPECT_EQ(corrects, std::any_of(corrections.begin(), corrections.end(), [](T c) { return c != 1; }));
    const double near = 20 * std::numeric_limits<T>::epsilon();
    for (Size i = 0; i < m; ++i) {
      const auto row = static_cast<std::size_t>(i);
      const auto sees = [&](Size j) { return within(band, i, j) && (!keep || (*keep)(i, j)); };
      T most = -infinity<T>;
      for (Size j = 0; j < n; ++j)
        if (sees(j)) most = std::max({most, first(i, j), second(i, j)});
      ASSERT_EQ(largest[row], most);
      double sum = 0;
      for (Size j = 0; j < n; ++j) {
        const double one = sees(j) ? std::exp(static_cast<double>(first(i, j) - most)) : 0,
                     other = sees(j) ? std::exp(static_cast<double>(second(i, j) - most)) : 0;
        sum += one + other;
        if (!sees(j) && !must_be_zero(band, i, j)) continue;
        ASSERT_NEAR(p(i, j) * corrections[row], one, near);
        ASSERT_NEAR(q(i, j), other, near);
      }
      ASSERT_NEAR(total[row] / kernels::raised_by, sum, near * (1 + sum));
    }
  });
}

TEST(OnlineSoftmax, DividesWholeRowsByTheirTotal) {
  on_every_block([](const auto& rows, Size m, Size n, const Band& band, const Keep* keep) {
    using T = NumberOf<decltype(rows)>;
    const Size room = room_of(n);
    Grid<T> s(m, n, room, 13), p = s;
    std::vector<T> largest(static_cast<std::size_t>(m), -infinity<T>),
        corrections(static_cast<std::size_t>(m));
    std::vector<double> total(static_cast<std::size_t>(m), 0.0);
    EXPECT_FALSE(rows.online_softmax({m, n, room, p.data(), band, keep ? keep->numbers.get() : nullptr, true},
                                     largest.data(), total.data(), corrections.data()));
    for (Size i = 0; i < m; ++i) {
      double sum = 0;
      const auto e = [&](Size j) {
        return within(band, i, j) && (!keep || (*keep)(i, j)) ? std::exp(static_cast<double>(s(i, j))) : 0.0;
      };
      for (Size j = 0; j < n; ++j) sum += e(j);
      for (Size j = 0; j < n; ++j) {
        if (!must_be_zero(band, i, j)) continue;
        ASSERT_NEAR(p(i, j), sum == 0 ? 0 : e(j) / sum, 20 * std::numeric_limits<T>::epsilon())
            << i << ", " << j;
      }
    }
  });
}

TEST(OnlineSoftmax, KeepsANaNInItsRow) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    Grid<T> s(4, 9, room_of(9), 14);
    s(1, 2) = nan_of<T>;
    std::vector<T> largest(4, -infinity<T>), corrections(4);
    std::vector<double> total(4, 0.0);
    rows.online_softmax({4, 9, s.step, s.data(), {-4, 9}, nullptr, true}, largest.data(), total.data(),
                        corrections.data());
    for (Size i = 0; i < 4; ++i)
      for (Size j = 0; j < 9; ++j) ASSERT_EQ(std::isnan(s(i, j)), i == 1) << i << ", " << j;
  });
}

TEST(AttentionSlopes, AreThoseOfTheFormula) {
  on_every_block([](const auto& rows, Size m, Size n, const Band& band, const Keep* keep) {
    using T = NumberOf<decltype(rows)>;
    const Size room = room_of(n), width = 11;
    for (const bool whole : {false, true}) {
      Grid<T> s(m, n, room, 15), dp(m, n, room, 16), y(m, width, width + 2, 17), dy(m, width, width, 18),
          softmax(m, 2, 2, 19);
      for (Size i = 0; i < m; ++i) {
        softmax(i, 0) += 2;  // scores lie below
        softmax(i, 1) /= static_cast<T>(kernels::raised_by);
      }
      Grid<T> p = s, ds = dp;
      rows.attention_slopes({m, n, room, p.data(), band, keep ? keep->numbers.get() : nullptr, whole},
                            {width, y.data(), y.step, dy.data(), dy.step, softmax.data()}, ds.data());
      for (Size i = 0; i < m; ++i) {
        const auto weight = [&](Size j) {
          return within(band, i, j) && (!keep || (*keep)(i, j))
                     ? std::exp(static_cast<double>(s(i, j) - softmax(i, 0))) *
                           static_cast<double>(softmax(i, 1)) * kernels::raised_by
                     : 0.0;
        };
        double mean = 0;
        for (Size j = 0; j < (whole ? n : width); ++j)
          mean += whole ? (weight(j) == 0 ? 0 : weight(j) * static_cast<double>(dp(i, j)))
                        : static_cast<double>(y(i, j)) * static_cast<double>(dy(i, j));
        for (Size j = 0; j < n; ++j) {
          if (!must_be_zero(band, i, j)) continue;
          const double near = 60 * std::numeric_limits<T>::epsilon();
          ASSERT_NEAR(p(i, j), weight(j), near * (1 + std::abs(weight(j)))) << i << ", " << j;
          ASSERT_NEAR(ds(i, j), weight(j) * (static_cast<double>(dp(i, j)) - mean),
                      near * (1 + std::abs(weight(j)) * (1 + std::abs(mean))) * static_cast<double>(n))
              << i << ", " << j;
        }
      }
    }
  });
}

}  // namespace
}  // namespace regard::test

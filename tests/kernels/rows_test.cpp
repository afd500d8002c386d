// Sums, softmax, layer normalisation and Adam's step on dense rows, on every instruction set, against loops
// in long double: any length, masks, and nothing beyond the end.
#include <algorithm>
#include <memory>

#include "kernels/every_set.hpp"

namespace regard::test {
namespace {

template <class Rows>
using NumberOf = typename std::decay_t<Rows>::Number;

/// Every rest of every vector, and rows of more than one block.
const std::vector<Size> lengths = [] {
  std::vector<Size> all = {128, 511, 1024, 1025, 2048, 5000};
  for (Size n = 1; n <= 70; ++n) all.push_back(n);
  return all;
}();

using Exact = std::vector<long double>;

template <class T>
Exact exact(const std::vector<T>& x) {
  return {x.begin(), x.end()};
}

/// |x - right| <= units·epsilon·(|right| + scale) everywhere; an infinity or NaN only equals itself.
template <class T>
void expect_near(const std::vector<T>& x, const Exact& right, double units, long double scale,
                 const char* what) {
  ASSERT_EQ(x.size(), right.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (static_cast<long double>(x[i]) == right[i] || (std::isnan(x[i]) && std::isnan(right[i]))) continue;
    const long double allowed = units * std::numeric_limits<T>::epsilon() * (std::abs(right[i]) + scale);
    ASSERT_LE(std::abs(x[i] - right[i]), allowed)
        << what << ", " << x.size() << " elements, at " << i << ": " << x[i] << ", should be " << right[i];
  }
}

struct Mask {
  explicit Mask(Size n, unsigned seed) : size(n), keep(new bool[static_cast<std::size_t>(n)]) {
    std::mt19937 engine(seed);
    for (Size i = 0; i < n; ++i) keep[static_cast<std::size_t>(i)] = engine() % 3 != 0;
  }
  bool operator[](std::size_t i) const { return keep[i]; }
  Size size;
  std::unique_ptr<bool[]> keep;
};

TEST(Rows, SumsAreNearAndTheSameOnEverySet) {
  for (const Size n : lengths) {
    const std::vector<float> narrow = random_numbers<float>(n);
    const std::vector<double> wide = random_numbers<double>(n);
    long double magnitude = 0, exact_narrow = 0, exact_wide = 0;
    for (const float x : narrow) magnitude += std::abs(x), exact_narrow += x;
    for (const double x : wide) exact_wide += x;
    const auto sets = kernels::instruction_sets_here();
    const kernels::Table baseline = sets.front().make_table();
    const double first32 = baseline.f32.sum(n, narrow.data()), first64 = baseline.f64.sum(n, wide.data());
    EXPECT_LE(std::abs(first32 - exact_narrow), 4 * std::numeric_limits<float>::epsilon() * magnitude);
    EXPECT_LE(std::abs(first64 - exact_wide), 4 * std::numeric_limits<double>::epsilon() * magnitude);
    for (const auto& set : sets) {
      const kernels::Table table = set.make_table();
      EXPECT_EQ(table.f32.sum(n, narrow.data()), first32) << set.name << ", " << n;
      EXPECT_EQ(table.f64.sum(n, wide.data()), first64) << set.name << ", " << n;
    }
  }
}

TEST(Rows, SumsOfRowsAddThemInOrder) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    for (const Size n : {1, 3, 8, 17, 64, 100})
      for (const Size count : {0, 1, 2, 32}) {
        const Size step = n + 3;
        const std::vector<T> x = random_numbers<T>(count * step + 1);
        Guarded<T> y(n);
        rows.sum_rows(count, n, x.data(), step, y.data());
        EXPECT_TRUE(y.is_intact());
        const std::vector<T> sums = y.values();
        for (Size j = 0; j < n; ++j) {
          T right = 0;
          for (Size row = 0; row < count; ++row) right += x[static_cast<std::size_t>(row * step + j)];
          ASSERT_EQ(sums[static_cast<std::size_t>(j)], right)
              << n << " columns, " << count << " rows, at " << j;
        }
      }
  });
}

TEST(Rows, TheLargestPassesOverNaN) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    EXPECT_EQ(rows.largest(0, nullptr), -infinity<T>);
    for (const Size n : lengths) {
      std::vector<T> x = random_numbers<T>(n, -9, -2);
      for (std::size_t i = 1; i < x.size(); i += 5) x[i] = nan_of<T>;
      T right = -infinity<T>;
      for (const T one : x) right = one > right ? one : right;
      ASSERT_EQ(rows.largest(n, x.data()), right) << n;
      for (const std::size_t place : {std::size_t{0}, x.size() / 2, x.size() - 1}) {
        std::vector<T> marked = x;
        marked[place] = 7;
        ASSERT_EQ(rows.largest(n, marked.data()), 7) << n << ", at " << place;
      }
    }
  });
}

TEST(Rows, SoftmaxScaleKeepsNaN) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    for (const Size n : lengths) {
      std::vector<T> x = random_numbers<T>(n, -9, -2);
      x[x.size() / 2] = nan_of<T>;
      double total = 0;
      rows.softmax_scale(n, x.data(), total);
      ASSERT_TRUE(std::isnan(total)) << n;
    }
  });
}

TEST(Rows, SumsOfExponentialsAreNear) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    for (const Size n : lengths) {
      const std::vector<T> x = random_numbers<T>(n, -20, 0);
      Exact scaled;
      long double total = 0;
      for (const T one : x) scaled.push_back(std::exp(static_cast<long double>(one) - 0.5L) * 3);
      for (const long double one : scaled) total += one / 3;
      EXPECT_LE(std::abs(rows.sum_of_exp(n, x.data(), T(0.5)) - total),
                4 * std::numeric_limits<T>::epsilon() * total);
      double total_of_scale = 0;
      const T largest = rows.softmax_scale(n, x.data(), total_of_scale);
      ASSERT_EQ(largest, *std::max_element(x.begin(), x.end()));
      EXPECT_LE(std::abs(total_of_scale - total * std::exp(0.5L - largest)),
                4 * std::numeric_limits<T>::epsilon() * total_of_scale);
      Guarded<T> y(n);
      rows.scaled_exp(n, x.data(), T(0.5), 3, y.data());
      expect_near(y.values(), scaled, 20, 0, "scaled_exp");  // x - shift is rounded: an error of |x| units
      EXPECT_TRUE(y.is_intact());
    }
  });
}

/// Softmax in long double. A row that keeps nothing, or nothing but -inf, is all 0.
Exact softmax_of(const Exact& x, const Mask* keep) {
  const auto kept = [&](std::size_t i) { return !keep || (*keep)[i]; };
  long double largest = -infinity<long double>, total = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (kept(i)) largest = std::max(largest, x[i]);
  Exact y(x.size(), 0);
  if (largest == -infinity<long double>) return y;
  for (std::size_t i = 0; i < x.size(); ++i) total += y[i] = kept(i) ? std::exp(x[i] - largest) : 0;
  for (long double& one : y) one /= total;
  return y;
}

template <class T>
void expect_softmax(const kernels::Rows<T>& rows, const std::vector<T>& x, const std::vector<T>& dy,
                    const Mask* keep) {
  const Size n = static_cast<Size>(x.size());
  const bool* const kept = keep ? keep->keep.get() : nullptr;
  const Exact p = softmax_of(exact(x), keep);
  Guarded<T> y(n), log_y(n), dx(n), dx_of_log(n);
  rows.softmax(n, x.data(), kept, y.data());
  rows.log_softmax(n, x.data(), kept, log_y.data());
  expect_near(y.values(), p, 24, 0, "softmax");
  Exact log_p;
  const bool nothing = std::all_of(p.begin(), p.end(), [](long double one) { return one == 0; });
  for (std::size_t i = 0; i < p.size(); ++i)
    log_p.push_back((keep && !(*keep)[i]) || nothing ? -infinity<long double> : std::log(p[i]));
  expect_near(log_y.values(), log_p, 4, 20, "log_softmax");

  // The gradients, from the same y.
  const std::vector<T> value = y.values(), log_value = log_y.values();
  rows.softmax_backward(n, dy.data(), value.data(), kept, dx.data());
  rows.log_softmax_backward(n, dy.data(), log_value.data(), kept, dx_of_log.data());
  long double inner = 0, total = 0, magnitude = 0;
  for (std::size_t i = 0; i < p.size(); ++i) {
    if (keep && !(*keep)[i]) continue;
    inner += p[i] * dy[i];
    total += dy[i];
    magnitude += std::abs(static_cast<long double>(dy[i]));
  }
  Exact right, right_of_log;
  for (std::size_t i = 0; i < p.size(); ++i) {
    const bool hidden = keep && !(*keep)[i];
    right.push_back(hidden ? 0 : p[i] * (dy[i] - inner));
    right_of_log.push_back(hidden || nothing ? 0 : dy[i] - p[i] * total);
  }
  expect_near(dx.values(), right, 24, 1, "softmax_backward");
  expect_near(dx_of_log.values(), right_of_log, 24, magnitude, "log_softmax_backward");
  EXPECT_TRUE(y.is_intact() && log_y.is_intact() && dx.is_intact() && dx_of_log.is_intact()) << n;
}

TEST(Rows, SoftmaxAndItsGradientsAreNear) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    for (const Size n : lengths) {
      const std::vector<T> x = random_numbers<T>(n, -10, 10), dy = random_numbers<T>(n, -1, 1, 2);
      expect_softmax(rows, x, dy, nullptr);
      // What is hidden may hold anything.
      std::vector<T> masked_x = x, masked_dy = dy;
      const Mask keep(n, 3);
      for (std::size_t i = 0; i < x.size(); ++i)
        if (!keep[i]) masked_x[i] = masked_dy[i] = i % 2 ? nan_of<T> : infinity<T>;
      expect_softmax(rows, masked_x, masked_dy, &keep);
    }
  });
}

TEST(Rows, SoftmaxOfNothingIsZeroUnderAMaskAndNaNWithoutOne) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    for (const Size n : lengths) {
      const std::vector<T> x(static_cast<std::size_t>(n), -infinity<T>);
      Mask keep(n, 4);
      std::vector<T> y(x.size());
      rows.softmax(n, x.data(), keep.keep.get(), y.data());
      for (const T one : y) ASSERT_EQ(one, 0);
      rows.softmax(n, x.data(), nullptr, y.data());
      for (const T one : y) ASSERT_TRUE(std::isnan(one));
      rows.log_softmax(n, x.data(), keep.keep.get(), y.data());
      for (const T one : y) ASSERT_EQ(one, -infinity<T>);
    }
  });
}

// The rows of a softmax that are taken together, with and without masks, one of which hides everything.
TEST(Rows, SoftmaxOfLinesIsThatOfEach) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    for (const Size n : lengths) {
      constexpr Size lines = 5;
      const Size x_step = n + 3, y_step = n + 2, keep_step = n + 1;
      std::vector<T> x = random_numbers<T>(lines * x_step, -10, 10);
      std::fill_n(x.begin() + 2 * x_step, n, -infinity<T>);
      const Mask keep(lines * keep_step, 5);
      std::fill_n(keep.keep.get() + 3 * keep_step, n, false);
      for (const bool* const kept :
           {static_cast<const bool*>(nullptr), static_cast<const bool*>(keep.keep.get())}) {
        std::vector<T> together(static_cast<std::size_t>(lines * y_step), T{7}), alone = together;
        rows.softmax_lines({lines, n, x.data(), x_step, kept, keep_step, together.data(), y_step});
        for (Size i = 0; i < lines; ++i)
          rows.softmax(n, x.data() + i * x_step, kept ? kept + i * keep_step : nullptr,
                       alone.data() + i * y_step);
        for (std::size_t i = 0; i < alone.size(); ++i)
          ASSERT_TRUE(same_bits(together[i], alone[i])) << n << ", " << i;
      }
    }
  });
}

TEST(Rows, SoftmaxFadesThroughTheDenormalNumbersToZero) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    constexpr T end = sizeof(T) == 4 ? T{104} : T{746}, denormal = std::numeric_limits<T>::denorm_min();
    for (const Size n : {Size{5}, Size{40}, Size{300}}) {
      std::vector<T> x(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = -end * static_cast<T>(i) / static_cast<T>(x.size() - 2);  // the last is beyond the end
      x[x.size() / 2] = -infinity<T>;
      const Exact p = softmax_of(exact(x), nullptr);
      std::vector<T> y(x.size());
      rows.softmax(n, x.data(), nullptr, y.data());
      // What is looked up by a rounded difference errs by a unit for each unit of it.
      for (std::size_t i = 0; i < x.size(); ++i)
        ASSERT_LE(std::abs(y[i] - p[i]), end * std::numeric_limits<T>::epsilon() * p[i] + denormal)
            << n << ", at " << x[i] << ": " << y[i] << ", should be " << p[i];
      EXPECT_EQ(y.back(), 0);
      EXPECT_EQ(y[x.size() / 2], 0);
    }
  });
}

template <class T>
void expect_layer_norm(const kernels::Rows<T>& rows, const std::vector<T>& x, const std::vector<T>& dy,
                       const std::vector<T>& gamma, const std::vector<T>& beta, double tolerance) {
  const Size n = static_cast<Size>(x.size());
  constexpr double epsilon = 1e-5;
  long double mean = 0, variance = 0;
  for (const T one : x) mean += one;
  mean /= n;
  for (const T one : x) variance += (one - mean) * (one - mean);
  variance /= n;
  const long double scale = 1 / std::sqrt(variance + epsilon);
  Exact z, y, plain, dx, totals;
  long double mean_g = 0, mean_gz = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    z.push_back((x[i] - mean) * scale);
    plain.push_back(z[i]);
    y.push_back(z[i] * gamma[i] + beta[i]);
    mean_g += static_cast<long double>(dy[i]) * gamma[i] / n;
    mean_gz += static_cast<long double>(dy[i]) * gamma[i] * z[i] / n;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    dx.push_back(scale * (static_cast<long double>(dy[i]) * gamma[i] - mean_g - z[i] * mean_gz));
    totals.push_back(1 + dy[i] * z[i]);
  }
  Guarded<T> got_y(n), got_plain(n), got_dx(n);
  rows.layer_norm(n, x.data(), gamma.data(), beta.data(), epsilon, got_y.data());
  rows.layer_norm(n, x.data(), nullptr, nullptr, epsilon, got_plain.data());
  rows.layer_norm_backward(n, dy.data(), x.data(), gamma.data(), epsilon, got_dx.data());
  Guarded<T> got_totals(std::vector<T>(x.size(), T{1}));
  rows.add_layer_norm_gamma(n, dy.data(), x.data(), epsilon, got_totals.data());
  // All gradients at once are the same to the last bit.
  Guarded<T> all_dx(n), all_of_gamma(std::vector<T>(x.size(), T{1})), all_of_beta(dy);
  rows.layer_norm_backward_all(n, dy.data(), x.data(), gamma.data(), epsilon, all_dx.data(),
                               all_of_gamma.data(), all_of_beta.data());
  EXPECT_EQ(all_dx.values(), got_dx.values());
  EXPECT_EQ(all_of_gamma.values(), got_totals.values());
  for (std::size_t i = 0; i < dy.size(); ++i) EXPECT_EQ(all_of_beta.data()[i], dy[i] + dy[i]);
  EXPECT_TRUE(all_dx.is_intact() && all_of_gamma.is_intact() && all_of_beta.is_intact()) << n;
  expect_near(got_y.values(), y, tolerance, 10, "layer_norm");
  expect_near(got_plain.values(), plain, tolerance, 10, "layer_norm without gamma and beta");
  expect_near(got_dx.values(), dx, tolerance, 10 * scale, "layer_norm_backward");
  expect_near(got_totals.values(), totals, tolerance, 10, "add_layer_norm_gamma");
  EXPECT_TRUE(got_y.is_intact() && got_plain.is_intact() && got_dx.is_intact() && got_totals.is_intact())
      << n;
}

TEST(Rows, LayerNormAndItsGradientsAreNear) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    for (const Size n : lengths) {
      const std::vector<T> x = random_numbers<T>(n), dy = random_numbers<T>(n, -1, 1, 2);
      const std::vector<T> gamma = random_numbers<T>(n, T(0.5), 2, 3), beta = random_numbers<T>(n, -1, 1, 4);
      expect_layer_norm(rows, x, dy, gamma, beta, 4);
      // Far from 0, in steps that the numbers there can show.
      std::vector<T> far;
      for (const T one : x) far.push_back(std::round(one * 8) / 8 + 65536);
      expect_layer_norm(rows, far, dy, gamma, beta, 4);
    }
  });
}

TEST(Rows, LayerNormOfEqualNumbersIsBeta) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    for (const Size n : lengths) {
      const std::vector<T> x(static_cast<std::size_t>(n), T(0.1)), gamma(x.size(), 2),
          beta = random_numbers<T>(n);
      std::vector<T> y(x.size());
      rows.layer_norm(n, x.data(), gamma.data(), beta.data(), 1e-5, y.data());
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], beta[i]) << n;
    }
  });
}

// Nothing is fused, so every set gives the bits of the plain loop.
TEST(Rows, AdamIsThePlainLoopBitForBit) {
  on_every_set([](const auto& rows) {
    using T = NumberOf<decltype(rows)>;
    const kernels::AdamFigures<T> at{T(0.01), T(1.5), T(0.99), T(1e-8), T(0.1), T(0.01), T(0.3), T(0.999)};
    for (const Size n : lengths) {
      const std::vector<T> p = random_numbers<T>(n), g = random_numbers<T>(n, -1, 1, 2),
                           m = random_numbers<T>(n, -1, 1, 3), v = random_numbers<T>(n, 0, 1, 4);
      Guarded<T> new_p(p), new_m(m), new_v(v);
      rows.adam(
          n, at,
          {new_p.data(), g.data(), new_m.data(), new_v.data(), new_p.data(), new_m.data(), new_v.data()});
      const std::vector<T> got_p = new_p.values(), got_m = new_m.values(), got_v = new_v.values();
      for (std::size_t i = 0; i < p.size(); ++i) {
        const T gradient = g[i] + at.l2 * p[i];
        const T first = m[i] + at.gain1 * (gradient - m[i]);
        const T second = at.beta2 * v[i] + at.gain2 * gradient * gradient;
        const T value = at.shrink * p[i] - at.rate * first / (std::sqrt(second) * at.correction + at.epsilon);
        ASSERT_EQ(got_p[i], value);
        ASSERT_EQ(got_m[i], first);
        ASSERT_EQ(got_v[i], second);
      }
      EXPECT_TRUE(new_p.is_intact() && new_m.is_intact() && new_v.is_intact());
    }
  });
}

}  // namespace
}  // namespace regard::test

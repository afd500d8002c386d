// The elementwise loops on every instruction set against plain loops: any length, in place, and nothing
// beyond the end.
#include <algorithm>

#include "kernels/every_set.hpp"

namespace regard::test {
namespace {

constexpr Size longest = 70;  // more than two vectors of any set, and every rest

template <class T>
void expect_same(const std::vector<T>& x, const std::vector<T>& y, const char* what) {
  for (std::size_t i = 0; i < x.size(); ++i)
    ASSERT_TRUE(same_bits(x[i], y[i]))
        << what << ", " << x.size() << " elements, at " << i << ": " << x[i] << " and " << y[i];
}

template <class T>
std::vector<T> with_special(Size n, unsigned seed) {
  std::vector<T> x = random_numbers<T>(n, -3, 3, seed);
  const T special[] = {nan_of<T>, infinity<T>, -infinity<T>, T{0}, -T{0}};
  for (std::size_t i = 0; i < x.size(); i += 3) x[i] = special[(i / 3 + seed) % 5];
  return x;
}

template <class T>
void expect_unary(const char* what, typename kernels::Rows<T>::Unary f, T (*plain)(T)) {
  for (Size n = 0; n <= longest; ++n) {
    const std::vector<T> x = with_special<T>(n, 1);
    std::vector<T> right(x.size());
    std::transform(x.begin(), x.end(), right.begin(), plain);
    Guarded<T> y(n), in_place(x);
    f(n, x.data(), y.data());
    f(n, in_place.data(), in_place.data());
    expect_same(y.values(), right, what);
    expect_same(in_place.values(), right, what);
    ASSERT_TRUE(y.is_intact() && in_place.is_intact()) << what << " writes beyond " << n << " elements";
  }
}

TEST(ElementwiseRows, OfOneInputAgreeWithPlainLoops) {
  on_every_set([](const auto& rows) {
    using T = typename std::decay_t<decltype(rows)>::Number;
    expect_unary<T>("negate", rows.negate, [](T x) { return -x; });
    expect_unary<T>("square", rows.square, [](T x) { return x * x; });
    expect_unary<T>("sqrt", rows.sqrt, [](T x) { return std::sqrt(x); });
    expect_unary<T>("abs", rows.abs, [](T x) { return std::abs(x); });
    expect_unary<T>("sign", rows.sign, [](T x) { return x > 0 ? T{1} : x < 0 ? T{-1} : x; });
    expect_unary<T>("relu", rows.relu, [](T x) { return x <= 0 ? T{0} : x; });
    expect_unary<T>("unit_step", rows.unit_step, [](T x) { return x > 0 ? T{1} : x <= 0 ? T{0} : x; });
  });
}

template <class T>
void expect_binary(const char* what, typename kernels::Rows<T>::Binary f, T (*plain)(T, T)) {
  for (Size n = 0; n <= longest; ++n) {
    const std::vector<T> a = with_special<T>(n + 1, 2), b = with_special<T>(n + 1, 3);
    for (const auto& [a_step, b_step] : {std::pair<Size, Size>{1, 1}, {1, 0}, {0, 1}}) {
      std::vector<T> right(static_cast<std::size_t>(n));
      for (std::size_t i = 0; i < right.size(); ++i)
        right[i] = plain(a[i * static_cast<std::size_t>(a_step)], b[i * static_cast<std::size_t>(b_step)]);
      Guarded<T> y(n), over_a({a.begin(), a.end() - 1}), over_b({b.begin(), b.end() - 1});
      f(n, a.data(), a_step, b.data(), b_step, y.data());
      expect_same(y.values(), right, what);
      ASSERT_TRUE(y.is_intact()) << what << " writes beyond " << n << " elements";
      if (a_step == 1) f(n, over_a.data(), 1, b.data(), b_step, over_a.data());
      if (a_step == 1) expect_same(over_a.values(), right, what);
      if (b_step == 1) f(n, a.data(), a_step, over_b.data(), 1, over_b.data());
      if (b_step == 1) expect_same(over_b.values(), right, what);
    }
  }
}

TEST(ElementwiseRows, OfTwoInputsAgreeWithPlainLoops) {
  on_every_set([](const auto& rows) {
    using T = typename std::decay_t<decltype(rows)>::Number;
    expect_binary<T>("add", rows.add, [](T a, T b) { return a + b; });
    expect_binary<T>("subtract", rows.subtract, [](T a, T b) { return a - b; });
    expect_binary<T>("multiply", rows.multiply, [](T a, T b) { return a * b; });
    expect_binary<T>("divide", rows.divide, [](T a, T b) { return a / b; });
    expect_binary<T>("maximum", rows.maximum, [](T a, T b) { return a > b || a != a ? a : b; });
    expect_binary<T>("minimum", rows.minimum, [](T a, T b) { return a < b || a != a ? a : b; });
  });
}

}  // namespace
}  // namespace regard::test

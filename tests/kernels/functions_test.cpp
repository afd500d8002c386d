// exp, log and their relatives on every instruction set, against long double.
#include <algorithm>

#include "kernels/every_set.hpp"

namespace regard::test {
namespace {

using Reference = long double (*)(long double);

constexpr long double root_half = 0.707106781186547524400844362104849039L;
constexpr long double root_2_over_pi = 0.797884560802865355879892119868763737L;

long double logistic(long double x) {
  return 1 / (1 + std::exp(-x));
}
long double softplus(long double x) {
  return std::max(x, 0.0L) + std::log1p(std::exp(-std::abs(x)));
}
long double cdf(long double x) {
  return std::erfc(-x * root_half) / 2;
}
long double pdf(long double x) {
  return std::exp(-x * x / 2) * root_2_over_pi / 2;
}
long double gelu(long double x) {
  return x * cdf(x);
}
long double gelu_slope(long double x) {
  return cdf(x) + x * pdf(x);
}
long double gelu_tanh(long double x) {
  return x * logistic(2 * root_2_over_pi * (x + 0.044715L * x * x * x));
}

long double gelu_tanh_slope(long double x) {
  const long double s = logistic(2 * root_2_over_pi * (x + 0.044715L * x * x * x));
  return s + x * s * (1 - s) * 2 * root_2_over_pi * (1 + 3 * 0.044715L * x * x);
}

/// Evenly spaced from low to high, ends included, and a few neighbours of 0.
template <class T>
std::vector<T> points(double low, double high) {
  constexpr int count = 20011;
  std::vector<T> x;
  for (int i = 0; i <= count; ++i) x.push_back(static_cast<T>(low + (high - low) * i / count));
  for (const T tiny : {T{0}, std::numeric_limits<T>::denorm_min(), std::numeric_limits<T>::min(), T(1e-9)})
    for (const T one : {tiny, -tiny})
      if (one >= low) x.push_back(one);
  return x;
}

/// The point where f is furthest from the reference, in units in the last place.
template <class T>
struct Worst {
  double units = 0;
  T x = 0, y = 0;

  Worst(typename kernels::Rows<T>::Unary f, Reference reference, const std::vector<T>& at) {
    std::vector<T> values(at.size());
    f(static_cast<Size>(at.size()), at.data(), values.data());
    for (std::size_t i = 0; i < at.size(); ++i) {
      const double apart = units_apart(values[i], reference(at[i]));
      if (apart > units) *this = Worst(apart, at[i], values[i]);
    }
  }

 private:
  Worst(double its_units, T its_x, T its_y) : units(its_units), x(its_x), y(its_y) {}
};

template <class T>
void expect_near(typename kernels::Rows<T>::Unary f, Reference reference, double low, double high,
                 double units) {
  const Worst<T> worst(f, reference, points<T>(low, high));
  EXPECT_LE(worst.units, units) << "at " << worst.x << ": " << worst.y << ", should be "
                                << reference(worst.x);
}

struct Function {
  const char* name;
  kernels::Rows<float>::Unary kernels::Rows<float>::*f32;
  kernels::Rows<double>::Unary kernels::Rows<double>::*f64;
  Reference reference;
  double low, high;  ///< beyond them only special values are looked at
  double low64, high64;
  double units;
};

#define FUNCTION(name) #name, &kernels::Rows < float> ::name, &kernels::Rows < double> ::name

// The last column is what was measured on all sets, rounded up. gelu_tanh loses digits to the left, where its
// argument is rounded before it goes into exp, gelu_exact
// where its second factor is denormal; gelu_slope has a zero at -0.75.
const Function functions[] = {
    {FUNCTION(exp), std::exp, -110, 95, -760, 720, 1.0},
    {FUNCTION(log), std::log, 0, 1e9, 0, 1e9, 1.0},
    {FUNCTION(log), std::log, 0.4, 2.5, 0.4, 2.5, 1.0},
    {FUNCTION(tanh), std::tanh, -12, 12, -24, 24, 2.5},
    {FUNCTION(tanh), std::tanh, -1, 1, -1, 1, 2.5},
    {FUNCTION(sigmoid), logistic, -110, 40, -760, 60, 2.0},
    {FUNCTION(softplus), softplus, -110, 100, -760, 100, 2.0},
    {FUNCTION(normal_cdf), cdf, -16, 9, -40, 12, 5.0},
    {FUNCTION(normal_pdf), pdf, -16, 16, -40, 40, 2.5},
    {FUNCTION(gelu_exact), gelu, -12, 16, -37, 40, 5.0},
    {FUNCTION(gelu_slope), gelu_slope, -0.5, 16, -0.5, 40, 8.0},
    {FUNCTION(gelu_tanh), gelu_tanh, -2, 20, -2, 20, 8.0},
    {FUNCTION(gelu_tanh_slope), gelu_tanh_slope, -0.5, 20, -0.5, 20, 8.0},
};

TEST(Functions, AreExactToAFewUnitsInTheLastPlace) {
  for (const kernels::InstructionSet& set : kernels::instruction_sets_here()) {
    const kernels::Table table = set.make_table();
    for (const Function& f : functions) {
      SCOPED_TRACE(std::string(set.name) + ", " + f.name);
      expect_near<float>(table.f32.*f.f32, f.reference, f.low, f.high, f.units);
      expect_near<double>(table.f64.*f.f64, f.reference, f.low64, f.high64, f.units);
    }
  }
}

/// What C's functions give for the numbers that need care, bit for bit (any NaN for a NaN).
template <class T>
void expect_special(const kernels::Rows<T>& rows) {
  constexpr T inf = infinity<T>, nan = nan_of<T>, tiny = std::numeric_limits<T>::denorm_min();
  const T largest = std::numeric_limits<T>::max();
  struct Value {
    typename kernels::Rows<T>::Unary f;
    const char* name;
    T x, y;
  };
  const Value values[] = {
      {rows.exp, "exp", T{0}, 1},
      {rows.exp, "exp", -T{0}, 1},
      {rows.exp, "exp", inf, inf},
      {rows.exp, "exp", -inf, 0},
      {rows.exp, "exp", nan, nan},
      {rows.exp, "exp", largest, inf},
      {rows.exp, "exp", -largest, 0},
      {rows.exp, "exp", tiny, 1},
      {rows.log, "log", T{0}, -inf},
      {rows.log, "log", -T{0}, -inf},
      {rows.log, "log", 1, 0},
      {rows.log, "log", inf, inf},
      {rows.log, "log", -inf, nan},
      {rows.log, "log", -1, nan},
      {rows.log, "log", -tiny, nan},
      {rows.log, "log", nan, nan},
      {rows.tanh, "tanh", T{0}, 0},
      {rows.tanh, "tanh", -T{0}, -T{0}},
      {rows.tanh, "tanh", inf, 1},
      {rows.tanh, "tanh", -inf, -1},
      {rows.tanh, "tanh", nan, nan},
      {rows.tanh, "tanh", tiny, tiny},
      {rows.tanh, "tanh", -tiny, -tiny},
      {rows.sigmoid, "sigmoid", inf, 1},
      {rows.sigmoid, "sigmoid", -inf, 0},
      {rows.sigmoid, "sigmoid", nan, nan},
      {rows.sigmoid, "sigmoid", 0, T(0.5)},
      {rows.softplus, "softplus", inf, inf},
      {rows.softplus, "softplus", -inf, 0},
      {rows.softplus, "softplus", nan, nan},
      {rows.normal_cdf, "normal_cdf", 0, T(0.5)},
      {rows.normal_cdf, "normal_cdf", inf, 1},
      {rows.normal_cdf, "normal_cdf", -inf, 0},
      {rows.normal_cdf, "normal_cdf", nan, nan},
      {rows.normal_pdf, "normal_pdf", inf, 0},
      {rows.normal_pdf, "normal_pdf", -largest, 0},
      {rows.normal_pdf, "normal_pdf", nan, nan},
      {rows.gelu_exact, "gelu_exact", inf, inf},
      {rows.gelu_exact, "gelu_exact", -largest, -T{0}},
      {rows.gelu_exact, "gelu_exact", nan, nan},
      {rows.gelu_tanh, "gelu_tanh", inf, inf},
      {rows.gelu_tanh, "gelu_tanh", nan, nan},
      {rows.gelu_tanh, "gelu_tanh", T{0}, 0},
      {rows.sqrt, "sqrt", -T{0}, -T{0}},
      {rows.sqrt, "sqrt", -1, nan},
      {rows.abs, "abs", -T{0}, 0},
      {rows.abs, "abs", -inf, inf},
      {rows.sign, "sign", -T{0}, -T{0}},
      {rows.sign, "sign", nan, nan},
      {rows.relu, "relu", nan, nan},
      {rows.relu, "relu", -T{0}, 0},
      {rows.unit_step, "unit_step", nan, nan},
      {rows.unit_step, "unit_step", T{0}, 0},
  };
  for (const Value& one : values) {
    T y = -77;
    one.f(1, &one.x, &y);
    EXPECT_TRUE(same_bits(y, one.y)) << one.name << " of " << one.x << ": " << y << ", should be " << one.y;
  }
}

TEST(Functions, TakeSpecialValuesAsCDoes) {
  on_every_set([](const auto& rows) { expect_special(rows); });
}

// The identity that softmax and attention rely on: equal numbers give equal bits, whatever stands beside
// them.
TEST(Functions, DoNotDependOnThePlace) {
  on_every_set([](const auto& rows) {
    using T = typename std::decay_t<decltype(rows)>::Number;
    const std::vector<T> x = random_numbers<T>(100, -20, 20);
    for (const auto f : {rows.exp, rows.tanh, rows.sigmoid, rows.softplus, rows.gelu_exact, rows.gelu_tanh}) {
      std::vector<T> together(x.size());
      f(100, x.data(), together.data());
      for (std::size_t i = 0; i < x.size(); ++i) {
        T alone = 0;
        f(1, &x[i], &alone);
        ASSERT_TRUE(same_bits(alone, together[i])) << "at " << x[i];
      }
    }
  });
}

}  // namespace
}  // namespace regard::test

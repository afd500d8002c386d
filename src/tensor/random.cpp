#include "regard/random.hpp"

#include <cmath>
#include <string>
#include "regard/error.hpp"

namespace regard {

namespace {

// ln x for 0 < x < 1. std::log is not correctly rounded and differs in the last bit between libraries.
double reproducible_log(double x) {
  constexpr double ln2 = 0.693147180559945309417;
  constexpr double sqrt_half = 0.707106781186547524401;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);  // in [0.5, 1)
  if (mantissa < sqrt_half) {
    mantissa *= 2;
    --exponent;
  }
  // ln m = 2 artanh(s) with |s| <= 0.172: the term s^(2k)/(2k+1) is below 1e-17 from k = 11 on.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double s2 = s * s;
  double series = 0;
  for (int k = 11; k >= 0; --k) series = series * s2 + 1.0 / (2 * k + 1);
  return 2 * s * series + exponent * ln2;
}

// a[0] + a[1] x + ... + a[7] x^7.
double polynomial(const std::array<double, 8>& a, double x) {
  double sum = 0;
  for (std::size_t i = a.size(); i-- > 0;) sum = sum * x + a[i];
  return sum;
}

struct Rational {
  std::array<double, 8> above, below;
  double operator()(double x) const { return polynomial(above, x) / polynomial(below, x); }
};

// Wichura's rational approximations: for |p - 1/2| <= 0.425, for the tails, and for the far tails.
constexpr Rational central{
    {3.3871328727963666080e0, 1.3314166789178437745e2, 1.9715909503065514427e3, 1.3731693765509461125e4,
     4.5921953931549871457e4, 6.7265770927008700853e4, 3.3430575583588128105e4, 2.5090809287301226727e3},
    {1.0, 4.2313330701600911252e1, 6.8718700749205790830e2, 5.3941960214247511077e3, 2.1213794301586595867e4,
     3.9307895800092710610e4, 2.8729085735721942674e4, 5.2264952788528545610e3}};
constexpr Rational tail{{1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0,
                         3.64784832476320460504e0, 1.27045825245236838258e0, 2.41780725177450611770e-1,
                         2.27238449892691845833e-2, 7.74545014278341407640e-4},
                        {1.0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
                         1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4,
                         1.05075007164441684324e-9}};
constexpr Rational far_tail{{6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0,
                             2.96560571828504891230e-1, 2.65321895265761230930e-2, 1.24266094738807843860e-3,
                             2.71155556874348757815e-5, 2.01033439929228813265e-7},
                            {1.0, 5.99832206555887937690e-1, 1.36929880922735805310e-1,
                             1.48753612908506148525e-2, 7.86869131145613259100e-4, 1.84631831751005468180e-5,
                             1.42151175831644588870e-7, 2.04426310338993978564e-15}};

}  // namespace

Rng::Rng(const State& state) : state_(state) {
  if (state_.counter % 4 != 0) block_ = philox_block(state_.seed, state_.stream, state_.counter / 4);
}

Rng Rng::split(std::uint64_t stream) const {
  // Philox itself mixes the parent's stream and the wish into a new 64-bit name, so that nested splits differ
  // from plain ones; two names of n meet with probability about n^2 / 2^65.
  const std::array<std::uint32_t, 4> name = philox_block(state_.stream, stream, 0);
  return Rng(State{state_.seed, std::uint64_t{name[1]} << 32 | name[0], 0});
}

std::uint32_t Rng::bits() {
  const std::uint64_t word = state_.counter % 4;
  if (word == 0) block_ = philox_block(state_.seed, state_.stream, state_.counter / 4);
  ++state_.counter;
  return block_[static_cast<std::size_t>(word)];
}

std::uint64_t Rng::next() {
  const std::uint64_t low = bits();
  const std::uint64_t high = bits();
  return high << 32 | low;
}

double Rng::uniform() {
  return static_cast<double>(next() >> 11) * 0x1p-53;
}

double Rng::uniform(double low, double high) {
  if (!(std::isfinite(low) && std::isfinite(high) && low <= high))
    throw ValueError("Rng::uniform: expected finite low <= high, got " + std::to_string(low) + " and " +
                     std::to_string(high));
  const double u = uniform();
  return low * (1 - u) + high * u;  // high - low could overflow
}

double Rng::normal() {
  // The middle of one of 2^52 equal cells: exact in a double, never 0 and never 1.
  return normal_quantile((static_cast<double>(next() >> 12) + 0.5) * 0x1p-52);
}

std::int64_t Rng::below(std::int64_t n) {
  if (n <= 0) throw ValueError("Rng::below: expected n > 0, got " + std::to_string(n));
  const auto range = static_cast<std::uint64_t>(n);
  const std::uint64_t surplus = (0 - range) % range;  // 2^64 mod n: so many values would come once too often
  std::uint64_t value = next();
  while (value < surplus) value = next();
  return static_cast<std::int64_t>(value % range);
}

bool Rng::chance(double p) {
  if (!(p >= 0 && p <= 1))
    throw ValueError("Rng::chance: expected a probability in [0, 1], got " + std::to_string(p));
  return uniform() < p;
}

double normal_quantile(double p) {
  if (!(p > 0 && p < 1))
    throw ValueError("normal_quantile: expected a probability in (0, 1), got " + std::to_string(p));
  const double q = p - 0.5;
  if (std::fabs(q) <= 0.425) return q * central(0.180625 - q * q);
  const double r = std::sqrt(-reproducible_log(q < 0 ? p : 1 - p));
  const double x = r <= 5 ? tail(r - 1.6) : far_tail(r - 5);
  return q < 0 ? -x : x;
}

}  // namespace regard

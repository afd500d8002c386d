// exp, log and their relatives on vectors. exp and log err by less than 1 unit in the last place, the others
// by up to 5, gelu_tanh by 8 (tests/kernels/functions_test.cpp); NaN, infinities, denormal numbers and -0
// come out as C's functions have them. Coefficients are our own fits: interpolation in Chebyshev points with
// 50 digits.
#pragma once

#include <limits>

#include "kernels/vector/batch.hpp"
#include "kernels/vector/normal_tail.hpp"

namespace regard::kernels::REGARD_VARIANT {
namespace {

template <class T>
struct Constants;

template <>
struct Constants<float> {
  static constexpr int mantissa_bits = 23;
  static constexpr int bias = 127;
  // log 2 in two parts; the first times an exponent is exact.
  static constexpr float log2_high = 0.693145751953125F, log2_low = 1.428606820309417232e-6F;
  // Beyond these exp is 0 or infinite.
  static constexpr float exp_low = -104, exp_high = 89;
  // (exp(r) - 1 - r) / r² for |r| <= log(2) / 2.
  static constexpr float exp_tail[] = {0.49999993447788F, 0.16666520631719F, 0.041668388047065F,
                                       0.0083687168788125F, 0.0013814598558171F};
  // The same, where an error of 1.8 units in the last place will do.
  static constexpr float short_exp_tail[] = {0.49999231495381F, 0.16667114650023F, 0.041890156814292F,
                                             0.0083125201413055F};
  // log(2) / 16 in two parts, (exp(r) - 1 - r) / r² for |r| <= log(2) / 32, and the bits of 2^(j/16) less j
  // in the exponent's lowest bits.
  static constexpr float log2_sixteenth = 0.043321698904037476F,
                         log2_sixteenth_low = -1.1904089374736049e-10F;
  static constexpr float sixteenth_tail[] = {0.50000977687312674977F, 0.16666862203692235372F};
  alignas(64) static constexpr std::uint32_t sixteenths[] = {
      0x3f800000, 0x3f7daac3, 0x3f7b95c2, 0x3f79c3d3, 0x3f7837f0, 0x3f76f532, 0x3f75fed7, 0x3f75583f,
      0x3f7504f3, 0x3f7508a4, 0x3f75672a, 0x3f76248c, 0x3f7744fd, 0x3f78ccdf, 0x3f7ac0c7, 0x3f7d257d};
  // (log((1 + s) / (1 - s)) - 2s) / s³ in s² for s up to where the ratio is sqrt(2).
  static constexpr float log_tail[] = {0.66666666554406187F, 0.40000121914145558F, 0.28550812383011838F,
                                       0.23330696660983467F};
  // exp(x²/2)·Φ(-x)·2^-64 as a quotient of polynomials, fitted with each coefficient rounded in turn, for 0
  // <= x <= cdf_end, beyond which Φ(-x) and its slope are 0 and exp(-x²/2) is less than exp(exp_low).
  static constexpr float cdf_end = 14.4F;
  static constexpr float cdf_above[] = {2.71050543e-20F, 2.37225884e-20F, 9.90393606e-21F, 2.1924198e-21F,
                                        2.21480714e-22F};
  static constexpr float cdf_below[] = {1.0F,         1.6730938F,   1.20032263F,
                                        0.468038231F, 0.101382151F, 0.0102409534F};
  static constexpr float tanh_end = 10;                    // beyond it tanh is 1
  static constexpr std::uint32_t high_bits = 0xfffff000u;  // half of the mantissa: its square is exact
};

template <>
struct Constants<double> {
  static constexpr int mantissa_bits = 52;
  static constexpr int bias = 1023;
  static constexpr double log2_high = 0.6931471805582987144589, log2_low = 1.646594958289708128098e-12;
  static constexpr double exp_low = -746, exp_high = 710;
  static constexpr double exp_tail[] = {
      0.5,
      0.16666666666666670991,
      0.041666666666666669755,
      0.0083333333333261351258,
      0.0013888888888883748305,
      0.00019841269874820625271,
      0.000024801587325547741216,
      2.755725540020642443e-6,
      2.7557273643110295328e-7,
      2.5105217004720745164e-8,
      2.0914686968086877233e-9,
  };
  static constexpr const double (&short_exp_tail)[11] = exp_tail;
  static constexpr double log2_sixteenth = 0.04332169878499658, log2_sixteenth_low = 1.449404258653937e-18;
  static constexpr double sixteenth_tail[] = {0.5, 0.16666666665301144786, 0.041666666664959767097,
                                              0.0083334497245283561569, 0.0013889034377693011883};
  alignas(64) static constexpr std::uint64_t sixteenths[] = {
      0x3ff0000000000000, 0x3fefb5586cf9890f, 0x3fef72b83c7d517b, 0x3fef387a6e756238,
      0x3fef06fe0a31b715, 0x3feedea64c123422, 0x3feebfdad5362a27, 0x3feeab07dd485429,
      0x3feea09e667f3bcd, 0x3feea11473eb0187, 0x3feeace5422aa0db, 0x3feec49182a3f090,
      0x3feee89f995ad3ad, 0x3fef199bdd85529c, 0x3fef5818dcfba487, 0x3fefa4afa2a490da};
  static constexpr double log_tail[] = {
      0.66666666666666666465, 0.4000000000000087823,  0.28571428570802848023, 0.22222222391887056937,
      0.18181795621633707591, 0.15386240708919348304, 0.13268746196943832282, 0.1308690787387854333};
  // (x + shift)·exp(x²/2)·Φ(-x) in (x - turn) / (x + turn) for 0 <= x <= cdf_end.
  static constexpr double cdf_turn = 5.25, cdf_shift = 3, cdf_end = 38.6;
  static constexpr double cdf[] = {
      0.60627790453471620017,     -0.36567912834459994388,     0.2609262800877863782,
      -0.15738696390410095047,    0.077514613277415341513,     -0.028808944931393271117,
      0.0061568037195530644988,   0.00085701770417798113075,   -0.0013787440473979301495,
      0.00053853716118037040146,  -0.000042488855506793492551, -0.00005179753230262220117,
      0.000019494492553380903741, 2.3192126796777229009e-6,    -3.1050780699488503795e-6,
      1.5272857936404074287e-7,   4.3716795726705256422e-7,    -6.1436896999253718889e-8,
      -6.3049861961390956533e-8,  1.0434264859412380518e-8,    8.7167238894513525765e-9,
      -8.8681092748115197842e-10, -7.6109135340484535257e-10,
  };
  static constexpr double tanh_end = 20;
  static constexpr std::uint64_t high_bits = 0xfffffffff8000000u;
};

/// c[0] + c[1]·x + c[2]·x² + ...
template <class T, std::size_t count>
REGARD_INLINE Batch<T> polynomial(const Batch<T>& x, const T (&c)[count]) {
  Batch<T> sum(c[count - 1]);
  for (std::size_t i = count - 1; i-- > 0;) sum = multiply_add<T>(sum, x, Batch<T>(c[i]));
  return sum;
}

/// The same from pairs of terms, in half the time until it is known.
template <class T, std::size_t count>
REGARD_INLINE Batch<T> polynomial(const Batch<T>& x, const Batch<T>& square, const T (&c)[count]) {
  constexpr std::size_t last = (count - 1) / 2 * 2;
  const auto pair = [&](std::size_t i) __attribute__((always_inline)) {
    return i + 1 < count ? multiply_add<T>(Batch<T>(c[i + 1]), x, Batch<T>(c[i])) : Batch<T>(c[i]);
  };
  Batch<T> sum = pair(last);
  for (std::size_t i = last; i > 0; i -= 2) sum = multiply_add<T>(sum, square, pair(i - 2));
  return sum;
}

/// A whole number k near x as a number and as 2^k, for |k| up to the exponent's bias. Adding a number as
/// large as 1.5·2^mantissa_bits rounds x to a whole one and leaves k + bias in the sum's lowest bits.
template <class T>
struct Whole {
  Batch<T> number, power_of_2;

  /// Near x·factor.
  REGARD_INLINE explicit Whole(const Batch<T>& x, T factor = T{1}) {
    using C = Constants<T>;
    constexpr T large = static_cast<T>(3 * (Bits<T>{1} << (C::mantissa_bits - 1)) + C::bias);
    const Batch<T> sum = multiply_add(x, Batch<T>(factor), Batch<T>(large));
    number = sum - Batch<T>(large);
    power_of_2 = bits_as<T>(Batch<Bits<T>>(bits_as<Bits<T>>(sum) << C::mantissa_bits));
  }
};

/// In place of the second part of a number that has none.
struct Nothing {};

/// x - k·log 2 + low.
template <class T>
REGARD_INLINE Batch<T> reduced(const Batch<T>& x, const Batch<T>& low, const Batch<T>& k) {
  using C = Constants<T>;
  return multiply_add(k, Batch<T>(-C::log2_high), x) + multiply_add(k, Batch<T>(-C::log2_low), low);
}
template <class T>
REGARD_INLINE Batch<T> reduced(const Batch<T>& x, Nothing, const Batch<T>& k) {
  using C = Constants<T>;
  return multiply_add(k, Batch<T>(-C::log2_low), multiply_add(k, Batch<T>(-C::log2_high), x));
}

/// x = k·log 2 + r with |r| <= log(2) / 2, and exp(r) - 1.
template <class T>
struct Reduced {
  Batch<T> k, exp_minus_1;

  template <class Low = Nothing>
  REGARD_INLINE explicit Reduced(const Batch<T>& x, const Low& low = {})
      : Reduced(x, low, Whole<T>(x, static_cast<T>(1.442695040888963407359925)).number) {}

  template <class Low>
  REGARD_INLINE Reduced(const Batch<T>& x, const Low& low, const Batch<T>& its_k) : k(its_k) {
    using C = Constants<T>;
    const Batch<T> r = reduced(x, low, k);
    exp_minus_1 = multiply_add<T>(r * r, polynomial(r, C::exp_tail), r);
  }
};

/// x·2^k for whole k; x is near 1, the result may be denormal or infinite.
template <class T>
REGARD_INLINE Batch<T> scaled(const Batch<T>& x, const Batch<T>& k) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>)
    return _mm512_scalef_ps(x, k);
  else
    return _mm512_scalef_pd(x, k);
#else
  // In two factors: 2^k may be denormal, or too large while the product is not.
  const Whole<T> half(k, static_cast<T>(0.5));
  const Whole<T> rest(k - half.number);
  return x * half.power_of_2 * rest.power_of_2;
#endif
}

/// x, or low where that is more; a NaN stays.
template <class T>
REGARD_INLINE Batch<T> not_below(const Batch<T>& x, T low) {
#if defined(__SSE2__)
  return xsimd::max(Batch<T>(low), x);  // which gives its second operand for a NaN
#else
  return xsimd::select(x < Batch<T>(low), Batch<T>(low), x);
#endif
}

/// x, or high where that is less; a NaN stays.
template <class T>
REGARD_INLINE Batch<T> not_above(const Batch<T>& x, T high) {
#if defined(__SSE2__)
  return xsimd::min(Batch<T>(high), x);  // which gives its second operand for a NaN
#else
  return xsimd::select(x > Batch<T>(high), Batch<T>(high), x);
#endif
}

/// x within low .. high; a NaN stays.
template <class T>
REGARD_INLINE Batch<T> within(const Batch<T>& x, T low, T high) {
  return not_above(not_below(x, low), high);
}

/// exp(x + low), where low is too small to be added to x.
template <class T, class Low = Nothing>
REGARD_INLINE Batch<T> exp(const Batch<T>& x, const Low& low = {}) {
  using C = Constants<T>;
  const Reduced<T> reduced(within(x, C::exp_low, C::exp_high), low);
  return scaled<T>(reduced.exp_minus_1 + Batch<T>(T{1}), reduced.k);
}

/// x with `bits` added to its own.
template <class T>
REGARD_INLINE Batch<T> plus_bits(const Batch<T>& x, const Batch<Bits<T>>& bits) {
  return bits_as<T>(Batch<Bits<T>>(bits_as<Bits<T>>(x) + bits));
}

/// 2^-64.
template <class T>
inline constexpr T lowering = T{1} / static_cast<T>(Size{1} << 32) / static_cast<T>(Size{1} << 32);

/// A whole number k near x / log 2 for no less than exp_low and no more than 0, and y·2^(k + 64).
template <class T>
struct RaisedWhole {
  static constexpr T shift = static_cast<T>(3 * (Bits<T>{1} << (Constants<T>::mantissa_bits - 1)) + 64);
  Batch<T> sum, number;  // the sum ends in the bits of k + 64

  REGARD_INLINE explicit RaisedWhole(const Batch<T>& x)
      : sum(multiply_add(x, Batch<T>(static_cast<T>(1.442695040888963407359925)), Batch<T>(shift))),
        number(sum - Batch<T>(shift)) {}

  REGARD_INLINE Batch<T> raise(const Batch<T>& y) const {
    return plus_bits(y, Batch<Bits<T>>(bits_as<Bits<T>>(sum) << Constants<T>::mantissa_bits));
  }
};

/// exp(r) with (exp(r) - 1 - r) / r² = tail.
template <class T>
REGARD_INLINE Batch<T> exp_of_tail(const Batch<T>& r, const Batch<T>& tail) {
  const Batch<T> one(T{1});
  return multiply_add(multiply_add(tail, r, one), r, one);
}

/// exp(x + low)·2^64 for exp_low <= x <= 0: far above the denormal numbers, to which a multiplication by
/// 2^-64 rounds it.
template <class T, class Low = Nothing>
REGARD_INLINE Batch<T> raised_exp_within(const Batch<T>& x, const Low& low = {}) {
  const RaisedWhole<T> k(x);
  const Batch<T> r = reduced(x, low, k.number);
  return k.raise(multiply_add(r * r, polynomial(r, Constants<T>::exp_tail), r) + Batch<T>(T{1}));
}

/// The same for all x <= 0. Anything for x > 0; for -inf what a multiplication by 2^-64 rounds to 0.
template <class T>
REGARD_INLINE Batch<T> raised_exp_of_negative(const Batch<T>& x) {
  return raised_exp_within(not_below(x, Constants<T>::exp_low));
}

#if defined(__AVX512F__)

/// Constants::sixteenths at the lowest four bits of x, as a number.
template <class T>
REGARD_INLINE Batch<T> sixteenth_power(const Batch<T>& x) {
  const auto* const table = Constants<T>::sixteenths;
  if constexpr (sizeof(T) == 4)
    return _mm512_permutexvar_ps(_mm512_castps_si512(x), _mm512_load_ps(table));
  else
    return _mm512_permutex2var_pd(_mm512_load_pd(table), _mm512_castpd_si512(x), _mm512_load_pd(table + 8));
}

#endif

#if defined(__AVX512F__)

/// raised_exp_of_negative of no less than exp_low, where an error of 2 units in the last place will do: x =
/// k·log(2)/16 + r, and 2^(k/16) from a table where the lowest four bits of k say, shifted by the others.
/// Without a low part x is a rounded difference, beside which that of the logarithm is nothing.
template <class T, class Low = Nothing>
REGARD_INLINE Batch<T> raised_exp_by_sixteenths(const Batch<T>& x, const Low& low = {}) {
  using C = Constants<T>;
  constexpr T shift = static_cast<T>(3 * (Bits<T>{1} << (C::mantissa_bits - 1)) + 16 * 64);
  const Batch<T> sum =
      multiply_add(x, Batch<T>(static_cast<T>(16 * 1.442695040888963407359925)), Batch<T>(shift));
  const Batch<T> k = sum - Batch<T>(shift);
  Batch<T> r = multiply_add<T>(k, Batch<T>(-C::log2_sixteenth), x);
  if constexpr (!std::is_same_v<Low, Nothing>)
    r = r + multiply_add<T>(k, Batch<T>(-C::log2_sixteenth_low), low);
  const Batch<T> exp_minus_1 = multiply_add<T>(r * r, polynomial(r, C::sixteenth_tail), r);
  const Batch<T> power =
      plus_bits(sixteenth_power<T>(sum), Batch<Bits<T>>(bits_as<Bits<T>>(sum) << (C::mantissa_bits - 4)));
  return multiply_add<T>(power, exp_minus_1, power);
}

#endif

/// raised_exp_of_negative of a rounded difference, beside which a few units in the last place are nothing: so
/// the logarithm in one part will do, and for floats a shorter polynomial.
template <class T>
REGARD_INLINE Batch<T> raised_exp_of_rounded(const Batch<T>& x) {
  using C = Constants<T>;
  const Batch<T> inside = not_below(x, C::exp_low);
#if defined(__AVX512F__)
  return raised_exp_by_sixteenths(inside);
#else
  const RaisedWhole<T> k(inside);
  constexpr T log2 = static_cast<T>(0.693147180559945309417232);
  const Batch<T> r =
      is_fused ? multiply_add(k.number, Batch<T>(-log2), inside) : reduced(inside, Nothing{}, k.number);
  return k.raise(exp_of_tail(r, polynomial(r, C::short_exp_tail)));
#endif
}

/// exp(x) for x <= 0; anything for x > 0.
template <class T>
REGARD_INLINE Batch<T> exp_of_negative(const Batch<T>& x) {
  return raised_exp_of_negative(x) * Batch<T>(lowering<T>);
}

/// exp(x) - 1 for |x| <= 2·tanh_end.
template <class T>
REGARD_INLINE Batch<T> exp_minus_1(const Batch<T>& x) {
  const Reduced<T> reduced(x);
  const Batch<T> power = Whole<T>(reduced.k).power_of_2;
  return multiply_add<T>(reduced.exp_minus_1, power, power - Batch<T>(T{1}));
}

/// log(x) for normal x > 0. With x = 2^k·(1 + f) and s = f / (2 + f), log(1 + f) = f - s·(f - s²·tail(s²)).
template <class T>
REGARD_INLINE Batch<T> log_of_normal(const Batch<T>& x, const Batch<T>& added_to_k) {
  using C = Constants<T>;
  constexpr T half_root = static_cast<T>(0.70710678118654752440),
              large = static_cast<T>(Bits<T>{1} << C::mantissa_bits);
  const Batch<Bits<T>> bits = bits_as<Bits<T>>(x);
  // An exponent among the mantissa bits of 2^mantissa_bits is a number.
  const Batch<Bits<T>> exponent =
      Batch<Bits<T>>(bits >> C::mantissa_bits) | bits_as<Bits<T>>(Batch<T>(large));
  Batch<T> k = bits_as<T>(exponent) - Batch<T>(large + C::bias - 1) + added_to_k;
  const Batch<Bits<T>> fraction = bits & Batch<Bits<T>>((Bits<T>{1} << C::mantissa_bits) - 1);
  Batch<T> m = bits_as<T>(Batch<Bits<T>>(fraction | bits_as<Bits<T>>(Batch<T>(static_cast<T>(0.5)))));
  const Truths<T> small = m < Batch<T>(half_root);
  m = xsimd::select(small, m + m, m);
  k = xsimd::select(small, k - Batch<T>(T{1}), k);
  const Batch<T> f = m - Batch<T>(T{1});
  const Batch<T> s = divide<T>(f, f + Batch<T>(T{2}));
  const Batch<T> z = s * s, half_square = f * f * Batch<T>(static_cast<T>(0.5));
  const Batch<T> tail = s * (half_square + z * polynomial(z, C::log_tail)) + k * Batch<T>(C::log2_low);
  return multiply_add<T>(k, Batch<T>(C::log2_high), f - (half_square - tail));
}

template <class T>
REGARD_INLINE Batch<T> log(const Batch<T>& x) {
  using C = Constants<T>;
  constexpr T infinity = std::numeric_limits<T>::infinity(), nan = std::numeric_limits<T>::quiet_NaN();
  constexpr T up = static_cast<T>(Bits<T>{1} << (C::mantissa_bits + 1));
  const Batch<T> zero(T{0});
  const Truths<T> denormal = x < Batch<T>(std::numeric_limits<T>::min());
  const Batch<T> normal = xsimd::select(denormal, x * Batch<T>(up), x);
  Batch<T> y =
      log_of_normal(normal, xsimd::select(denormal, Batch<T>(static_cast<T>(-C::mantissa_bits - 1)), zero));
  y = xsimd::select(x > zero, y, xsimd::select(x == zero, Batch<T>(-infinity), Batch<T>(nan)));
  return xsimd::select(x == Batch<T>(infinity), x, y);
}

/// log(1 + t) for 0 <= t <= 1: what 1 + t rounds away is put back, as a part of the sum.
template <class T>
REGARD_INLINE Batch<T> log_1_plus(const Batch<T>& t) {
  const Batch<T> sum = t + Batch<T>(T{1});
  const Batch<T> lost = t - (sum - Batch<T>(T{1}));
  return log_of_normal(sum, Batch<T>(T{0})) + divide<T>(lost, sum);
}

template <class T>
REGARD_INLINE Batch<T> sigmoid(const Batch<T>& x) {
  const Batch<T> e = exp_of_negative(negate<T>(xsimd::abs(x))), one(T{1});
  return divide<T>(xsimd::select(x < Batch<T>(T{0}), e, one), one + e);
}

/// max(x, 0) + log(1 + exp(-|x|)); a NaN stays.
template <class T>
REGARD_INLINE Batch<T> softplus(const Batch<T>& x) {
  const Batch<T> zero(T{0});
  return xsimd::select(x < zero, zero, x) + log_1_plus(exp_of_negative(negate<T>(xsimd::abs(x))));
}

/// e / (e + 2) with e = exp(2|x|) - 1, and x's sign.
template <class T>
REGARD_INLINE Batch<T> tanh(const Batch<T>& x) {
  const Batch<T> inside = not_above(xsimd::abs(x), Constants<T>::tanh_end);
  const Batch<T> e = exp_minus_1(inside + inside);
  const Batch<T> sign = x & Batch<T>(-T{0});
  return divide<T>(e, e + Batch<T>(T{2})) | sign;
}

/// exp(-x²/2)·2^64 for |x| <= cdf_end: the square in two parts, so that its rounding is not magnified.
template <class T>
REGARD_INLINE Batch<T> raised_bell(const Batch<T>& x) {
  const Batch<T> half(static_cast<T>(-0.5));
#if defined(__FMA__)
  const Batch<T> of_half = x * half, square = x * of_half, lost = multiply_add(x, of_half, negate(square));
#else
  const Batch<T> high = x & bits_as<T>(Batch<Bits<T>>(Constants<T>::high_bits));
  const Batch<T> square = high * high * half, lost = (x - high) * (x + high) * half;
#endif
#if defined(__AVX512F__)
  if constexpr (sizeof(T) == 4) return raised_exp_by_sixteenths(square, lost);
#endif
  return raised_exp_within<T>(square, lost);
}

/// What makes a raised bell the normal density.
template <class T>
inline constexpr T density = static_cast<T>(0.39894228040143267794) * lowering<T>;

/// |x|, as far as Φ is neither 0 nor 1.
template <class T>
REGARD_INLINE Batch<T> inside_of(const Batch<T>& x) {
  return not_above(xsimd::abs(x), Constants<T>::cdf_end);
}

template <class T>
REGARD_INLINE Batch<T> normal_pdf(const Batch<T>& x) {
  return raised_bell(inside_of(x)) * Batch<T>(density<T>);
}

/// exp(x²/2)·Φ(-x)·2^-64 for 0 <= x <= cdf_end: slow, so that Φ keeps all digits far to the left.
template <class T>
REGARD_INLINE Batch<T> lowered_tail(const Batch<T>& x) {
  using C = Constants<T>;
  const Batch<T> turn(C::cdf_turn), to_turn = x + turn, to_shift = x + Batch<T>(C::cdf_shift);
  const Batch<T> share = divide<T>(Batch<T>(T{1}), to_turn * to_shift);  // one division for both quotients
  return polynomial<T>((x - turn) * to_shift * share, C::cdf) * (to_turn * share) * Batch<T>(lowering<T>);
}

#if !defined(__AVX512F__)

REGARD_INLINE Batch<float> lowered_tail(const Batch<float>& x) {
  using C = Constants<float>;
  const Batch<float> square = x * x;
  return divide<float>(polynomial(x, square, C::cdf_above), polynomial(x, square, C::cdf_below));
}

#endif

template <class T>
REGARD_INLINE Batch<T> normal_cdf(const Batch<T>& x, const Batch<T>& inside, const Batch<T>& bell) {
  const Batch<T> below = bell * lowered_tail(inside);
  return xsimd::select(x > Batch<T>(T{0}), Batch<T>(T{1}) - below, below);
}

template <class T>
REGARD_INLINE Batch<T> normal_cdf(const Batch<T>& x) {
  const Batch<T> inside = inside_of(x);
  return normal_cdf(x, inside, raised_bell(inside));
}

/// x·Φ(x) = max(x, 0) - |x|·Φ(-|x|), where the last is 0 far out, but for -inf.
template <class T>
REGARD_INLINE Batch<T> gelu_exact(const Batch<T>& x) {
  const Batch<T> inside = inside_of(x), below = raised_bell(inside) * lowered_tail(inside);
  const Batch<T> minus_size = not_above(x, Constants<T>::cdf_end) | Batch<T>(-T{0});
  return multiply_add<T>(minus_size, below, not_below(x, -T{0}));
}

/// Φ(x) + x·φ(x).
template <class T>
REGARD_INLINE Batch<T> gelu_slope(const Batch<T>& x) {
  const Batch<T> inside = inside_of(x), bell = raised_bell(inside);
  return normal_cdf(x, inside, bell) + x * (bell * Batch<T>(density<T>));
}

inline constexpr double gelu_c = 0.79788456080286535588, gelu_k = 0.044715;

/// x/2·(1 + tanh u) = x·sigmoid(2u) with u = c·(x + k·x³).
template <class T>
REGARD_INLINE Batch<T> gelu_tanh(const Batch<T>& x) {
  const Batch<T> cube = x * x * x;
  const Batch<T> u = Batch<T>(static_cast<T>(gelu_c)) * (x + Batch<T>(static_cast<T>(gelu_k)) * cube);
  return x * sigmoid<T>(u + u);
}

/// s·(1 + x·(1 - s)·2u') with s = sigmoid(2u); far out, where s is 0 or 1, the rest is 0.
template <class T>
REGARD_INLINE Batch<T> gelu_tanh_slope(const Batch<T>& x) {
  const Batch<T> one(T{1}), zero(T{0}), inside = within(x, T{-40}, T{40}), square = inside * inside;
  const Batch<T> twice_c(static_cast<T>(2 * gelu_c));
  const Batch<T> twice_u = twice_c * (inside + Batch<T>(static_cast<T>(gelu_k)) * (square * inside));
  const Batch<T> twice_slope = twice_c * multiply_add(square, Batch<T>(static_cast<T>(3 * gelu_k)), one);
  // s and 1 - s without a loss of digits in either.
  const Batch<T> e = exp_of_negative(negate<T>(xsimd::abs(twice_u))), share = divide<T>(one, one + e),
                 rest = e * share;
  const Truths<T> left = twice_u < zero;
  const Batch<T> s = xsimd::select(left, rest, share), other = xsimd::select(left, share, rest);
  return s * multiply_add(inside * other, twice_slope, one);
}

}  // namespace
}  // namespace regard::kernels::REGARD_VARIANT

// Vectors of numbers, as wide as the instruction set this file is compiled for: REGARD_VARIANT, a namespace
// of its own. What is written here and in the files that include it is compiled once per instruction set. A
// linker keeps one of several inline functions of one name, and that one must not hold instructions that the
// processor lacks: so everything here is in an unnamed namespace, uses no inline function that other code
// shares, and a test looks for such functions in what the compiler made of it.
#pragma once

#include <xsimd/xsimd.hpp>

#include <cstdint>
#include <type_traits>

#include <regard/dtype.hpp>

// Debug builds inline as well: a function that is not inlined gets a name the linker sees.
#define REGARD_INLINE inline __attribute__((always_inline))

// A loop, before anything else is done with it: only then are the vectors of an array kept in registers.
#if defined(__GNUC__) && !defined(__clang__)
#define REGARD_UNROLLED _Pragma("GCC unroll 12")
#else
#define REGARD_UNROLLED
#endif

namespace regard::kernels::REGARD_VARIANT {
namespace {

using InstructionSet = xsimd::default_arch;  // what the compiler's flags name

template <class T>
using Batch = xsimd::batch<T, InstructionSet>;
template <class T>
using Truths = xsimd::batch_bool<T, InstructionSet>;
template <class T>
inline constexpr Size width = static_cast<Size>(Batch<T>::size);

/// The unsigned integer of T's size.
template <class T>
using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;

template <class To, class From>
REGARD_INLINE Batch<To> bits_as(const Batch<From>& x) {
#if XSIMD_VERSION_MAJOR < 11
  return xsimd::bitwise_cast<Batch<To>>(x);
#else
  return xsimd::bitwise_cast<To>(x);
#endif
}

template <class T>
REGARD_INLINE Batch<T> load(const T* from) {
  return Batch<T>::load_unaligned(from);
}

template <class T>
REGARD_INLINE void store(T* to, const Batch<T>& x) {
  x.store_unaligned(to);
}

/// a·b + c, fused where the instruction set can: not xsimd::fma, which is two instructions on AVX-512 before
/// xsimd 9.
template <class T>
REGARD_INLINE Batch<T> multiply_add(const Batch<T>& a, const Batch<T>& b, const Batch<T>& c) {
#if defined(__AVX512F__)
  if constexpr (std::is_same_v<T, float>)
    return _mm512_fmadd_ps(a, b, c);
  else
    return _mm512_fmadd_pd(a, b, c);
#elif defined(__aarch64__)
  if constexpr (std::is_same_v<T, float>)
    return vfmaq_f32(c, a, b);
  else
    return vfmaq_f64(c, a, b);
#else
  return xsimd::fma(a, b, c);
#endif
}

/// Is it rounded once?
#if defined(__FMA__) || defined(__aarch64__)
inline constexpr bool is_fused = true;
#else
inline constexpr bool is_fused = false;
#endif

/// Not a / b and sqrt(x), which for float are estimates in xsimd's NEON.
template <class T>
REGARD_INLINE Batch<T> divide(const Batch<T>& a, const Batch<T>& b) {
#if defined(__aarch64__)
  if constexpr (std::is_same_v<T, float>) return vdivq_f32(a, b);
#endif
  return a / b;
}
template <class T>
REGARD_INLINE Batch<T> square_root(const Batch<T>& x) {
#if defined(__aarch64__)
  if constexpr (std::is_same_v<T, float>) return vsqrtq_f32(x);
#endif
  return xsimd::sqrt(x);
}

/// Not x != x, which is false for a NaN in some of xsimd's instruction sets.
template <class T>
REGARD_INLINE Truths<T> is_nan(const Batch<T>& x) {
  return !(x == x);
}

/// Not -x, which takes 0 to 0 in some of them.
template <class T>
REGARD_INLINE Batch<T> negate(const Batch<T>& x) {
  return x ^ Batch<T>(-T{0});
}

// ---- the first few lanes: 0 < count < width -------------------------------------------------------------

#if defined(__AVX512VL__)

REGARD_INLINE __mmask16 first_bits(Size count) {
  return static_cast<__mmask16>((1u << count) - 1);
}

REGARD_INLINE Batch<float> load_first(const float* from, Size count) {
  return _mm512_maskz_loadu_ps(first_bits(count), from);
}
REGARD_INLINE Batch<double> load_first(const double* from, Size count) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(first_bits(count)), from);
}
REGARD_INLINE void store_first(float* to, Size count, const Batch<float>& x) {
  _mm512_mask_storeu_ps(to, first_bits(count), x);
}
REGARD_INLINE void store_first(double* to, Size count, const Batch<double>& x) {
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(first_bits(count)), x);
}

#elif defined(__AVX2__)

REGARD_INLINE __m256i first_words(Size count) {
  const __m256i places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(count)), places);
}

REGARD_INLINE Batch<float> load_first(const float* from, Size count) {
  return _mm256_maskload_ps(from, first_words(count));
}
REGARD_INLINE Batch<double> load_first(const double* from, Size count) {
  return _mm256_maskload_pd(from, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(first_words(count))));
}
// Not by masked stores, which some processors take dozens of steps for.
REGARD_INLINE void store_first(float* to, Size count, const Batch<float>& x) {
  __m128 rest = _mm256_castps256_ps128(x);
  if (count & 4) {
    _mm_storeu_ps(to, rest);
    rest = _mm256_extractf128_ps(x, 1);
    to += 4;
  }
  if (count & 2) {
    _mm_storel_pi(reinterpret_cast<__m64*>(to), rest);
    rest = _mm_movehl_ps(rest, rest);
    to += 2;
  }
  if (count & 1) _mm_store_ss(to, rest);
}
REGARD_INLINE void store_first(double* to, Size count, const Batch<double>& x) {
  __m128d rest = _mm256_castpd256_pd128(x);
  if (count & 2) {
    _mm_storeu_pd(to, rest);
    rest = _mm256_extractf128_pd(x, 1);
    to += 2;
  }
  if (count & 1) _mm_store_sd(to, rest);
}

#elif defined(__SSE2__)

REGARD_INLINE Batch<float> load_first(const float* from, Size count) {
  if (count == 1) return _mm_load_ss(from);
  double both;  // moved as one, wherever it lies
  __builtin_memcpy(&both, from, sizeof both);
  const __m128 two = _mm_castpd_ps(_mm_set_sd(both));
  return count == 2 ? two : _mm_movelh_ps(two, _mm_load_ss(from + 2));
}
REGARD_INLINE Batch<double> load_first(const double* from, Size) {
  return _mm_load_sd(from);
}
REGARD_INLINE void store_first(float* to, Size count, const Batch<float>& x) {
  if (count == 1) return _mm_store_ss(to, x);
  _mm_storel_pi(reinterpret_cast<__m64*>(to), x);
  if (count == 3) _mm_store_ss(to + 2, _mm_movehl_ps(x, x));
}
REGARD_INLINE void store_first(double* to, Size, const Batch<double>& x) {
  _mm_store_sd(to, x);
}

#else

template <class T>
REGARD_INLINE Batch<T> load_first(const T* from, Size count) {
  T lanes[width<T>] = {};
  for (Size i = 0; i < count; ++i) lanes[i] = from[i];
  return load(lanes);
}
template <class T>
REGARD_INLINE void store_first(T* to, Size count, const Batch<T>& x) {
  T lanes[width<T>];
  store(lanes, x);
  for (Size i = 0; i < count; ++i) to[i] = lanes[i];
}

#endif

/// 0, 1, 2, ... in memory, at which to compare.
template <class T>
REGARD_INLINE Batch<T> places() {
  T lanes[width<T>];
  for (Size i = 0; i < width<T>; ++i) lanes[i] = static_cast<T>(i);
  return load(lanes);
}

/// x in the first lanes, `other` in the rest.
template <class T>
REGARD_INLINE Batch<T> first_of(const Batch<T>& x, Size count, const Batch<T>& other) {
  return xsimd::select(places<T>() < Batch<T>(static_cast<T>(count)), x, other);
}

// ---- booleans in memory ---------------------------------------------------------------------------------

#if defined(__AVX512VL__)

template <class T>
REGARD_INLINE Truths<T> load_first_truths(const bool* keep, Size count) {
  const __m128i bytes = _mm_maskz_loadu_epi8(first_bits(count), keep);
  return static_cast<typename Truths<T>::register_type>(_mm_test_epi8_mask(bytes, bytes));
}
/// Is keep[i] set, for as many lanes as there are?
template <class T>
REGARD_INLINE Truths<T> load_truths(const bool* keep) {
  return load_first_truths<T>(keep, width<T>);
}

#elif defined(__SSE2__)

/// Are they set? As many bytes as T has, low first, as there are lanes.
template <class T>
REGARD_INLINE Truths<T> truths_of(__m128i bytes) {
#if defined(__AVX2__)
  if constexpr (sizeof(T) == 4)
    return _mm256_castsi256_ps(_mm256_cmpgt_epi32(_mm256_cvtepu8_epi32(bytes), _mm256_setzero_si256()));
  else
    return _mm256_castsi256_pd(_mm256_cmpgt_epi64(_mm256_cvtepu8_epi64(bytes), _mm256_setzero_si256()));
#else
  const __m128i zero = _mm_setzero_si128(), words = _mm_unpacklo_epi16(_mm_unpacklo_epi8(bytes, zero), zero);
  const __m128i set = _mm_cmpgt_epi32(words, zero);
  if constexpr (sizeof(T) == 4)
    return _mm_castsi128_ps(set);
  else
    return _mm_castsi128_pd(_mm_unpacklo_epi32(set, set));
#endif
}
/// Is keep[i] set, for as many lanes as there are?
template <class T>
REGARD_INLINE Truths<T> load_truths(const bool* keep) {
  std::uint64_t bytes = 0;
  __builtin_memcpy(&bytes, keep, static_cast<std::size_t>(width<T>));
  return truths_of<T>(_mm_cvtsi64_si128(static_cast<long long>(bytes)));
}
template <class T>
REGARD_INLINE Truths<T> load_first_truths(const bool* keep, Size count) {
  std::uint64_t bytes = 0;
  for (Size i = 0; i < count; ++i) bytes |= std::uint64_t{keep[i]} << (8 * i);
  return truths_of<T>(_mm_cvtsi64_si128(static_cast<long long>(bytes)));
}

#else

/// Is keep[i] set, for as many lanes as there are?
template <class T>
REGARD_INLINE Truths<T> load_truths(const bool* keep) {
  T lanes[width<T>];
  for (Size i = 0; i < width<T>; ++i) lanes[i] = static_cast<T>(keep[i]);
  return load(lanes) > Batch<T>(T{0});
}
template <class T>
REGARD_INLINE Truths<T> load_first_truths(const bool* keep, Size count) {
  T lanes[width<T>] = {};
  for (Size i = 0; i < count; ++i) lanes[i] = static_cast<T>(keep[i]);
  return load(lanes) > Batch<T>(T{0});
}

#endif

// ---- whole vectors and the last, shorter one, in one generic lambda --------------------------------------

/// In place of a count: all lanes.
struct All {};

/// How many lanes that is.
template <class T>
REGARD_INLINE Size size_of(All) {
  return width<T>;
}
template <class T>
REGARD_INLINE Size size_of(Size count) {
  return count;
}

/// x in the lanes that exist, `other` in the rest.
template <class T>
REGARD_INLINE Batch<T> known_lanes(const Batch<T>& x, All, const Batch<T>&) {
  return x;
}
template <class T>
REGARD_INLINE Batch<T> known_lanes(const Batch<T>& x, Size count, const Batch<T>& other) {
  return first_of(x, count, other);
}

template <class T>
REGARD_INLINE Batch<T> load(const T* from, All) {
  return load(from);
}
template <class T>
REGARD_INLINE Batch<T> load(const T* from, Size count) {
  return load_first(from, count);
}
template <class T>
REGARD_INLINE void store(T* to, All, const Batch<T>& x) {
  store(to, x);
}
template <class T>
REGARD_INLINE void store(T* to, Size count, const Batch<T>& x) {
  store_first(to, count, x);
}
template <class T>
REGARD_INLINE Truths<T> load_truths(const bool* keep, All) {
  return load_truths<T>(keep);
}
template <class T>
REGARD_INLINE Truths<T> load_truths(const bool* keep, Size count) {
  return load_first_truths<T>(keep, count);
}

/// A vector of T, for loops that take one of half the width as well.
template <class T>
struct Wide {
  using Vector = Batch<T>;
  static constexpr Size width = REGARD_VARIANT::width<T>;

  REGARD_INLINE static Vector all(T x) { return Vector(x); }
  REGARD_INLINE static Vector add(const Vector& a, const Vector& b) { return a + b; }
  REGARD_INLINE static Vector multiply(const Vector& a, const Vector& b) { return a * b; }
  REGARD_INLINE static Vector multiply_add(const Vector& a, const Vector& b, const Vector& c) {
    return REGARD_VARIANT::multiply_add<T>(a, b, c);
  }
  template <class Count>
  REGARD_INLINE static Vector load(const T* from, Count count) {
    return REGARD_VARIANT::load(from, count);
  }
  template <class Count>
  REGARD_INLINE static void store(T* to, Count count, const Vector& x) {
    REGARD_VARIANT::store<T>(to, count, x);
  }
};

#if defined(__AVX512VL__)

/// Of half the width: many processors do two of these in the time of one. Not xsimd's, whose functions the
/// AVX2 files share.
template <class T>
struct Half;

template <>
struct Half<float> {
  using Vector = __m256;
  static constexpr Size width = 8;

  REGARD_INLINE static Vector all(float x) { return _mm256_set1_ps(x); }
  REGARD_INLINE static Vector add(Vector a, Vector b) { return _mm256_add_ps(a, b); }
  REGARD_INLINE static Vector multiply(Vector a, Vector b) { return _mm256_mul_ps(a, b); }
  REGARD_INLINE static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
  REGARD_INLINE static Vector load(const float* from, All) { return _mm256_loadu_ps(from); }
  REGARD_INLINE static Vector load(const float* from, Size count) {
    return _mm256_maskz_loadu_ps(static_cast<__mmask8>(first_bits(count)), from);
  }
  REGARD_INLINE static void store(float* to, All, Vector x) { _mm256_storeu_ps(to, x); }
  REGARD_INLINE static void store(float* to, Size count, Vector x) {
    _mm256_mask_storeu_ps(to, static_cast<__mmask8>(first_bits(count)), x);
  }
};

template <>
struct Half<double> {
  using Vector = __m256d;
  static constexpr Size width = 4;

  REGARD_INLINE static Vector all(double x) { return _mm256_set1_pd(x); }
  REGARD_INLINE static Vector add(Vector a, Vector b) { return _mm256_add_pd(a, b); }
  REGARD_INLINE static Vector multiply(Vector a, Vector b) { return _mm256_mul_pd(a, b); }
  REGARD_INLINE static Vector multiply_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_pd(a, b, c); }
  REGARD_INLINE static Vector load(const double* from, All) { return _mm256_loadu_pd(from); }
  REGARD_INLINE static Vector load(const double* from, Size count) {
    return _mm256_maskz_loadu_pd(static_cast<__mmask8>(first_bits(count)), from);
  }
  REGARD_INLINE static void store(double* to, All, Vector x) { _mm256_storeu_pd(to, x); }
  REGARD_INLINE static void store(double* to, Size count, Vector x) {
    _mm256_mask_storeu_pd(to, static_cast<__mmask8>(first_bits(count)), x);
  }
};

#endif

/// f(i, count) for every vector of n numbers: count is All, but for the last one's lanes.
template <class T, class F>
REGARD_INLINE void for_each_vector(Size n, F f) {
  Size i = 0;
  for (; i + width<T> <= n; i += width<T>) f(i, All{});
  if (i < n) f(i, n - i);
}

// ---- loops ----------------------------------------------------------------------------------------------

/// y = f(x), element by element. y may be x.
template <class T, class F>
REGARD_INLINE void map(Size n, const T* x, T* y, F f) {
  Size i = 0;
  for (; i + width<T> <= n; i += width<T>) store(y + i, f(load(x + i)));
  if (i < n) store_first(y + i, n - i, f(load_first(x + i, n - i)));
}

/// y = f(a, b), element by element; a step is 1, or 0 where one number meets the whole row. y may be a or b.
template <class T, class F>
REGARD_INLINE void map(Size n, const T* a, Size a_step, const T* b, Size b_step, T* y, F f) {
  if (a_step == 0) {
    const Batch<T> one(*a);
    map(
        n, b, y, [ one, f ](const Batch<T>& x) __attribute__((always_inline)) { return f(one, x); });
  } else if (b_step == 0) {
    const Batch<T> one(*b);
    map(
        n, a, y, [ one, f ](const Batch<T>& x) __attribute__((always_inline)) { return f(x, one); });
  } else {
    Size i = 0;
    for (; i + width<T> <= n; i += width<T>) store(y + i, f(load(a + i), load(b + i)));
    if (i < n) store_first(y + i, n - i, f(load_first(a + i, n - i), load_first(b + i, n - i)));
  }
}

}  // namespace
}  // namespace regard::kernels::REGARD_VARIANT

// NumPy's legacy generator, for examples and tests that follow a script which starts with np.random.seed.
#pragma once

#include <regard/export.hpp>
#include <regard/shape.hpp>
#include <regard/tensor.hpp>

#include <array>
#include <cstdint>
#include <optional>

namespace REGARD_API regard {

/// Draws what np.random.RandomState(seed) draws, and np.random itself after np.random.seed(seed), call by
/// call and in the same order. A plain value: a copy continues from the same place. Models start from Rng,
/// whose numbers do not depend on how many were drawn before.
///
/// MT19937 (Matsumoto & Nishimura, "Mersenne Twister", ACM TOMACS 8, 1998), seeded by their init_genrand of
/// 2002. Integers and uniform numbers are NumPy's to the last bit on every system. Normal numbers go through
/// std::log, as NumPy's do through its C library's log: where the two libraries differ in a last bit, so may
/// they.
class NumpyRng {
 public:
  /// ValueError unless seed < 2^32, as NumPy.
  explicit NumpyRng(std::uint64_t seed);

  /// 32 random bits.
  std::uint32_t bits();
  /// Uniform in [0, 1), a multiple of 2^-53: random_sample().
  double uniform();
  /// Standard normal: randn(). By Marsaglia's polar method, which makes two at a time; the second is kept for
  /// the next call.
  double normal();
  /// Uniform in low .. high-1: randint(low, high). ValueError unless low < high.
  std::int64_t randint(std::int64_t low, std::int64_t high);

  /// float64, drawn in row-major order.
  [[nodiscard]] Tensor rand(const Shape& shape);
  [[nodiscard]] Tensor randn(const Shape& shape);

 private:
  std::array<std::uint32_t, 624> state_;
  std::size_t used_ = 624;        ///< words of state_ that were drawn
  std::optional<double> second_;  ///< of the pair that normal() made last
};

}  // namespace regard

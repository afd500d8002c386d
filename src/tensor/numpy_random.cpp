#include "regard/numpy_random.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "regard/error.hpp"
#include "tensor/impl.hpp"

namespace regard {

NumpyRng Rng::numpy(std::uint64_t seed) {
  return NumpyRng(seed);
}

NumpyRng::NumpyRng(std::uint64_t seed) {
  if (seed > 0xffffffff)
    throw ValueError("NumpyRng: expected a seed of 0 .. 4294967295, got " + std::to_string(seed));
  state_[0] = static_cast<std::uint32_t>(seed);
  for (std::uint32_t i = 1; i < state_.size(); ++i)
    state_[i] = 1812433253u * (state_[i - 1] ^ state_[i - 1] >> 30) + i;
}

std::uint32_t NumpyRng::bits() {
  if (used_ == state_.size()) {
    // In place: word i needs the next one and the one 397 further, which at the end are new ones already.
    for (std::size_t i = 0; i < state_.size(); ++i) {
      const std::uint32_t joined = (state_[i] & 0x80000000u) | (state_[(i + 1) % 624] & 0x7fffffffu);
      state_[i] = state_[(i + 397) % 624] ^ joined >> 1 ^ (joined & 1u ? 0x9908b0dfu : 0u);
    }
    used_ = 0;
  }
  std::uint32_t word = state_[used_++];
  word ^= word >> 11;
  word ^= word << 7 & 0x9d2c5680u;
  word ^= word << 15 & 0xefc60000u;
  return word ^ word >> 18;
}

double NumpyRng::uniform() {
  const std::uint32_t high = bits() >> 5;
  return (high * 67108864.0 + (bits() >> 6)) / 9007199254740992.0;  // 27 bits and 26 bits
}

double NumpyRng::normal() {
  if (second_) return *std::exchange(second_, std::nullopt);
  double x = 0, y = 0, r2 = 0;  // a point in the unit circle, but not its centre
  do {
    x = 2 * uniform() - 1;
    y = 2 * uniform() - 1;
    r2 = x * x + y * y;
  } while (r2 >= 1 || r2 == 0);
  const double factor = std::sqrt(-2 * std::log(r2) / r2);
  second_ = factor * x;
  return factor * y;
}

std::int64_t NumpyRng::randint(std::int64_t low, std::int64_t high) {
  if (low >= high)
    throw ValueError("NumpyRng::randint: expected low < high, got " + std::to_string(low) + " and " +
                     std::to_string(high));
  const std::uint64_t range = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) - 1;
  std::uint64_t mask = range;  // all bits below the highest one of range
  for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
  std::uint64_t value = 0;
  if (range > 0) do {
      value = range > 0xffffffff ? std::uint64_t{bits()} << 32 : 0;
      value = (value | bits()) & mask;
    } while (value > range);
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + value);
}

Tensor NumpyRng::rand(const Shape& shape) {
  Tensor x = detail::empty(shape, float64);
  double* const values = detail::array(x).as<double>();
  for (Size i = 0; i < x.numel(); ++i) values[i] = uniform();
  return x;
}

Tensor NumpyRng::randn(const Shape& shape) {
  Tensor x = detail::empty(shape, float64);
  double* const values = detail::array(x).as<double>();
  for (Size i = 0; i < x.numel(); ++i) values[i] = normal();
  return x;
}

}  // namespace regard

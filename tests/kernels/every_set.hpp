// Tests of the loops that are compiled once per instruction set: each runs on every set that this processor
// has.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/instruction_set.hpp"

namespace regard::test {

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();
template <class T>
constexpr T nan_of = std::numeric_limits<T>::quiet_NaN();

template <class T>
const kernels::Rows<T>& rows_of(const kernels::Table& table) {
  if constexpr (std::is_same_v<T, float>)
    return table.f32;
  else
    return table.f64;
}

/// Calls check(rows) for both float types on every instruction set; what fails says on which.
template <class Check>
void on_every_set(Check check) {
  for (const kernels::InstructionSet& set : kernels::instruction_sets_here()) {
    const kernels::Table table = set.make_table();
    {
      SCOPED_TRACE(std::string(set.name) + ", float32");
      check(table.f32);
    }
    SCOPED_TRACE(std::string(set.name) + ", float64");
    check(table.f64);
  }
}

template <class T>
std::vector<T> random_numbers(Size n, T low = -3, T high = 3, unsigned seed = 1) {
  std::mt19937_64 engine(seed);
  std::vector<T> x(static_cast<std::size_t>(n));
  for (T& one : x)
    one = low + (high - low) * static_cast<T>(static_cast<double>(engine() >> 11) / 9007199254740992.0);
  return x;
}

/// Numbers with a guard behind them that a loop which runs too far would change.
template <class T>
class Guarded {
 public:
  explicit Guarded(Size n) : numbers_(static_cast<std::size_t>(n + guard), T{-77}) {}
  explicit Guarded(const std::vector<T>& x) : Guarded(static_cast<Size>(x.size())) {
    std::copy(x.begin(), x.end(), numbers_.begin());
  }
  T* data() { return numbers_.data(); }
  std::vector<T> values() const { return {numbers_.begin(), numbers_.end() - guard}; }
  bool is_intact() const {
    return std::all_of(numbers_.end() - guard, numbers_.end(), [](T x) { return x == T{-77}; });
  }

 private:
  static constexpr int guard = 40;
  std::vector<T> numbers_;
};

template <class T>
bool same_bits(T a, T b) {
  return std::memcmp(&a, &b, sizeof(T)) == 0 || (std::isnan(a) && std::isnan(b));
}

/// How many units in the last place of `right` lie between the two; -1 unless both are finite, or the same.
template <class T>
double units_apart(T x, long double right) {
  const T rounded = static_cast<T>(right);
  if (std::isnan(x) && std::isnan(rounded)) return 0;
  if (std::isinf(rounded) || std::isinf(x)) return x == rounded ? 0 : -1;
  if (std::isnan(x) || std::isnan(rounded)) return -1;
  const T magnitude = std::max(std::abs(rounded), std::numeric_limits<T>::min());
  const long double unit =
      static_cast<long double>(std::nextafter(magnitude, infinity<T>)) - static_cast<long double>(magnitude);
  return static_cast<double>(std::abs(static_cast<long double>(x) - right) / unit);
}

}  // namespace regard::test

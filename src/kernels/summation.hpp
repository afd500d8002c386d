// Sums in a fixed order, so that the same numbers give the same bits, and with an error that grows with the
// logarithm of the count: eight lanes (which a compiler can keep in vector registers without reordering
// anything), blocks of lanes, and blocks added in pairs.
#pragma once

#include <cstdint>
#include <type_traits>

#include <regard/dtype.hpp>

namespace regard::kernels {

/// What totals are kept in: float64 for floats, int64 for integers.
template <class T>
using Total = std::conditional_t<std::is_floating_point_v<T>, double, Size>;

/// Adds a stream of numbers (or of rows of numbers) in pairs, pairs of pairs, and so on: one addition per
/// number.
template <class T>
class PairwiseSum {
 public:
  void add(T value) {
    int level = 0;
    for (std::uint64_t full = count_++; full & 1; full >>= 1) value = levels_[level++] + value;
    levels_[level] = value;
  }
  T result() const {
    T added{};
    int level = 0;
    for (std::uint64_t full = count_; full; full >>= 1, ++level)
      if (full & 1) added = levels_[level] + added;
    return added;
  }

 private:
  T levels_[64];  // levels_[k] is in use where bit k of count_ is set: the sum of 2^k numbers
  std::uint64_t count_ = 0;
};

constexpr Size sum_lanes = 8;
constexpr Size sum_block = 256;

/// f(first) + ... + f(first + n - 1), for n of at most a few hundred.
template <class F>
auto sum_of_block(Size first, Size n, F f) {
  using T = decltype(f(first));
  T lanes[sum_lanes] = {};
  Size i = 0;
  for (; i + sum_lanes <= n; i += sum_lanes)
    for (Size lane = 0; lane < sum_lanes; ++lane) lanes[lane] += f(first + i + lane);
  for (Size lane = 0; i < n; ++i, ++lane) lanes[lane] += f(first + i);
  return static_cast<T>(((lanes[0] + lanes[1]) + (lanes[2] + lanes[3])) +
                        ((lanes[4] + lanes[5]) + (lanes[6] + lanes[7])));
}

/// f(0) + ... + f(n - 1).
template <class F>
auto sum_of(Size n, F f) {
  using T = decltype(f(n));
  if (n <= sum_block) return static_cast<Total<T>>(sum_of_block(0, n, f));
  PairwiseSum<Total<T>> blocks;
  for (Size i = 0; i < n; i += sum_block)
    blocks.add(sum_of_block(i, n - i < sum_block ? n - i : sum_block, f));
  return blocks.result();
}

}  // namespace regard::kernels

// Random numbers that are a function of (seed, stream, counter) and of nothing else.
//
// The generator is Philox4x32-10 (Salmon, Moraes, Dror & Shaw, "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011): ten rounds of multiplication turn a 128-bit counter and a 64-bit key into four 32-bit words.
// Nothing is carried from one block to the next, so any element of a stream can be computed alone (a dropout
// mask in the backward pass, for example), and three integers describe a generator completely.
//
// Every function uses integer arithmetic and the exactly rounded operations of IEEE 754 only, no library
// function whose last bit differs between systems: the same seed gives the same bits everywhere.
#pragma once

#include <regard/export.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace REGARD_API regard {

/// The four words of block `block` of stream `stream` under key `seed`.
constexpr std::array<std::uint32_t, 4> philox_block(std::uint64_t seed, std::uint64_t stream,
                                                    std::uint64_t block) {
  constexpr std::uint32_t low_factor = 0xD2511F53, high_factor = 0xCD9E8D57;
  constexpr std::uint32_t low_step = 0x9E3779B9;   // golden ratio
  constexpr std::uint32_t high_step = 0xBB67AE85;  // sqrt(3) - 1
  auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };

  std::uint32_t c0 = low(block), c1 = high(block), c2 = low(stream), c3 = high(stream);
  std::uint32_t k0 = low(seed), k1 = high(seed);
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = std::uint64_t{low_factor} * c0;
    const std::uint64_t p1 = std::uint64_t{high_factor} * c2;
    c0 = high(p1) ^ c1 ^ k0;
    c1 = low(p1);
    c2 = high(p0) ^ c3 ^ k1;
    c3 = low(p0);
    k0 += low_step;
    k1 += high_step;
  }
  return {c0, c1, c2, c3};
}

/// Word `index` of a stream: what `Rng({seed, stream, index}).bits()` returns.
constexpr std::uint32_t philox_word(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  return philox_block(seed, stream, index / 4)[static_cast<std::size_t>(index % 4)];
}

class NumpyRng;

/// A position in one stream of random numbers. A plain value: a copy continues from the same place and yields
/// the same numbers. Not for cryptography.
class Rng {
 public:
  /// Everything there is to know about a generator. `counter` is the number of 32-bit words drawn so far.
  struct State {
    std::uint64_t seed = 0;
    std::uint64_t stream = 0;
    std::uint64_t counter = 0;

    friend bool operator==(const State& a, const State& b) {
      return a.seed == b.seed && a.stream == b.stream && a.counter == b.counter;
    }
    friend bool operator!=(const State& a, const State& b) { return !(a == b); }
  };

  explicit Rng(std::uint64_t seed = 0) : Rng(State{seed, 0, 0}) {}
  /// Continues exactly where the generator stood whose state() this is.
  explicit Rng(const State& state);

  /// NumPy's legacy generator, what np.random draws after np.random.seed(seed); <regard/numpy_random.hpp>.
  [[nodiscard]] static NumpyRng numpy(std::uint64_t seed);

  const State& state() const { return state_; }

  /// A generator of the same seed whose numbers are independent of this one's and of those of every other
  /// `stream`. It depends on the seed and on the path of splits, not on how many numbers were drawn here, and
  /// it does not advance this generator. Splits nest: split(1).split(2) is a third stream.
  [[nodiscard]] Rng split(std::uint64_t stream) const;

  /// 32 random bits; advances the counter by one.
  std::uint32_t bits();
  /// 64 random bits: two words, the low one first.
  std::uint64_t next();

  /// Uniform in [0, 1), a multiple of 2^-53.
  double uniform();
  /// Uniform from `low` to `high`. Throws ValueError unless both are finite and low <= high.
  double uniform(double low, double high);
  /// Standard normal: one 64-bit draw through the inverse of the distribution function, so |x| <= 8.3.
  double normal();
  /// Uniform in 0 .. n-1, without the bias of a plain remainder. Throws ValueError if n <= 0.
  std::int64_t below(std::int64_t n);
  /// True with probability p. Throws ValueError unless 0 <= p <= 1.
  bool chance(double p);

  /// Puts the items in random order, every order being equally likely (Fisher & Yates).
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t left = items.size(); left > 1; --left) {
      using std::swap;
      const auto chosen = static_cast<std::size_t>(below(static_cast<std::int64_t>(left)));
      if (chosen != left - 1) swap(items[left - 1], items[chosen]);
    }
  }

  friend bool operator==(const Rng& a, const Rng& b) { return a.state_ == b.state_; }
  friend bool operator!=(const Rng& a, const Rng& b) { return !(a == b); }

 private:
  State state_;
  // The block that holds the next word, unless the counter stands at the start of a block. A function of
  // state_.
  std::array<std::uint32_t, 4> block_{};
};

/// x such that a standard normal number lies below x with probability p: Wichura, algorithm AS 241 (PPND16),
/// Applied Statistics 37 (1988), relative error about 1e-16. Throws ValueError unless 0 < p < 1.
double normal_quantile(double p);

}  // namespace regard

// Where a token stands: learned rows, waves, or a rotation of queries and keys.
#pragma once

#include <regard/export.hpp>
#include <regard/nn/init.hpp>
#include <regard/nn/module.hpp>

namespace REGARD_API regard {
namespace nn {

struct LearnedPositionsOptions {
  Init init = Init::normal;
  double deviation = 0.02;  ///< for Init::normal
  DType dtype = float64;
};

/// Adds to each token a row of numbers that belongs to its position.
struct LearnedPositions {
  /// ValueError unless both extents are positive.
  LearnedPositions(Size length, Size width, Rng& rng, const LearnedPositionsOptions& options = {});
  LearnedPositions(Cloning& c, const LearnedPositions& from) : weight(c(from.weight)) {}
  LearnedPositions(LearnedPositions&&) = default;
  LearnedPositions& operator=(LearnedPositions&&) = default;

  /// x [.., tokens, width] -> x + weight[first .. first + tokens]. ShapeError for another width or when there
  /// are more positions than `length`, ValueError for a negative `first`.
  [[nodiscard]] Tensor operator()(const Tensor& x, Size first = 0) const;

  template <class F>
  void visit(F&& f) {
    f("weight", weight);
  }

  Parameter weight;  ///< [length, width]
};

/// Vaswani et al. 2017, section 3.5, rows `first` on -> [length, width]: column 2i is sin(p / base^(2i /
/// width)), column 2i + 1 the cosine of the same. An odd width ends with a sine. ValueError for a negative
/// length or first, a width that is not positive, or a base that is not greater than 0.
[[nodiscard]] Tensor sinusoidal_positions(Size length, Size width, Size first = 0, DType dtype = float64,
                                          double base = 10000);

/// Adds sinusoidal_positions to x. Nothing is learned.
struct SinusoidalPositions {
  /// x [.., tokens, width], a float dtype. ShapeError below rank 2.
  [[nodiscard]] Tensor operator()(const Tensor& x, Size first = 0) const;

  template <class F>
  void visit(F&&) {}

  double base = 10000;
};

/// Su et al. 2021 (RoPE): the pair (x[2i], x[2i + 1]) of the token at position p is turned by p / base^(2i /
/// width), so that the product of a turned query and a turned key depends on the distance of their positions
/// alone. Nothing is learned; linear in x, and keeps its length.
struct RotaryPositions {
  /// x [.., tokens, width], at positions first, first + 1, ... ShapeError below rank 2 or for an odd width.
  [[nodiscard]] Tensor operator()(const Tensor& x, Size first = 0) const;
  /// At these positions: int64 [tokens], any integers. DTypeError, ShapeError.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& positions) const;

  template <class F>
  void visit(F&&) {}

  double base = 10000;
};

}  // namespace nn
}  // namespace regard

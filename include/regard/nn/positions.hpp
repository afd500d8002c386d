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

struct RelativeBiasOptions {
  Size buckets = 32;         ///< of distances; half of them for each direction unless causal
  Size max_distance = 128;   ///< from here on all distances share a bucket
  bool causal = false;       ///< keys that follow their query are hidden: all buckets go to those before
  Init init = Init::normal;  ///< T5 takes the deviation 1 / sqrt(width of the model)
  double deviation = 0.02;   ///< for Init::normal
  DType dtype = float64;
};

/// The bucket of a key that stands `ahead` of its query (behind it if negative), Raffel et al. 2020, as in
/// the code of T5: half of a direction's buckets for a distance each, the others for distances that grow as
/// their logarithm, computed in float32. ValueError for options that RelativeBias refuses.
[[nodiscard]] Size relative_bucket(Size ahead, const RelativeBiasOptions& options = {});

/// Raffel et al. 2020 (T5): a learned number per head and bucket of distances, to be added to the scores:
/// Mask::bias(relative(queries, keys)).
struct RelativeBias {
  /// ValueError unless the heads are positive, there is a bucket per direction for distance 0 and one for
  /// others, and max_distance is greater than the distances with a bucket of their own.
  RelativeBias(Size heads, Rng& rng, const RelativeBiasOptions& options = {});
  RelativeBias(Cloning& c, const RelativeBias& from) : weight(c(from.weight)), options(from.options) {}
  RelativeBias(RelativeBias&&) = default;
  RelativeBias& operator=(RelativeBias&&) = default;

  /// [1, heads, queries, keys], where query 0 stands at key `first`. ShapeError for a negative extent.
  [[nodiscard]] Tensor operator()(Size queries, Size keys, Size first = 0) const;

  template <class F>
  void visit(F&& f) {
    f("weight", weight);
  }

  Parameter weight;  ///< [buckets, heads]
  RelativeBiasOptions options;
};

}  // namespace nn
}  // namespace regard

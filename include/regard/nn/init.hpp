// How a layer's numbers start.
#pragma once

#include <string>

#include <regard/export.hpp>
#include <regard/random.hpp>
#include <regard/tensor.hpp>

namespace REGARD_API regard {
namespace nn {

/// fan_in and fan_out are the last two extents: weights are [in, out].
enum class Init {
  glorot_uniform,   ///< Glorot & Bengio 2010 (Xavier): the variance of activations and gradients stays level
  glorot_normal,    ///< the same with N(0, 2 / (fan_in + fan_out))
  kaiming_uniform,  ///< He et al. 2015: level behind relu; in ±sqrt(6 / fan_in)
  kaiming_normal,   ///< the same with N(0, 2 / fan_in)
  normal,           ///< N(0, deviation²)
  orthogonal,       ///< Saxe et al. 2014: rows, or columns if there are fewer, of length 1 at right angles
  identity,         ///< ones on the diagonal
  zeros,
};

/// By its name here, or with xavier for glorot: init("orthogonal"). ValueError that lists the names.
[[nodiscard]] Init init(const std::string& name);

/// A layer's first numbers. ShapeError below rank 2 where there are fans, and unless the rank is 2 for
/// orthogonal and identity. ValueError when normal is asked for with a deviation that is negative or not
/// finite.
[[nodiscard]] Tensor initial(const Shape& shape, Init init, double deviation, DType dtype, Rng& rng);

}  // namespace nn
}  // namespace regard

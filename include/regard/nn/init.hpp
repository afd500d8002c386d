// How a layer's numbers start.
#pragma once

#include <regard/export.hpp>
#include <regard/random.hpp>
#include <regard/tensor.hpp>

namespace REGARD_API regard {
namespace nn {

enum class Init {
  glorot_uniform,  ///< Glorot & Bengio 2010: the variance of activations and gradients stays level
  glorot_normal,
  normal,  ///< N(0, deviation²)
  zeros,
};

/// A layer's first numbers. glorot_* take fan_in and fan_out from the last two extents: ShapeError below
/// rank 2. ValueError when normal is asked for with a deviation that is negative or not finite.
[[nodiscard]] Tensor initial(const Shape& shape, Init init, double deviation, DType dtype, Rng& rng);

}  // namespace nn
}  // namespace regard

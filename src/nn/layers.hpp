// Checks that the layers share.
#pragma once

#include <string>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/tensor.hpp>

namespace regard::nn {

/// ValueError: `layer`: `what` must be positive, got `value`.
inline void require_positive(const char* layer, const char* what, Size value) {
  if (value <= 0)
    throw ValueError(std::string(layer) + ": " + what + " must be positive, got " + std::to_string(value));
}

/// "linear encoder.0.query.weight [8, 16]": a layer is known by its weight.
inline std::string describe(const char* layer, const Parameter& weight) {
  return std::string(layer) + (weight.name().empty() ? "" : " " + weight.name()) + " " +
         to_string(weight.shape());
}

/// ShapeError unless the last axis of x is the first of the layer's weight.
inline void require_width(const char* layer, const Parameter& weight, const Tensor& x) {
  if (x.rank() == 0 || x.size(-1) != weight.shape()[0])
    throw ShapeError(describe(layer, weight) + ": expected x [.., " + std::to_string(weight.shape()[0]) +
                     "], got " + to_string(x.shape()));
}

}  // namespace regard::nn

// Normalisation by the root mean square.
#pragma once

#include <regard/export.hpp>
#include <regard/nn/layer_norm.hpp>

namespace REGARD_API regard {
namespace nn {

/// Zhang & Sennrich 2019: each vector along the last axis is divided by its root mean square, then scaled:
/// x / sqrt(mean(x²) + epsilon)·gamma. A LayerNorm without the mean, and without beta.
struct RmsNorm : LayerNorm {
  /// ValueError unless the width and epsilon are positive.
  explicit RmsNorm(Size width, double its_epsilon = 1e-6, DType dtype = float64)
      : LayerNorm(width, {its_epsilon, dtype, NormKind::rms}) {}
  RmsNorm(Cloning& c, const RmsNorm& from) : LayerNorm(c, from) {}
};

}  // namespace nn
}  // namespace regard

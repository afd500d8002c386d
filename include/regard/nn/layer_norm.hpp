#pragma once

#include <regard/export.hpp>
#include <regard/nn/module.hpp>

namespace REGARD_API regard {
namespace nn {

struct LayerNormOptions {
  double epsilon = 1e-5;
  DType dtype = float64;
};

/// Ba, Kiros & Hinton 2016: each vector along the last axis is brought to mean 0 and variance 1, then scaled
/// and shifted.
struct LayerNorm {
  /// ValueError unless the width and epsilon are positive.
  explicit LayerNorm(Size width, const LayerNormOptions& options = {});
  LayerNorm(Cloning& c, const LayerNorm& from)
      : gamma(c(from.gamma)), beta(c(from.beta)), epsilon(from.epsilon) {}
  LayerNorm(LayerNorm&&) = default;
  LayerNorm& operator=(LayerNorm&&) = default;

  /// x [.., width] -> the same shape.
  [[nodiscard]] Tensor operator()(const Tensor& x) const;

  template <class F>
  void visit(F&& f) {
    f("gamma", gamma);
    f("beta", beta);
  }

  Parameter gamma;  ///< [width], starts at 1
  Parameter beta;   ///< [width], starts at 0
  double epsilon;   ///< added to the variance
};

}  // namespace nn
}  // namespace regard

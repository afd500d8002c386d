// Normalisation along the last axis.
#pragma once

#include <regard/export.hpp>
#include <regard/nn/module.hpp>

namespace REGARD_API regard {
namespace nn {

enum class NormKind {
  layer,  ///< Ba, Kiros & Hinton 2016
  rms,    ///< Zhang & Sennrich 2019: x / sqrt(mean(x²) + epsilon)·gamma, without beta
  none,   ///< x itself, without numbers to learn
};

struct LayerNormOptions {
  double epsilon = 1e-5;
  DType dtype = float64;
  NormKind kind = NormKind::layer;  ///< RmsNorm is the one with rms
};

/// Ba, Kiros & Hinton 2016: each vector along the last axis is brought to mean 0 and variance 1, then scaled
/// and shifted.
struct LayerNorm {
  /// ValueError unless the width and epsilon are positive.
  explicit LayerNorm(Size width, const LayerNormOptions& options = {});
  LayerNorm(Cloning& c, const LayerNorm& from)
      : gamma(c(from.gamma)), beta(c(from.beta)), epsilon(from.epsilon), kind(from.kind) {}
  LayerNorm(LayerNorm&&) = default;
  LayerNorm& operator=(LayerNorm&&) = default;

  /// x [.., width] -> the same shape.
  [[nodiscard]] Tensor operator()(const Tensor& x) const;

  template <class F>
  void visit(F&& f) {
    f("gamma", gamma);
    f("beta", beta);
  }

  Parameter gamma;  ///< [width], starts at 1; not defined for none
  Parameter beta;   ///< [width], starts at 0; not defined without mean
  double epsilon;   ///< added to the variance, or the mean square
  NormKind kind;
};

}  // namespace nn
}  // namespace regard

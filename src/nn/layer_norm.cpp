#include <regard/nn/layer_norm.hpp>

#include <regard/ops.hpp>

#include "nn/layers.hpp"

namespace regard::nn {

LayerNorm::LayerNorm(Size width, const LayerNormOptions& options)
    : epsilon(options.epsilon), kind(options.kind) {
  require_positive("layer norm", "the width", width);
  if (!(epsilon > 0))
    throw ValueError("layer norm: epsilon must be positive, got " + std::to_string(epsilon));
  if (kind != NormKind::none) gamma = Parameter(ones({width}, options.dtype));
  if (kind == NormKind::layer) beta = Parameter(zeros({width}, options.dtype));
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  const Within here(*this);
  if (kind == NormKind::none) return x;
  require_width(kind == NormKind::rms ? "rms norm" : "layer norm", gamma, x);
  if (kind == NormKind::rms) return rms_norm(x, gamma, epsilon);
  return layer_norm(x, gamma, beta, epsilon);
}

}  // namespace regard::nn

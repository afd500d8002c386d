#include <regard/nn/layer_norm.hpp>

#include <regard/ops.hpp>

#include "nn/layers.hpp"

namespace regard::nn {

LayerNorm::LayerNorm(Size width, const LayerNormOptions& options) : epsilon(options.epsilon) {
  require_positive("layer norm", "the width", width);
  if (!(epsilon > 0))
    throw ValueError("layer norm: epsilon must be positive, got " + std::to_string(epsilon));
  gamma = Parameter(ones({width}, options.dtype));
  beta = Parameter(zeros({width}, options.dtype));
}

Tensor LayerNorm::operator()(const Tensor& x) const {
  const Within here(*this);
  if (x.rank() == 0 || x.shape().back() != gamma.shape()[0])
    throw ShapeError(describe("layer norm", gamma) + ": expected x [.., " + std::to_string(gamma.shape()[0]) +
                     "], got " + to_string(x.shape()));
  return layer_norm(x, gamma, beta, epsilon);
}

}  // namespace regard::nn

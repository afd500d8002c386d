#include <regard/nn/linear.hpp>

#include <regard/ops.hpp>

#include "nn/layers.hpp"

namespace regard::nn {

Linear::Linear(Size in, Size out, Rng& rng, const LinearOptions& options) {
  require_positive("linear", "the input width", in);
  require_positive("linear", "the output width", out);
  weight = Parameter(initial({in, out}, options.init, options.deviation, options.dtype, rng));
  if (options.bias) bias = Parameter(zeros({out}, options.dtype));
}

Tensor Linear::operator()(const Tensor& x) const {
  const Within here(*this);
  require_width("linear", weight, x);
  const Tensor product = matmul(x, weight);
  return bias.defined() ? product + bias : product;
}

}  // namespace regard::nn

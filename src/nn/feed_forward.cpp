#include <regard/nn/feed_forward.hpp>

#include <regard/error.hpp>
#include <regard/ops.hpp>

namespace regard::nn {

FeedForward::FeedForward(Size width, Rng& rng, const FeedForwardOptions& options)
    : hidden(width, options.hidden == 0 ? 4 * width : options.hidden, rng, options),
      output(hidden.weight.shape()[1], width, rng, options),
      dropout(options.dropout, rng),
      activation(options.activation) {
  if (activation == Activation::swiglu) gate.emplace(width, hidden.weight.shape()[1], rng, options);
}

Tensor FeedForward::operator()(const Tensor& x) const {
  const Within here(*this);
  const Tensor h = hidden(x);
  const Tensor active = activation == Activation::relu     ? relu(h)
                        : activation == Activation::gelu   ? gelu(h)
                        : activation == Activation::swiglu ? silu((*gate)(x)) * h
                                                           : gelu(h, Gelu::tanh);
  return output(dropout(activations(active)));
}

}  // namespace regard::nn

// The network after attention: out, an activation, and back.
#pragma once

#include <optional>

#include <regard/export.hpp>
#include <regard/nn/dropout.hpp>
#include <regard/nn/linear.hpp>
#include <regard/nn/module.hpp>

namespace REGARD_API regard {
namespace nn {

/// What a feed-forward network does between its layers.
enum class Activation {
  relu,
  gelu,       ///< Hendrycks & Gimpel 2016, exact
  gelu_tanh,  ///< its tanh form (GPT-2)
  swiglu,     ///< Shazeer 2020: silu(x·W_gate) times x·W_hidden, with a third matrix
};

/// The layers' options, and the network's own.
struct FeedForwardOptions : LinearOptions {
  Size hidden = 0;  ///< 0: 4·width
  Activation activation = Activation::gelu;
  double dropout = 0;  ///< of the hidden values, in training
};

/// Vaswani et al. 2017, section 3.3: activation(x·W_hidden + b)·W_output + b, token by token.
struct FeedForward {
  /// ValueError unless the extents are positive.
  FeedForward(Size width, Rng& rng, const FeedForwardOptions& options = {});
  FeedForward(Cloning& c, const FeedForward& from)
      : hidden(c(from.hidden)),
        gate(c(from.gate)),
        output(c(from.output)),
        dropout(c(from.dropout)),
        activations(c(from.activations)),
        activation(from.activation) {}
  FeedForward(FeedForward&&) = default;
  FeedForward& operator=(FeedForward&&) = default;

  /// x [.., width] -> the same shape. ShapeError.
  [[nodiscard]] Tensor operator()(const Tensor& x) const;

  template <class F>
  void visit(F&& f) {
    f("hidden", hidden);
    f("gate", gate);
    f("output", output);
    f("dropout", dropout);
    f("activations", activations);
  }

  Linear hidden;               ///< width -> hidden
  std::optional<Linear> gate;  ///< width -> hidden, for swiglu
  Linear output;               ///< hidden -> width
  Dropout dropout;
  Probe activations;  ///< [.., hidden], before dropout
  Activation activation;
};

}  // namespace nn
}  // namespace regard

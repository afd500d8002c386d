// What layers that attend share.
#pragma once

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/nn/probe.hpp>

namespace regard::nn {

/// Weights go by the probe only where somebody looks.
AttentionOptions with_probe(const ScoreOptions& scores, const Probe& probe);

/// ShapeError unless x has this rank, 2 or 3, and the width that the weight takes in, its last axis but one.
void require_input(const char* layer, const Parameter& weight, const char* what, const Tensor& x, int rank);

/// GraphError when x requires a gradient: steps of decoding have none.
void require_no_gradient(const char* layer, const Parameter& weight, const Tensor& x);

}  // namespace regard::nn

// Layer normalisation over the last axis and its gradients. Mean and variance are computed again in the
// backward: two passes over a row that is at hand cost less than two more outputs would.
#pragma once

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

/// The attribute of every kernel here.
struct LayerNormEpsilon {
  double epsilon = 0;
};
inline std::string to_text(const LayerNormEpsilon& at) { return named_number("epsilon", at.epsilon); }

/// (x, gamma, beta): (x - mean) / sqrt(variance + epsilon)·gamma + beta. gamma and beta [width] may both be
/// missing.
extern const KernelSet layer_norm;
/// (dy, x, gamma) -> dx. gamma may be missing.
extern const KernelSet layer_norm_backward;
/// (dy, x) -> dgamma [width]: the sum over the rows of dy·(x - mean) / sqrt(variance + epsilon).
extern const KernelSet layer_norm_backward_gamma;
/// (dy, x, gamma) -> (dx, dgamma, dbeta), in one pass over the rows.
extern const KernelSet layer_norm_backward_all;

}  // namespace regard::kernels

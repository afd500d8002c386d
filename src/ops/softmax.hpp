// The gradients of softmax and log_softmax as differentiable ops of their own, and the choice among their kin.
#pragma once

#include <regard/attention.hpp>
#include <regard/tensor.hpp>

namespace regard::detail {

/// y·(dy - Σ y·dy) along `axis`, for y = softmax(x). `keep` as given to softmax, or undefined: what is hidden
/// gets exactly 0 and counts for nothing, even if dy is NaN there.
Tensor softmax_backward(const Tensor& dy, const Tensor& y, const Tensor& keep, int axis);

/// dy - exp y·Σ dy along `axis`, for y = log_softmax(x). `keep` as above.
Tensor log_softmax_backward(const Tensor& dy, const Tensor& y, const Tensor& keep, int axis);

/// Weights from scores [.., queries, keys], as the options say. `keep` as above.
Tensor normalise(const ScoreOptions& options, const Tensor& scores, const Tensor& keep);

}  // namespace regard::detail

// Cross entropy of rows of logits, softmax inside. Targets are class ids (int64 [..]) or probabilities (the
// logits' dtype and shape); weights [classes] may be missing. An id that is no class and not ignored is a
// ValueError.
//
// Both kinds of target become one weight per class: a_c = w_c·((1 - s)·t_c + s / classes), with t the
// probabilities, or 1 for the id's class and 0 elsewhere. The loss of a row is -Σ a_c·log softmax(x)_c, and 0
// where ignored.
#pragma once

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

/// The attribute of every kernel here.
struct CrossEntropy {
  Size ignore_index = 0;
  double smoothing = 0;  ///< s
  const char* op = "cross_entropy";  ///< in an error
};
inline std::string to_text(const CrossEntropy& at) { return named_number("smoothing", at.smoothing); }

extern const KernelSet cross_entropy;  ///< (logits, targets, weights) -> [..]
extern const KernelSet
    cross_entropy_backward;  ///< (dy [..], logits, targets, weights): dy·(Σa·softmax(x) - a)
/// (logits, targets, weights) -> the mean of what counts; 1 / what it was divided by, or 0; float64 [.., 2]: of each row
/// that counts the largest logit m and Σ exp(x - m).
extern const KernelSet cross_entropy_mean;
/// (dy, logits, targets, weights, and the last two that cross_entropy_mean gave) -> the gradient of the
/// logits.
extern const KernelSet cross_entropy_mean_backward;
/// (ids, weights) -> [1 / Σ w_id over what is not ignored], 0 when that sum is 0. Checks ids against
/// `classes` below.
extern const KernelSet cross_entropy_scale;

/// The attribute of cross_entropy_scale.
struct CrossEntropyScale {
  Size ignore_index = 0;
  Size classes = 0;
  const char* op = "cross_entropy";
};

}  // namespace regard::kernels

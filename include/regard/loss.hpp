// Losses.
#pragma once

#include <regard/export.hpp>
#include <regard/tensor.hpp>

namespace REGARD_API regard {

enum class Reduction { mean, sum, none };

struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;
  Size ignore_index = -100;    ///< a target with this id counts for nothing
  double label_smoothing = 0;  ///< in [0, 1]: the target becomes (1 - s)·target + s / classes
  Tensor class_weights;        ///< [classes], or undefined for equal weights
};

/// Cross entropy of logits [.., classes] with the softmax inside.
/// targets: class ids, int64 [..], or probabilities, the logits' dtype and shape.
/// The mean divides by the sum of the weights of the targets that are not ignored, and is 0, with zero gradients,
/// when all are ignored. An id that is neither ignore_index nor 0..classes-1 is a ValueError with its position.
/// d loss / d logits = (softmax(logits) - target)·weight / count.
[[nodiscard]] Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                                   const CrossEntropyOptions& options = {});

/// (prediction - target)², averaged. The shapes must be the same: a (n) against a (n, 1) is a ShapeError here.
[[nodiscard]] Tensor mean_squared_error(const Tensor& prediction, const Tensor& target,
                                        Reduction reduction = Reduction::mean);

}  // namespace regard

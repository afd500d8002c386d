// Losses.
#pragma once

#include <regard/export.hpp>
#include <regard/tensor.hpp>

namespace REGARD_API regard {

/// What becomes of the losses of the rows. `mean` is that of one call: where a batch is worked off in parts of unequal
/// size, the mean of their means is not the mean. Take the sum of each part, divided by the size of the whole.
/// `batch_mean` is the sum divided by the extent of the first axis.
enum class Reduction { mean, sum, none, batch_mean };

struct CrossEntropyOptions {
  Reduction reduction = Reduction::mean;
  Size ignore_index = -100;    ///< a row with this id counts for nothing, whatever its logits hold
  double label_smoothing = 0;  ///< s in [0, 1]: the target becomes (1 - s)·target + s / classes
  Tensor class_weights;        ///< [classes], or undefined for equal weights; a constant, without a gradient
};

/// Cross entropy of logits [.., classes] with the softmax inside, as PyTorch's (whose classes are axis 1).
/// targets: class ids, int64 [..], or probabilities, the logits' dtype and shape, which may have a gradient too.
/// A row's loss is -Σ_c a_c·log softmax(logits)_c with a_c = weight_c·((1 - s)·target_c + s / classes); a class with
/// a_c = 0 adds 0, even if its logit is -inf. [..] without reduction, else rank 0. The mean divides by the sum of
/// the weights of the ids that are not ignored (by the number of rows, for probabilities), and is 0 with zero
/// gradients when that is 0, where PyTorch has NaN.
/// d loss / d logits = (Σa·softmax(logits) - a) / what the mean divides by.
/// ValueError, in Release too: an id that is neither ignore_index nor 0..classes-1, named with its position;
/// label_smoothing outside [0, 1]. ShapeError, DTypeError: targets or weights that do not fit the logits.
[[nodiscard]] Tensor cross_entropy(const Tensor& logits, const Tensor& targets,
                                   const CrossEntropyOptions& options = {});

/// The same of what is a logarithm of probabilities already, [.., classes]: nll_loss(log_softmax(x), ..) is
/// cross_entropy(x, ..). A row's loss is -Σ_c a_c·x_c; dx = -a / what the mean divides by. A class with a_c = 0 adds 0
/// and gets 0, even if its logarithm is -inf. Options, targets and errors as above.
[[nodiscard]] Tensor nll_loss(const Tensor& log_probabilities, const Tensor& targets,
                              const CrossEntropyOptions& options = {});

struct BinaryCrossEntropyOptions {
  Reduction reduction = Reduction::mean;
  Tensor weight;      ///< of each element, and
  Tensor pos_weight;  ///< of the positive term alone: both broadcast to the logits, or are undefined; constants
};

/// Of independent yes-or-no questions, with the sigmoid σ inside and without overflow, as PyTorch's:
/// -weight·(pos_weight·t·log σ(x) + (1 - t)·log σ(-x)) for logits x and targets t of the same dtype and shape, from 0
/// to 1, which may have a gradient too. dx = dy·weight·((1 - t)·σ(x) - pos_weight·t·σ(-x)). The mean divides by the
/// number of elements, whatever their weights. ShapeError, DTypeError.
[[nodiscard]] Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets,
                                                      const BinaryCrossEntropyOptions& options = {});

struct KlDivergenceOptions {
  Reduction reduction = Reduction::mean;  ///< of the elements; batch_mean gives the divergence of [batch, classes]
  bool log_target = false;                ///< targets are logarithms, too
};

/// Kullback & Leibler 1951, from log-probabilities x to targets t of the same dtype and shape, element by element as
/// PyTorch's kl_div: t·(log t - x), or exp(t)·(t - x) with log_target. dx = -dy·t, dt = dy·(log t + 1 - x). Where the
/// probability is 0 the element is 0, even if x is -inf; the slope of its t·log t, which would be infinite, is set to 0
/// there, as are the terms with an infinite x. ShapeError, DTypeError.
[[nodiscard]] Tensor kl_divergence(const Tensor& log_probabilities, const Tensor& targets,
                                   const KlDivergenceOptions& options = {});

/// (prediction - target)², averaged, summed or as it is. Gradients 2·(prediction - target) / count and its negative.
/// The shapes must be the same: [n] against [n, 1] is a ShapeError here, not an n x n difference.
[[nodiscard]] Tensor mean_squared_error(const Tensor& prediction, const Tensor& target,
                                        Reduction reduction = Reduction::mean);

}  // namespace regard

// What is done to gradients between backward and step: clipping, and adding up over parts of a batch.
#pragma once

#include <vector>

#include <regard/autograd.hpp>
#include <regard/export.hpp>

namespace REGARD_API regard {

// ---- clipping ------------------------------------------------------------------------------------------

/// What clipping does when a gradient is infinite or NaN.
enum class NonFinite {
  error,   ///< ValueError that names the first parameter with such a gradient
  report,  ///< what is returned tells; skip the step
};

/// The norm of all gradients as one vector; if it is larger than max_norm, every gradient is multiplied by
/// max_norm / norm (exactly: nothing is added to the norm). Parameters without gradient count for nothing.
/// When the norm is not finite no gradient is changed. Returns the norm before; NaN in a step that is being
/// captured, whose replays return nothing. ValueError unless max_norm >= 0.
double clip_gradients_by_norm(const std::vector<Parameter>& parameters, double max_norm,
                              NonFinite non_finite = NonFinite::error);

/// Every number of every gradient is brought into -limit .. limit, one by one: the direction changes. When
/// one is not finite no gradient is changed. Returns the largest magnitude before, or NaN as above. ValueError
/// unless limit >= 0.
double clip_gradients_by_value(const std::vector<Parameter>& parameters, double limit,
                               NonFinite non_finite = NonFinite::error);

// ---- parts of a batch ----------------------------------------------------------------------------------

/// A batch that is too large for one backward, worked off in parts. The loss of the whole is the mean over
/// all its tokens; since parts hold different numbers of them, it is not the mean of the parts' means.
///
/// ```cpp
/// GradientSum sum(optimizer.parameters());
/// CrossEntropyOptions summed;
/// summed.reduction = Reduction::sum;
/// for (const Tensors& part : batches)  // inputs and targets
///   sum.add(cross_entropy(model(part[0]), part[1], summed), part[1].numel());
/// const double mean = sum.finish();  // the gradients are those of the mean now: clip, step
/// ```
class GradientSum {
 public:
  /// ValueError for an empty handle.
  explicit GradientSum(const std::vector<Parameter>& parameters);

  /// backward(summed_loss), and counts; before the first part it drops the gradients there are.
  /// `summed_loss`: one element, the sum of the losses of `tokens` tokens (Reduction::sum). ValueError for
  /// fewer than 0 tokens; throws as backward does, and then nothing was added.
  void add(const Tensor& summed_loss, Size tokens);
  /// Divides all gradients by the number of tokens, gives the loss per token, and begins anew. ValueError,
  /// with nothing changed, when there was no token.
  double finish();

 private:
  std::vector<Parameter> parameters_;
  double loss_ = 0;
  Size tokens_ = 0;
};

}  // namespace regard

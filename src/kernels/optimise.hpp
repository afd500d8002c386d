// One update of one parameter, in one pass. The outputs may be the inputs themselves, for the same shape and
// strides.
#pragma once

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

struct SgdStep {
  double rate = 0;
  double momentum = 0;
  double gain = 1;  ///< of the new gradient in the momentum: 1 - dampening, and 1 at the first step
  double weight_decay = 0;
};
inline std::string to_text(const SgdStep& at) { return named_number("rate", at.rate); }
/// (p, g) -> p.
extern const KernelSet sgd;
/// (p, g, momentum) -> (p, momentum).
extern const KernelSet sgd_momentum;

struct AdamStep {
  double rate = 0;  ///< divided by the first moment's correction 1 - beta1^t
  double beta1 = 0;
  double beta2 = 0;
  double epsilon = 0;
  double root_correction = 1;  ///< 1 / sqrt(1 - beta2^t)
  double l2 = 0;               ///< times p, added to g
  double shrink = 1;           ///< of p, before the update: decoupled decay
};
inline std::string to_text(const AdamStep& at) { return named_number("rate", at.rate); }
/// (p, g, m, v) -> (p, m, v).
extern const KernelSet adam;

/// (x) -> Σ x², float64 [] whatever x's dtype. Dispatched on the input.
extern const KernelSet sum_of_squares;
/// (x) -> Σ (x / scale)², where x² itself would overflow or vanish; attribute: double scale.
extern const KernelSet scaled_sum_of_squares;
/// (x) -> max |x|, float64 []; NaN when one is.
extern const KernelSet largest_magnitude;

}  // namespace regard::kernels

// One update of one parameter, in one pass: (p, g, moments ...) -> (p, moments ...). The outputs may be the
// inputs themselves, for the same shape and strides. Figures are the options of regard/optim/methods.hpp,
// where the formulas stand; t is the number of the parameter's step, from 1.
#pragma once

#include <cstdint>

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

struct SgdStep {
  double rate, t, momentum, dampening, decay;
};
/// Without momentum; with it (one moment); Nesterov's.
extern const KernelSet sgd[3];

struct AdamStep {
  double rate, t, beta1, beta2, epsilon, decay;
  bool decoupled;  ///< decay multiplies p, in place of adding to g
};
/// Moments: m, v.
extern const KernelSet adam;

struct RmspropStep {
  double rate, alpha, epsilon, momentum, decay;
};
/// [centered][with momentum]. Moments: v; m if centered; the momentum if there is one.
extern const KernelSet rmsprop[2][2];

struct AdagradStep {
  double rate, t, rate_decay, initial_sum, epsilon, decay;
};
/// Moment: v.
extern const KernelSet adagrad;

struct LionStep {
  double rate, beta1, beta2, decay;
};
/// Moment: m.
extern const KernelSet lion;

struct MuonStep {
  double rate, momentum, a, b, c, epsilon, decay;
  std::int8_t iterations;
  bool nesterov, as_adam;
};
/// Matrices only. Moment: the momentum.
extern const KernelSet muon;

/// Of all of them.
template <class Step>
auto to_text(const Step& at) -> decltype(named_number("rate", at.rate)) {
  return named_number("rate", at.rate);
}

/// (x) -> Σ x², float64 [] whatever x's dtype. Dispatched on the input.
extern const KernelSet sum_of_squares;
/// (x) -> Σ (x / scale)², where x² itself would overflow or vanish; attribute: double scale.
extern const KernelSet scaled_sum_of_squares;
/// (x) -> max |x|, float64 []; NaN when one is.
extern const KernelSet largest_magnitude;

}  // namespace regard::kernels

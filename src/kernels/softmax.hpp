// Softmax along one axis, its logarithm, and the gradients of both. The inputs come stretched to the output's
// shape. `keep` (boolean) may be missing; where it is false the output is 0 (-inf for log_softmax) whatever
// the others hold.
#pragma once

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

/// The attribute of every kernel here.
struct SoftmaxAxis {
  int axis = 0;
};
inline std::string to_text(const SoftmaxAxis& at) { return named_number("axis", at.axis); }

extern const KernelSet softmax;               ///< (x, keep)
extern const KernelSet softmax_backward;      ///< (dy, y, keep): y·(dy - Σ y·dy)
extern const KernelSet log_softmax;           ///< (x, keep)
extern const KernelSet log_softmax_backward;  ///< (dy, y, keep): dy - exp y·Σ dy

}  // namespace regard::kernels

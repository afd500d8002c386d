// What attention may take in softmax's place, along one axis. The inputs are (x, keep), stretched to the
// output's shape; the attribute is softmax's axis. `keep` (boolean) may be missing; where it is false the
// output is 0, whatever x holds, and a line that keeps nothing, or nothing but -inf, is all 0. Without a mask
// a line of nothing but -inf is NaN in the projections. NaN and +inf make their whole line NaN.
#pragma once

#include "kernels/softmax.hpp"

namespace regard::kernels {

extern const KernelSet softmax1;   ///< exp x / (1 + Σ exp x)
extern const KernelSet sparsemax;  ///< max(x - τ, 0), which adds up to 1
extern const KernelSet entmax15;   ///< max(x/2 - τ, 0)², which adds up to 1

/// (dy, s, keep): s·(dy - Σ s·dy / Σ s), 0 where all s are 0.
extern const KernelSet entmax_backward;

}  // namespace regard::kernels

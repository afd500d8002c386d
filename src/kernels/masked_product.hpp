// Products with a matrix M of which only the elements where `keep` is true exist. What is hidden is never
// multiplied in: neither a hidden element of M nor, through it, a row of the other operand, even if they hold
// NaN or infinity. Inputs: (a, b, keep) or (M, dense, keep), leading axes stretching to the output's; keep is
// boolean and stretches to the output's leading axes and M's last two. Attribute: double alpha. The output is
// row-major.
#pragma once

#include "kernels/call.hpp"

namespace regard::kernels {

extern const KernelSet masked_scores;  ///< [.., n, d], [.., m, d] -> alpha·a·bᵀ where kept, else 0
extern const KernelSet masked_mix;     ///< [.., n, m], [.., m, d] -> alpha·Σ_j M_ij v_j
extern const KernelSet masked_mix_transposed;  ///< [.., n, m], [.., n, d] -> alpha·Σ_i M_ij a_i

}  // namespace regard::kernels

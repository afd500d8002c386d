// A product with the part of a·bᵀ where one index is not behind the other, without that matrix: what linear
// attention and its gradients are made of.
#pragma once

#include "kernels/call.hpp"

namespace regard::kernels {

/// Which j are added up for row i of causal_product.
enum class Side { past, future };  // j <= i, or j >= i

/// (a [.., n, d], b [.., n, d], c [.., n, e]) -> [.., n, e]: Σ_j (a_i·b_j)·c_j over one side of i, itself
/// included. Leading axes stretch to the output's. Attribute: Side. Memory d·e, whatever n is; sums in
/// float64.
extern const KernelSet causal_product;

}  // namespace regard::kernels

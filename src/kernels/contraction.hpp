// The weight gradient of a product: rows of all leading axes meet.
#pragma once

#include "kernels/call.hpp"

namespace regard::kernels {

/// [.., n, k] and [.., n, m], the same leading axes -> [k, m]: alpha·Σ aᵀ·b over the leading axes and n. Attribute: alpha,
/// a double. The output is row-major; every extent, and the number of rows, fits BLAS's 32 bits.
extern const KernelSet contraction;

}  // namespace regard::kernels

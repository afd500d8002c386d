#pragma once

#include <regard/tensor.hpp>

#include "kernels/rotate.hpp"

namespace regard::detail {

/// x [.., tokens, width] with the pairs of each token turned: (a, b) -> (a·cos - b·sin, a·sin + b·cos) with
/// the angles of `rotation`; the gradient is dy turned back. positions: int64 [tokens]. The caller checks
/// shapes and dtypes.
Tensor rotate(const Tensor& x, const Tensor& positions, const kernels::Rotation& rotation);

}  // namespace regard::detail

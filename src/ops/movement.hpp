// What a slice and its adjoint have in common.
#pragma once

#include <regard/tensor.hpp>

#include "kernels/movement.hpp"

namespace regard::detail {

using kernels::Steps;

/// Zeros with dy at those places: the adjoint of taking them. Its own rule takes them again.
Tensor slice_backward(const Tensor& dy, const Steps& steps);
/// Copies x into a look at someone's numbers, which nobody else may be looking at. No gradient.
void write(Tensor place, const Tensor& x);
/// The places themselves. A view.
Tensor take_steps(const Tensor& x, const Steps& steps);

}  // namespace regard::detail

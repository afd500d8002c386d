// What optimisers run: an update of one parameter, and the sums behind a norm. No gradients.
#pragma once

#include <regard/autograd.hpp>

#include "kernels/optimise.hpp"

namespace regard::detail {

// An update overwrites the parameter's value and the moments where theirs is the only handle to the numbers,
// so that what a graph saw stays as it was, and replaces them otherwise. A moment that is not defined yet
// starts at 0. The parameter must have a gradient.

void update_by_sgd(Parameter& parameter, const kernels::SgdStep& step);
void update_by_momentum(Parameter& parameter, Tensor& momentum, const kernels::SgdStep& step);
/// moments: first and second.
void update_by_adam(Parameter& parameter, Tensor* moments, const kernels::AdamStep& step);

/// Σ x².
double sum_of_squares(const Tensor& x);
/// Σ (x / scale)².
double scaled_sum_of_squares(const Tensor& x, double scale);
/// max |x|; NaN when one is, 0 for none.
double largest_magnitude(const Tensor& x);

}  // namespace regard::detail

// What optimisers run: an update of one parameter, and the sums behind a norm. No gradients.
#pragma once

#include <regard/autograd.hpp>

#include "autograd/op.hpp"
#include "kernels/optimise.hpp"

namespace regard::detail {

/// One update: the kernel, its figures, and which of the moments it has.
struct Update {
  const kernels::KernelSet& kernels;
  Attributes step;
  bool uses[3];
};

/// Overwrites the parameter's value and the moments where theirs is the only handle to the numbers, so that
/// what a graph saw stays as it was, and replaces them otherwise. A moment that is not defined yet starts at
/// 0. The parameter must have a gradient.
void run_update(const char* name, const Update& update, Parameter& parameter, Tensor (&moments)[3]);

/// Σ x².
double sum_of_squares(const Tensor& x);
/// Σ (x / scale)².
double scaled_sum_of_squares(const Tensor& x, double scale);
/// max |x|; NaN when one is, 0 for none.
double largest_magnitude(const Tensor& x);

}  // namespace regard::detail

#include "ops/optimise.hpp"

#include <utility>

#include "autograd/apply.hpp"
#include "autograd/node.hpp"

namespace regard::detail {
namespace {

Op fold(const char* name, const kernels::KernelSet& kernels) {
  return {name, kernels, {}, nullptr, false, DispatchOn::first_input};
}
const Op sum_of_squares_op = fold("sum_of_squares", kernels::sum_of_squares);
const Op scaled_sum_of_squares_op = fold("scaled_sum_of_squares", kernels::scaled_sum_of_squares);
const Op largest_magnitude_op = fold("largest_magnitude", kernels::largest_magnitude);

// A second handle to x where it may be overwritten, else a new Tensor.
Tensor target_of(const Tensor& x) {
  return is_sole_owner(x) && x.is_contiguous() ? x : empty(x.shape(), x.dtype());
}

double run(const Op& op, const Tensor& x, const Attributes& attributes = {}) {
  Tensor result = empty({}, float64);
  execute(op, &x, 1, &result, 1, attributes);
  return result.item();
}

}  // namespace

void run_update(const char* name, const Update& update, Parameter& parameter, Tensor (&moments)[3]) {
  Tensor* changing[4] = {&Access::cell(parameter)->value};
  int count = 1;
  for (int i = 0; i < 3; ++i)
    if (update.uses[i]) changing[count++] = &moments[i];

  Tensor inputs[5], outputs[4];
  for (int i = 0; i < count; ++i) {
    if (!changing[i]->defined()) *changing[i] = zeros(parameter.shape(), parameter.dtype());
    outputs[i] = target_of(*changing[i]);  // before there is another handle
    inputs[i == 0 ? 0 : 1 + i] = *changing[i];
  }
  inputs[1] = parameter.gradient();
  execute({name, update.kernels}, inputs, count + 1, outputs, count, update.step);
  for (int i = 0; i < count; ++i) *changing[i] = std::move(outputs[i]);
}

double sum_of_squares(const Tensor& x) {
  return run(sum_of_squares_op, x);
}
double scaled_sum_of_squares(const Tensor& x, double scale) {
  return run(scaled_sum_of_squares_op, x, scale);
}
double largest_magnitude(const Tensor& x) {
  return run(largest_magnitude_op, x);
}

}  // namespace regard::detail

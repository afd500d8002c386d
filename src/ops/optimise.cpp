#include "ops/optimise.hpp"

#include <array>

#include "autograd/apply.hpp"
#include "autograd/node.hpp"

namespace regard::detail {
namespace {

const Op sgd_op = {"sgd", kernels::sgd};
const Op sgd_momentum_op = {"sgd_momentum", kernels::sgd_momentum};
const Op adam_op = {"adam", kernels::adam};

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

// op(value, gradient, moments ...) -> (value, moments ...)
template <std::size_t moment_count>
void update(const Op& op, const Attributes& attributes, Parameter& parameter, Tensor* moments) {
  Tensor& value = Access::cell(parameter)->value;
  std::array<Tensor, 1 + moment_count> outputs;
  outputs[0] = target_of(value);
  for (std::size_t i = 0; i < moment_count; ++i) {
    if (!moments[i].defined()) moments[i] = zeros(value.shape(), value.dtype());
    outputs[1 + i] = target_of(moments[i]);
  }
  std::array<Tensor, 2 + moment_count> inputs = {value, parameter.gradient()};
  for (std::size_t i = 0; i < moment_count; ++i) inputs[2 + i] = moments[i];
  execute(op, inputs.data(), static_cast<int>(inputs.size()), outputs.data(),
          static_cast<int>(outputs.size()), attributes);
  value = std::move(outputs[0]);
  for (std::size_t i = 0; i < moment_count; ++i) moments[i] = std::move(outputs[1 + i]);
}

double run(const Op& op, const Tensor& x, const Attributes& attributes = {}) {
  Tensor result = empty({}, float64);
  execute(op, &x, 1, &result, 1, attributes);
  return result.item();
}

}  // namespace

void update_by_sgd(Parameter& parameter, const kernels::SgdStep& step) {
  update<0>(sgd_op, step, parameter, nullptr);
}

void update_by_momentum(Parameter& parameter, Tensor& momentum, const kernels::SgdStep& step) {
  update<1>(sgd_momentum_op, step, parameter, &momentum);
}

void update_by_adam(Parameter& parameter, Tensor* moments, const kernels::AdamStep& step) {
  update<2>(adam_op, step, parameter, moments);
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

// Gradients of modules against differences: with respect to the inputs and to every parameter.
#pragma once

#include <cstddef>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/nn/module.hpp>

#include "support/gradients.hpp"

namespace regard::test {

/// call(inputs), which uses the module, as one operation on the inputs and, behind them, on the numbers of
/// every Parameter. Its rule runs backward(), so that what a training step sees is what is checked. The
/// module must be free of chance; it keeps its numbers.
template <class Module>
void expect_module_gradients(const Module& module, const Tensors& inputs, const FunctionOfMany& call) {
  std::vector<Parameter> learned = parameters(module);
  const std::size_t given = inputs.size();
  const auto put = [&](const Tensors& x) {
    for (std::size_t i = 0; i < learned.size(); ++i) learned[i].assign(x[given + i].contiguous());
    return Tensors(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(given));
  };
  const CustomOp op(
      "module", [&](const Tensors& x) { return call(put(x)); },
      [&](const RuleInputs& at) {
        const EnableGrad recording;
        Tensors x = put(at.inputs);
        for (Tensor& input : x)
          if (is_float(input.dtype())) input = variable(input.detach());
        zero_grad(module);
        const Tensor y = call(x);
        BackwardOptions walk;
        walk.seed = at.dy;
        walk.retain_graph = true;
        backward(y, walk);
        Tensors dx;
        for (const Tensor& input : x) {
          GradOptions options;
          options.seeds = {at.dy};
          options.retain_graph = true;
          options.allow_unused = true;
          dx.push_back(input.requires_grad() ? grad(Tensors{y}, Tensors{input}, options)[0] : Tensor());
        }
        for (Parameter& parameter : learned) dx.push_back(parameter.gradient());
        return dx;
      });
  Tensors all = inputs;
  for (const Parameter& parameter : learned) all.push_back(parameter.value());
  const Tensors before(all.begin() + static_cast<std::ptrdiff_t>(given), all.end());
  expect_gradients([&](const Tensors& x) { return op(x); }, all);
  for (std::size_t i = 0; i < learned.size(); ++i) learned[i].assign(before[i]);
  zero_grad(module);
}

}  // namespace regard::test

#include "gradcheck/problem.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <regard/ops.hpp>
#include <regard/tape.hpp>

#include "autograd/node.hpp"

namespace regard::detail {
namespace {

GradOptions walk(const Tensor& seed) {
  GradOptions options;
  options.seeds = {seed};
  options.retain_graph = true;
  return options;
}

/// Which operation computed what, of all that has numbers of x in it: by memory, which views share.
std::map<Size, std::string> makers_from(const Tensor& x, const TapeRecorder& tape) {
  std::map<Size, std::string> makers = {{tape.find(x).storage, "the input itself"}};
  for (const Step& step : tape.steps()) {
    if (step.kind != StepKind::kernel) continue;
    bool follows = false;
    for (const Value& in : step.inputs) follows = follows || makers.count(in.storage) != 0;
    for (const Value& out : step.outputs) {
      if (follows) makers[out.storage] = step.op;
      if (!follows) makers.erase(out.storage);  // overwritten
    }
  }
  return makers;
}

}  // namespace

std::vector<double> numbers_of(const Tensor& x) {
  return x.detach().to(float64).contiguous().to_vector<double>();
}

Tensor tensor_of(const std::vector<double>& numbers, const Tensor& like) {
  return from_vector(numbers, like.shape()).to(like.dtype());
}

Tensor Problem::evaluate(const Tensors& at) const {
  if (order == 1) {
    const NoGrad guard;
    return f(leaves(at)).detach();
  }
  const EnableGrad recording;
  return f(leaves(at)).detach();
}

Problem Problem::derivative(const Tensor& seed, double magnitude_of_f) const {
  Problem next;
  next.names = names;
  next.names.push_back(order == 1 ? "seed" : "seed of order " + std::to_string(order));
  next.values = values;
  next.values.push_back(seed);
  next.order = order + 1;
  next.magnitude = std::max(magnitude, magnitude_of_f);
  next.leaves = [inner = leaves](const Tensors& at) {
    Tensors all = inner(Tensors(at.begin(), at.end() - 1));
    all.push_back(variable(at.back()));
    return all;
  };
  next.f = [inner = f](const Tensors& all) {
    const Tensors x(all.begin(), all.end() - 1);
    GradOptions options = walk(all.back());
    options.create_graph = true;
    options.allow_unused = true;
    Tensors flat;
    for (const Tensor& dx : grad(Tensors{inner(x)}, x, options))
      flat.push_back(reshape(dx.to(all[0].dtype()), {-1}));
    return concatenate(flat);
  };
  return next;
}

Analytic analytic_gradients(const Problem& problem, const Tensor& w) {
  const EnableGrad recording;
  const Tensors x = problem.leaves(problem.values);
  const Tensor y = problem.f(x);
  Analytic result{y.detach(), {}, std::vector<bool>(x.size(), true)};
  try {
    for (const Tensor& dx : grad(Tensors{y}, x, walk(w))) result.gradients.push_back(numbers_of(dx));
  } catch (const GraphError&) {
    // Something was not reached, or a rule failed: one by one, the first is told from the second.
    result.gradients.clear();
    for (std::size_t i = 0; i < x.size(); ++i) {
      GradOptions options = walk(w);
      try {
        result.gradients.push_back(numbers_of(grad(Tensors{y}, Tensors{x[i]}, options)[0]));
      } catch (const GraphError&) {
        options.allow_unused = true;
        result.gradients.push_back(numbers_of(grad(Tensors{y}, Tensors{x[i]}, options)[0]));
        result.reached[i] = false;
      }
    }
  }
  return result;
}

std::string where_cut(const Problem& problem, std::size_t i) {
  const EnableGrad recording;
  Tensors at = problem.values;
  at[i] = tensor_of(numbers_of(at[i]), at[i]);  // memory of its own
  const Tensors x = problem.leaves(at);
  TapeRecorder tape;
  const Tensor y = problem.f(x);
  tape.stop();
  const std::map<Size, std::string> makers = makers_from(x[i], tape);
  if (!y.requires_grad())
    return "the whole output was computed outside of any graph (detach, or recording off?)";
  std::vector<const Node*> open = {node_of(y)};
  std::set<const Node*> seen = {node_of(y)};
  while (!open.empty()) {
    const Node& node = *open.back();
    open.pop_back();
    for (const Tensor* in = node.inputs(); in != node.inputs() + node.input_count; ++in) {
      if (!in->defined()) continue;
      const Node* below = node_of(*in);
      const auto maker = makers.find(tape.find(*in).storage);
      if (!below && maker != makers.end())
        return "the graph was cut between " + maker->second + " and " + describe(node) +
               ", which takes its numbers as a constant (detach, or recording off?)";
      if (below && seen.insert(below).second) open.push_back(below);
    }
  }
  return "every operation on its numbers was recorded, so a rule on the way gives it no gradient";
}

}  // namespace regard::detail

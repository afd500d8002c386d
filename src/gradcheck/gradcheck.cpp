#include <regard/gradcheck.hpp>

#include <algorithm>
#include <cmath>

#include <regard/error.hpp>

#include "gradcheck/check.hpp"

namespace regard {
namespace {

using namespace detail;  // NOLINT: the check's inside

void check_options(const GradientCheckOptions& options) {
  const auto refuse = [](const std::string& text) { throw ValueError("check_gradients: " + text); };
  if (options.order < 1 || options.order > 3)
    refuse("order is " + std::to_string(options.order) + "; expected 1, 2 or 3");
  if (options.step && !(*options.step > 0 && std::isfinite(*options.step)))
    refuse("step is " + std::to_string(*options.step) + "; expected a positive number");
  if (options.tolerance && !(*options.tolerance > 0 && std::isfinite(*options.tolerance)))
    refuse("tolerance is " + std::to_string(*options.tolerance) + "; expected a positive number");
}

GradientReport check(Problem problem, const GradientCheckOptions& options) {
  GradientReport report;
  report.coverage = options.coverage;
  report.accepted = options.also_accept;
  for (int order = 1;; ++order) {
    Check one(std::move(problem), options);
    one.run(report.findings);
    if (report.verdict() == Verdict::nondeterministic || order == options.order) return report;
    if (order == 1 && one.can_push()) report.findings.push_back(one.check_jvp());
    problem = one.derivative();
  }
}

}  // namespace

GradientReport check_gradients(const FunctionOfMany& f, const Tensors& inputs,
                               const GradientCheckOptions& options) {
  check_options(options);
  if (!options.names.empty() && options.names.size() != inputs.size())
    throw ValueError("check_gradients: " + std::to_string(options.names.size()) + " names for " +
                     std::to_string(inputs.size()) + " inputs");
  for (const std::size_t place : options.constants)
    if (place >= inputs.size())
      throw ValueError("check_gradients: constant " + std::to_string(place) + " is none of the " +
                       std::to_string(inputs.size()) + " inputs");
  Problem problem;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (std::find(options.constants.begin(), options.constants.end(), i) != options.constants.end()) continue;
    const std::string who = options.names.empty() ? "x" + std::to_string(i) : options.names[i];
    if (!is_float(inputs[i].dtype()))
      throw DTypeError("check_gradients: " + who + " is " + name(inputs[i].dtype()) + " " +
                       to_string(inputs[i].shape()) + ", which has no gradient; put its place, " +
                       std::to_string(i) + ", into options.constants");
    problem.names.push_back(who);
    problem.values.push_back(inputs[i].detach());
    places.push_back(i);
  }
  problem.leaves = [](const Tensors& values) {
    Tensors leaves;
    for (const Tensor& x : values) leaves.push_back(grad_enabled() ? variable(x) : x);
    return leaves;
  };
  problem.f = problem.plain = [f, inputs, places](const Tensors& leaves) {
    Tensors all = inputs;
    for (std::size_t k = 0; k < places.size(); ++k) all[places[k]] = leaves[k];
    return f(all);
  };
  return check(std::move(problem), options);
}

GradientReport check_gradients(const NamedParameters& parameters, const std::function<Tensor()>& loss,
                               const GradientCheckOptions& options) {
  check_options(options);
  if (!options.names.empty() || !options.constants.empty())
    throw ValueError(
        "check_gradients: names and constants are for inputs; parameters have names, and are left out when "
        "they are not trainable (freeze)");
  /// Puts the numbers back, whatever happens.
  struct Restored {
    std::vector<Parameter> parameters;
    Tensors values;
    ~Restored() {
      for (std::size_t i = 0; i < values.size(); ++i) parameters[i].assign(values[i]);
    }
  } moved;
  Problem problem;
  for (const auto& [path, parameter] : parameters) {
    if (!parameter.trainable()) continue;
    problem.names.push_back(path);
    problem.values.push_back(parameter.value());
    moved.parameters.push_back(parameter);
  }
  moved.values = problem.values;
  problem.leaves = [&moved](const Tensors& values) {
    Tensors leaves;
    for (std::size_t i = 0; i < values.size(); ++i) {
      moved.parameters[i].assign(values[i]);
      leaves.push_back(moved.parameters[i]);
    }
    return leaves;
  };
  problem.f = [&loss](const Tensors&) { return loss(); };
  return check(std::move(problem), options);
}

}  // namespace regard

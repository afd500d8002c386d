// What is checked: a function of float tensors, be they inputs or the numbers of Parameters, and its
// derivatives.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <regard/gradcheck.hpp>

namespace regard::detail {

using Numbers = std::vector<std::vector<double>>;  ///< per input, in row-major order

struct Problem {
  std::vector<std::string> names;
  Tensors values;
  /// Puts values where f reads them; returns the leaves that stand for them (constants while recording is
  /// off).
  std::function<Tensors(const Tensors& values)> leaves;
  std::function<Tensor(const Tensors& leaves)> f;
  FunctionOfMany plain;  ///< f of values alone, for jvp; empty for Parameters
  int order = 1;
  double magnitude = 0;  ///< of the function whose derivative this is: its rounding is in the derivative's

  /// f at these values, outside any graph.
  Tensor evaluate(const Tensors& at) const;
  /// The function (values, seed) -> gradients of <seed, f> with respect to all values, one after another.
  Problem derivative(const Tensor& seed, double magnitude_of_f) const;
};

struct Analytic {
  Tensor output;
  Numbers gradients;
  std::vector<bool> reached;  ///< did the walk come to that input?
};
/// Gradients of <w, f> by the engine.
Analytic analytic_gradients(const Problem& problem, const Tensor& w);

/// Where the numbers of input i leave the graph, in words, as far as the kernels that run can tell.
std::string where_cut(const Problem& problem, std::size_t i);

std::vector<double> numbers_of(const Tensor& x);
Tensor tensor_of(const std::vector<double>& numbers, const Tensor& like);

}  // namespace regard::detail

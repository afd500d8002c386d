#include "support/gradients.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "support/tensors.hpp"

namespace regard::test {
namespace {

constexpr double epsilon = std::numeric_limits<double>::epsilon();

bool is_differentiated(const Tensors& inputs, std::size_t i, const GradientOptions& options) {
  const bool constant =
      std::find(options.constants.begin(), options.constants.end(), i) != options.constants.end();
  return inputs[i].defined() && inputs[i].dtype() == float64 && !constant;
}

/// The inputs, with leaves in the places that are differentiated.
Tensors leaves_of(const Tensors& inputs, const GradientOptions& options) {
  Tensors leaves = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (is_differentiated(inputs, i, options)) leaves[i] = variable(inputs[i].detach());
  return leaves;
}

/// sum(w · y), and the sum of the magnitudes that went into it.
struct Weighted {
  double sum = 0;
  double magnitude = 0;
};

Weighted weigh(const Tensor& y, const std::vector<double>& w) {
  Weighted out;
  const std::vector<double> values = values_of(y);
  for (std::size_t i = 0; i < values.size(); ++i) {
    out.sum += w[i] * values[i];
    out.magnitude += std::fabs(w[i] * values[i]);
  }
  return out;
}

// Truncation falls as h⁴ and rounding grows as 1/h: they meet near h = epsilon^(1/5) = 7e-4 of the scale on
// which f varies, for which |x| stands in, between 1/8 and 1. A power of two, so that x ± h and x ± 2h are
// exact.
double step_for(double x) {
  if (!std::isfinite(x)) return 1;  // there f must not depend on x: the quotient is 0
  const double scale = std::clamp(std::fabs(x), 0.125, 1.0);
  return std::exp2(std::floor(std::log2(std::pow(epsilon, 0.2) * scale)));
}

/// d sum(w · f) / d(element `place` of input i), and how far rounding alone may move it.
struct Quotient {
  double slope;
  double noise;
};

Quotient difference_quotient(const FunctionOfMany& f, Tensors inputs, std::size_t i, std::size_t place,
                             const std::vector<double>& w) {
  const NoGrad guard;
  const Tensor original = inputs[i];
  std::vector<double> values = values_of(original);
  const double x = values[place], h = step_for(x);
  double noise = 0;
  const auto f_at = [&](double moved) {
    values[place] = moved;
    inputs[i] = from_values(values, original.shape());
    const Weighted out = weigh(f(inputs), w);
    noise = std::max(noise, 16 * epsilon * out.magnitude / h);
    return out.sum;
  };
  const double slope = (f_at(x - 2 * h) - 8 * f_at(x - h) + 8 * f_at(x + h) - f_at(x + 2 * h)) / (12 * h);
  return {slope, noise};
}

}  // namespace

::testing::AssertionResult gradients_agree(const FunctionOfMany& f, const Tensors& inputs,
                                           const GradientOptions& options) {
  const EnableGrad recording;
  const Tensors leaves = leaves_of(inputs, options);
  const Tensor y = f(leaves);
  if (y.dtype() != float64)
    return ::testing::AssertionFailure() << "f returned " << name(y.dtype()) << ", not float64";
  Rng rng(options.seed);
  const Tensor w = random_tensor(y.shape(), rng, Domain::away_from_zero);

  Tensors wanted;
  std::vector<std::size_t> places;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_differentiated(inputs, i, options)) continue;
    wanted.push_back(leaves[i]);
    places.push_back(i);
  }
  GradOptions walk;
  walk.seeds = {w};
  walk.allow_unused = true;
  const Tensors gradients = grad(Tensors{y}, wanted, walk);

  auto failure = ::testing::AssertionFailure();
  int wrong = 0;
  for (std::size_t k = 0; k < places.size(); ++k) {
    const Tensor& x = inputs[places[k]];
    if (gradients[k].shape() != x.shape() || gradients[k].dtype() != x.dtype())
      return ::testing::AssertionFailure()
             << "the gradient of input " << places[k] << " is " << name(gradients[k].dtype()) << " "
             << to_string(gradients[k].shape()) << ", the input " << to_string(x.shape());
    const std::vector<double> analytic = values_of(gradients[k]);
    for (std::size_t e = 0; e < analytic.size(); ++e) {
      const auto [numeric, noise] = difference_quotient(f, inputs, places[k], e, values_of(w));
      const double scale = std::max({1.0, std::fabs(analytic[e]), std::fabs(numeric)});
      const double allowed = options.tolerance * scale + noise;
      if (std::fabs(analytic[e] - numeric) <= allowed) continue;  // false for NaN
      if (++wrong <= 5)
        failure << "input " << places[k] << " " << to_string(x.shape()) << " at "
                << to_string(Sizes(unravel(static_cast<Size>(e), x.shape()))) << " (value "
                << x.at(unravel(static_cast<Size>(e), x.shape())) << "): analytic " << analytic[e]
                << ", numeric " << numeric << ", allowed " << allowed << "\n";
    }
  }
  if (wrong == 0) return ::testing::AssertionSuccess();
  return failure << wrong << " gradient elements wrong in all";
}

::testing::AssertionResult second_order_agrees(const FunctionOfMany& f, const Tensors& inputs,
                                               const GradientOptions& options) {
  Rng rng(options.seed + 1);
  Tensors with_seed = inputs;
  const Tensor y = [&] {
    const NoGrad guard;
    return f(inputs);
  }();
  with_seed.push_back(random_tensor(y.shape(), rng, Domain::away_from_zero));

  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_differentiated(inputs, i, options)) continue;
    const FunctionOfMany gradient_of_i = [&, i](const Tensors& at) {
      const EnableGrad recording;
      const Tensors given(at.begin(), at.end() - 1);
      // Inside a difference quotient the inputs are constants.
      const Tensors x = given[i].requires_grad() ? given : leaves_of(given, options);
      GradOptions walk;
      walk.seeds = {at.back()};
      walk.create_graph = true;
      walk.allow_unused = true;
      return grad(Tensors{f(x)}, Tensors{x[i]}, walk)[0];
    };
    const auto result = gradients_agree(gradient_of_i, with_seed, options);
    if (!result)
      return ::testing::AssertionFailure()
             << "gradient of the gradient of input " << i << " (input " << inputs.size() << " is the seed):\n"
             << result.message();
  }
  return ::testing::AssertionSuccess();
}

}  // namespace regard::test

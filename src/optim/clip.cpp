#include <cmath>
#include <limits>
#include <string>

#include <regard/error.hpp>
#include <regard/ops.hpp>
#include <regard/optim.hpp>

#include "autograd/context.hpp"
#include "memory/pool.hpp"
#include "ops/optimise.hpp"

namespace regard {
namespace {

double norm_of(const detail::PoolVector<Tensor>& gradients) {
  double squares = 0;
  for (const Tensor& g : gradients) squares += detail::sum_of_squares(g);
  // Far from overflow and from the numbers that have lost digits the plain sum is right; else once more, to
  // scale.
  constexpr double smallest = std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon();
  if (std::isfinite(squares) && squares > smallest) return std::sqrt(squares);

  double largest = 0;
  for (const Tensor& g : gradients) {
    const double magnitude = detail::largest_magnitude(g);
    if (!std::isfinite(magnitude)) return magnitude;
    largest = std::fmax(largest, magnitude);
  }
  if (largest == 0) return 0;
  squares = 0;
  for (const Tensor& g : gradients) squares += detail::scaled_sum_of_squares(g, largest);
  return largest * std::sqrt(squares);
}

[[noreturn]] void throw_not_finite(const detail::PoolVector<Parameter>& parameters, double norm) {
  for (const Parameter& parameter : parameters) {
    if (!parameter.has_gradient() || all(isfinite(parameter.gradient().detach()))) continue;
    throw ValueError("clip_gradients_by_norm: the gradient of " +
                     (parameter.name().empty() ? "a parameter" : parameter.name()) + " " +
                     to_string(parameter.shape()) +
                     " has values that are infinite or NaN; no gradient was changed. Skip this step, or pass "
                     "NonFinite::report and look at the norm");
  }
  throw ValueError("clip_gradients_by_norm: the norm of the gradients is " + std::to_string(norm) +
                   " although each value is finite; no gradient was changed");
}

}  // namespace

double clip_gradients_by_norm(const std::vector<Parameter>& parameters, double max_norm,
                              NonFinite non_finite) {
  if (!(max_norm >= 0))
    throw ValueError("clip_gradients_by_norm: max_norm must not be negative, got " +
                     std::to_string(max_norm));
  const NoGrad guard;
  const detail::PhaseScope phase(Phase::optimiser);
  detail::PoolVector<Parameter> with_gradient;
  detail::PoolVector<Tensor> gradients;
  for (const Parameter& parameter : parameters) {
    if (!parameter.has_gradient()) continue;
    bool seen = false;
    for (const Parameter& other : with_gradient) seen = seen || other.same_as(parameter);
    if (seen) continue;
    with_gradient.push_back(parameter);
    gradients.push_back(parameter.gradient());
  }

  const double norm = norm_of(gradients);
  if (!std::isfinite(norm)) {
    if (non_finite == NonFinite::error) throw_not_finite(with_gradient, norm);
    return norm;
  }
  if (norm <= max_norm) return norm;
  for (std::size_t i = 0; i < gradients.size(); ++i)
    with_gradient[i].set_gradient(gradients[i] * (max_norm / norm));
  return norm;
}

}  // namespace regard

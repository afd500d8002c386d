#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include <regard/error.hpp>
#include <regard/ops.hpp>
#include <regard/optim/gradients.hpp>

#include "autograd/host_step.hpp"
#include "memory/pool.hpp"
#include "ops/optimise.hpp"
#include "optim/parameters.hpp"

namespace regard {
namespace {

using Gradients = detail::PoolVector<Tensor>;

// The first that is not finite, if one is.
double largest_of(const Gradients& gradients) {
  double largest = 0;
  for (const Tensor& g : gradients) {
    const double magnitude = detail::largest_magnitude(g);
    if (!std::isfinite(magnitude)) return magnitude;
    largest = std::fmax(largest, magnitude);
  }
  return largest;
}

double norm_of(const Gradients& gradients) {
  double squares = 0;
  for (const Tensor& g : gradients) squares += detail::sum_of_squares(g);
  // Far from overflow and from the numbers that have lost digits the plain sum is right; else once more, to
  // scale.
  constexpr double smallest = std::numeric_limits<double>::min() / std::numeric_limits<double>::epsilon();
  if (std::isfinite(squares) && squares > smallest) return std::sqrt(squares);

  const double largest = largest_of(gradients);
  if (largest == 0 || !std::isfinite(largest)) return largest;
  squares = 0;
  for (const Tensor& g : gradients) squares += detail::scaled_sum_of_squares(g, largest);
  return largest * std::sqrt(squares);
}

[[noreturn]] void throw_not_finite(const std::string& who, const detail::PoolVector<Parameter>& parameters) {
  for (const Parameter& parameter : parameters) {
    if (all(isfinite(parameter.gradient().detach()))) continue;
    throw ValueError(who + ": the gradient of " +
                     (parameter.name().empty() ? "a parameter" : parameter.name()) + " " +
                     to_string(parameter.shape()) +
                     " has values that are infinite or NaN; no gradient was changed. Skip this step, or pass "
                     "NonFinite::report and look at what is returned");
  }
  throw ValueError(who +
                   ": the norm of the gradients is infinite although each value is finite; no gradient "
                   "was changed");
}

// Where the size of all gradients, each once, is larger than the limit: g -> shorter(g, size).
template <class SizeOf, class Shorter>
double clip(const char* who, const char* what, const std::vector<Parameter>& parameters, double limit,
            NonFinite non_finite, const SizeOf& size_of, const Shorter& shorter) {
  if (!(limit >= 0))
    throw ValueError(std::string(who) + ": " + what + " must not be negative, got " + std::to_string(limit));
  if (detail::context().capture) {
    detail::list_host_step([=] { (void)clip(who, what, parameters, limit, non_finite, size_of, shorter); });
    return std::numeric_limits<double>::quiet_NaN();  // not a number that a replay would leave as it is
  }
  const NoGrad guard;
  const detail::PhaseScope phase(Phase::optimiser);
  detail::PoolVector<Parameter> clipped;
  Gradients gradients;
  for (const Parameter& parameter : parameters)
    if (parameter.has_gradient() && detail::add_once(clipped, parameter))
      gradients.push_back(parameter.gradient());
  const double size = size_of(gradients);
  if (!std::isfinite(size) && non_finite == NonFinite::error) throw_not_finite(who, clipped);
  if (std::isfinite(size) && size > limit)
    for (std::size_t i = 0; i < gradients.size(); ++i) clipped[i].set_gradient(shorter(gradients[i], size));
  return size;
}

}  // namespace

double clip_gradients_by_norm(const std::vector<Parameter>& parameters, double max_norm,
                              NonFinite non_finite) {
  return clip("clip_gradients_by_norm", "max_norm", parameters, max_norm, non_finite, norm_of,
              [=](const Tensor& g, double norm) { return g * (max_norm / norm); });
}

double clip_gradients_by_value(const std::vector<Parameter>& parameters, double limit, NonFinite non_finite) {
  return clip("clip_gradients_by_value", "limit", parameters, limit, non_finite, largest_of,
              [=](const Tensor& g, double) {
                return minimum(maximum(g, scalar(-limit, g.dtype())), scalar(limit, g.dtype()));
              });
}

GradientSum::GradientSum(const std::vector<Parameter>& parameters)
    : parameters_(detail::each_once("gradient sum", parameters)) {}

void GradientSum::add(const Tensor& summed_loss, Size tokens) {
  if (tokens < 0)
    throw ValueError("gradient sum: a part has at least 0 tokens, got " + std::to_string(tokens));
  if (tokens_ == 0)
    for (Parameter& parameter : parameters_) parameter.zero_grad();
  backward(summed_loss);
  loss_ += summed_loss.item();
  tokens_ += tokens;
}

double GradientSum::finish() {
  if (tokens_ == 0) throw ValueError("gradient sum: no token was added, so there is no mean; skip this step");
  const NoGrad guard;
  const detail::PhaseScope phase(Phase::optimiser);
  const double tokens = static_cast<double>(std::exchange(tokens_, 0));
  for (Parameter& parameter : parameters_)
    if (parameter.has_gradient()) parameter.set_gradient(parameter.gradient() / tokens);
  return std::exchange(loss_, 0) / tokens;
}

}  // namespace regard

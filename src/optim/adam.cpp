#include <cmath>

#include <regard/optim.hpp>

#include "ops/optimise.hpp"
#include "optim/groups.hpp"

namespace regard {
namespace {

void check(const char* name, const AdamOptions& options) {
  detail::require_not_negative(name, "learning_rate", options.learning_rate);
  detail::require_fraction(name, "beta1", options.beta1);
  detail::require_fraction(name, "beta2", options.beta2);
  detail::require_not_negative(name, "epsilon", options.epsilon);
  detail::require_not_negative(name, "weight_decay", options.weight_decay);
}

}  // namespace

Adam::Adam(const char* name, Decay decay, std::vector<Parameter> parameters, const AdamOptions& options,
           const Groups& groups)
    : Optimizer(name, std::move(parameters), detail::patterns_of(groups), detail::rates_of(groups, options),
                {"first_moment", "second_moment"}),
      decay_(decay),
      options_(detail::options_of(groups, options)) {
  for (const AdamOptions& each : options_) check(name, each);
}

Adam::Adam(std::vector<Parameter> parameters, const AdamOptions& options, const Groups& groups)
    : Adam("adam", Decay::l2, std::move(parameters), options, groups) {}

AdamW::AdamW(std::vector<Parameter> parameters, const AdamOptions& options, const Groups& groups)
    : Adam("adamw", Decay::decoupled, std::move(parameters), options, groups) {}

void Adam::update(Parameter& parameter, Slot& slot, const Now& now) {
  const AdamOptions& options = options_[now.group];
  const double t = static_cast<double>(now.step);
  kernels::AdamStep step;
  step.rate = now.rate / (1 - std::pow(options.beta1, t));
  step.beta1 = options.beta1;
  step.beta2 = options.beta2;
  step.epsilon = options.epsilon;
  step.root_correction = 1 / std::sqrt(1 - std::pow(options.beta2, t));
  if (decay_ == Decay::decoupled)
    step.shrink = 1 - now.rate * options.weight_decay;
  else
    step.l2 = options.weight_decay;
  detail::update_by_adam(parameter, slot.moments, step);
}

bool Adam::has_moment(std::size_t, std::size_t) const {
  return true;
}

}  // namespace regard

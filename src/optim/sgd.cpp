#include <regard/optim.hpp>

#include "ops/optimise.hpp"
#include "optim/groups.hpp"

namespace regard {
namespace {

void check(const SgdOptions& options) {
  detail::require_not_negative("sgd", "learning_rate", options.learning_rate);
  detail::require_not_negative("sgd", "momentum", options.momentum);
  detail::require_not_negative("sgd", "dampening", options.dampening);
  detail::require_not_negative("sgd", "weight_decay", options.weight_decay);
}

}  // namespace

Sgd::Sgd(std::vector<Parameter> parameters, const SgdOptions& options, const Groups& groups)
    : Optimizer("sgd", std::move(parameters), detail::patterns_of(groups), detail::rates_of(groups, options),
                {"momentum"}),
      options_(detail::options_of(groups, options)) {
  for (const SgdOptions& each : options_) check(each);
}

void Sgd::update(Parameter& parameter, Slot& slot, const Now& now) {
  const SgdOptions& options = options_[now.group];
  kernels::SgdStep step;
  step.rate = now.rate;
  step.weight_decay = options.weight_decay;
  if (options.momentum == 0) return detail::update_by_sgd(parameter, step);
  step.momentum = options.momentum;
  step.gain = slot.moments[0].defined() ? 1 - options.dampening : 1;
  detail::update_by_momentum(parameter, slot.moments[0], step);
}

bool Sgd::has_moment(std::size_t group, std::size_t) const {
  return options_[group].momentum != 0;
}

}  // namespace regard

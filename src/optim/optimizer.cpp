#include <regard/optim/optimizer.hpp>

#include <cmath>

#include <regard/error.hpp>

#include "optim/parameters.hpp"

#include "autograd/host_step.hpp"
#include "tensor/impl.hpp"

namespace regard {

Optimizer::Optimizer(const char* name, const std::vector<Parameter>& parameters,
                     const std::vector<std::pair<std::string, double>>& groups, double rate,
                     const char* const (&moments)[3])
    : name_(name),
      parameters_(detail::each_once(name, parameters)),
      keys_(detail::unique_names(parameters_)),
      rate_(rate),
      moment_names_(moments),
      slots_(parameters_.size()) {
  std::vector<bool> means_any(groups.size(), false);
  for (const std::string& key : keys_) {
    std::size_t group = groups.size();
    for (std::size_t i = groups.size(); i-- > 0;)
      if (matches(groups[i].first, key)) {
        means_any[i] = true;
        group = i;
      }
    group_of_.push_back(group);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) {
    if (!means_any[i]) detail::throw_no_match(name, "parameter", groups[i].first, keys_);
    first_rates_.push_back(groups[i].second);
  }
  first_rates_.push_back(rate);
}

void Optimizer::step() {
  detail::host_step([this] { update_all(); });
}

void Optimizer::update_all() {
  const detail::PhaseScope phase(Phase::optimiser);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    Parameter& parameter = parameters_[i];
    if (!parameter.trainable() || !parameter.has_gradient()) continue;
    update(parameter, slots_[i], {group_of_[i], rate_of_group(group_of_[i]), slots_[i].steps + 1});
    ++slots_[i].steps;
  }
}

void Optimizer::zero_grad() {
  for (Parameter& parameter : parameters_) parameter.zero_grad();
}

double Optimizer::learning_rate() const {
  return rate_;
}

double Optimizer::rate_of_group(std::size_t group) const {
  const double first = first_rates_[group], base = first_rates_.back();
  return rate_ == base ? first : group + 1 == first_rates_.size() ? rate_ : first * (rate_ / base);
}

double Optimizer::learning_rate(const Parameter& parameter) const {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].same_as(parameter)) return rate_of_group(group_of_[i]);
  throw ValueError(name_ + ": learning_rate: the optimiser does not have the parameter " + parameter.name());
}

void Optimizer::set_learning_rate(double rate) {
  detail::require_no_capture("set_learning_rate", "set it between two calls of the step");
  if (!(rate >= 0) || !std::isfinite(rate))
    throw ValueError(name_ + ": the learning rate must be finite and not negative, got " +
                     std::to_string(rate));
  if (first_rates_.size() > 1 && first_rates_.back() == 0 && rate != 0)
    throw ValueError(name_ +
                     ": the groups' rates keep their ratio to the first learning rate, which was 0; "
                     "construct the optimiser with a positive one");
  rate_ = rate;
}

NamedTensors Optimizer::state() const {
  NamedTensors state;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.steps == 0) continue;
    state.emplace_back(keys_[i] + ".step", scalar(static_cast<double>(slot.steps), int64));
    for (std::size_t m = 0; m < 3; ++m)
      if (slot.moments[m].defined()) state.emplace_back(keys_[i] + "." + moment_names_[m], slot.moments[m]);
  }
  return state;
}

void Optimizer::load_state(const NamedTensors& state) {
  detail::Entries entries(name_ + ": load_state", state);
  std::vector<Slot> slots(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!entries.has(keys_[i] + ".step")) continue;
    slots[i].steps = entries.take_count(keys_[i] + ".step");
    for (std::size_t m = 0; m < 3; ++m)
      if (has_moment(group_of_[i], m))
        slots[i].moments[m] = entries.take_like(keys_[i] + "." + moment_names_[m], parameters_[i]);
  }
  entries.require_none_left(keys_);
  slots_ = std::move(slots);
}

}  // namespace regard

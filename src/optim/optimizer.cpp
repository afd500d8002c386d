// What optimisers share: which parameters, at what rate, and the state between steps.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <regard/error.hpp>
#include <regard/optim.hpp>

#include "autograd/context.hpp"

namespace regard {
namespace {

std::vector<Parameter> each_once(const char* optimizer, std::vector<Parameter> parameters) {
  std::vector<Parameter> once;
  for (Parameter& parameter : parameters) {
    if (!parameter.defined())
      throw ValueError(std::string(optimizer) + ": one of the parameters is an empty handle");
    const auto same = [&](const Parameter& other) { return other.same_as(parameter); };
    if (std::none_of(once.begin(), once.end(), same)) once.push_back(std::move(parameter));
  }
  return once;
}

// The parameters' names; a name that is empty or already taken gets the parameter's number behind it.
std::vector<std::string> unique_names(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const Parameter& parameter : parameters) {
    std::string name = parameter.name();
    if (name.empty() || !taken.insert(name).second) {
      name += (name.empty() ? "parameter" : "") + ("#" + std::to_string(names.size()));
      taken.insert(name);
    }
    names.push_back(std::move(name));
  }
  return names;
}

}  // namespace

Optimizer::Optimizer(const char* name, std::vector<Parameter> parameters,
                     const std::vector<std::string>& patterns, std::vector<double> rates,
                     std::vector<std::string> moment_names)
    : name_(name),
      parameters_(each_once(name, std::move(parameters))),
      keys_(unique_names(parameters_)),
      first_rates_(std::move(rates)),
      rate_(first_rates_.back()),
      moment_names_(std::move(moment_names)),
      slots_(parameters_.size()) {
  std::vector<bool> means_any(patterns.size(), false);
  for (const std::string& key : keys_) {
    std::size_t group = patterns.size();
    for (std::size_t i = patterns.size(); i-- > 0;)
      if (matches(patterns[i], key)) {
        means_any[i] = true;
        group = i;
      }
    group_of_.push_back(group);
  }
  for (std::size_t i = 0; i < patterns.size(); ++i)
    if (!means_any[i]) detail::throw_no_match(name, "parameter", patterns[i], keys_);
}

void Optimizer::step() {
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
    for (std::size_t m = 0; m < moment_names_.size(); ++m)
      if (slot.moments[m].defined()) state.emplace_back(keys_[i] + "." + moment_names_[m], slot.moments[m]);
  }
  return state;
}

void Optimizer::load_state(const NamedTensors& state) {
  std::map<std::string, Tensor> left;
  for (const auto& [entry, value] : state)
    if (!left.emplace(entry, value).second)
      throw ValueError(name_ + ": load_state: " + entry + " is there twice");

  std::vector<Slot> slots(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const auto step = left.find(keys_[i] + ".step");
    if (step == left.end()) continue;
    if (step->second.dtype() != int64 || step->second.numel() != 1 || !(step->second.item() >= 1))
      throw ValueError(name_ + ": load_state: " + step->first + " must be one int64, at least 1, got " +
                       name(step->second.dtype()) + " " + to_string(step->second.shape()));
    slots[i].steps = step->second.to_vector<Size>().front();
    left.erase(step);
    for (std::size_t m = 0; m < moment_names_.size(); ++m) {
      if (!has_moment(group_of_[i], m)) continue;
      const std::string entry = keys_[i] + "." + moment_names_[m];
      const auto moment = left.find(entry);
      if (moment == left.end()) throw ValueError(name_ + ": load_state: " + entry + " is missing");
      const Tensor& value = moment->second;
      if (value.shape() != parameters_[i].shape())
        throw ShapeError(name_ + ": load_state: " + entry + " has shape " + to_string(value.shape()) +
                         ", expected " + to_string(parameters_[i].shape()));
      if (value.dtype() != parameters_[i].dtype())
        throw DTypeError(name_ + ": load_state: " + entry + " is " + name(value.dtype()) + ", expected " +
                         name(parameters_[i].dtype()));
      slots[i].moments[m] = value.detach();
      left.erase(moment);
    }
  }
  if (!left.empty())
    throw ValueError(name_ + ": load_state: " + left.begin()->first +
                     " belongs to no parameter; there are: " + detail::list_names(keys_));
  slots_ = std::move(slots);
}

}  // namespace regard

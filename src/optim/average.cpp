#include <regard/optim/average.hpp>

#include <cmath>
#include <utility>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "autograd/host_step.hpp"
#include "optim/parameters.hpp"

namespace regard {
namespace {

double gain(const AverageOptions& options, Size update) {
  const double t = static_cast<double>(update);
  switch (options.kind) {
    case Average::exponential:
      return update == 1 ? 1 : 1 - options.decay;
    case Average::corrected:
      return (1 - options.decay) / (1 - std::pow(options.decay, t));
    case Average::equal:
      return 1 / t;
  }
  throw ValueError("averaged parameters: there is no such Average");
}

}  // namespace

AveragedParameters::AveragedParameters(const std::vector<Parameter>& parameters,
                                       const AverageOptions& options)
    : parameters_(detail::each_once("averaged parameters", parameters)),
      keys_(detail::unique_names(parameters_)),
      options_(options) {
  if (!(options.decay >= 0 && options.decay < 1))
    throw ValueError("averaged parameters: decay must lie in [0, 1), got " + std::to_string(options.decay));
}

void AveragedParameters::require_own_numbers(const char* what) const {
  if (in_use_)
    throw GraphError(std::string("averaged parameters: ") + what +
                     ": the averages are in use; let go of what use() gave first");
}

void AveragedParameters::update() {
  detail::host_step([this] { update_now(); });
}

void AveragedParameters::update_now() {
  require_own_numbers("update");
  const NoGrad guard;
  const detail::PhaseScope phase(Phase::optimiser);
  const double now = gain(options_, ++updates_);
  averages_.resize(parameters_.size());
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor p = parameters_[i].value();
    Tensor& average = averages_[i];
    average = updates_ == 1 ? p : average + (p - average) * now;
  }
}

std::shared_ptr<void> AveragedParameters::use() {
  require_own_numbers("use");
  if (updates_ == 0) throw GraphError("averaged parameters: use: there was no update yet");
  swap();
  return {this, [](AveragedParameters* in_use) { in_use->swap(); }};
}

void AveragedParameters::swap() {
  in_use_ = !in_use_;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Tensor value = parameters_[i].value();
    parameters_[i].assign(std::exchange(averages_[i], value));
  }
}

NamedTensors AveragedParameters::state() const {
  require_own_numbers("state");
  NamedTensors state;
  if (updates_ == 0) return state;
  state.emplace_back("updates", scalar(static_cast<double>(updates_), int64));
  for (std::size_t i = 0; i < averages_.size(); ++i) state.emplace_back(keys_[i] + ".average", averages_[i]);
  return state;
}

void AveragedParameters::load_state(const NamedTensors& state) {
  require_own_numbers("load_state");
  detail::Entries entries("averaged parameters: load_state", state);
  Tensors averages;
  const Size updates = state.empty() ? 0 : entries.take_count("updates");
  if (updates > 0)
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      averages.push_back(entries.take_like(keys_[i] + ".average", parameters_[i]));
  entries.require_none_left(keys_);
  averages_ = std::move(averages);
  updates_ = updates;
}

}  // namespace regard

// How an optimiser is made of its options: a record of what it is, from which the rest follows.
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <regard/error.hpp>
#include <regard/optim/optimizer.hpp>

#include "ops/optimise.hpp"

namespace regard {
namespace detail {

/// Where a number among the options may lie.
enum class Range {
  not_negative,  ///< and finite
  fraction,      ///< [0, 1)
};

template <class Options>
struct Method {
  struct Number {
    const char* name;
    double Options::*value;
    Range range;
  };

  const char* name;
  const char* moments[3];  ///< their names; null beyond the last
  Number numbers[3];       ///< besides rate and decay; nameless beyond the last
  /// The kernel with its figures, at that rate, in step t of a parameter; 1 is the first.
  Update (*update)(const Options& options, double rate, double t);
  /// Throws for options, or parameters, that are wrong in another way.
  void (*check)(const Options& options, const std::vector<Parameter>& parameters) = nullptr;
};

/// The one that these options belong to.
template <class Options>
extern const Method<Options> method;

inline void require_in(Range range, const char* optimizer, const char* option, double value) {
  const bool fraction = range == Range::fraction;
  if (value >= 0 && std::isfinite(value) && !(fraction && value >= 1)) return;
  throw ValueError(std::string(optimizer) + ": " + option + " must " +
                   (fraction ? "lie in [0, 1)" : "be finite and not negative") + ", got " +
                   std::to_string(value));
}

template <class Options>
std::vector<std::pair<std::string, double>> patterns_and_rates(
    const std::vector<ParameterGroup<Options>>& groups) {
  std::vector<std::pair<std::string, double>> found;
  for (const auto& [pattern, options] : groups) found.emplace_back(pattern, options.learning_rate);
  return found;
}

}  // namespace detail

template <class Options>
OptimizerBy<Options>::OptimizerBy(const std::vector<Parameter>& parameters, const Options& options,
                                  const Groups& groups)
    : Optimizer(detail::method<Options>.name, parameters, detail::patterns_and_rates(groups),
                options.learning_rate, detail::method<Options>.moments) {
  const auto& method = detail::method<Options>;
  for (const auto& group : groups) options_.push_back(group.options);
  options_.push_back(options);
  for (const Options& each : options_) {
    detail::require_in(detail::Range::not_negative, method.name, "learning_rate", each.learning_rate);
    detail::require_in(detail::Range::not_negative, method.name, "weight_decay", each.weight_decay);
    for (const auto& [option, value, range] : method.numbers)
      if (option) detail::require_in(range, method.name, option, each.*value);
    if (method.check) method.check(each, this->parameters());
  }
}

template <class Options>
void OptimizerBy<Options>::update(Parameter& parameter, Slot& slot, const Now& now) {
  const auto& method = detail::method<Options>;
  const detail::Update update = method.update(options_[now.group], now.rate, static_cast<double>(now.step));
  detail::run_update(method.name, update, parameter, slot.moments);
}

template <class Options>
bool OptimizerBy<Options>::has_moment(std::size_t group, std::size_t moment) const {
  return detail::method<Options>.update(options_[group], 0, 1).uses[moment];
}

}  // namespace regard

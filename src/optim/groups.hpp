// What the optimisers' constructors need of their groups, and how they check options.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include <regard/error.hpp>

namespace regard::detail {

inline void require_not_negative(const char* optimizer, const char* option, double value) {
  if (!(value >= 0) || !std::isfinite(value))
    throw ValueError(std::string(optimizer) + ": " + option + " must be finite and not negative, got " +
                     std::to_string(value));
}

inline void require_fraction(const char* optimizer, const char* option, double value) {
  if (!(value >= 0 && value < 1))
    throw ValueError(std::string(optimizer) + ": " + option + " must lie in [0, 1), got " +
                     std::to_string(value));
}

template <class Group>
std::vector<std::string> patterns_of(const std::vector<Group>& groups) {
  std::vector<std::string> patterns;
  for (const Group& group : groups) patterns.push_back(group.pattern);
  return patterns;
}

/// Those of the groups, and last the optimiser's own.
template <class Group, class Options>
std::vector<Options> options_of(const std::vector<Group>& groups, const Options& options) {
  std::vector<Options> all;
  for (const Group& group : groups) all.push_back(group.options);
  all.push_back(options);
  return all;
}

template <class Group, class Options>
std::vector<double> rates_of(const std::vector<Group>& groups, const Options& options) {
  std::vector<double> rates;
  for (const Options& each : options_of(groups, options)) rates.push_back(each.learning_rate);
  return rates;
}

}  // namespace regard::detail

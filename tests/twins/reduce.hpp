// Twins of the reductions: collect the elements that become one, then fold them in a plain loop.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "twins/plain.hpp"

namespace regard::test {

using Group = std::vector<double>;

inline bool names(const std::vector<int>& axes, int axis, int rank) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end() ||
         std::find(axes.begin(), axes.end(), axis - rank) != axes.end();
}

/// f(elements) of every group that `axes` (negative from the end) fold into one.
template <class F>
Plain fold(const Plain& x, const std::vector<int>& axes, bool keep, F f) {
  const int rank = x.shape.rank();
  Shape kept, dropped;
  for (int axis = 0; axis < rank; ++axis) {
    const bool folded = names(axes, axis, rank);
    kept.push_back(folded ? 1 : x.shape[axis]);
    if (!folded) dropped.push_back(x.shape[axis]);
  }
  std::vector<Group> groups(static_cast<std::size_t>(numel(kept)));
  const Plain places(kept);
  for_each_index(x.shape, [&](const Index& index) {
    Index at = index;
    for (int axis = 0; axis < rank; ++axis)
      if (names(axes, axis, rank)) at[static_cast<std::size_t>(axis)] = 0;
    groups[places.place(at)].push_back(x.at(index));
  });
  Plain out(keep ? kept : dropped);
  for (std::size_t i = 0; i < groups.size(); ++i) out.values[i] = f(groups[i]);
  return out;
}

template <class F>
Plain fold_all(const Plain& x, F f) {
  return Plain(Shape{}, std::vector<double>{f(x.values)});
}

inline double total(const Group& x) {
  double out = 0;
  for (const double value : x) out += value;
  return out;
}

inline double average(const Group& x) {
  return total(x) / static_cast<double>(x.size());
}

inline double spread(const Group& x, double correction) {
  const double middle = average(x);
  double squares = 0;
  for (const double value : x) squares += (value - middle) * (value - middle);
  const double divisor = static_cast<double>(x.size()) - correction;
  return divisor > 0 ? squares / divisor : std::nan("");
}

inline double length(const Group& x) {
  double out = 0;
  for (const double value : x) out = std::isnan(value) ? value : std::isnan(out) ? out : std::hypot(out, value);
  return out;
}

inline double largest(const Group& x) {
  double out = -std::numeric_limits<double>::infinity();
  for (const double value : x) {
    if (std::isnan(value)) return value;
    out = std::max(out, value);
  }
  return out;
}

inline double smallest(const Group& x) {
  double out = std::numeric_limits<double>::infinity();
  for (const double value : x) {
    if (std::isnan(value)) return value;
    out = std::min(out, value);
  }
  return out;
}

inline double multiplied(const Group& x) {
  double out = 1;
  for (const double value : x) out *= value;
  return out;
}

inline double sum_of_magnitudes(const Group& x) {
  double out = 0;
  for (const double value : x) out += std::fabs(value);
  return out;
}

inline double largest_magnitude(const Group& x) {
  double out = 0;
  for (const double value : x) {
    if (std::isnan(value)) return value;
    out = std::max(out, std::fabs(value));
  }
  return out;
}

inline double entropy_of(const Group& p) {
  double out = 0;
  for (const double value : p)
    if (value != 0) out -= value * std::log(value);
  return out;
}

/// Sums of everything up to each element along an axis.
inline Plain running_sums(const Plain& x, int axis) {
  return fill(x.shape, [&](const Index& at) {
    double out = 0;
    for (Size i = 0; i <= at[static_cast<std::size_t>(axis)]; ++i) out += x.at(with(at, axis, i));
    return out;
  });
}

inline double log_of_summed_exponentials(const Group& x) {
  const double top = x.empty() ? 0 : largest(x);
  if (std::isinf(top)) return top;
  double sum = 0;
  for (const double value : x) sum += std::exp(value - top);
  return top + std::log(sum);
}

inline double place_of_largest(const Group& x) {
  std::size_t best = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[best])) break;
    if (x[i] > x[best] || std::isnan(x[i])) best = i;
  }
  return static_cast<double>(best);
}

}  // namespace regard::test

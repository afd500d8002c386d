// The axis of a plot: its range and its ticks.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace regard::study {

struct Interval {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();
  bool empty() const { return low > high; }
  void include(double value) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
};

struct Axis {
  Interval range;
  std::vector<double> ticks;
  bool logarithmic = false;

  /// Is there a place for it? A logarithmic axis has none for 0 and below.
  bool shows(double value) const { return std::isfinite(value) && (!logarithmic || value > 0); }
  double position(double value, double from, double length) const {
    const double share = logarithmic ? std::log(value / range.low) / std::log(range.high / range.low)
                                     : (value - range.low) / (range.high - range.low);
    return from + share * length;
  }
};

/// A tight axis (of steps) ends where the data ends, any other at a tick. A single value gets room on both
/// sides.
enum class AxisEnds { at_ticks, tight };
Axis nice_axis(Interval data, int pieces, AxisEnds ends);
/// A logarithmic axis of positive numbers: tight with ticks at `values` if they are few, else from a power of
/// ten to another.
Axis decade_axis(Interval data, const std::set<double>& values);

/// "0.25", "1e-05", "20k".
std::string tick_text(double value);

}  // namespace regard::study

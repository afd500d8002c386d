#include "study/axis.hpp"

#include <fmt/format.h>

#include <cmath>

namespace regard::study {
namespace {

// Heckbert 1990, "Nice numbers for graph labels": a step of 1, 2 or 5 times a power of ten.
double nice_step(double span, int pieces) {
  const double rough = span / pieces;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double factor = rough / power;
  return power * (factor < 1.5 ? 1 : factor < 3.5 ? 2 : factor < 7.5 ? 5 : 10);
}

}  // namespace

Axis nice_axis(Interval data, int pieces, AxisEnds ends) {
  const bool tight = ends == AxisEnds::tight;
  double span = data.high - data.low;
  const double size = std::max(std::fabs(data.low), std::fabs(data.high));
  if (!(span > 1e-12 * size)) {
    const double room = size > 0 ? 0.5 * size : 0.5;
    data = {data.low - room, data.high + room};
    span = data.high - data.low;
  }
  Axis axis;
  // There are no half steps of training.
  const double step = tight ? std::max(1.0, nice_step(span, pieces)) : nice_step(span, pieces);
  const double first = tight ? std::ceil(data.low / step - 1e-9) : std::floor(data.low / step + 1e-9);
  const double last = tight ? std::floor(data.high / step + 1e-9) : std::ceil(data.high / step - 1e-9);
  for (double k = first; k <= last; ++k) axis.ticks.push_back(k * step);
  axis.range = tight ? data : Interval{first * step, last * step};
  return axis;
}

Axis decade_axis(Interval data, const std::set<double>& values) {
  constexpr std::size_t few = 8;
  Axis axis;
  axis.logarithmic = true;
  if (data.empty()) data = {1, 10};
  if (values.size() > 1 && values.size() <= few) {
    axis.range = data;
    axis.ticks.assign(values.begin(), values.end());
    return axis;
  }
  const double low = std::floor(std::log10(data.low) + 1e-9), high = std::ceil(std::log10(data.high) - 1e-9);
  const double last = std::max(high, low + 1), step = std::ceil((last - low) / few);
  axis.range = {std::pow(10, low), std::pow(10, last)};
  for (double decade = low; decade <= last; decade += step) axis.ticks.push_back(std::pow(10, decade));
  return axis;
}

std::string tick_text(double value) {
  const double tidy = std::fabs(value) < 1e-12 ? 0 : value;
  if (std::fabs(tidy) >= 1e4 && std::fabs(tidy) < 1e7 && std::fmod(tidy, 1000) == 0)
    return fmt::format("{:g}k", tidy / 1000);
  return fmt::format("{:.6g}", tidy);
}

}  // namespace regard::study

#include <regard/optim/schedule.hpp>

#include <algorithm>
#include <cmath>
#include <string>

#include <regard/error.hpp>

namespace regard {
namespace {

void require(const char* schedule, bool condition, const std::string& text) {
  if (!condition) throw ValueError(std::string(schedule) + ": " + text);
}

// The step, and an option that counts steps or cycles.
void require_counts(const char* schedule, Size step, const char* option = "", Size value = 1,
                    Size least = 1) {
  require(schedule, step >= 0, "steps are counted from 0, got " + std::to_string(step));
  require(
      schedule, value >= least,
      std::string(option) + " must be at least " + std::to_string(least) + ", got " + std::to_string(value));
}

double ratio(Size a, Size b) {
  return static_cast<double>(a) / static_cast<double>(b);
}

// From `from` to `to`, as `part` goes from 0 to 1.
double along_cosine(double from, double to, double part) {
  const double pi = 3.14159265358979323846;
  return to + (from - to) * (1 + std::cos(pi * part)) / 2;
}
double along_line(double from, double to, double part) {
  return from + (to - from) * part;
}

}  // namespace

double constant_rate(double base, Size step) {
  require_counts("constant_rate", step);
  return base;
}

double warmup_rate(double base, Size step, Size warmup_steps) {
  require_counts("warmup_rate", step, "warmup_steps", warmup_steps, 0);
  return step < warmup_steps ? base * ratio(step + 1, warmup_steps) : base;
}

double step_rate(double base, Size step, const StepRateOptions& options) {
  require_counts("step_rate", step, "every", options.every);
  return base * std::pow(options.factor, static_cast<double>(step / options.every));
}

double linear_rate(double base, Size step, const LinearRateOptions& options) {
  require_counts("linear_rate", step, "total_steps", options.total_steps);
  return base * along_line(options.start, options.end, std::min(1.0, ratio(step, options.total_steps)));
}

double cosine_rate(double base, Size step, const CosineOptions& options) {
  require_counts("cosine_rate", step, "warmup_steps", options.warmup_steps, 0);
  require_counts("cosine_rate", step, "total_steps", options.total_steps, options.warmup_steps);
  if (step < options.warmup_steps) return warmup_rate(base, step, options.warmup_steps);
  if (step >= options.total_steps) return options.minimum;
  return along_cosine(base, options.minimum,
                      ratio(step - options.warmup_steps, options.total_steps - options.warmup_steps));
}

double cosine_restarts_rate(double base, Size step, const RestartOptions& options) {
  require_counts("cosine_restarts_rate", step, "first_cycle", options.first_cycle);
  require_counts("cosine_restarts_rate", step, "growth", options.growth);
  Size cycle = options.first_cycle, at = step;
  if (options.growth == 1) at %= cycle;
  while (at >= cycle) {
    at -= cycle;
    if (cycle > at / options.growth)  // the last one: its length may not fit a Size
      return along_cosine(base, options.minimum, ratio(at, cycle) / static_cast<double>(options.growth));
    cycle *= options.growth;
  }
  return along_cosine(base, options.minimum, ratio(at, cycle));
}

double one_cycle_rate(double peak, Size step, const OneCycleOptions& options) {
  require_counts("one_cycle_rate", step, "total_steps", options.total_steps);
  require("one_cycle_rate", options.rise >= 0 && options.rise <= 1,
          "rise must lie in [0, 1], got " + std::to_string(options.rise));
  require("one_cycle_rate", options.start_divisor > 0 && options.end_divisor > 0,
          "the divisors must be positive, got " + std::to_string(options.start_divisor) + " and " +
              std::to_string(options.end_divisor));
  const auto along = options.anneal == Anneal::cosine ? along_cosine : along_line;
  const double first = peak / options.start_divisor, now = static_cast<double>(step);
  const double end = static_cast<double>(options.total_steps - 1);
  const double top = options.rise * static_cast<double>(options.total_steps) - 1;
  if (now < top) return along(first, peak, now / top);
  return along(peak, first / options.end_divisor, top < end ? std::min(1.0, (now - top) / (end - top)) : 0);
}

}  // namespace regard

#include <cmath>
#include <string>

#include <regard/error.hpp>
#include <regard/optim.hpp>

namespace regard {
namespace {

void require(const char* schedule, bool condition, const std::string& text) {
  if (!condition) throw ValueError(std::string(schedule) + ": " + text);
}

void require_step(const char* schedule, Size step) {
  require(schedule, step >= 0, "steps are counted from 0, got " + std::to_string(step));
}

}  // namespace

double constant_rate(double base, Size step) {
  require_step("constant_rate", step);
  return base;
}

double warmup_rate(double base, Size step, Size warmup_steps) {
  require_step("warmup_rate", step);
  require("warmup_rate", warmup_steps >= 0,
          "warmup_steps must not be negative, got " + std::to_string(warmup_steps));
  return step < warmup_steps ? base * (static_cast<double>(step + 1) / static_cast<double>(warmup_steps))
                             : base;
}

double cosine_rate(double base, Size step, const CosineOptions& options) {
  require_step("cosine_rate", step);
  require(
      "cosine_rate",
      options.total_steps >= 0 && options.warmup_steps >= 0 && options.warmup_steps <= options.total_steps,
      "expected 0 <= warmup_steps <= total_steps, got " + std::to_string(options.warmup_steps) + " and " +
          std::to_string(options.total_steps));
  if (step < options.warmup_steps) return warmup_rate(base, step, options.warmup_steps);
  if (step >= options.total_steps) return options.minimum;
  const double pi = 3.14159265358979323846;
  const double progress = static_cast<double>(step - options.warmup_steps) /
                          static_cast<double>(options.total_steps - options.warmup_steps);
  return options.minimum + (base - options.minimum) * (1 + std::cos(pi * progress)) / 2;
}

}  // namespace regard

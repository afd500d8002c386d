// Learning rates that change over the steps of a run.
#pragma once

#include <regard/export.hpp>
#include <regard/shape.hpp>

namespace REGARD_API regard {

// The rate of a step, counted from 0: set_learning_rate(rate(step)) before step number `step` runs. They are
// functions of the step alone, so that a resumed run needs only its step. ValueError for a negative step, and
// for options out of range.

/// base at every step.
[[nodiscard]] double constant_rate(double base, Size step);
/// base·(step + 1) / warmup_steps for step < warmup_steps, then base: the first step is not wasted on a rate
/// of 0.
[[nodiscard]] double warmup_rate(double base, Size step, Size warmup_steps);

struct StepRateOptions {
  Size every = 1;  ///< steps at one rate
  double factor = 0.1;
};
/// base·factor^(step / every), rounded down (PyTorch's StepLR).
[[nodiscard]] double step_rate(double base, Size step, const StepRateOptions& options);

struct LinearRateOptions {
  Size total_steps = 1;  ///< where the rate arrives at base·end
  double start = 1;
  double end = 0;
};
/// base·(start + (end - start)·s) with s = min(1, step / total_steps) (PyTorch's LinearLR).
[[nodiscard]] double linear_rate(double base, Size step, const LinearRateOptions& options);

struct CosineOptions {
  Size total_steps = 1;   ///< where the rate arrives at `minimum`
  Size warmup_steps = 0;  ///< linear, as warmup_rate; 0 to total_steps
  double minimum = 0;
};
/// Loshchilov & Hutter 2017: after the warm-up minimum + (base - minimum)·(1 + cos(pi·s / S)) / 2, with s the
/// steps since the warm-up and S = total_steps - warmup_steps; minimum from total_steps on.
[[nodiscard]] double cosine_rate(double base, Size step, const CosineOptions& options);

struct RestartOptions {
  Size first_cycle = 1;  ///< steps from the start to the first restart
  Size growth = 1;       ///< each cycle is as many times as long as the one before
  double minimum = 0;
};
/// Loshchilov & Hutter 2017, with restarts: cycle after cycle falls from base towards minimum as cosine_rate
/// does (PyTorch's CosineAnnealingWarmRestarts).
[[nodiscard]] double cosine_restarts_rate(double base, Size step, const RestartOptions& options);

enum class Anneal { cosine, linear };
struct OneCycleOptions {
  Size total_steps = 2;
  double rise = 0.3;          ///< which part of the steps goes up, 0 to 1
  double start_divisor = 25;  ///< the first rate is peak / start_divisor
  double end_divisor = 1e4;   ///< the last one is the first / end_divisor
  Anneal anneal = Anneal::cosine;
};
/// Smith & Topin 2018, as PyTorch's OneCycleLR (in two phases): from the first rate up to `peak` at step
/// rise·total_steps - 1, and down to the last at total_steps - 1, where it stays.
[[nodiscard]] double one_cycle_rate(double peak, Size step, const OneCycleOptions& options);

}  // namespace regard

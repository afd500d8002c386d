// Optimisers, learning rate schedules and gradient clipping.
//
//   Adam optimizer(parameters(model), options);
//   for (Size step = 0; step < steps; ++step) {
//     optimizer.zero_grad();
//     backward(loss());
//     clip_gradients_by_norm(optimizer.parameters(), 1.0);
//     optimizer.set_learning_rate(rate(step));
//     optimizer.step();
//   }
//
// The updates are PyTorch's, to the last digit that float64 arithmetic lets one promise.
#pragma once

#include <string>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/export.hpp>
#include <regard/named.hpp>

namespace REGARD_API regard {

// ---- optimisers ----------------------------------------------------------------------------------------

struct SgdOptions {
  double learning_rate = 1e-3;
  double momentum = 0;
  double dampening = 0;  ///< the new gradient enters the momentum as (1 - dampening)·g, after the first step
  double weight_decay = 0;  ///< L2: adds weight_decay·p to the gradient
};

struct AdamOptions {
  double learning_rate = 1e-3;
  double beta1 = 0.9;     ///< how much of the first moment stays
  double beta2 = 0.999;   ///< how much of the second moment stays
  double epsilon = 1e-8;  ///< added to the root of the second moment, after its correction
  double weight_decay = 0;
};

struct AdamWOptions : AdamOptions {
  AdamWOptions() { weight_decay = 1e-2; }
};

/// Parameters whose name the pattern means (see matches()) go by these options instead of the optimiser's
/// own. The first group that means a parameter has it.
template <class Options>
struct ParameterGroup {
  std::string pattern;
  Options options;
};

/// What optimisers have in common. step() changes each parameter that is trainable and has a gradient, and no
/// other; each counts its own steps. A parameter's numbers are overwritten only where no Tensor sees them, so
/// that a graph built before the step stays right.
class Optimizer {
 public:
  Optimizer(const Optimizer&) = delete;
  Optimizer& operator=(const Optimizer&) = delete;
  virtual ~Optimizer() = default;

  void step();
  void zero_grad();

  /// The rate of the parameters that no group has.
  [[nodiscard]] double learning_rate() const;
  /// Sets that rate; the rates of the groups keep their ratio to it, as it was at the start. ValueError for a
  /// rate that is negative or not finite, or when there are groups and the first rate was 0.
  void set_learning_rate(double rate);
  /// The rate in force for one parameter. ValueError when the optimiser does not have it.
  [[nodiscard]] double learning_rate(const Parameter& parameter) const;

  /// Each once, in the order given.
  [[nodiscard]] const std::vector<Parameter>& parameters() const { return parameters_; }

  /// All that a later run needs to go on as if it had not been interrupted, besides the parameters and
  /// learning_rate(): for each parameter that has stepped "name.step" (int64) and its moments. Empty before
  /// the first step.
  [[nodiscard]] NamedTensors state() const;
  /// Takes over what state() gave. ValueError, ShapeError or DTypeError, with nothing changed, when an entry
  /// belongs to no parameter or does not fit, or when moments are missing.
  void load_state(const NamedTensors& state);

 protected:
  struct Slot {
    Size steps = 0;
    Tensor moments[2];  ///< in the parameter's shape; undefined before the first step, or where not used
  };

  /// `rates`: of each group, and last the default.
  Optimizer(const char* name, std::vector<Parameter> parameters, const std::vector<std::string>& patterns,
            std::vector<double> rates, std::vector<std::string> moment_names);

  /// What an update goes by.
  struct Now {
    std::size_t group;
    double rate;
    Size step;  ///< of this parameter; 1 is the first
  };
  /// One update of a parameter that has a gradient.
  virtual void update(Parameter& parameter, Slot& slot, const Now& now) = 0;
  /// Whether the parameters of the group have that moment.
  virtual bool has_moment(std::size_t group, std::size_t moment) const = 0;

 private:
  double rate_of_group(std::size_t group) const;

  std::string name_;
  std::vector<Parameter> parameters_;
  std::vector<std::string> keys_;      // the parameters' names, made unique
  std::vector<std::size_t> group_of_;  // the last is the default
  std::vector<double> first_rates_;
  double rate_;
  std::vector<std::string> moment_names_;
  std::vector<Slot> slots_;
};

/// Gradient descent, with momentum m on request: b = m·b + (1 - dampening)·g (b = g at first), p -= rate·b.
class Sgd : public Optimizer {
 public:
  using Groups = std::vector<ParameterGroup<SgdOptions>>;
  /// ValueError for options out of range, or a group that means no parameter.
  explicit Sgd(std::vector<Parameter> parameters, const SgdOptions& options = {}, const Groups& groups = {});

 private:
  void update(Parameter& parameter, Slot& slot, const Now& now) override;
  bool has_moment(std::size_t group, std::size_t moment) const override;
  std::vector<SgdOptions> options_;
};

/// Kingma & Ba 2015, with g the gradient (plus weight_decay·p, L2) and t the parameter's step:
/// m = beta1·m + (1 - beta1)·g, v = beta2·v + (1 - beta2)·g²,
/// p -= rate · (m / (1 - beta1^t)) / (sqrt(v / (1 - beta2^t)) + epsilon).
class Adam : public Optimizer {
 public:
  using Groups = std::vector<ParameterGroup<AdamOptions>>;
  /// ValueError for options out of range, or a group that means no parameter.
  explicit Adam(std::vector<Parameter> parameters, const AdamOptions& options = {},
                const Groups& groups = {});

 protected:
  enum class Decay { l2, decoupled };
  Adam(const char* name, Decay decay, std::vector<Parameter> parameters, const AdamOptions& options,
       const Groups& groups);

 private:
  void update(Parameter& parameter, Slot& slot, const Now& now) override;
  bool has_moment(std::size_t group, std::size_t moment) const override;
  Decay decay_;
  std::vector<AdamOptions> options_;
};

/// Loshchilov & Hutter 2019: Adam, with p *= 1 - rate·weight_decay before the update in place of L2.
class AdamW : public Adam {
 public:
  explicit AdamW(std::vector<Parameter> parameters, const AdamOptions& options = AdamWOptions(),
                 const Groups& groups = {});
};

// ---- schedules -----------------------------------------------------------------------------------------

// The rate of a step, counted from 0: set_learning_rate(rate(step)) before step number `step` runs. They are
// functions of the step alone, so that a resumed run needs only its step.

/// base at every step; ValueError for a negative step, as in all of them.
[[nodiscard]] double constant_rate(double base, Size step);
/// base·(step + 1) / warmup_steps for step < warmup_steps, then base: the first step is not wasted on a rate
/// of 0.
[[nodiscard]] double warmup_rate(double base, Size step, Size warmup_steps);

struct CosineOptions {
  Size total_steps = 1;   ///< where the rate arrives at `minimum`
  Size warmup_steps = 0;  ///< linear, as warmup_rate; 0 to total_steps
  double minimum = 0;
};
/// Loshchilov & Hutter 2017: after the warm-up minimum + (base - minimum)·(1 + cos(pi·s / S)) / 2, with s the
/// steps since the warm-up and S = total_steps - warmup_steps; minimum from total_steps on.
[[nodiscard]] double cosine_rate(double base, Size step, const CosineOptions& options);

// ---- clipping ------------------------------------------------------------------------------------------

/// What clipping does when the norm is infinite or NaN.
enum class NonFinite {
  error,   ///< ValueError that names the first parameter with such a gradient
  report,  ///< the norm is returned and tells; skip the step
};

/// The norm of all gradients as one vector; if it is larger than max_norm, every gradient is multiplied by
/// max_norm / norm (exactly: nothing is added to the norm). Parameters without gradient count for nothing.
/// When the norm is not finite no gradient is changed. Returns the norm before. ValueError unless max_norm >=
/// 0.
double clip_gradients_by_norm(const std::vector<Parameter>& parameters, double max_norm,
                              NonFinite non_finite = NonFinite::error);

}  // namespace regard

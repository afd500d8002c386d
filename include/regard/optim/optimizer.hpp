// What all optimisers share: which parameters move, at what rate, and the state between steps.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/export.hpp>
#include <regard/named.hpp>

namespace REGARD_API regard {

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
  /// What is kept of one parameter from step to step.
  struct Slot {
    Size steps = 0;
    Tensor moments[3];  ///< in the parameter's shape; undefined before the first step, or where not used
  };

  /// `groups`: pattern and rate of each; `rate`: of the other parameters; `moments`: their names.
  Optimizer(const char* name, const std::vector<Parameter>& parameters,
            const std::vector<std::pair<std::string, double>>& groups, double rate,
            const char* const (&moments)[3]);

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
  void update_all();
  double rate_of_group(std::size_t group) const;

  std::string name_;
  std::vector<Parameter> parameters_;
  std::vector<std::string> keys_;      // the parameters' names, made unique
  std::vector<std::size_t> group_of_;  // the last is the default
  std::vector<double> first_rates_;
  double rate_;
  const char* const (&moment_names_)[3];  // null beyond the last
  std::vector<Slot> slots_;
};

/// The optimiser that goes by these options. <regard/optim/methods.hpp> names those there are.
template <class Options>
class REGARD_API OptimizerBy : public Optimizer {
 public:
  using Groups = std::vector<ParameterGroup<Options>>;
  /// ValueError for options out of range, or a group that means no parameter.
  explicit OptimizerBy(const std::vector<Parameter>& parameters, const Options& options = {},
                       const Groups& groups = {});

 private:
  void update(Parameter& parameter, Slot& slot, const Now& now) override;
  bool has_moment(std::size_t group, std::size_t moment) const override;
  std::vector<Options> options_;  // of each group, and last its own
};

}  // namespace regard

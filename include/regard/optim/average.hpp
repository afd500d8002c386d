// Averages of the parameters over the steps of a run, which often do better than the last ones.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/export.hpp>
#include <regard/named.hpp>

namespace REGARD_API regard {

/// By how much the average a moves towards p in update t = 1, 2, ...: a += gain·(p - a). All begin at p.
enum class Average {
  exponential,  ///< 1 - decay, and 1 at first (PyTorch's get_ema_avg_fn: the first p weighs decay^(t - 1))
  corrected,    ///< (1 - decay) / (1 - decay^t): Adam's correction, by which the first p weighs no more
  equal,        ///< 1 / t: the mean of all (Izmailov et al. 2018, PyTorch's SWA)
};
struct AverageOptions {
  Average kind = Average::exponential;
  double decay = 0.999;  ///< in [0, 1); `equal` has none
};

/// Running averages of parameters over the steps, beside the parameters, to be used in their place.
class AveragedParameters {
 public:
  /// Each once; frozen ones too. ValueError for a decay out of range.
  explicit AveragedParameters(const std::vector<Parameter>& parameters, const AverageOptions& options = {});
  AveragedParameters(const AveragedParameters&) = delete;
  AveragedParameters& operator=(const AveragedParameters&) = delete;

  /// After a step. GraphError while the averages are in use.
  void update();

  /// While what it gives lives, the parameters hold their averages:
  /// ```cpp
  /// AveragedParameters averaged(parameters(model));
  /// averaged.update();  // after each step
  /// {
  ///   const auto averages = averaged.use();
  ///   std::cout << loss(model(x));
  /// }
  /// ```
  /// GraphError before the first update, or when they are in use already.
  [[nodiscard]] std::shared_ptr<void> use();

  /// For each parameter its average, "name.average", and how many there were, "updates". Empty before the
  /// first update. GraphError while the averages are in use, as in load_state.
  [[nodiscard]] NamedTensors state() const;
  /// Takes over what state() gave. ValueError, ShapeError or DTypeError, with nothing changed, when it does
  /// not fit.
  void load_state(const NamedTensors& state);

 private:
  void update_now();
  void swap();
  void require_own_numbers(const char* what) const;

  std::vector<Parameter> parameters_;
  std::vector<std::string> keys_;
  AverageOptions options_;
  Tensors averages_;
  Size updates_ = 0;
  bool in_use_ = false;
};

}  // namespace regard

// Anomaly mode: the operation and the module in which the first NaN or infinity arose, forward or backward.
//
// ```cpp
// const study::AnomalyMode anomaly(model);
// backward(loss(model(x)));
// // AnomalyError: anomaly: NaN arose in log, in encoder.0.attention, forward: 2 of 12 elements ...
// ```
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <regard/error.hpp>
#include <regard/export.hpp>
#include <regard/nn/module.hpp>

namespace REGARD_API regard {
namespace study {

/// What is found to be wrong.
enum class NonFiniteKind { nan, infinity };

/// What sets off an alarm.
enum class Alarm {
  nan_or_infinity,
  nan,  ///< for models that use infinities on purpose, log(0) as a mask say
};
/// What an alarm does.
enum class OnAlarm {
  error,  ///< AnomalyError stops what runs, at the operation itself
  note,   ///< it is kept for first(), and everything goes on
};

struct AnomalyOptions {
  Alarm alarm = Alarm::nan_or_infinity;
  OnAlarm on_alarm = OnAlarm::error;
};

/// Where it arose.
struct Anomaly {
  NonFiniteKind kind = NonFiniteKind::nan;
  Phase phase = Phase::forward;
  std::string op;  ///< whose result it is in
  std::string
      module;  ///< path of the module that called it or, in a backward, called the operation differentiated
  std::string
      near;  ///< where there is no such module: the nearest module or Parameter before it; may be empty
  std::string rule;         ///< in a backward: the operation whose gradient rule ran
  bool came_in = false;     ///< it was in an input already, which nothing that was watched had computed
  std::string input;        ///< then: which one, "input 1 (Parameter head.weight)"
  Shape shape;              ///< of the result, or of that input
  std::vector<Size> place;  ///< the first such element
  Size count = 0;           ///< how many of them
  std::vector<std::string> inputs;  ///< "float64 [3, 4] from -1.5 to 2" each
};
/// One paragraph for people.
[[nodiscard]] std::string to_string(const Anomaly& anomaly);

/// Thrown where an anomaly arose.
struct AnomalyError : Error {
  explicit AnomalyError(Anomaly found) : Error(to_string(found)), anomaly(std::move(found)) {}
  Anomaly anomaly;
};

/// While it lives, every result that its thread computes is looked at. An alarm is
///   - NaN, wherever it is: one that no input held arose there, else it came in from outside;
///   - an infinity in the result of an operation whose inputs were all finite.
/// No alarm is an infinity that is handed on, such as a bias of -inf, and one that is meant: of masked_fill,
/// of a log_softmax with a mask, of a logsumexp over nothing. What a mask hides inside attention is never
/// computed.
///
/// Of the model it wants the names of its Parameters: modules say themselves when they compute (see Within;
/// all of regard::nn do). A healthy run is the same to the last bit, and takes about twice the time. Off by
/// default, there may be several, each must die on the thread that made it.
class AnomalyMode {
 public:
  template <class Module>
  explicit AnomalyMode(const Module& model, const AnomalyOptions& options = {})
      : AnomalyMode(named_parameters(model), options) {}
  explicit AnomalyMode(const NamedParameters& parameters, const AnomalyOptions& options = {});
  explicit AnomalyMode(const AnomalyOptions& options = {}) : AnomalyMode(NamedParameters(), options) {}
  ~AnomalyMode();
  AnomalyMode(const AnomalyMode&) = delete;
  AnomalyMode& operator=(const AnomalyMode&) = delete;

  /// The first alarm there was.
  [[nodiscard]] const std::optional<Anomaly>& first() const;

 private:
  class Hunt;
  std::unique_ptr<Hunt> hunt_;
};

}  // namespace study
}  // namespace regard

// The doctor: why a Parameter gets no gradient, a gradient of 0, or one that is no number.
//
// ```cpp
// const Diagnosis diagnosis = diagnose(model, [&] { return cross_entropy(model(x), targets); });
// std::cout << diagnosis;              // a table, a line for each Parameter
// const bool healthy = diagnosis.ok();
// ```
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include <regard/export.hpp>
#include <regard/nn/module.hpp>
#include <regard/tape.hpp>

namespace REGARD_API regard {
namespace study {

/// What a Parameter's gradient is like.
enum class Health {
  ok,
  zero,        ///< every element is exactly 0
  missing,     ///< no backward came by
  non_finite,  ///< NaN or an infinity is in it
};

/// Why.
enum class Reason {
  none,
  // missing
  not_trainable,       ///< it is frozen; no illness
  unused,              ///< nothing was computed with it
  unreachable,         ///< what was computed with it does not enter the loss
  recording_off,       ///< the operation ran under NoGrad
  detached,            ///< its value() or a detach() was used there
  not_differentiable,  ///< the operation gives that input no gradient
  // zero
  masked,              ///< a mask, or a condition, hides it everywhere
  dead_relu,           ///< no input of the relu is above 0
  multiplied_by_zero,  ///< the other factor is 0
  flat,                ///< the operation's slope is 0 there (a softmax over one key, a clamp)
  cancels,  ///< its parts add up to 0, or to nothing but rounding: the loss does not see it (the bias of
            ///< keys shifts all scores of a query alike); no illness, and given to a gradient that is ok, too
  // non_finite
  arose_forward,
  arose_backward,  ///< in the gradient rule of `op`
  unknown,         ///< none of these
};

/// Of one Parameter: what its gradient is like, and why.
struct ParameterHealth {
  std::string parameter;  ///< its path
  Shape shape;
  Health health = Health::ok;
  Reason reason = Reason::none;
  std::string op;      ///< where the gradient was lost, became 0 or ceased to be a number; may be empty
  std::string module;  ///< the path of the module that called it, see Within; may be empty
  std::string detail;  ///< a word more, "after add in hidden"; may be empty
  double largest = 0;  ///< |element| of the gradient
  Size zeros =
      0;  ///< elements that are exactly 0: rows of an embedding that were not used, units that are dead

  /// Not ok, and neither frozen nor invisible to the loss.
  [[nodiscard]] bool alarming() const {
    return health != Health::ok && reason != Reason::not_trainable && reason != Reason::cancels;
  }
};

/// What was found, in the order of the parameters.
struct Diagnosis {
  std::vector<ParameterHealth> parameters;

  /// None is alarming.
  [[nodiscard]] bool ok() const;
  /// ValueError that lists the paths when there is none of that name.
  [[nodiscard]] const ParameterHealth& at(const std::string& parameter) const;
};

/// Computes the loss once and runs a backward, under a tape that keeps every value, and reads from it where
/// each gradient stayed. The Parameters' gradients are what they were before; a dropout draws. A loss that
/// depends on nothing is no error: nothing has a gradient then.
[[nodiscard]] Diagnosis diagnose(const NamedParameters& parameters, const std::function<Tensor()>& loss);
template <class Module>
[[nodiscard]] Diagnosis diagnose(const Module& model, const std::function<Tensor()>& loss) {
  return diagnose(named_parameters(model), loss);
}
/// The same after a backward, from a tape that recorded the loss and its backward, before an optimiser's
/// step. ValueError unless the tape keeps values and has computed the loss.
[[nodiscard]] Diagnosis diagnose(const NamedParameters& parameters, const TapeRecorder& tape,
                                 const Tensor& loss);

/// "detached", "dead relu", ...
[[nodiscard]] const char* name(Reason reason);
[[nodiscard]] const char* name(Health health);
/// A table: parameter, shape, largest |gradient|, share of zeros, and what is wrong with it, where.
std::ostream& operator<<(std::ostream& out, const Diagnosis& diagnosis);
[[nodiscard]] std::string to_string(const Diagnosis& diagnosis);

}  // namespace study
}  // namespace regard

// Gradients against difference quotients, with a report that says what is wrong, where, and by how much.
//
// ```cpp
// const GradientReport report = check_gradients([](const Tensors& x) { return softmax(x[0]); }, {scores});
// if (!report.ok()) std::cout << to_string(report);
// ```
//
// The step is not guessed: twelve decades of steps are tried along each direction, and the difference
// quotient is taken where it errs least. Nothing is called wrong before that.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/export.hpp>
#include <regard/named.hpp>
#include <regard/nn/module.hpp>

namespace REGARD_API regard {

/// From harmless to worst; a report's verdict is the worst of its findings.
enum class Verdict {
  ok,
  vacuous,  ///< the output did not move in any direction tried (the sum of a softmax): nothing was checked
  precision_limited,  ///< rounding hides more than the tolerance: the differences can neither confirm nor
                      ///< refute
  kink,               ///< the slopes left and right differ, and the gradient lies between them
  not_connected,      ///< the output depends on the input, but no gradient reaches it
  nondeterministic,   ///< two calls with the same inputs differ
  wrong,
};
/// "ok", "vacuous", "precision limited", "kink", "not connected", "nondeterministic" or "wrong".
[[nodiscard]] const char* name(Verdict verdict);

/// fast: one random direction per input, some eighty calls of f each; where that fails, coordinates name the
/// culprit. slow: every coordinate of every input, four calls of f each, and a sweep over the steps where
/// these disagree.
enum class Coverage { fast, slow };

/// How the numeric slope is made. central: (f(x+h) - f(x-h)) / 2h, error h². five_point: with x ± 2h, error
/// h⁴. taylor: no slope, but the order in h at which f(x+h·d) - f(x) - h·<gradient, d> vanishes: 2 when the
/// gradient is right, 1 when it is not.
enum class Formula { central, five_point, taylor };

struct GradientCheckOptions {
  Coverage coverage = Coverage::fast;
  Formula formula = Formula::five_point;
  /// Derivatives checked: 1; 2 also those of the gradient (and jvp, against the same differences); 3 those of
  /// these.
  int order = 1;
  /// Largest |analytic - numeric| in units of the larger of both: 1e-7 unless given, 2e-4 if float32 is
  /// involved.
  std::optional<double> tolerance;
  /// h. Chosen from the sweep unless given; a given one is only replaced to tell what it hides.
  std::optional<double> step;
  std::vector<std::size_t> constants;  ///< places of inputs that are not differentiated, whatever their dtype
  std::vector<std::string> names;      ///< of the inputs; "x0", "x1", ... unless given
  std::vector<Verdict> also_accept;    ///< verdicts that are as good as ok, of a kink that is known, say
  std::uint64_t seed = 1;              ///< of directions and cotangents
};

/// One step of the sweep, the V-curve's points: rounding falls with the step, truncation grows.
struct StepError {
  double step;
  double numeric;  ///< NaN where f is not finite
  double error;    ///< |numeric - analytic|
  bool exact;      ///< x ± step are numbers of this dtype; where false, the step vanishes in x
};

/// One input, at one order of derivative; its numbers are those of the worst coordinate or direction.
struct GradientFinding {
  std::string input;  ///< "W_Q"
  std::string where;  ///< "W_Q[2,1]", or "W_Q along a random direction"
  int order = 1;
  Verdict verdict = Verdict::ok;
  double analytic = 0, numeric = 0;
  double absolute = 0;   ///< |analytic - numeric|
  double relative = 0;   ///< divided by the larger of both; 0 if both are 0
  double ulps = 0;       ///< divided by the spacing of the coarsest dtype involved, at the larger of both
  double error = 0;      ///< what the numeric value itself may be off by, estimated
  double step = 0;       ///< with which it was taken
  double tolerance = 0;  ///< relative; where precision is limited, the tolerance that would be meaningful
  double left = 0, right = 0;    ///< the one-sided slopes
  double remainder_order = 0;    ///< of Formula::taylor; NaN where the remainder is below rounding
  Size checked = 0, failed = 0;  ///< coordinates or directions
  std::string note;              ///< a sentence that explains the verdict
  std::vector<StepError> curve;  ///< if the steps were swept: along every fast direction, and for what failed
};

/// All that was checked.
struct GradientReport {
  std::vector<GradientFinding> findings;
  Coverage coverage = Coverage::fast;
  std::vector<Verdict> accepted;  ///< besides Verdict::ok

  [[nodiscard]] Verdict verdict() const;
  /// Is every finding ok, or accepted by the options?
  [[nodiscard]] bool ok() const;
  /// The finding with the worst verdict, and of these the one with the largest relative difference.
  /// ValueError when there is none.
  [[nodiscard]] const GradientFinding& worst() const;
};

/// One line per finding, more where something is to be said.
[[nodiscard]] std::string to_string(const GradientReport& report);
[[nodiscard]] std::string to_string(const GradientFinding& finding);

/// The gradients of <w, f(inputs)> with respect to every input, w a random cotangent of the output's shape,
/// against difference quotients. f is called often, and must depend on nothing that changes. Elements of the
/// output that are not finite are left out. DTypeError: an input that is no float and not among
/// options.constants, or an output that is no float. ValueError: options that make no sense. What f or a rule
/// throws passes through.
[[nodiscard]] GradientReport check_gradients(const FunctionOfMany& f, const Tensors& inputs,
                                             const GradientCheckOptions& options = {});

/// The same for what a loss (of any shape) depends on: `parameters`, under these names. Those that are not
/// trainable are left out. Their numbers are moved for the check and put back; gradients they hold are not
/// touched.
[[nodiscard]] GradientReport check_gradients(const NamedParameters& parameters,
                                             const std::function<Tensor()>& loss,
                                             const GradientCheckOptions& options = {});

/// All parameters of a module.
template <class Module, class = std::enable_if_t<detail::is_module<Module>>>
[[nodiscard]] GradientReport check_gradients(const Module& module, const std::function<Tensor()>& loss,
                                             const GradientCheckOptions& options = {}) {
  return check_gradients(named_parameters(module), loss, options);
}

}  // namespace regard

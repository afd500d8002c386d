// Which outputs of a model depend on which inputs: found by changing one position at a time, and by
// gradients.
//
// ```cpp
// const LeakReport report = audit_leak([&](const Tensor& x) { return layer(x, Mask::causal()); }, x);
// std::cout << report;                              // a grid, a row for each output
// const bool causal = report.leaks().empty();       // nothing depends on what comes after it
// ```
#pragma once

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/export.hpp>
#include <regard/mask.hpp>
#include <regard/tensor.hpp>

namespace REGARD_API regard {
namespace study {

struct LeakAuditOptions {
  /// Positions of ids are given other ids below it; 0: other ids of the same input.
  Size vocabulary = 0;
  /// How many other values each position is given. One may happen to make no difference.
  int changes = 3;
  std::uint64_t seed = 1;
};

/// One output that depends on one input.
struct Dependence {
  Size sequence;  ///< of the output
  Size output;
  Size input_sequence;  ///< of the input: another one where sequences of a batch mix
  Size input;

  friend bool operator==(const Dependence& a, const Dependence& b) {
    return a.sequence == b.sequence && a.output == b.output && a.input_sequence == b.input_sequence &&
           a.input == b.input;
  }
};

/// Boolean matrices [sequences, outputs, inputs].
struct LeakReport {
  /// Another value at the input changed a bit of the output.
  Tensor by_values;
  /// NaN at the input made the output NaN. That goes further than values where a weight of 0 is multiplied
  /// in: 0·NaN is NaN. Undefined for ids.
  Tensor by_nan;
  /// The output's gradient with respect to the input is not exactly 0. Undefined for ids, which have none,
  /// and for outputs that are not floats: then values alone decide.
  Tensor by_gradients;
  /// float64: the largest |gradient| of that pair, for a random combination of the output's numbers.
  /// Undefined as by_gradients.
  Tensor strength;
  /// Outputs that depend on another sequence of the batch, by values or gradients.
  std::vector<Dependence> across;

  /// By values or gradients.
  [[nodiscard]] Tensor depends() const;
  /// Values and gradients tell the same story, or there are no gradients.
  [[nodiscard]] bool agree() const;
  /// What the mask does not allow: a dependence on an input that it hides from the output, and every one
  /// across sequences. ShapeError as Mask::resolve: causal() wants as many outputs as inputs.
  [[nodiscard]] std::vector<Dependence> leaks(const Mask& allowed = Mask::causal()) const;
};

/// Audits one input: x [tokens, width] or [batch, tokens, width] of floats, or ids, int64 [tokens] or [batch,
/// tokens]. The model gives [outputs, ..] or [batch, outputs, ..], of any rank behind. Each position is
/// replaced `changes` times (and once by NaN) and the model run again; then one backward is run for each
/// output. Both are exact: a dependence is what changes a bit, or has a gradient other than 0. A model that
/// gives other bits for the same input (dropout in training) is a ValueError, as are ids of which there is
/// only one; ShapeError, DTypeError for other inputs or outputs.
[[nodiscard]] LeakReport audit_leak(const Function& model, const Tensor& x,
                                    const LeakAuditOptions& options = {});

/// A grid for each sequence (one, where all are alike), a row for each output: ● depends, · does not, and
/// where values and gradients differ: v values only, g gradient only, n nothing but NaN gets through.
std::ostream& operator<<(std::ostream& out, const LeakReport& report);
[[nodiscard]] std::string to_string(const LeakReport& report);

}  // namespace study
}  // namespace regard

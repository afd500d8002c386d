// regard beside PyTorch: cases that tests/golden/pytorch.py wrote, what regard makes of their inputs, and how
// far the two are apart.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <regard/tensor.hpp>

namespace regard::parity {

using TensorMap = std::map<std::string, Tensor>;

struct Case {
  std::string name;       ///< "attention, causal"
  std::string operation;  ///< which of ours computes it: "attention"
  nlohmann::json options;
  TensorMap inputs;    ///< "query", "seed", ...; floats in float64
  TensorMap expected;  ///< "output", "gradients.query", "steps.embedding.weight", ...

  /// Inputs as tensors of that float dtype.
  [[nodiscard]] Case in(DType dtype) const;
  [[nodiscard]] const Tensor& input(const std::string& name) const;
  /// The input, or an undefined Tensor.
  [[nodiscard]] Tensor input_if_any(const std::string& name) const;
};

struct File {
  std::string torch;  ///< the version that wrote it
  std::vector<Case> cases;
};
/// IoError when the file is none of ours.
[[nodiscard]] File read(const std::filesystem::path& path);

/// What regard makes of the inputs, under the names that are expected. ValueError for an operation that is
/// not known.
[[nodiscard]] TensorMap run(const Case& c);
/// Ten steps of Adam, for run().
[[nodiscard]] TensorMap run_transformer(const Case& c);

/// How far a result is from what was expected.
struct Difference {
  std::string name;
  double value = 0;  ///< largest |ours - theirs|, divided by the largest |theirs|
  double bound = 0;  ///< the most that is allowed
  [[nodiscard]] bool ok() const { return value <= bound; }
};
/// In the order of names. A result that is missing, of another shape or not a number is infinitely far away.
/// A tensor that is small beside its kin (gradients of one case; that of a key's bias is nothing but
/// rounding) is measured by a tenth of theirs.
[[nodiscard]] std::vector<Difference> differences(const Case& c, const TensorMap& ours, DType dtype);
/// Values 1e-12, gradients and trained parameters 1e-10; everything 1e-5 in float32.
[[nodiscard]] double bound(const std::string& name, DType dtype);

}  // namespace regard::parity

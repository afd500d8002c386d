// The check of one problem: one order of derivative, all inputs.
#pragma once

#include <optional>
#include <vector>

#include <regard/random.hpp>

#include "gradcheck/line.hpp"

namespace regard::detail {

class Check {
 public:
  /// DTypeError when the output is no float.
  Check(Problem problem, const GradientCheckOptions& options);

  /// Appends one finding per input, or those that say why there is none (nondeterministic).
  void run(std::vector<GradientFinding>& findings);
  /// jvp against the same differences, if can_push().
  GradientFinding check_jvp();

  bool can_push() const { return problem_.plain != nullptr; }
  /// What the next order checks.
  Problem derivative() const { return problem_.derivative(tensor_of(w_, output_), magnitude_); }

 private:
  struct Measured {
    GradientFinding finding;
    bool moved = false;
  };
  bool is_deterministic(const Tensor& w, std::vector<GradientFinding>& findings) const;
  GradientFinding check_input(std::size_t i);
  /// Along a direction, or the worst coordinate.
  Measured along_direction(std::size_t i);
  Measured along_coordinates(std::size_t i) const;
  /// Tells what is cut off and what is vacuous from what is wrong and what is ok.
  void settle(std::size_t i, Measured& m);
  /// `step` is tried first; all steps are, where it is not given or disagrees.
  Measured measure(Line line, double analytic, double size, std::optional<double> step) const;
  /// What the numbers mean. What is small beside `size`, as large as gradients are here, is forgiven as much;
  /// `natural` is the size of f over that of x.
  GradientFinding judge(double analytic, double size, double natural, const Slope& slope) const;
  Line line_along(std::size_t i, std::vector<double> direction) const;

  Problem problem_;
  const GradientCheckOptions& options_;
  Rng rng_;
  Tensor output_;
  std::vector<double> w_;  ///< cotangent; 0 where the output is not finite
  Analytic analytic_;
  double magnitude_ = 0;  ///< Σ |w·y|
  double epsilon_ = 0, tolerance_ = 0;
};

}  // namespace regard::detail

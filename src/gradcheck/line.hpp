// A scalar function of one number: <w, f(x + t·d)>, its difference quotients, and the sweep that finds the
// best step.
#pragma once

#include <limits>
#include <vector>

#include "gradcheck/problem.hpp"

namespace regard::detail {

inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// <w, f> at one place.
struct Sample {
  double value = 0;
  double magnitude =
      0;            ///< Σ |w·f| over the elements that the line moves: rounding is about epsilon times that
  double slip = 0;  ///< by how much of its way the coordinate that fits its dtype worst misses x + t·d
};

class Line {
 public:
  /// Where `direction[i]` is empty, input i stays. `w` is 0 where the output is not to count.
  /// `epsilon` is the spacing of numbers near 1 in the coarsest dtype involved.
  Line(const Problem& problem, const std::vector<double>& w, double epsilon, Numbers direction);

  Sample at(double t);
  /// A power of two, at least 1 and at least as large as any |x| that moves.
  double scale() const { return scale_; }
  double epsilon() const { return epsilon_; }
  const Numbers& direction() const { return direction_; }

 private:
  const Problem& problem_;
  const std::vector<double>& w_;
  double epsilon_;
  Numbers origin_, direction_;
  std::vector<double> still_;  ///< the output at t = 0
  std::vector<bool> moved_;    ///< elements of the output that have changed on the way
  double scale_ = 1;
};

/// What differences say about the slope at t = 0: the numeric fields of a finding, and what they rest on.
struct Slope : GradientFinding {
  Slope() {
    numeric = left = right = remainder_order = not_a_number;
    error = std::numeric_limits<double>::infinity();
  }
  bool exact = false;   ///< the step did not vanish in x
  bool moved = false;   ///< the function changed by more than rounding
  bool kinked = false;  ///< left and right slopes keep apart however small the step
  bool curved = false;  ///< left and right slopes differ by much at this step: a sweep tells why
};

/// At one step.
Slope slope_at(Line& line, const Sample& origin, double step, Formula formula);
/// Over twelve decades of steps, from line.scale() down; the quotient that errs least. `resolution`: how far
/// from `analytic` a quotient may be to agree. For Formula::taylor the one-sided quotient at the smallest
/// step whose remainder rises above rounding.
Slope sweep(Line& line, const Sample& origin, Formula formula, double analytic, double resolution);

}  // namespace regard::detail

#include "gradcheck/line.hpp"

#include <algorithm>
#include <cmath>

namespace regard::detail {
namespace {

constexpr int steps = 41;  // halved from one to the next: a little more than twelve decades

struct Pair {
  Sample plus, minus;
  double step = 0;
  double slip() const { return std::max(plus.slip, minus.slip); }
  bool exact() const { return slip() < 0.01; }
  double magnitude() const { return std::max(plus.magnitude, minus.magnitude); }
  double central() const { return (plus.value - minus.value) / (2 * step); }
};

Pair pair_at(Line& line, double step) {
  return {line.at(step), line.at(-step), step};
}

/// What rounding in both samples may do to a quotient.
double noise(const Line& line, const Sample& origin, const Pair& p) {
  return 2 * line.epsilon() * std::max(origin.magnitude, p.magnitude()) / p.step +
         p.slip() * std::fabs(p.central());
}

Slope describe(const Line& line, const Sample& origin, const Pair& p, const Pair& twice, Formula formula) {
  Slope s;
  s.step = p.step;
  s.exact = p.exact();
  // Central quotients err as h², so that four thirds of one at h less a third of one at 2h errs as h⁴.
  s.numeric = formula == Formula::five_point ? (4 * p.central() - twice.central()) / 3 : p.central();
  s.error = noise(line, origin, p);
  s.right = (p.plus.value - origin.value) / p.step;
  s.left = (origin.value - p.minus.value) / p.step;
  const double rounding = 4 * line.epsilon() * std::max(origin.magnitude, p.magnitude());
  s.moved = !(std::fabs(p.plus.value - origin.value) <= rounding &&
              std::fabs(p.minus.value - origin.value) <= rounding);
  const double apart = std::fabs(s.right - s.left);
  s.curved = !(apart <= 0.02 * std::max(std::fabs(s.right), std::fabs(s.left)) + 8 * s.error);
  return s;
}

struct Kink {
  std::size_t step = steps;  ///< the smallest at which the slopes keep apart; `steps` where there is none
  bool at_x = false;         ///< no smaller step shows a single slope
};

// At a kink the two slopes keep their distance as the step shrinks; where f is smooth it halves with the
// step.
Kink find_kink(const std::vector<Slope>& slopes) {
  constexpr std::size_t halvings = 6;
  std::size_t run = 0;
  bool first = true;
  for (std::size_t k = slopes.size(); k-- > 0;) {
    const double apart = slopes[k].right - slopes[k].left;
    const double change = run ? apart / (slopes[k + 1].right - slopes[k + 1].left) : 1;
    const bool clear =
        slopes[k].exact && std::fabs(apart) > 40 * slopes[k].error &&
        std::fabs(apart) > 1e-6 * std::max(std::fabs(slopes[k].left), std::fabs(slopes[k].right));
    if (clear && change > 0.75 && change < 1.3) {
      if (++run > halvings) return {k + halvings, first};
    } else {
      first = first && run == 0 && !clear;
      run = 0;
    }
  }
  return {};
}

// |f(x + h·d) - f(x) - h·<gradient, d>|
double remainder(const Pair& p, const Sample& origin, double analytic) {
  return std::fabs(p.plus.value - origin.value - p.step * analytic);
}

constexpr std::size_t remainder_halvings = 4;

/// The smallest step whose Taylor remainder rises above rounding and has fallen there without a jump; 0 if
/// there is none.
std::size_t smallest_remainder(const std::vector<Pair>& pairs, const Line& line, const Sample& origin,
                               double analytic) {
  std::size_t run = 0;
  for (std::size_t k = pairs.size(); k-- > 0;) {
    const double r = remainder(pairs[k], origin, analytic),
                 rounding = noise(line, origin, pairs[k]) * pairs[k].step;
    const double rise = run ? r / remainder(pairs[k + 1], origin, analytic) : 2;
    run = pairs[k].exact() && r > 5 * rounding && rise > 1.6 && rise < 40 ? run + 1 : 0;
    if (run > remainder_halvings) return k + remainder_halvings;
  }
  return 0;
}

}  // namespace

Line::Line(const Problem& problem, const std::vector<double>& w, double epsilon, Numbers direction)
    : problem_(problem), w_(w), epsilon_(epsilon), direction_(std::move(direction)) {
  double largest = 1;
  for (std::size_t i = 0; i < direction_.size(); ++i) {
    origin_.push_back(direction_[i].empty() ? std::vector<double>() : numbers_of(problem.values[i]));
    for (std::size_t j = 0; j < origin_[i].size(); ++j) {
      if (!std::isfinite(origin_[i][j])) direction_[i][j] = 0;  // it cannot be moved
      if (direction_[i][j] != 0) largest = std::max(largest, std::fabs(origin_[i][j]));
    }
  }
  scale_ = std::exp2(std::ceil(std::log2(largest)));
}

Sample Line::at(double t) {
  Sample sample;
  Tensors at = problem_.values;
  for (std::size_t i = 0; i < direction_.size() && t != 0; ++i) {
    if (direction_[i].empty()) continue;
    std::vector<double> moved = origin_[i];
    for (std::size_t j = 0; j < moved.size(); ++j) {
      const double way = t * direction_[i][j];
      if (way == 0) continue;
      moved[j] += way;
      if (at[i].dtype() == float32) moved[j] = static_cast<double>(static_cast<float>(moved[j]));
      sample.slip = std::max(sample.slip, std::fabs(moved[j] - origin_[i][j] - way) / std::fabs(way));
    }
    at[i] = tensor_of(moved, at[i]);
  }
  const std::vector<double> y = numbers_of(problem_.evaluate(at));
  if (still_.empty()) {
    still_ = y;
    moved_.resize(y.size());
  }
  long double value = 0, magnitude = 0;
  for (std::size_t e = 0; e < y.size(); ++e) {
    if (w_[e] == 0) continue;
    const long double term = static_cast<long double>(w_[e]) * static_cast<long double>(y[e]);
    value += term;
    if (y[e] != still_[e]) moved_[e] = true;
    if (moved_[e]) magnitude += std::fabs(term);
  }
  sample.value = static_cast<double>(value);
  sample.magnitude = static_cast<double>(magnitude);
  return sample;
}

Slope slope_at(Line& line, const Sample& origin, double step, Formula formula) {
  const Pair twice = pair_at(line, 2 * step), p = pair_at(line, step);
  return describe(line, origin, p, twice, formula);
}

Slope sweep(Line& line, const Sample& origin, Formula formula, double analytic, double resolution) {
  std::vector<Pair> pairs;
  std::vector<Slope> slopes;
  std::vector<StepError> curve;
  Pair twice = pair_at(line, 2 * line.scale());
  bool moved = false;
  for (int k = 0; k < steps; ++k) {
    pairs.push_back(pair_at(line, std::ldexp(line.scale(), -k)));
    slopes.push_back(describe(line, origin, pairs.back(), twice, formula));
    const Slope& s = slopes.back();
    moved = moved || (s.exact && s.moved);
    curve.push_back({s.step, s.numeric, std::fabs(s.numeric - analytic), s.exact});
    twice = pairs.back();
  }

  // How far a quotient is from its neighbours is what its truncation is worth, and what rounding inside f
  // does. The best one may have a kink within its step; a smaller one that agrees then counts for more.
  Slope best, agreeing;
  for (std::size_t k = 1; k + 1 < slopes.size(); ++k) {
    Slope s = slopes[k];
    if (!s.exact || !slopes[k - 1].exact) continue;
    s.error += std::max(std::fabs(s.numeric - slopes[k - 1].numeric),
                        slopes[k + 1].exact ? std::fabs(s.numeric - slopes[k + 1].numeric) : 0);
    if (s.error < best.error) best = s;  // false for NaN
    if (s.error < std::min(agreeing.error, resolution) && std::fabs(s.numeric - analytic) < resolution)
      agreeing = s;
  }
  const bool disagrees = std::fabs(best.numeric - analytic) > 8 * best.error + resolution;
  if (disagrees && agreeing.step > 0 && agreeing.step < best.step) best = agreeing;

  const Kink kink = find_kink(slopes);
  const bool kinked = kink.step < slopes.size() && (kink.at_x || (disagrees && agreeing.step == 0));
  if (kinked) {
    best = slopes[kink.step];
  } else if (!std::isfinite(best.numeric)) {
    best = slopes[steps / 2];
  } else if (formula == Formula::taylor) {
    if (const std::size_t k = smallest_remainder(pairs, line, origin, analytic)) {
      best = slopes[k];
      best.numeric = best.right;
      const Pair& wide = pairs[k - remainder_halvings];
      best.remainder_order =
          std::log2(remainder(wide, origin, analytic) / remainder(pairs[k], origin, analytic)) /
          remainder_halvings;
    }
  }
  best.kinked = kinked;
  best.moved = moved;
  best.curve = std::move(curve);
  return best;
}

}  // namespace regard::detail

// One order of derivative: every input along a direction or coordinate by coordinate, and what the numbers
// mean.
#include "gradcheck/check.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <regard/error.hpp>

namespace regard::detail {
namespace {

constexpr Size most_coordinates = 20000;  // that are tried to name the one that is wrong

/// "[2,1]".
std::string place_in(Size place, const Shape& shape) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    text = (axis ? "," : "") + std::to_string(place % shape[axis]) + text;
    place /= shape[axis];
  }
  return "[" + text + "]";
}

// ±[0.5, 2): no coordinate counts for nothing, and the weights differ, so that no symmetry of f hides an
// error. In steps of 2^-7, so that x + h·d is exact as long as h is not much finer than x.
std::vector<double> random_direction(Size count, Rng& rng) {
  std::vector<double> d;
  for (Size j = 0; j < count; ++j)
    d.push_back(static_cast<double>(64 + rng.below(192)) / 128 * (rng.chance(0.5) ? 1 : -1));
  return d;
}

/// Σ a·b, and the root of Σ (a·b)²: how large it is if nothing cancels. What b leaves out may be NaN in a.
struct Product {
  Product(const std::vector<double>& a, const std::vector<double>& b) {
    for (std::size_t j = 0; j < b.size(); ++j) {
      const double term = b[j] == 0 ? 0 : a[j] * b[j];
      value += term;
      size = std::hypot(size, term);
    }
  }
  double value = 0, size = 0;
};

/// The largest |a - b|, 0 where they are the same bits or both NaN; infinite where only one is finite.
double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t j = 0; j < a.size(); ++j) {
    if (a[j] == b[j] || (std::isnan(a[j]) && std::isnan(b[j]))) continue;
    const double difference = std::fabs(a[j] - b[j]);
    largest =
        std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(largest, difference);
  }
  return largest;
}

bool is_worse(const GradientFinding& a, const GradientFinding& b) {
  return a.verdict != b.verdict ? a.verdict > b.verdict : a.absolute > b.absolute;
}

}  // namespace

Check::Check(Problem problem, const GradientCheckOptions& options)
    : problem_(std::move(problem)),
      options_(options),
      rng_(options.seed + static_cast<std::uint64_t>(problem_.order)) {
  output_ = problem_.evaluate(problem_.values);
  if (!is_float(output_.dtype()))
    throw DTypeError(std::string("check_gradients: the function returned ") + regard::name(output_.dtype()) +
                     " " + to_string(output_.shape()) + "; only float32 and float64 have gradients");
  bool narrow = output_.dtype() == float32;
  for (const Tensor& x : problem_.values) narrow = narrow || x.dtype() == float32;
  epsilon_ = narrow ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  tolerance_ = options_.tolerance.value_or(narrow ? 2e-4 : 1e-7);
  w_ = random_direction(output_.numel(), rng_);
  if (w_.size() == 1) w_ = {1};  // the numbers are then f's own
  const std::vector<double> y = numbers_of(output_);
  for (std::size_t e = 0; e < y.size(); ++e) {
    if (std::isfinite(y[e])) {
      magnitude_ += std::fabs(w_[e] * y[e]);
    } else {
      w_[e] = 0;
    }
  }
}

void Check::run(std::vector<GradientFinding>& findings) {
  const Tensor w = tensor_of(w_, output_);
  analytic_ = analytic_gradients(problem_, w);
  if (!is_deterministic(w, findings)) return;
  for (std::size_t i = 0; i < problem_.values.size(); ++i) findings.push_back(check_input(i));
}

bool Check::is_deterministic(const Tensor& w, std::vector<GradientFinding>& findings) const {
  const Analytic again = analytic_gradients(problem_, w);
  const auto repeats = [&](const std::string& what, const char* how, const std::vector<double>& a,
                           const std::vector<double>& b) {
    const double apart = largest_difference(a, b);
    if (apart == 0) return true;
    findings.emplace_back();
    GradientFinding& f = findings.back();
    f.input = f.where = what;
    f.order = problem_.order;
    f.verdict = Verdict::nondeterministic;
    f.absolute = apart;
    f.note =
        fmt::format("{} differ by up to {:.3g}; is there an Rng that advances (dropout in training), or {}",
                    how, apart, "state that f changes?");
    return false;
  };
  const std::vector<double> y = numbers_of(output_);
  bool same = repeats("the output", "two calls with the same inputs", y,
                      numbers_of(problem_.evaluate(problem_.values))) &&
              repeats("the output", "values with recording on and off", y, numbers_of(analytic_.output));
  for (std::size_t i = 0; i < problem_.values.size(); ++i)
    same = repeats(problem_.names[i], "two gradients at the same inputs", analytic_.gradients[i],
                   again.gradients[i]) &&
           same;
  return same;
}

GradientFinding Check::judge(double analytic, double size, double natural, const Slope& s) const {
  GradientFinding f = s;
  f.order = problem_.order;
  f.checked = 1;
  f.analytic = analytic;
  f.absolute = std::fabs(analytic - s.numeric);
  const double larger = std::max(std::fabs(analytic), std::fabs(s.numeric));
  f.relative = larger > 0 ? f.absolute / larger : 0;
  f.ulps = larger > 0 ? f.absolute / (epsilon_ * std::exp2(std::floor(std::log2(larger)))) : 0;
  f.tolerance = tolerance_;

  const double scale = std::max(larger, size);
  const auto say = [&f](Verdict verdict, std::string note) {
    f.verdict = verdict;
    f.note = std::move(note);
    f.failed = 1;
    return f;
  };
  if (!std::isfinite(analytic)) return say(Verdict::wrong, "the gradient is not finite where the output is");
  if (s.kinked) {
    const auto [low, high] = std::minmax(s.left, s.right);
    const double slack = tolerance_ * scale + 8 * s.error;
    const bool between = low - slack <= analytic && analytic <= high + slack;
    return say(
        between ? Verdict::kink : Verdict::wrong,
        fmt::format(
            "f has a kink here: slope {:.6g} on the left, {:.6g} on the right; the gradient {:.6g} lies {}",
            s.left, s.right, analytic, between ? "between them" : "outside"));
  }
  if (!std::isfinite(s.numeric)) {
    const bool one_side = std::isfinite(s.left) || std::isfinite(s.right);
    return say(one_side ? Verdict::kink : Verdict::precision_limited,
               fmt::format("f is not finite on {} of x", one_side ? "one side" : "either side"));
  }
  if (std::isfinite(s.remainder_order)) {
    // 2, or 3 and more where the curvature is zero. An error of a third of the remainder would bend it.
    const double order = s.remainder_order;
    const bool whole = std::fabs(order - 2) < 0.2 || std::fabs(order - 3) < 0.2 || order > 3.8;
    if (whole && f.absolute <= std::max(3 * tolerance_, 1e-4) * scale) return f;
    if (f.absolute <= tolerance_ * scale) return f;
    return say(s.remainder_order < 1.5 ? Verdict::wrong : Verdict::precision_limited,
               fmt::format("the remainder falls as h^{:.2f} until rounding hides it; with the right gradient "
                           "it falls as h^2",
                           s.remainder_order));
  }
  if (f.absolute <= tolerance_ * larger + std::min(2 * s.error, tolerance_ * size) &&
      s.error <= tolerance_ * scale)
    return f;
  // Zero, as far as a slope can be told from the size of the function.
  if (larger <= 8 * (s.error + epsilon_ * natural) && s.error <= tolerance_ * natural) return f;
  if (f.absolute > tolerance_ * larger + 8 * s.error) return say(Verdict::wrong, "");
  f.tolerance = std::max(8 * s.error, f.absolute) / scale;
  return say(
      Verdict::precision_limited,
      fmt::format(
          "differences of this function err by about {:.2g} even at the best step {:.2g}; a tolerance of "
          "{:.1g} would be meaningful there, {:.1g} is not",
          s.error, s.step, f.tolerance, tolerance_));
}

Check::Measured Check::measure(Line line, double analytic, double size, std::optional<double> step) const {
  const Sample origin = line.at(0);
  const double natural = std::max(magnitude_, problem_.magnitude) / line.scale();
  const double resolution = tolerance_ * std::max(std::fabs(analytic), size);
  if (!step || options_.formula == Formula::taylor) {
    const Slope s = sweep(line, origin, options_.formula, analytic, resolution);
    return {judge(analytic, size, natural, s), s.moved};
  }
  const Slope quick = slope_at(line, origin, *step, options_.formula);
  const GradientFinding at_step = judge(analytic, size, natural, quick);
  if (at_step.verdict == Verdict::ok && quick.exact && !quick.curved && (quick.moved || analytic == 0))
    return {at_step, quick.moved};

  const Slope best = sweep(line, origin, options_.formula, analytic, resolution);
  const GradientFinding at_best = judge(analytic, size, natural, best);
  const bool chosen = options_.step.has_value();
  if (!chosen || at_best.verdict != Verdict::ok || (at_step.verdict == Verdict::ok && quick.exact))
    return {at_best, best.moved};
  GradientFinding limited = at_step;
  limited.verdict = Verdict::precision_limited;
  limited.failed = 1;
  limited.curve = best.curve;
  limited.note = fmt::format(
      "the step {:.3g} {}; with a step of {:.3g} the difference is {:.2g}, and a tolerance of {:.1g} "
      "meaningful",
      *step, quick.exact ? "is not the right one for this function" : "vanishes in x", best.step,
      at_best.absolute, std::max(tolerance_, 8 * best.error / std::max(size, std::fabs(analytic))));
  return {limited, best.moved};
}

Line Check::line_along(std::size_t i, std::vector<double> direction) const {
  Numbers all(problem_.values.size());
  all[i] = std::move(direction);
  return Line(problem_, w_, epsilon_, std::move(all));
}

Check::Measured Check::along_direction(std::size_t i) {
  const Line line = line_along(i, random_direction(problem_.values[i].numel(), rng_));
  const Product product(analytic_.gradients[i], line.direction()[i]);
  Measured m = measure(line, product.value, product.size, options_.step);
  m.finding.where = problem_.names[i] + " along a random direction";
  return m;
}

Check::Measured Check::along_coordinates(std::size_t i) const {
  const Tensor& x = problem_.values[i];
  const std::vector<double> at = numbers_of(x);
  const std::vector<double>& g = analytic_.gradients[i];
  double size = 0;
  for (const double value : g) size = std::max(size, std::fabs(value));
  // Rounding grows as 1/h; truncation falls as h⁴ (h² for central). They meet near this step, for an f that
  // varies on the scale of x; where it does not, the quotient disagrees, and all steps are tried.
  const double best = std::pow(epsilon_, options_.formula == Formula::five_point ? 0.2 : 1.0 / 3);

  Measured worst;
  Size failed = 0;
  for (std::size_t j = 0; j < at.size(); ++j) {
    std::vector<double> direction(at.size(), 0.0);
    direction[j] = 1;
    const double spread = std::isfinite(at[j]) ? std::clamp(std::fabs(at[j]), 0.125, 1.0) : 1;
    const double step = options_.step.value_or(std::exp2(std::floor(std::log2(best * spread))));
    Measured m = measure(line_along(i, std::move(direction)), g[j], size, step);
    m.finding.where = problem_.names[i] + place_in(static_cast<Size>(j), x.shape());
    failed += m.finding.failed;
    const bool moved = worst.moved || m.moved;
    if (j == 0 || is_worse(m.finding, worst.finding)) worst = std::move(m);
    worst.moved = moved;
  }
  worst.finding.checked = x.numel();
  worst.finding.failed = failed;
  return worst;
}

GradientFinding Check::check_input(std::size_t i) {
  const Tensor& x = problem_.values[i];
  Measured m;
  const bool blind = std::all_of(w_.begin(), w_.end(), [](double weight) { return weight == 0; });
  if (x.numel() == 0 || blind) {
    m.finding.where = problem_.names[i];
    m.finding.note = x.numel() == 0 ? "has no elements"
                     : w_.empty()   ? "the output has no elements"
                                    : "no element of the output is finite";
    m.finding.verdict = x.numel() != 0 && !w_.empty() ? Verdict::vacuous : Verdict::ok;
  } else {
    m = options_.coverage == Coverage::fast ? along_direction(i) : along_coordinates(i);
    // A difference within the tolerance may be one coordinate's, hidden among the others, if rounding does
    // not explain it.
    const bool doubtful = m.finding.verdict > Verdict::vacuous || m.finding.absolute > 8 * m.finding.error;
    if (options_.coverage == Coverage::fast && doubtful && x.numel() <= most_coordinates) {
      Measured named = along_coordinates(i);
      // All coordinates being ok says more than a direction that cannot tell.
      if (named.finding.verdict != Verdict::ok || m.finding.verdict == Verdict::precision_limited)
        m = std::move(named);
    }
    settle(i, m);
  }
  m.finding.input = problem_.names[i];
  m.finding.order = problem_.order;
  return m.finding;
}

void Check::settle(std::size_t i, Measured& m) {
  GradientFinding& f = m.finding;
  if (f.verdict == Verdict::wrong && !analytic_.reached[i]) {
    f.verdict = Verdict::not_connected;
    f.note = "no gradient reached it, but the output depends on it; " + where_cut(problem_, i);
  }
  if (m.moved || f.verdict >= Verdict::not_connected) return;
  // Small steps move little; only a sweep shows that nothing moves the output.
  Line line = line_along(i, random_direction(problem_.values[i].numel(), rng_));
  if (sweep(line, line.at(0), Formula::central, 0, 0).moved) return;
  // A second derivative that is zero says that f is linear, which is as good as any other.
  f.verdict = problem_.order == 1 ? Verdict::vacuous : Verdict::ok;
  f.note = std::string("the output did not move in any direction tried") +
           (analytic_.reached[i] ? "" : ", and no operation connects the two");
}

GradientFinding Check::check_jvp() {
  Numbers direction;
  Tensors tangents;
  for (const Tensor& x : problem_.values) direction.push_back(random_direction(x.numel(), rng_));
  const Line line(problem_, w_, epsilon_, std::move(direction));
  for (std::size_t i = 0; i < problem_.values.size(); ++i)
    tangents.push_back(tensor_of(line.direction()[i], problem_.values[i]));
  const std::vector<double> pushed = numbers_of(jvp(problem_.plain, problem_.values, tangents).tangent);
  const Product product(pushed, w_);
  Measured m = measure(line, product.value, product.size, options_.step);
  m.finding.input = "jvp";
  m.finding.where = "jvp along a random direction of all inputs";
  m.finding.order = 2;
  return m.finding;
}

}  // namespace regard::detail

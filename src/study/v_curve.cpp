#include <regard/study/v_curve.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "io/atomic_file.hpp"
#include "study/drawing.hpp"
#include "study/style.hpp"

namespace regard::study {
namespace {

struct CurveWords {
  const char *title, *step, *difference, *chosen, *vanishes, *none;
};
constexpr CurveWords english = {"Difference quotient against gradient",
                                "step h",
                                "|quotient − gradient|",
                                "step taken",
                                "the step vanishes in x",
                                "the steps were not swept: the first one tried agreed"};
constexpr CurveWords vietnamese = {
    "Sai phân so với gradient", "bước h",
    "|sai phân − gradient|",    "bước được chọn",
    "bước h mất hút trong x",   "không quét các bước: bước thử đầu tiên đã khớp"};

/// Decades that the errors span; an error of 0 counts as the lowest.
struct Decades {
  double low = 0, high = 1;
  double of(double value) const { return std::clamp(value > 0 ? std::log10(value) : low, low, high); }
};

Decades decades_of(const GradientFinding& finding, double StepError::*member) {
  Decades range{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
  for (const StepError& point : finding.curve) {
    if (!(point.*member > 0) || !std::isfinite(point.*member)) continue;
    range.low = std::min(range.low, std::floor(std::log10(point.*member)));
    range.high = std::max(range.high, std::ceil(std::log10(point.*member)));
  }
  if (!(range.low <= range.high)) return {-16, 0};  // every quotient is the gradient
  if (range.low == range.high) range.low -= 1;
  return range;
}

constexpr double plot_width = 520, plot_height = 300, axis_room = 56, top_room = 108;

std::string power_of_ten(double exponent) {
  return fmt::format("1e{:g}", exponent);
}

Drawing draw(const GradientFinding& finding, const std::string& language) {
  const CurveWords& word = std::string_view(language).substr(0, 2) == "vi" ? vietnamese : english;
  Drawing drawing;
  drawing.language = language;
  drawing.title = word.title;
  drawing.description = fmt::format("{}, {}", word.step, word.difference);
  drawing.width = 2 * margin + axis_room + plot_width;
  drawing.height = margin + top_room + plot_height + 46 + margin;
  drawing.add(Text{{margin, margin + 13}, drawing.title, {title_size, ink, Anchor::start, true}});
  drawing.add(Text{{margin, margin + 36}, finding.where, {heading_size, faint_ink}});
  if (finding.curve.empty()) {
    drawing.add(
        Text{{drawing.width / 2, drawing.height / 2}, word.none, {heading_size, faint_ink, Anchor::middle}});
    return drawing;
  }

  const Decades steps = decades_of(finding, &StepError::step),
                errors = decades_of(finding, &StepError::error);
  const Box box{margin + axis_room, margin + top_room, plot_width, plot_height};
  const auto x = [&](double decade) {
    return box.x + (decade - steps.low) / (steps.high - steps.low) * box.width;
  };
  const auto y = [&](double decade) {
    return box.y + box.height - (decade - errors.low) / (errors.high - errors.low) * box.height;
  };
  drawing.add(Text{{box.x, box.y - 12}, word.difference, {label_size, ink}});
  const double stride = errors.high - errors.low > 10 ? 4 : errors.high - errors.low > 5 ? 2 : 1;
  for (double decade = errors.low; decade <= errors.high; decade += stride) {
    drawing.add(Polyline{{{box.x, y(decade)}, {box.x + box.width, y(decade)}}, faint_rule, 1});
    drawing.add(
        Text{{box.x - 8, y(decade) + 3.6}, power_of_ten(decade), {small_size, faint_ink, Anchor::end}});
  }
  const double bottom = box.y + box.height;
  drawing.add(Polyline{{{box.x, bottom}, {box.x + box.width, bottom}}, faint_ink, 1});
  for (double decade = steps.low; decade <= steps.high; decade += 2) {
    drawing.add(Polyline{{{x(decade), bottom}, {x(decade), bottom + 4}}, faint_ink, 1});
    drawing.add(
        Text{{x(decade), bottom + 17}, power_of_ten(decade), {small_size, faint_ink, Anchor::middle}});
  }
  drawing.add(Text{{box.x + box.width / 2, bottom + 38}, word.step, {label_size, faint_ink, Anchor::middle}});

  Polyline line{{}, Color{0x1f, 0x5a, 0xa6}, 1.8};
  std::vector<Point> lost;  // where the step vanishes in x
  for (const StepError& point : finding.curve) {
    if (!std::isfinite(point.error)) continue;
    const Point at{x(std::log10(point.step)), y(errors.of(point.error))};
    line.points.push_back(at);
    if (!point.exact) lost.push_back(at);
  }
  drawing.add(line);
  for (const Point& at : lost) drawing.add(Disc{at, 3, faint_ink});
  const double key = margin + 62;
  drawing.add(Disc{{box.x + 4, key - 4}, 5, accent});
  drawing.add(
      Text{{box.x + 16, key}, fmt::format("{} {:.2g}", word.chosen, finding.step), {label_size, faint_ink}});
  if (!lost.empty()) {
    drawing.add(Disc{{box.x + 204, key - 4}, 3, faint_ink});
    drawing.add(Text{{box.x + 214, key}, word.vanishes, {label_size, faint_ink}});
  }
  if (finding.step > 0)
    drawing.add(Disc{{x(steps.of(finding.step)), y(errors.of(finding.absolute))}, 5, accent});
  return drawing;
}

}  // namespace

std::string v_curve_text(const GradientFinding& finding) {
  if (finding.curve.empty()) return fmt::format("{}: {}\n", finding.where, english.none);
  const Decades errors = decades_of(finding, &StepError::error);
  std::string text = fmt::format("{}, analytic {:.10g}\n  {:>8}  {:>17}  {:>10}\n", finding.where,
                                 finding.analytic, "step", "quotient", "apart");
  for (const StepError& point : finding.curve) {
    const bool finite = std::isfinite(point.error);
    const double share = finite ? (errors.of(point.error) - errors.low) / (errors.high - errors.low) : 0;
    text += fmt::format("{} {:8.1e}  {:17.10g}  {:10.2e}  {}{}\n", point.step == finding.step ? '>' : ' ',
                        point.step, point.numeric, point.error,
                        std::string(static_cast<std::size_t>(std::lround(40 * share)), '#'),
                        point.exact ? "" : " (vanishes in x)");
  }
  return text;
}

std::string v_curve_svg(const GradientFinding& finding, const std::string& language) {
  return to_svg(draw(finding, language));
}

void write_v_curve_svg(const std::filesystem::path& path, const GradientFinding& finding,
                       const std::string& language) {
  write_file_atomically(path, v_curve_svg(finding, language));
}

}  // namespace regard::study

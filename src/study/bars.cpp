#include "regard/study/bars.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "io/atomic_file.hpp"
#include "regard/error.hpp"
#include "study/axis.hpp"
#include "study/drawing.hpp"
#include "study/style.hpp"
#include "study/words.hpp"

namespace regard::study {
namespace {

constexpr double plot_width = 420, bar_height = 16, bar_gap = 3, group_gap = 12;
constexpr double longest_label = 260;

// Okabe & Ito 2008: told apart with any colour vision.
constexpr Color series_colors[] = {{0x00, 0x72, 0xb2}, {0xe6, 0x9f, 0x00}, {0x00, 0x9e, 0x73},
                                   {0xcc, 0x79, 0xa7}, {0x56, 0xb4, 0xe9}, {0xd5, 0x5e, 0x00}};

Color color_of(std::size_t series) {
  return series_colors[series % std::size(series_colors)];
}

void check(const std::vector<BarGroup>& groups, const BarsOptions& options) {
  for (const BarGroup& group : groups) {
    const std::size_t expected = options.series.empty() ? groups[0].values.size() : options.series.size();
    if (group.values.size() != expected)
      throw ShapeError(fmt::format("bars: \"{}\" has {} values, expected {}, one for each series",
                                   group.label, group.values.size(), expected));
  }
}

std::string value_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double size = std::fabs(value);
  return size != 0 && (size < 1e-3 || size >= 1e5) ? fmt::format("{:.2e}", value)
                                                   : fmt::format("{:.4g}", value);
}

Axis axis_of(const std::vector<BarGroup>& groups, const BarsOptions& options) {
  Interval range;
  range.include(0);
  for (const BarGroup& group : groups)
    for (const double value : group.values)
      if (std::isfinite(value)) range.include(value);
  for (const BarsOptions::Line& line : options.lines)
    if (std::isfinite(line.value)) range.include(line.value);
  return nice_axis(range, 5, AxisEnds::at_ticks);
}

// The names of the series with their colours; where the next thing goes.
double draw_series_names(Drawing& drawing, const std::vector<std::string>& series, double y) {
  if (series.size() < 2) return y;
  double x = margin;
  for (std::size_t i = 0; i < series.size(); ++i) {
    drawing.add(Fill{{x, y, 12, 12}, color_of(i), ""});
    drawing.add(Text{{x + 18, y + 10}, series[i], {label_size, faint_ink}});
    x += 18 + label_width(series[i], label_size) + 22;
  }
  drawing.width = std::max(drawing.width, x);
  return y + 28;
}

void draw_bar(Drawing& drawing, const Axis& axis, double left, double y, double value, std::size_t series,
              const std::string& title) {
  const double zero = axis.position(0, left, plot_width);
  const bool drawn = std::isfinite(value);
  const double end = drawn ? axis.position(value, left, plot_width) : zero;
  if (drawn)
    drawing.add(Fill{{std::min(zero, end), y, std::fabs(end - zero), bar_height}, color_of(series), title});
  const bool negative = drawn && value < 0;
  drawing.add(Text{{end + (negative ? -6 : 6), y + bar_height - 4},
                   value_text(value),
                   {small_size, drawn ? ink : alarm, negative ? Anchor::end : Anchor::start}});
}

Drawing draw(const std::vector<BarGroup>& groups, const BarsOptions& options) {
  check(groups, options);
  const Words& word = words(options.language);
  Drawing drawing;
  drawing.language = options.language;
  drawing.title = options.title;
  drawing.description = groups.empty() ? word.no_data : options.value;
  drawing.add(Text{{margin, margin + 13}, options.title, {title_size, ink, Anchor::start, true}});
  double y = draw_series_names(drawing, options.series, margin + 34);
  if (groups.empty()) {
    drawing.add(Text{{margin, y + 24}, word.no_data, {14, faint_ink}});
    drawing.width = std::max(420.0, 2 * margin + label_width(options.title, title_size));
    drawing.height = y + 60;
    return drawing;
  }
  double labels = 0;
  for (const BarGroup& group : groups)
    labels = std::max(labels, label_width(cut_text(group.label, label_size, longest_label), label_size));
  const Axis axis = axis_of(groups, options);
  const double numbers_left = axis.range.low < 0 ? 56 : 0;
  const double left = margin + labels + 12 + numbers_left, top = y + (options.lines.empty() ? 0 : 20);
  const double group_height =
      static_cast<double>(groups[0].values.size()) * (bar_height + bar_gap) - bar_gap + group_gap;
  const double bottom = top + static_cast<double>(groups.size()) * group_height;

  for (const double tick : axis.ticks) {
    const double x = axis.position(tick, left, plot_width);
    drawing.add(Polyline{{{x, top - 6}, {x, bottom}}, tick == 0 ? faint_ink : faint_rule, 1});
    drawing.add(Text{{x, bottom + 15}, tick_text(tick), {small_size, faint_ink, Anchor::middle}});
  }
  drawing.add(
      Text{{left + plot_width / 2, bottom + 34}, options.value, {label_size, faint_ink, Anchor::middle}});
  y = top;
  for (const BarGroup& group : groups) {
    const double middle = y + (group_height - group_gap) / 2;
    drawing.add(Text{{margin + labels, middle + 4},
                     cut_text(group.label, label_size, longest_label),
                     {label_size, ink, Anchor::end}});
    for (std::size_t i = 0; i < group.values.size(); ++i)
      draw_bar(drawing, axis, left, y + static_cast<double>(i) * (bar_height + bar_gap), group.values[i], i,
               group.label + ": " + value_text(group.values[i]));
    y += group_height;
  }
  for (const BarsOptions::Line& line : options.lines) {
    if (!std::isfinite(line.value)) continue;
    const double x = axis.position(line.value, left, plot_width);
    drawing.add(Polyline{{{x, top - 8}, {x, bottom}}, accent, 1.4});
    drawing.add(Text{{x, top - 13}, line.label, {small_size, accent, Anchor::middle}});
  }
  drawing.width = std::max({drawing.width, left + plot_width + 70 + margin,
                            2 * margin + label_width(options.title, title_size) * 1.06});
  y = bottom + 44;
  for (const std::string& line : wrap_text(options.note, small_size, (drawing.width - 2 * margin) / slack)) {
    drawing.add(Text{{margin, y + 12}, line, {small_size, faint_ink}});
    y += 15;
  }
  drawing.height = y + margin - 6;
  return drawing;
}

}  // namespace

std::string bars_svg(const std::vector<BarGroup>& groups, const BarsOptions& options) {
  return to_svg(draw(groups, options));
}

void write_bars_svg(const std::filesystem::path& path, const std::vector<BarGroup>& groups,
                    const BarsOptions& options) {
  write_file_atomically(path, bars_svg(groups, options));
}

}  // namespace regard::study

#include "regard/study/curves.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include "io/atomic_file.hpp"
#include "regard/error.hpp"
#include "study/axis.hpp"
#include "study/drawing.hpp"
#include "study/style.hpp"
#include "study/words.hpp"

namespace regard::study {
namespace {

constexpr Color strong{0x0b, 0x4a, 0x8f};

// Okabe & Ito 2008, for up to six named runs without a median: told apart with any colour vision.
constexpr Color run_colors[] = {{0x00, 0x72, 0xb2}, {0xd5, 0x5e, 0x00}, {0x00, 0x9e, 0x73},
                                {0xcc, 0x79, 0xa7}, {0xe6, 0x9f, 0x00}, {0x56, 0xb4, 0xe9}};
constexpr Color thin_color{0x9f, 0xbc, 0xda};

constexpr double plot_width = 300, plot_height = 150, gap_x = 70, gap_y = 72;
constexpr double axis_room = 40;  // left of a plot, for its tick labels

// Curves start at 0 where that costs little, and shares get the whole of 0..1.
Axis value_axis(const std::string& measure, Interval data) {
  if (data.empty()) data = {0, 1};
  const bool share = measure == "accuracy" || measure == "mass";
  if (share && data.low >= 0 && data.high <= 1)
    data = {0, 1};
  else if (data.low > 0 && data.low < 0.7 * data.high)
    data.low = 0;
  return nice_axis(data, 4, AxisEnds::at_ticks);
}

const std::vector<double>* series(const RunCurves& run, const std::string& measure) {
  const auto it = run.measures.find(measure);
  return it == run.measures.end() ? nullptr : &it->second;
}

void check(const std::vector<RunCurves>& runs) {
  for (const RunCurves& run : runs)
    for (const auto& [measure, values] : run.measures)
      if (values.size() != run.steps.size())
        throw ShapeError(fmt::format("curves: run \"{}\" has {} values of \"{}\" for {} steps", run.name,
                                     values.size(), measure, run.steps.size()));
}

// The median of the finite values at each step that any run has.
RunCurves median_run(const std::vector<RunCurves>& runs, const std::string& measure) {
  std::map<double, std::vector<double>> at;
  for (const RunCurves& run : runs)
    if (const auto* values = series(run, measure))
      for (std::size_t i = 0; i < values->size(); ++i) {
        std::vector<double>& here = at[run.steps[i]];
        if (std::isfinite((*values)[i])) here.push_back((*values)[i]);
      }
  RunCurves median;
  std::vector<double>& middle = median.measures[measure];
  for (auto& [step, values] : at) {
    median.steps.push_back(step);
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    middle.push_back(n == 0 ? std::numeric_limits<double>::quiet_NaN()
                            : (values[(n - 1) / 2] + values[n / 2]) / 2);
  }
  return median;
}

struct Plot {
  Box box;
  Axis x, y;
};

void draw_series(Drawing& drawing, const Plot& plot, const RunCurves& run, const std::string& measure,
                 Color color, double width) {
  const std::vector<double>* values = series(run, measure);
  if (values == nullptr) return;
  std::vector<Point> piece;
  const auto end_piece = [&] {
    // A value between two gaps is a dot: a line of one point would not be seen.
    if (piece.size() == 1) drawing.add(Disc{piece[0], width + 0.8, color});
    if (piece.size() > 1) drawing.add(Polyline{piece, color, width});
    piece.clear();
  };
  for (std::size_t i = 0; i < values->size(); ++i) {
    if (!plot.y.shows((*values)[i]) || !plot.x.shows(run.steps[i])) {
      end_piece();
      continue;
    }
    piece.push_back({plot.x.position(run.steps[i], plot.box.x, plot.box.width),
                     plot.y.position((*values)[i], plot.box.y + plot.box.height, -plot.box.height)});
  }
  end_piece();
}

void draw_axes(Drawing& drawing, const Plot& plot, const std::string& title) {
  const Box& box = plot.box;
  drawing.add(Text{{box.x, box.y - 12}, title, {13, ink, Anchor::start, true}});
  for (const double tick : plot.y.ticks) {
    const double y = plot.y.position(tick, box.y + box.height, -box.height);
    drawing.add(Polyline{{{box.x, y}, {box.x + box.width, y}}, faint_rule, 1});
    drawing.add(Text{{box.x - 8, y + 3.6}, tick_text(tick), {10.5, faint_ink, Anchor::end}});
  }
  const double bottom = box.y + box.height;
  drawing.add(Polyline{{{box.x, bottom}, {box.x + box.width, bottom}}, faint_ink, 1});
  for (const double tick : plot.x.ticks) {
    const double x = plot.x.position(tick, box.x, box.width);
    drawing.add(Polyline{{{x, bottom}, {x, bottom + 4}}, faint_ink, 1});
    drawing.add(Text{{x, bottom + 17}, tick_text(tick), {10.5, faint_ink, Anchor::middle}});
  }
}

Color color_of(std::size_t run, std::size_t runs) {
  if (runs == 1) return strong;
  return runs <= std::size(run_colors) ? run_colors[run] : thin_color;
}

// Lists the runs where they can be told apart, and what the strong line is.
double draw_legend(Drawing& drawing, const std::vector<RunCurves>& runs, Runs kind, double y, double width,
                   const Words& word) {
  if (runs.size() < 2) return y;
  double x = margin + axis_room;
  const auto entry = [&](const std::string& text, Color color, double line_width) {
    const double needed = 34 + 1.1 * text_width(text, 11);
    if (x + needed > width - margin && x > margin + axis_room) {
      x = margin + axis_room;
      y += 18;
    }
    drawing.add(Polyline{{{x, y - 4}, {x + 20, y - 4}}, color, line_width});
    drawing.add(Text{{x + 26, y}, text, {11, faint_ink}});
    x += needed + 14;
  };
  if (kind == Runs::repeats) entry(fmt::format("{} ({})", word.median, runs.size()), ink, 2.4);
  if (runs.size() <= std::size(run_colors))
    for (std::size_t r = 0; r < runs.size(); ++r)
      entry(runs[r].name.empty() ? fmt::format("{}", r + 1) : runs[r].name, color_of(r, runs.size()),
            kind == Runs::repeats ? 1.2 : 1.8);
  return y + 20;
}

std::vector<std::string> shown_measures(const std::vector<RunCurves>& runs, const CurvesOptions& options) {
  std::vector<std::string> shown;
  for (const std::string& measure : options.measures)
    if (std::any_of(runs.begin(), runs.end(), [&](const RunCurves& run) {
          const auto* values = series(run, measure);
          return values != nullptr && !values->empty();
        }))
      shown.push_back(measure);
  return shown;
}

void draw_plot(Drawing& drawing, const std::vector<RunCurves>& runs, const std::string& measure,
               const Box& box, const Axis& steps, const CurvesOptions& options) {
  const Words& word = words(options.language);
  const bool logarithmic = options.y_scale == AxisScale::logarithmic;
  Interval range;
  for (const RunCurves& run : runs)
    if (const auto* values = series(run, measure))
      for (const double value : *values)
        if (std::isfinite(value) && (!logarithmic || value > 0)) range.include(value);
  const Plot plot{box, steps, logarithmic ? decade_axis(range, {}) : value_axis(measure, range)};
  draw_axes(drawing, plot, measure_label(measure, word));
  if (range.empty()) {
    drawing.add(
        Text{{box.x + box.width / 2, box.y + box.height / 2}, word.no_data, {12, faint_ink, Anchor::middle}});
    return;
  }
  const bool repeats = options.runs == Runs::repeats && runs.size() > 1;
  const double width = repeats ? 1 : 1.8;
  for (std::size_t r = 0; r < runs.size(); ++r)
    draw_series(drawing, plot, runs[r], measure, color_of(r, runs.size()), width);
  if (repeats) draw_series(drawing, plot, median_run(runs, measure), measure, ink, 2.4);
}

Axis step_axis(const std::vector<RunCurves>& runs, AxisScale scale) {
  const bool logarithmic = scale == AxisScale::logarithmic;
  Interval steps;
  std::set<double> values;
  for (const RunCurves& run : runs)
    for (const double step : run.steps) {
      if (!std::isfinite(step) || (logarithmic && step <= 0)) continue;
      steps.include(step);
      values.insert(step);
    }
  if (logarithmic) return decade_axis(steps, values);
  if (steps.empty()) steps = {0, 1};
  if (steps.low == steps.high) steps = {steps.low - 1, steps.high + 1};
  return nice_axis(steps, 5, AxisEnds::tight);
}

Drawing draw(const std::vector<RunCurves>& runs, const CurvesOptions& options) {
  check(runs);
  const Words& word = words(options.language);
  const std::vector<std::string> measures = shown_measures(runs, options);
  Drawing drawing;
  drawing.language = options.language;
  drawing.title = options.title.empty() ? word.training_curves : options.title;
  const std::size_t columns = std::clamp<std::size_t>(measures.size(), 1, 2);
  const std::size_t rows = (measures.size() + columns - 1) / columns;
  drawing.width = 2 * margin + axis_room + static_cast<double>(columns) * plot_width +
                  static_cast<double>(columns - 1) * gap_x;
  drawing.add(Text{{margin, margin + 13}, drawing.title, {17, ink, Anchor::start, true}});
  if (measures.empty()) {
    drawing.description = word.no_data;
    drawing.height = 160;
    drawing.add(Text{{drawing.width / 2, 96}, word.no_data, {14, faint_ink, Anchor::middle}});
    return drawing;
  }
  const Axis axis = step_axis(runs, options.x_scale);

  const double top =
      draw_legend(drawing, runs, options.runs, margin + 42, drawing.width, word) + (runs.size() < 2 ? 4 : 12);
  std::set<std::string> names;
  for (std::size_t i = 0; i < measures.size(); ++i) {
    const Box box{margin + axis_room + static_cast<double>(i % columns) * (plot_width + gap_x),
                  top + 14 + static_cast<double>(i / columns) * (plot_height + gap_y), plot_width,
                  plot_height};
    draw_plot(drawing, runs, measures[i], box, axis, options);
    const bool lowest = i + columns >= measures.size();
    if (lowest)
      drawing.add(Text{{box.x + box.width / 2, box.y + box.height + 34},
                       options.x_label.empty() ? word.step : options.x_label,
                       {11, faint_ink, Anchor::middle}});
    names.insert(measure_label(measures[i], word));
  }
  drawing.description = fmt::format("{}", fmt::join(names, ", "));
  drawing.height = top + static_cast<double>(rows) * (plot_height + gap_y) - gap_y + 14 + 34 + margin;
  return drawing;
}

}  // namespace

RunCurves curves_of(const std::vector<AttentionFrame>& frames, const std::string& name) {
  RunCurves run;
  run.name = name;
  for (const AttentionFrame& frame : frames)
    for (const auto& [measure, value] : frame.measures) run.measures[measure];
  for (const AttentionFrame& frame : frames) {
    run.steps.push_back(static_cast<double>(frame.step));
    for (auto& [measure, values] : run.measures) {
      const auto it = frame.measures.find(measure);
      values.push_back(it == frame.measures.end() ? std::numeric_limits<double>::quiet_NaN() : it->second);
    }
  }
  return run;
}

std::string curves_svg(const std::vector<RunCurves>& runs, const CurvesOptions& options) {
  return to_svg(draw(runs, options));
}

void write_curves_svg(const std::filesystem::path& path, const std::vector<RunCurves>& runs,
                      const CurvesOptions& options) {
  write_file_atomically(path, curves_svg(runs, options));
}

}  // namespace regard::study

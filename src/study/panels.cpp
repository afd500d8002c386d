#include "regard/study/panels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/atomic_file.hpp"
#include "regard/error.hpp"
#include "study/drawing.hpp"
#include "study/matrix.hpp"
#include "study/style.hpp"
#include "study/words.hpp"

namespace regard::study {
namespace {

struct PanelWords {
  const char *title, *signed_scale;
};
constexpr PanelWords english = {"Matrices", "blue below 0, orange above; each matrix on a scale of its own"};
constexpr PanelWords vietnamese = {"Các ma trận", "xanh: dưới 0, cam: trên 0; mỗi ma trận một thang riêng"};

constexpr double arrow_room = 30, gap = 26, title_room = 22, caption_room = 18;

void check(const MatrixPanel& panel) {
  const std::size_t cells = panel.rows.size() * panel.columns.size();
  if (panel.values.size() != cells || (!panel.hidden.empty() && panel.hidden.size() != cells))
    throw ShapeError(fmt::format(
        "panels: \"{}\" has {} rows and {} columns, but {} values and {} hidden marks", panel.title,
        panel.rows.size(), panel.columns.size(), panel.values.size(), panel.hidden.size()));
}

// The same matrix as the routines that draw attention know it.
AttentionPanel matrix_of(const MatrixPanel& panel) {
  AttentionPanel matrix;
  matrix.name = panel.title;
  matrix.queries = panel.rows;
  matrix.keys = panel.columns;
  matrix.weights = panel.values;
  matrix.hidden = panel.hidden;
  return matrix;
}

double largest_visible(const MatrixPanel& panel) {
  double largest = 0;
  for (std::size_t i = 0; i < panel.values.size(); ++i)
    if (std::isfinite(panel.values[i]) && (panel.hidden.empty() || panel.hidden[i] == 0))
      largest = std::max(largest, std::fabs(panel.values[i]));
  return largest;
}

CellLook look_of(const MatrixPanel& panel, int decimals) {
  const auto text = [decimals](double value) {
    std::string digits = fmt::format("{:.{}f}", value, decimals);
    const bool zero = digits.find_first_of("123456789") == std::string::npos;
    return zero && digits[0] == '-' ? digits.substr(1) : digits;
  };
  if (panel.scale == MatrixScale::weight) return {[](double value) { return weight_color(value); }, text};
  const double largest = largest_visible(panel);
  return {[largest](double value) { return signed_color(largest > 0 ? value / largest : 0); }, text};
}

// A panel, measured: where its matrix stands and how much room it takes.
struct Placed {
  AttentionPanel matrix;
  Geometry geometry;
  CellLook look;
  double arrow = 0;  // room at its left for the arrow and its text
  double title = 0;  // width of the title

  double left() const { return arrow + geometry.query_width; }
  double width() const { return std::max(left() + geometry.matrix_width + geometry.overhang, arrow + title); }
};

Placed place(const MatrixPanel& panel, int decimals) {
  check(panel);
  Placed placed{
      matrix_of(panel), {}, look_of(panel, decimals), 0, label_width(panel.title, heading_size) * 1.06};
  double number = 0;
  for (std::size_t i = 0; i < panel.values.size(); ++i)
    if (std::isfinite(panel.values[i]) && (panel.hidden.empty() || panel.hidden[i] == 0))
      number = std::max(number, label_width(placed.look.text(panel.values[i]), number_size));
  placed.geometry = measure({&placed.matrix}, number);
  if (std::all_of(panel.columns.begin(), panel.columns.end(),
                  [](const auto& label) { return label.empty(); }))
    placed.geometry.key_height = 8;
  if (!panel.arrow.empty()) placed.arrow = std::max(arrow_room, label_width(panel.arrow, small_size)) + 16;
  return placed;
}

// What stands in one column of the picture gets the same room, so that its matrices stand below each other.
std::vector<double> column_widths(std::vector<Placed>& placed, std::size_t per_row) {
  std::vector<double> arrows(per_row, 0), labels(per_row, 0), widths(per_row, 0);
  for (std::size_t i = 0; i < placed.size(); ++i) {
    arrows[i % per_row] = std::max(arrows[i % per_row], placed[i].arrow);
    labels[i % per_row] = std::max(labels[i % per_row], placed[i].geometry.query_width);
  }
  for (std::size_t i = 0; i < placed.size(); ++i) {
    placed[i].arrow = arrows[i % per_row];
    placed[i].geometry.query_width = labels[i % per_row];
    widths[i % per_row] = std::max(widths[i % per_row], placed[i].width());
  }
  return widths;
}

void draw_arrow(Drawing& drawing, const MatrixPanel& panel, double x, double y, double width) {
  const double right = x + width - 8;
  const bool forward = panel.arrow_to == ArrowTo::this_panel;
  const double tip = forward ? right : x, barb = forward ? right - 5 : x + 5;
  drawing.add(Polyline{{{x, y}, {right, y}}, faint_ink, 1.2});
  drawing.add(Polyline{{{barb, y - 4}, {tip, y}, {barb, y + 4}}, faint_ink, 1.2});
  drawing.add(Text{{(x + right) / 2, y - 8}, panel.arrow, {small_size, faint_ink, Anchor::middle}});
}

// One row of panels from `begin` on, its top at y; the point where it ends, at the right and below.
Point draw_row(Drawing& drawing, const std::vector<MatrixPanel>& panels, const std::vector<Placed>& placed,
               const std::vector<double>& widths, std::size_t begin, double y, const Words& word) {
  const std::size_t end = std::min(begin + widths.size(), panels.size());
  double key_height = 0, height = 0, captions = 0, x = margin;
  for (std::size_t i = begin; i < end; ++i) {
    key_height = std::max(key_height, placed[i].geometry.key_height);
    height = std::max(height, placed[i].geometry.matrix_height);
  }
  const double top = y + title_room + key_height;
  for (std::size_t i = begin; i < end; ++i) {
    const Placed& one = placed[i];
    const double wide = widths[i - begin], left = x + one.left();
    if (!panels[i].arrow.empty()) draw_arrow(drawing, panels[i], x, top + height / 2, one.arrow);
    drawing.add(Text{{x + one.arrow, y + 13}, panels[i].title, {heading_size, ink, Anchor::start, true}});
    draw_key_labels(drawing, one.matrix, one.geometry, left, top);
    draw_query_labels(drawing, one.matrix, one.geometry, left, top);
    draw_matrix(drawing, one.matrix, one.geometry, left, top, word, one.look);
    double below = top + height + caption_room;
    for (const std::string& line : wrap_text(panels[i].caption, small_size, (wide - one.arrow) / slack)) {
      drawing.add(Text{{x + one.arrow, below}, line, {small_size, faint_ink}});
      captions = std::max(captions, below - top - height);
      below += 14;
    }
    x += wide + gap;
  }
  return {x - gap, top + height + captions};
}

Drawing draw(const std::vector<MatrixPanel>& panels, const PanelsOptions& options) {
  const Words& word = words(options.language);
  const PanelWords& own = options.language.substr(0, 2) == "vi" ? vietnamese : english;
  Drawing drawing;
  drawing.language = options.language;
  drawing.title = options.title.empty() ? own.title : options.title;
  drawing.description = panels.empty() ? word.no_data : options.note;
  drawing.add(Text{{margin, margin + 13}, drawing.title, {title_size, ink, Anchor::start, true}});
  std::vector<Placed> placed;
  for (const MatrixPanel& panel : panels) placed.push_back(place(panel, options.decimals));

  const std::size_t per_row = options.per_row > 0 ? options.per_row : std::max<std::size_t>(panels.size(), 1);
  const std::vector<double> widths = column_widths(placed, per_row);
  double right = margin + label_width(drawing.title, title_size) * 1.06, y = margin + 34;
  bool any_hidden = false, any_signed = false;
  for (std::size_t begin = 0; begin < panels.size(); begin += per_row) {
    const Point corner = draw_row(drawing, panels, placed, widths, begin, y, word);
    right = std::max(right, corner.x);
    y = corner.y + gap;
  }
  for (const MatrixPanel& panel : panels) {
    any_signed = any_signed || panel.scale == MatrixScale::signed_value;
    any_hidden = any_hidden || std::count(panel.hidden.begin(), panel.hidden.end(), 0) <
                                   static_cast<std::ptrdiff_t>(panel.hidden.size());
  }
  if (panels.empty()) drawing.add(Text{{margin, y + 20}, word.no_data, {14, faint_ink}});
  drawing.width = std::max(right, margin + 260) + margin;

  y += 4;
  if (any_hidden) {
    drawing.add(Hatch{{margin, y - 1, 18, 12}, ""});
    drawing.add(Outline{{margin, y - 1, 18, 12}, rule, 1});
    drawing.add(Text{{margin + 24, y + 9}, word.hidden, {small_size, faint_ink}});
    y += 18;
  }
  std::string small = any_signed ? own.signed_scale : "";
  if (!options.note.empty()) small += (small.empty() ? "" : ". ") + options.note;
  for (const std::string& line : wrap_text(small, small_size, (drawing.width - 2 * margin) / slack)) {
    drawing.add(Text{{margin, y + 9}, line, {small_size, faint_ink}});
    y += 15;
  }
  drawing.height = y + margin;
  return drawing;
}

}  // namespace

std::string panels_svg(const std::vector<MatrixPanel>& panels, const PanelsOptions& options) {
  return to_svg(draw(panels, options));
}

void write_panels_svg(const std::filesystem::path& path, const std::vector<MatrixPanel>& panels,
                      const PanelsOptions& options) {
  write_file_atomically(path, panels_svg(panels, options));
}

}  // namespace regard::study

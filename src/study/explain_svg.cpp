// A row's explanation as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "io/atomic_file.hpp"
#include "regard/study/explain.hpp"
#include "study/matrix.hpp"
#include "study/style.hpp"

namespace regard::study {
namespace {

struct Texts {
  const char *title, *scale, *bars, *eigenvalue;
};
constexpr Texts english = {"Why the scores of {} move",
                           "blue: below 0, orange: above; each row on its own scale, p on 0 to 1",
                           "dS as bars: what hangs below the line gains score in a step against the gradient",
                           "largest eigenvalue {:.4f}, at most 1/2"};
constexpr Texts vietnamese = {
    "Vì sao điểm số của {} thay đổi", "xanh: dưới 0, cam: trên 0; mỗi hàng một thang riêng, p từ 0 đến 1",
    "dS vẽ thành cột: cột nằm dưới vạch được tăng điểm số trong một bước ngược gradient",
    "trị riêng lớn nhất {:.4f}, không quá 1/2"};

constexpr double bar_room = 90, row_gap = 8, block_gap = 48;

std::string cell_text(double value, double width) {
  std::string text = fmt::format("{:.{}f}", value, width >= 40 ? 3 : 2);
  if (text.find_first_of("123456789") == std::string::npos && text[0] == '-') text.erase(0, 1);
  return text;
}

CellLook signed_look(double largest, double width) {
  return {[largest](double value) { return signed_color(largest > 0 ? value / largest : 0); },
          [width](double value) { return cell_text(value, width); }};
}

double largest_of(const std::vector<double>& values, const std::vector<std::uint8_t>& hidden) {
  double largest = 0;
  for (std::size_t i = 0; i < values.size(); ++i)
    if (std::isfinite(values[i]) && (hidden.empty() || hidden[i] == 0))
      largest = std::max(largest, std::fabs(values[i]));
  return largest;
}

AttentionPanel panel_of(std::string label, const RowExplanation& row, const std::vector<double>& values,
                        bool hatched) {
  AttentionPanel panel;
  panel.queries = {std::move(label)};
  panel.keys = row.keys;
  panel.weights = values;
  if (hatched) panel.hidden = row.hidden;
  return panel;
}

// Bars under the columns of the rows, dS = 0 in the middle.
void draw_bars(Drawing& drawing, const RowExplanation& row, const Geometry& g, double x, double y) {
  const double middle = y + bar_room / 2, largest = largest_of(row.ds, row.hidden), reach = bar_room / 2 - 6;
  for (std::size_t j = 0; j < row.keys.size(); ++j) {
    const double left = x + static_cast<double>(j) * g.cell_width, width = g.cell_width - 1;
    const std::string title = row.keys[j] + ": dS = " + fmt::format("{:.6g}", row.ds[j]);
    if (row.hidden[j]) {
      drawing.add(Hatch{{left, y + 4, width, bar_room - 8}, title});
    } else if (std::isfinite(row.ds[j]) && largest > 0) {
      const double height = std::max(0.75, std::fabs(row.ds[j]) / largest * reach);
      drawing.add(Fill{{left + 0.2 * width, row.ds[j] > 0 ? middle - height : middle, 0.6 * width, height},
                       signed_color(row.ds[j] > 0 ? 0.8 : -0.8),
                       title});
    }
  }
  drawing.add(Polyline{{{x - 4, middle}, {x + g.matrix_width + 4, middle}}, faint_ink, 1});
}

Drawing draw(const RowExplanation& row, const std::string& language) {
  const Words& word = words(language);
  const Texts& text = language.substr(0, 2) == "vi" ? vietnamese : english;
  const std::size_t n = row.keys.size();
  Drawing drawing;
  drawing.language = language;
  drawing.title = fmt::format(fmt::runtime(text.title), row.query);
  drawing.description = explanation_sentence(row, language);
  drawing.add(Text{{margin, margin + 13}, drawing.title, {title_size, ink, Anchor::start, true}});

  const std::pair<const char*, const std::vector<double>*> rows[] = {
      {"q·k", &row.raw}, {"scaled", &row.scaled}, {"masked", &row.masked},
      {"p", &row.p},     {"dp", &row.dp},         {"dS", &row.ds}};
  AttentionPanel all = panel_of("masked", row, row.raw, false);
  all.queries.resize(std::size(rows), "masked");  // cells as of a matrix: many keys get narrow ones
  const Geometry g = measure({&all}, n <= 16 ? 40 : 0);
  const double left = margin + g.query_width, top = margin + 34 + g.key_height;
  draw_key_labels(drawing, all, g, left, top);
  double y = top;
  for (const auto& [label, values] : rows) {
    const bool hatched = values != &row.raw && values != &row.scaled;
    const AttentionPanel panel = panel_of(label, row, *values, hatched);
    const CellLook look = values == &row.p ? CellLook{[](double p) { return weight_color(p); },
                                                      [&g](double p) { return cell_text(p, g.cell_width); }}
                                           : signed_look(largest_of(*values, panel.hidden), g.cell_width);
    draw_query_labels(drawing, panel, g, left, y);
    draw_matrix(drawing, panel, g, left, y, word, look);
    y += g.cell_height + row_gap;
  }
  draw_bars(drawing, row, g, left, y);
  y += bar_room;

  AttentionPanel square = panel_of("", row, row.jacobian, false);
  square.queries = row.keys;
  for (std::size_t i = 0; i < n * n; ++i) square.hidden.push_back(row.hidden[i / n] | row.hidden[i % n]);
  const Geometry j = measure({&square}, n <= 12 ? 30 : 0);
  const bool beside = n <= 12;
  const double at = beside ? left + g.matrix_width + g.overhang + block_gap + j.query_width
                           : std::max(left, margin + j.query_width);
  const double j_top = beside ? std::max(top, margin + 52 + j.key_height) : y + 36 + j.key_height;
  drawing.add(Text{{at - j.query_width, j_top - j.key_height - 6},
                   "J = diag(p) - p·pᵀ",
                   {heading_size, ink, Anchor::start, true}});
  draw_key_labels(drawing, square, j, at, j_top);
  draw_query_labels(drawing, square, j, at, j_top);
  draw_matrix(drawing, square, j, at, j_top, word, signed_look(largest_of(row.jacobian, {}), j.cell_width));
  if (n > 0)
    drawing.add(Text{{at, j_top + j.matrix_height + 18},
                     fmt::format(fmt::runtime(text.eigenvalue), row.spectral_norm),
                     {small_size, faint_ink}});
  drawing.width = std::max({at + std::max(j.matrix_width + j.overhang, 190.0),
                            left + g.matrix_width + g.overhang, 480.0}) +
                  margin;
  y = std::max(y, j_top + j.matrix_height + 24) + 14;

  const bool any_hidden = std::find(row.hidden.begin(), row.hidden.end(), 1) != row.hidden.end();
  if (any_hidden) {
    drawing.add(Hatch{{margin, y - 1, 18, 12}, ""});
    drawing.add(Outline{{margin, y - 1, 18, 12}, rule, 1});
    drawing.add(Text{{margin + 24, y + 9}, word.hidden, {small_size, faint_ink}});
    y += 18;
  }
  const double width = (drawing.width - 2 * margin) / slack;
  for (const std::string& line : wrap_text(std::string(text.bars) + "; " + text.scale, small_size, width)) {
    drawing.add(Text{{margin, y + 9}, line, {small_size, faint_ink}});
    y += 15;
  }
  y += 8;
  for (const std::string& line : wrap_text(drawing.description, label_size, width)) {
    drawing.add(Text{{margin, y + 10}, line, {label_size, ink}});
    y += 17;
  }
  drawing.height = y + margin;
  return drawing;
}

}  // namespace

std::string explanation_svg(const RowExplanation& row, const std::string& language) {
  return to_svg(draw(row, language));
}

void write_explanation_svg(const std::filesystem::path& path, const RowExplanation& row,
                           const std::string& language) {
  write_file_atomically(path, explanation_svg(row, language));
}

}  // namespace regard::study

#include "study/matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "study/style.hpp"

namespace regard::study {
namespace {

// Whole sentences as labels are cut: their beginning tells them apart, the cells need the room.
constexpr double longest_label = 230;

std::string label(const std::string& token) {
  return cut_text(token, label_size, longest_label);
}

double widest(const std::vector<std::string>& tokens) {
  double width = 0;
  for (const std::string& token : tokens) width = std::max(width, label_width(label(token), label_size));
  return width;
}

void draw_cell(Drawing& drawing, const AttentionPanel& panel, std::size_t query, std::size_t key,
               const Box& cell, const Words& word, const CellLook& look) {
  const std::string pair = panel.queries[query] + " → " + panel.keys[key] + ": ";
  if (panel.is_hidden(query, key)) {
    drawing.add(Hatch{cell, pair + word.hidden});
    return;
  }
  const double weight = panel.weight(query, key);
  const std::string text = std::isfinite(weight) ? look.text(weight) : weight_text(weight);
  const bool numbers = cell.width >= 26;
  if (!std::isfinite(weight)) {
    drawing.add(Fill{cell, alarm_ground, pair + text});
    if (numbers)
      drawing.add(Text{{cell.x + cell.width / 2, cell.y + cell.height / 2 + 3.4},
                       text,
                       {number_size, alarm, Anchor::middle, true}});
    else
      draw_cross(drawing, cell);
    return;
  }
  const Color color = look.color(weight);
  drawing.add(Fill{cell, color, pair + fmt::format("{:.4f}", weight)});
  if (numbers)
    drawing.add(Text{{cell.x + cell.width / 2, cell.y + cell.height / 2 + 3.4},
                     text,
                     {number_size, ink_on(color), Anchor::middle}});
}

}  // namespace

std::string weight_text(double weight) {
  if (std::isnan(weight)) return "NaN";
  if (std::isinf(weight)) return weight > 0 ? "inf" : "-inf";
  return fmt::format("{:.2f}", weight);
}

CellLook weight_look() {
  return {[](double weight) { return weight_color(weight); }, weight_text};
}

Geometry measure(const std::vector<const AttentionPanel*>& panels, double number_width) {
  Geometry g;
  std::size_t queries = 0, keys = 0;
  double key_label = 0;
  for (const AttentionPanel* panel : panels) {
    queries = std::max(queries, panel->queries.size());
    keys = std::max(keys, panel->keys.size());
    key_label = std::max(key_label, widest(panel->keys));
    g.query_width = std::max(g.query_width, widest(panel->queries) + 8);
  }
  const bool strip = queries <= 2;
  g.cell_height = keys <= 12 ? 28 : keys <= 18 ? 22 : 16;
  g.cell_width = strip ? std::max(g.cell_height, std::min(key_label + 8, 64.0)) : g.cell_height;
  g.cell_width = std::max(g.cell_width, std::ceil(number_width) + (number_width > 0 ? 8 : 0));
  g.slanted_keys = key_label + 4 > g.cell_width;
  const double slanted = std::ceil(key_label * std::sqrt(0.5));
  g.key_height = g.slanted_keys ? slanted + 14 : 20;
  g.overhang = g.slanted_keys ? std::max(0.0, slanted + 6 - g.cell_width / 2) : 0;
  g.matrix_width = g.cell_width * static_cast<double>(keys);
  g.matrix_height = g.cell_height * static_cast<double>(queries);
  return g;
}

void draw_cross(Drawing& drawing, const Box& cell) {
  const double inset = 0.2 * std::min(cell.width, cell.height);
  const double left = cell.x + inset, right = cell.x + cell.width - inset;
  const double top = cell.y + inset, bottom = cell.y + cell.height - inset;
  drawing.add(Polyline{{{left, top}, {right, bottom}}, alarm, 1.2});
  drawing.add(Polyline{{{right, top}, {left, bottom}}, alarm, 1.2});
}

void draw_key_labels(Drawing& drawing, const AttentionPanel& panel, const Geometry& g, double x, double y) {
  for (std::size_t key = 0; key < panel.keys.size(); ++key) {
    const bool marked = panel.marked_key == key;
    TextStyle style{label_size, marked ? accent : ink, Anchor::middle, marked};
    double at_x = x + (static_cast<double>(key) + 0.5) * g.cell_width, at_y = y - 7;
    if (g.slanted_keys) {
      style.anchor = Anchor::start;
      style.angle = -45;
      at_x += 3;
      at_y += 1;
    }
    drawing.add(Text{{at_x, at_y}, label(panel.keys[key]), style});
  }
}

void draw_query_labels(Drawing& drawing, const AttentionPanel& panel, const Geometry& g, double x, double y) {
  for (std::size_t query = 0; query < panel.queries.size(); ++query) {
    const bool marked = panel.marked_query == query;
    drawing.add(Text{{x - 7, y + (static_cast<double>(query) + 0.5) * g.cell_height + 4},
                     label(panel.queries[query]),
                     {label_size, marked ? accent : ink, Anchor::end, marked}});
  }
}

void draw_matrix(Drawing& drawing, const AttentionPanel& panel, const Geometry& g, double x, double y,
                 const Words& word, const CellLook& look) {
  const auto cell = [&](std::size_t query, std::size_t key) {
    // A gap of one unit draws the grid.
    return Box{x + static_cast<double>(key) * g.cell_width, y + static_cast<double>(query) * g.cell_height,
               g.cell_width - 1, g.cell_height - 1};
  };
  for (std::size_t query = 0; query < panel.queries.size(); ++query)
    for (std::size_t key = 0; key < panel.keys.size(); ++key)
      draw_cell(drawing, panel, query, key, cell(query, key), word, look);
  const double width = g.cell_width * static_cast<double>(panel.keys.size());
  const double height = g.cell_height * static_cast<double>(panel.queries.size());
  drawing.add(Outline{{x - 0.5, y - 0.5, width, height}, rule, 1});
  if (panel.marked_query && panel.queries.size() > 1)
    drawing.add(Outline{
        {x - 0.5, y + static_cast<double>(*panel.marked_query) * g.cell_height - 0.5, width, g.cell_height},
        accent,
        1.5});
  if (panel.marked_query && panel.marked_key) {
    const Box marked = cell(*panel.marked_query, *panel.marked_key);
    drawing.add(Outline{{marked.x - 0.5, marked.y - 0.5, marked.width + 1, marked.height + 1}, accent, 2.5});
  }
}

}  // namespace regard::study

// One attention matrix of the static pictures, with the tokens at its sides.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "regard/study/frame.hpp"
#include "study/drawing.hpp"
#include "study/words.hpp"

namespace regard::study {

/// A weight to two decimals, as it stands in the cells.
std::string weight_text(double weight);

/// What all panels of a picture have in common, so that they line up.
struct Geometry {
  double cell_width = 0, cell_height = 0;
  bool slanted_keys = false;  ///< key labels too wide for their cells
  double key_height = 0;      ///< room above a matrix for them
  double query_width = 0;     ///< room at its left
  double overhang = 0;        ///< how far the last slanted label sticks out at the right
  double matrix_width = 0, matrix_height = 0;
};

/// `number_width`: of the widest number in a cell, where it may be wider than "0.00".
Geometry measure(const std::vector<const AttentionPanel*>& panels, double number_width = 0);

/// How a finite number looks in its cell.
struct CellLook {
  std::function<Color(double)> color;
  std::function<std::string(double)> text;
};
/// Of an attention weight: the common colour scale, two decimals.
CellLook weight_look();

inline constexpr double number_size = 9.5;  ///< of the text in cells

/// The sign for what is no number, where there is no room for the word.
void draw_cross(Drawing& drawing, const Box& cell);

// The upper left corner of the matrix lies at (x, y).
void draw_key_labels(Drawing& drawing, const AttentionPanel& panel, const Geometry& g, double x, double y);
void draw_query_labels(Drawing& drawing, const AttentionPanel& panel, const Geometry& g, double x, double y);
void draw_matrix(Drawing& drawing, const AttentionPanel& panel, const Geometry& g, double x, double y,
                 const Words& word, const CellLook& look = weight_look());

}  // namespace regard::study

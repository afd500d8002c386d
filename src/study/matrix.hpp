// One attention matrix of the static pictures, with the tokens at its sides.
#pragma once

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

Geometry measure(const std::vector<const AttentionPanel*>& panels);

/// The sign for what is no number, where there is no room for the word.
void draw_cross(Drawing& drawing, const Box& cell);

// The upper left corner of the matrix lies at (x, y).
void draw_key_labels(Drawing& drawing, const AttentionPanel& panel, const Geometry& g, double x, double y);
void draw_query_labels(Drawing& drawing, const AttentionPanel& panel, const Geometry& g, double x, double y);
void draw_matrix(Drawing& drawing, const AttentionPanel& panel, const Geometry& g, double x, double y,
                 const Words& word);

}  // namespace regard::study

// Colours and sizes that the pictures share.
#pragma once

#include <cmath>
#include <string>

#include "study/drawing.hpp"

namespace regard::study {

inline constexpr Color ink{0x1b, 0x1f, 0x24}, faint_ink{0x5b, 0x63, 0x6d};
inline constexpr Color rule{0xd5, 0xd9, 0xde}, faint_rule{0xe3, 0xe6, 0xea};
// Burnt orange: far from the blue scale in hue and lightness.
inline constexpr Color accent{0xb4, 0x3c, 0x0c};
inline constexpr Color alarm{0xa5, 0x12, 0x2d}, alarm_ground{0xfd, 0xec, 0xef};

inline constexpr double margin = 24, title_size = 17, heading_size = 13, label_size = 12, small_size = 10.5;

// Fonts that render the SVG may be a little wider than our own.
inline constexpr double slack = 1.1;

// In whole units, as everything that places a matrix: equal cells then have equal pixels, which keeps the
// edges sharp and the PNG small.
inline double label_width(const std::string& text, double size) {
  return std::ceil(slack * text_width(text, size));
}

}  // namespace regard::study

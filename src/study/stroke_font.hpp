// A font of our own for the PNG writer: letters drawn with a pen of even width, as on technical drawings.
// It covers ASCII, the Vietnamese alphabet with every tone, and the few signs the pictures use; it needs no
// file and no system font at run time, and being made of lines it can be turned and scaled.
#pragma once

#include <string_view>
#include <vector>

#include "study/drawing.hpp"

namespace regard::study {

/// Lines of the pen: each a list of points in units of the font size, x to the right from the start of the
/// text, y up from the baseline. A dot is a line of two equal points.
std::vector<std::vector<Point>> stroke_text(std::string_view text);

/// Width of the pen, in units of the font size.
inline constexpr double pen_width = 0.085, bold_pen_width = 0.125;

/// Whether the font has a shape for this character (else it draws a hollow box).
bool has_glyph(char32_t code);

}  // namespace regard::study

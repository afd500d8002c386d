// A picture as a list of shapes, drawn the same by the SVG writer and the PNG writer, so that the two files
// cannot drift apart. Units are CSS pixels, x to the right, y down.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "study/colormap.hpp"

namespace regard::study {

struct Point {
  double x = 0, y = 0;
};

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
};

enum class Anchor { start, middle, end };

struct TextStyle {
  double size = 12;
  Color color{0x1b, 0x1f, 0x24};
  Anchor anchor = Anchor::start;
  bool bold = false;
  double angle = 0;  ///< degrees, clockwise, about the anchor point
};

struct Fill {
  Box box;
  Color color;
  std::string title;  ///< shown on hover in an SVG
};

/// Slanted lines on a ground: what the mask hides. No colour of the scale looks like it.
struct Hatch {
  Box box;
  std::string title;
};

struct Outline {
  Box box;
  Color color;
  double width = 1;
};

struct Polyline {
  std::vector<Point> points;
  Color color;
  double width = 1;
};

struct Disc {
  Point centre;
  double radius = 2;
  Color color;
};

struct Text {
  Point at;  ///< on the baseline
  std::string text;
  TextStyle style;
};

using Shape = std::variant<Fill, Hatch, Outline, Polyline, Disc, Text>;

struct Drawing {
  double width = 0, height = 0;
  std::string title;        ///< for screen readers
  std::string description;  ///< for screen readers
  std::string language = "en";
  std::vector<Shape> shapes;

  void add(Shape shape) { shapes.push_back(std::move(shape)); }
};

inline constexpr Color hatch_ground{0xf1, 0xf2, 0xf4}, hatch_ink{0xb4, 0xba, 0xc2};
inline constexpr double hatch_spacing = 5;  ///< between the lines, measured along x

/// Width of a text in the PNG's own font; the sans-serif fonts that render an SVG are about as wide.
double text_width(std::string_view text, double size);

/// The text, or its beginning and "…" if it is wider than `width`.
std::string cut_text(std::string_view text, double size, double width);

/// The text broken at spaces into lines no wider than `width`.
std::vector<std::string> wrap_text(std::string_view text, double size, double width);

std::string to_svg(const Drawing& drawing);

/// The bytes of a PNG file, `scale` pixels to a unit.
std::string to_png(const Drawing& drawing, double scale);

}  // namespace regard::study

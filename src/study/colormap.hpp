// One colour scale for every picture: a weight looks the same in the SVG, the PNG, the film and the terminal.
#pragma once

#include <cstdint>
#include <string>

namespace regard::study {

struct Color {
  std::uint8_t red = 0, green = 0, blue = 0;
};

inline bool operator==(const Color& a, const Color& b) {
  return a.red == b.red && a.green == b.green && a.blue == b.blue;
}

enum class Ground { light, dark };

/// Colour of a weight: 0 is near the ground, 1 is strong; lightness (OKLab) changes evenly between, so that
/// the order is visible in grey and with any colour vision. Values outside 0..1 get the end colours; NaN
/// must not come here (pictures draw it as a sign of its own).
Color weight_color(double weight, Ground ground = Ground::light);

/// Colour of a signed value in -1..1: blue below, the ground's colour at 0, orange above.
Color signed_color(double value, Ground ground = Ground::light);

/// Black or white, whichever stands out more on `background`: their contrast is at least 4.5, WCAG 2.1's
/// level AA, on any colour.
Color ink_on(Color background);

/// "#rrggbb"
std::string hex(Color color);

}  // namespace regard::study

#include "study/colormap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace regard::study {
namespace {

// Ottosson 2020, "A perceptual color space for image processing": lightness, chroma, hue in degrees.
struct Oklch {
  double lightness, chroma, hue;
};

std::uint8_t to_byte(double linear) {
  const double c = std::clamp(linear, 0.0, 1.0);
  const double encoded = c <= 0.0031308 ? 12.92 * c : 1.055 * std::pow(c, 1 / 2.4) - 0.055;
  return static_cast<std::uint8_t>(std::lround(255 * encoded));
}

Color to_color(const Oklch& color) {
  const double angle = color.hue * 3.14159265358979323846 / 180;
  const double a = color.chroma * std::cos(angle), b = color.chroma * std::sin(angle);
  const auto cube = [](double x) { return x * x * x; };
  const double l = cube(color.lightness + 0.3963377774 * a + 0.2158037573 * b);
  const double m = cube(color.lightness - 0.1055613458 * a - 0.0638541728 * b);
  const double s = cube(color.lightness - 0.0894841775 * a - 1.2914855480 * b);
  return {to_byte(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
          to_byte(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
          to_byte(-0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s)};
}

double between(double from, double to, double t) {
  return from + (to - from) * t;
}

double luminance(Color color) {
  const auto linear = [](std::uint8_t byte) {
    const double c = byte / 255.0;
    return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(color.red) + 0.7152 * linear(color.green) + 0.0722 * linear(color.blue);
}

}  // namespace

Color weight_color(double weight, Ground ground) {
  const double t = std::clamp(weight, 0.0, 1.0);
  // Chroma swells in the middle, where sRGB has room for it, and vanishes towards the ground.
  const double swell = std::sin(3.14159265358979323846 * t);
  if (ground == Ground::light)
    return to_color({between(0.985, 0.32, t), 0.004 + 0.075 * t + 0.095 * swell, between(238, 266, t)});
  return to_color({between(0.25, 0.94, t), 0.008 + 0.035 * t + 0.095 * swell, between(258, 190, t * t)});
}

Color signed_color(double value, Ground ground) {
  const double t = std::clamp(std::fabs(value), 0.0, 1.0);
  const double hue = value < 0 ? 255 : 50;
  if (ground == Ground::light) return to_color({between(0.985, 0.50, t), 0.145 * std::pow(t, 0.8), hue});
  return to_color({between(0.245, 0.80, t), 0.13 * std::pow(t, 0.8), hue});
}

Color ink_on(Color background) {
  const double light = luminance(background);
  const bool black_wins = (light + 0.05) / 0.05 > 1.05 / (light + 0.05);
  return black_wins ? Color{0, 0, 0} : Color{0xff, 0xff, 0xff};
}

std::string hex(Color color) {
  return fmt::format("#{:02x}{:02x}{:02x}", color.red, color.green, color.blue);
}

}  // namespace regard::study

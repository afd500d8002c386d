#include "study/drawing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "regard/error.hpp"
#include "study/png_decoder.hpp"

namespace regard::study {
namespace {

constexpr Color white{255, 255, 255}, red{200, 0, 0};

Drawing canvas(double width, double height) {
  Drawing drawing;
  drawing.width = width;
  drawing.height = height;
  return drawing;
}

TEST(Svg, EscapesEveryText) {
  Drawing drawing = canvas(10, 10);
  drawing.title = "a<b & \"c\"";
  drawing.language = "\"><script>";
  drawing.add(Text{{1, 2}, "</text><script>'\x01\xff", {}});
  drawing.add(Fill{{0, 0, 1, 1}, red, "x<y"});
  const std::string svg = to_svg(drawing);
  EXPECT_EQ(svg.find("<script"), std::string::npos);
  EXPECT_NE(svg.find("a&lt;b &amp; &quot;c&quot;"), std::string::npos);
  EXPECT_NE(svg.find("&lt;/text&gt;&lt;script&gt;&#39;\uFFFD\uFFFD</text>"), std::string::npos);
  EXPECT_NE(svg.find("<title>x&lt;y</title>"), std::string::npos);
}

TEST(Svg, KeepsVietnameseText) {
  Drawing drawing = canvas(10, 10);
  drawing.add(Text{{1, 2}, "thảm mềm", {}});
  EXPECT_NE(to_svg(drawing).find(">thảm mềm</text>"), std::string::npos);
}

TEST(Png, IsValidAndOfTheStatedSize) {
  const DecodedPng png = decode_png(to_png(canvas(31, 17), 2));
  EXPECT_EQ(png.width, 62u);
  EXPECT_EQ(png.height, 34u);
  EXPECT_EQ(png.count(white), 62u * 34u);
}

TEST(Png, DrawsBoxesToThePixelAndHalfPixelsHalf) {
  Drawing drawing = canvas(8, 8);
  drawing.add(Fill{{1, 2, 3, 2}, Color{0, 0, 0}, ""});
  drawing.add(Fill{{5.5, 5, 1.5, 1}, Color{0, 0, 0}, ""});
  const DecodedPng png = decode_png(to_png(drawing, 1));
  EXPECT_EQ(png.count(Color{0, 0, 0}), 6u + 1u);
  EXPECT_EQ(png.at(1, 2), (Color{0, 0, 0}));
  EXPECT_EQ(png.at(3, 3), (Color{0, 0, 0}));
  EXPECT_EQ(png.at(4, 2), white);
  EXPECT_NEAR(png.at(5, 5).red, 128, 1);
}

TEST(Png, HatchIsNeitherOneColourNorTheGround) {
  Drawing drawing = canvas(40, 40);
  drawing.add(Hatch{{10, 10, 20, 20}, ""});
  const DecodedPng png = decode_png(to_png(drawing, 2));
  EXPECT_GT(png.count(hatch_ground), 100u);
  std::size_t darker = 0;
  for (std::size_t y = 20; y < 60; ++y)
    for (std::size_t x = 20; x < 60; ++x) darker += png.at(x, y).red < 0xD8 ? 1 : 0;
  // A line one unit wide every five units along x covers a fifth times the square root of 2.
  EXPECT_NEAR(static_cast<double>(darker) / 1600, std::sqrt(2.0) / 5, 0.1);
  EXPECT_EQ(png.at(10, 10), white);
}

TEST(Png, DrawsTextWhereItIsAnchored) {
  for (const Anchor anchor : {Anchor::start, Anchor::end}) {
    Drawing drawing = canvas(100, 30);
    TextStyle style;
    style.color = {0, 0, 0};
    style.anchor = anchor;
    drawing.add(Text{{50, 20}, "nó", style});
    const DecodedPng png = decode_png(to_png(drawing, 1));
    std::size_t left = 0, right = 0;
    for (std::size_t y = 0; y < 30; ++y)
      for (std::size_t x = 0; x < 100; ++x) (x < 50 ? left : right) += png.at(x, y).red < 200 ? 1 : 0;
    EXPECT_GT(anchor == Anchor::start ? right : left, 15u);
    EXPECT_EQ(anchor == Anchor::start ? left : right, 0u);
  }
}

TEST(Png, ClipsWhatLiesOutside) {
  Drawing drawing = canvas(10, 10);
  drawing.add(Fill{{-5, -5, 100, 100}, red, ""});
  drawing.add(Text{{-50, 4}, "far outside, and across the edge", {}});
  drawing.add(Polyline{{{-10, 5}, {50, 5}}, Color{0, 0, 0}, 2});
  const DecodedPng png = decode_png(to_png(drawing, 1));
  EXPECT_EQ(png.at(0, 9), red);
  EXPECT_EQ(png.at(9, 5), (Color{0, 0, 0}));
}

TEST(Png, RefusesImpossibleSizes) {
  EXPECT_THROW(to_png(canvas(1e6, 10), 2), ValueError);
  EXPECT_THROW(to_png(canvas(10, 10), 0), ValueError);
  EXPECT_THROW(to_png(canvas(10, 10), std::nan("")), ValueError);
}

// Weighted as the eye sees them; enough to compare lightness.
double lightness(Color color) {
  return 0.2126 * color.red + 0.7152 * color.green + 0.0722 * color.blue;
}

TEST(Colormap, LightnessFollowsTheWeightOnBothGrounds) {
  for (int i = 1; i <= 100; ++i) {
    const double before = (i - 1) / 100.0, now = i / 100.0;
    EXPECT_LT(lightness(weight_color(now)), lightness(weight_color(before)) + 0.5) << now;
    EXPECT_GT(lightness(weight_color(now, Ground::dark)),
              lightness(weight_color(before, Ground::dark)) - 0.5);
  }
  EXPECT_LT(lightness(weight_color(1)), lightness(weight_color(0)) - 150);
  EXPECT_GT(lightness(weight_color(1, Ground::dark)), lightness(weight_color(0, Ground::dark)) + 150);
}

TEST(Colormap, InkStandsOutOnEveryWeight) {
  const auto linear = [](double byte) {
    return byte <= 0.04045 * 255 ? byte / 255 / 12.92 : std::pow((byte / 255 + 0.055) / 1.055, 2.4);
  };
  const auto luminance = [&](Color c) {
    return 0.2126 * linear(c.red) + 0.7152 * linear(c.green) + 0.0722 * linear(c.blue);
  };
  for (const Ground ground : {Ground::light, Ground::dark})
    for (int i = 0; i <= 100; ++i) {
      const Color color = weight_color(i / 100.0, ground);
      const double a = luminance(color) + 0.05, b = luminance(ink_on(color)) + 0.05;
      EXPECT_GE(std::max(a, b) / std::min(a, b), 4.5) << i;  // WCAG 2.1, level AA
    }
}

TEST(Colormap, ClampsWhatLiesOutside) {
  EXPECT_EQ(weight_color(1.5), weight_color(1));
  EXPECT_EQ(weight_color(-1), weight_color(0));
  EXPECT_EQ(signed_color(2), signed_color(1));
  EXPECT_FALSE(signed_color(0.5) == signed_color(-0.5));
}

}  // namespace
}  // namespace regard::study

#include "study/stroke_font.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>
#include <utility>

#include "study/utf8.hpp"

namespace regard::study {
namespace {

// The paths below are in tenths of the font size, y up from the baseline: small letters are 5 high,
// capitals 7.
//   M x y  lift the pen and start here      L x y  straight line
//   V x y  quarter of an ellipse that leaves vertically and arrives horizontally; H x y the other way round
//   C x1 y1 x2 y2 x y  cubic Bézier curve
// A letter begins at x = 0; `width` is where its ink ends.
struct Glyph {
  char32_t code;
  double width;
  const char* path;
};

// clang-format off
constexpr Glyph glyphs[] = {
  {U' ', 1.5, ""},
  {U'a', 3.8, "M.4 4.1 V2.1 5 H3.8 3.3 L3.8 0 M3.8 2.9 L1.8 2.9 H0 1.45 V1.7 0 H3.8 1.7"},
  {U'b', 4.2, "M0 7.2 L0 0 M0 2.5 V2.1 5 H4.2 2.5 V2.1 0 H0 2.5"},
  {U'c', 3.8, "M3.8 3.9 V2.1 5 H0 2.5 V2.1 0 H3.8 1.1"},
  {U'd', 4.2, "M4.2 7.2 L4.2 0 M4.2 2.5 V2.1 5 H0 2.5 V2.1 0 H4.2 2.5"},
  {U'e', 4.1, "M0 2.6 L4.1 2.6 V2.1 5 H0 2.5 V2.1 0 H3.9 1.1"},
  {U'f', 2.6, "M2.6 7.2 H.9 5.6 L.9 0 M0 4.8 L2.4 4.8"},
  {U'g', 4.2, "M4.2 5 L4.2 -.2 V2.1 -2 H.3 -1.1 M4.2 2.5 V2.1 5 H0 2.5 V2.1 0 H4.2 2.5"},
  {U'h', 3.8, "M0 7.2 L0 0 M0 3 V2 5 H3.8 3.1 L3.8 0"},
  {U'i', 0.0, "M0 5 L0 0 M0 6.8 L0 6.8"},
  {U'j', 1.1, "M1.1 5 L1.1 -.6 V0 -2 M1.1 6.8 L1.1 6.8"},
  {U'k', 3.6, "M0 7.2 L0 0 M3.4 5 L0 1.9 M1.3 3.1 L3.6 0"},
  {U'l', 0.0, "M0 7.2 L0 0"},
  {U'm', 6.4, "M0 5 L0 0 M0 3.1 V1.7 5 H3.2 3.3 L3.2 0 M3.2 3.1 V4.9 5 H6.4 3.3 L6.4 0"},
  {U'n', 3.8, "M0 5 L0 0 M0 3 V2 5 H3.8 3.1 L3.8 0"},
  {U'o', 4.3, "M0 2.5 V2.15 5 H4.3 2.5 V2.15 0 H0 2.5"},
  {U'p', 4.2, "M0 5 L0 -2 M0 2.5 V2.1 5 H4.2 2.5 V2.1 0 H0 2.5"},
  {U'q', 4.2, "M4.2 5 L4.2 -2 M4.2 2.5 V2.1 5 H0 2.5 V2.1 0 H4.2 2.5"},
  {U'r', 2.3, "M0 5 L0 0 M0 2.7 V2.3 4.9"},
  {U's', 3.5, "M3.3 4.1 V1.8 5 H.1 3.7 V1.75 2.55 H3.5 1.3 V1.75 0 H0 .95"},
  {U't', 2.5, "M.9 6.5 L.9 1.4 V2.2 0 L2.5 0 M0 4.8 L2.4 4.8"},
  {U'u', 3.8, "M0 5 L0 1.9 V1.8 0 H3.8 2 M3.8 5 L3.8 0"},
  {U'v', 4.0, "M0 5 L2 0 L4 5"},
  {U'w', 6.0, "M0 5 L1.5 0 L3 4.8 L4.5 0 L6 5"},
  {U'x', 3.8, "M0 5 L3.8 0 M3.8 5 L0 0"},
  {U'y', 4.0, "M0 5 L2.05 .1 M4 5 L1.7 -.9 C1.4 -1.7 1 -2 .2 -2"},
  {U'z', 3.5, "M.1 5 L3.4 5 L0 0 L3.5 0"},
  {U'A', 5.2, "M0 0 L2.6 7 L5.2 0 M.9 2.4 L4.3 2.4"},
  {U'B', 4.6, "M0 0 L0 7 L2.3 7 H4.2 5.35 V2.3 3.7 L0 3.7 M2.3 3.7 H4.6 1.85 V2.3 0 L0 0"},
  {U'C', 5.1, "M5 5.5 V2.8 7 H0 3.5 V2.8 0 H5.1 1.5"},
  {U'D', 5.0, "M0 0 L0 7 L2 7 H5 3.5 V2 0 L0 0"},
  {U'E', 4.1, "M4 7 L0 7 L0 0 L4.1 0 M0 3.7 L3.6 3.7"},
  {U'F', 3.9, "M3.9 7 L0 7 L0 0 M0 3.6 L3.4 3.6"},
  {U'G', 5.3, "M5.1 5.6 V2.8 7 H0 3.5 V2.8 0 H5.3 2 L5.3 3.3 L3.1 3.3"},
  {U'H', 5.0, "M0 0 L0 7 M5 0 L5 7 M0 3.7 L5 3.7"},
  {U'I', 0.0, "M0 0 L0 7"},
  {U'J', 3.0, "M3 7 L3 1.8 V1.5 0 H0 1.6"},
  {U'K', 4.7, "M0 0 L0 7 M4.5 7 L0 2.4 M1.6 4.05 L4.7 0"},
  {U'L', 3.8, "M0 7 L0 0 L3.8 0"},
  {U'M', 6.0, "M0 0 L0 7 L3 1.5 L6 7 L6 0"},
  {U'N', 5.0, "M0 0 L0 7 L5 0 L5 7"},
  {U'O', 5.8, "M0 3.5 V2.9 7 H5.8 3.5 V2.9 0 H0 3.5"},
  {U'P', 4.5, "M0 0 L0 7 L2.4 7 H4.5 5 V2.4 3 L0 3"},
  {U'Q', 5.8, "M0 3.5 V2.9 7 H5.8 3.5 V2.9 0 H0 3.5 M3.6 1.6 L5.7 -.6"},
  {U'R', 4.7, "M0 0 L0 7 L2.4 7 H4.5 5.1 V2.4 3.2 L0 3.2 M2.4 3.2 L4.7 0"},
  {U'S', 4.6, "M4.3 5.8 V2.3 7 H.2 5.3 V2.3 3.65 H4.6 1.85 V2.3 0 H0 1.3"},
  {U'T', 5.0, "M0 7 L5 7 M2.5 7 L2.5 0"},
  {U'U', 5.0, "M0 7 L0 2.4 V2.5 0 H5 2.4 L5 7"},
  {U'V', 5.2, "M0 7 L2.6 0 L5.2 7"},
  {U'W', 7.6, "M0 7 L1.9 0 L3.8 6.6 L5.7 0 L7.6 7"},
  {U'X', 4.8, "M0 7 L4.8 0 M4.8 7 L0 0"},
  {U'Y', 4.8, "M0 7 L2.4 3.3 L4.8 7 M2.4 3.3 L2.4 0"},
  {U'Z', 4.6, "M.2 7 L4.5 7 L0 0 L4.6 0"},
  {U'0', 4.2, "M0 3.5 V2.1 7 H4.2 3.5 V2.1 0 H0 3.5"},
  {U'1', 4.2, "M.9 5.7 L2.5 7 L2.5 0"},
  {U'2', 4.2, "M.2 5.2 V2.1 7 H4 5.2 C4 3.7 2.2 2.5 .1 0 L4.2 0"},
  {U'3', 4.2, "M.3 5.7 V2.1 7 H3.9 5.35 V1.8 3.7 H4.2 1.9 V2 0 H.1 1.4"},
  {U'4', 4.2, "M3.2 0 L3.2 7 L0 2 L4.3 2"},
  {U'5', 4.2, "M3.8 7 L.7 7 L.4 3.7 C1 4.3 1.5 4.5 2.1 4.5 H4.2 2.3 V2 0 H.1 1.2"},
  {U'6', 4.2, "M3.8 6 V2.3 7 H0 3 V2.1 0 H4.2 2.15 V2.1 4.3 H0 2.15"},
  {U'7', 4.2, "M.1 7 L4.2 7 C2.8 5 1.9 3 1.6 0"},
  {U'8', 4.2, "M2.1 3.8 H.3 5.4 V2.1 7 H3.9 5.4 V2.1 3.8 H0 1.9 V2.1 0 H4.2 1.9 V2.1 3.8"},
  {U'9', 4.2, "M.4 1 V1.9 0 H4.2 4 V2.1 7 H0 4.85 V2.1 2.7 H4.2 4.85"},
  {U'.', 0.3, "M.1 .1 L.1 .1"},
  {U',', 0.4, "M.3 .2 L0 -1.2"},
  {U':', 0.3, "M.1 .1 L.1 .1 M.1 4.6 L.1 4.6"},
  {U';', 0.4, "M.3 .2 L0 -1.2 M.3 4.6 L.3 4.6"},
  {U'!', 0.3, "M.1 7 L.1 2.2 M.1 .1 L.1 .1"},
  {U'?', 3.5, "M0 5.3 V1.8 7 H3.5 5.3 C3.5 3.8 1.7 3.8 1.7 2 M1.7 .1 L1.7 .1"},
  {U'\'', 0.2, "M.1 7.2 L.1 5.2"},
  {U'"', 1.6, "M.1 7.2 L.1 5.2 M1.5 7.2 L1.5 5.2"},
  {U'(', 1.5, "M1.5 7.6 C-.5 5 -.5 1 1.5 -1.6"},
  {U')', 1.5, "M0 7.6 C2 5 2 1 0 -1.6"},
  {U'[', 1.4, "M1.4 7.4 L0 7.4 L0 -1.4 L1.4 -1.4"},
  {U']', 1.4, "M0 7.4 L1.4 7.4 L1.4 -1.4 L0 -1.4"},
  {U'{', 2.0, "M2 7.4 H1 6.4 L1 4 V0 3 H1 2 L1 -.4 V2 -1.4"},
  {U'}', 2.0, "M0 7.4 H1 6.4 L1 4 V2 3 H1 2 L1 -.4 V0 -1.4"},
  {U'-', 2.3, "M0 2.7 L2.3 2.7"},
  {U'_', 4.2, "M-.3 -1 L4.5 -1"},
  {U'+', 4.4, "M2.2 5.2 L2.2 .8 M0 3 L4.4 3"},
  {U'=', 4.4, "M0 4 L4.4 4 M0 2 L4.4 2"},
  {U'*', 3.0, "M1.5 7.2 L1.5 4.2 M.2 6.5 L2.8 4.9 M2.8 6.5 L.2 4.9"},
  {U'/', 2.8, "M0 -.5 L2.8 7.4"},
  {U'\\', 2.8, "M0 7.4 L2.8 -.5"},
  {U'|', 0.2, "M.1 7.4 L.1 -1.6"},
  {U'<', 4.2, "M4.2 5.2 L0 3 L4.2 .8"},
  {U'>', 4.2, "M0 5.2 L4.2 3 L0 .8"},
  {U'@', 6.6, "M4.7 3 V3.3 4.6 H1.9 2.9 V3.1 1.3 H4.7 3 M4.7 4.5 L4.7 2.4 V5.7 1.4 H6.6 3.4 V3.3 6.6 H0 2.7 V3.4 -1.3 L5.2 -.9"},
  {U'#', 4.6, "M1.6 7 L.8 0 M3.8 7 L3 0 M.2 4.7 L4.6 4.7 M0 2.3 L4.4 2.3"},
  {U'$', 4.2, "M3.9 5.3 V2.1 6.4 H.2 4.9 V2.1 3.4 H4.2 1.9 V2.1 .4 H0 1.6 M2.1 7.6 L2.1 -.8"},
  {U'%', 6.6, "M0 5.4 V1.4 7 H2.8 5.4 V1.4 3.8 H0 5.4 M5.4 7 L1.2 0 M3.8 1.6 V5.2 3.2 H6.6 1.6 V5.2 0 H3.8 1.6"},
  {U'&', 5.2, "M5.2 0 L1.2 4.6 C.2 5.8 .9 7 2.2 7 C3.4 7 4 5.7 3 4.8 L1.2 3.5 C-.6 2.3 .2 0 2 0 C3.8 0 4.8 1.6 4.9 3"},
  {U'^', 3.4, "M0 4.4 L1.7 7 L3.4 4.4"},
  {U'~', 4.2, "M0 2.4 C1 4.4 2 3.4 2.2 3 C2.6 2.2 3.4 1.8 4.2 3.4"},
  {U'`', 1.0, "M0 7 L1 5.8"},
  {U'\u00B7', 0.4, "M.2 2.9 L.2 2.9"},
  {U'\u00D7', 3.6, "M0 4.6 L3.6 1 M3.6 4.6 L0 1"},
  {U'\u2013', 4.2, "M0 2.7 L4.2 2.7"},
  {U'\u2014', 7.4, "M0 2.7 L7.4 2.7"},
  {U'\u2212', 4.4, "M0 3 L4.4 3"},
  {U'\u2018', 0.5, "M.5 7.2 L.1 5.8"},
  {U'\u2019', 0.5, "M.5 7.2 L.1 5.8"},
  {U'\u201C', 1.9, "M.5 7.2 L.1 5.8 M1.9 7.2 L1.5 5.8"},
  {U'\u201D', 1.9, "M.5 7.2 L.1 5.8 M1.9 7.2 L1.5 5.8"},
  {U'\u2026', 5.2, "M.2 .1 L.2 .1 M2.6 .1 L2.6 .1 M5 .1 L5 .1"},
  {U'\u2192', 6.6, "M0 2.9 L6.6 2.9 M4.4 4.9 L6.6 2.9 L4.4 .9"},
  {U'\u2190', 6.6, "M6.6 2.9 L0 2.9 M2.2 4.9 L0 2.9 L2.2 .9"},
  {U'\u221A', 4.8, "M0 3.2 L1 3.8 L2.4 0 L4.8 7.6"},
  {U'\u221E', 6.4, "M3.2 3 C2 5.6 0 5 0 3 C0 1 2 .4 3.2 3 C4.4 5.6 6.4 5 6.4 3 C6.4 1 4.4 .4 3.2 3"},
  {U'\u2248', 4.2, "M0 3.4 C1 5.4 2 4.4 2.2 4 C2.6 3.2 3.4 2.8 4.2 4.4 M0 1.2 C1 3.2 2 2.2 2.2 1.8 C2.6 1 3.4 .6 4.2 2.2"},
  {U'\u2264', 4.2, "M4.2 6 L0 4 L4.2 2 M0 .4 L4.2 .4"},
  {U'\u2265', 4.2, "M0 6 L4.2 4 L0 2 M0 .4 L4.2 .4"},
};
constexpr Glyph dotless_i = {U'i', 0.0, "M0 5 L0 0"};
constexpr Glyph missing = {0xFFFD, 4.0, "M0 0 L4 0 L4 7 L0 7 L0 0"};

// Marks above: x from the middle of the letter, y from its top. The dot below: y from the baseline.
struct Mark {
  char32_t code;
  const char* path;
};
constexpr Mark marks[] = {
  {0x0300, "M-1 2.4 L.4 1.2"},
  {0x0301, "M1 2.4 L-.4 1.2"},
  {0x0302, "M-1.4 1.1 L0 2.3 L1.4 1.1"},
  {0x0303, "M-1.5 1.3 C-.9 2.6 -.3 2.2 0 1.8 C.3 1.4 .9 1 1.5 2.3"},
  {0x0306, "M-1.4 2.4 V0 1.1 H1.4 2.4"},
  {0x0308, "M-1 1.8 L-1 1.8 M1 1.8 L1 1.8"},
  {0x0309, "M-.7 2.5 V.1 3 H.8 2.3 C.8 1.7 0 1.8 0 1"},
  {0x0323, "M0 -1.5 L0 -1.5"},
};
// clang-format on

constexpr char32_t horn = 0x031B, bar = 0x0335, dot_below = 0x0323, circumflex = 0x0302, breve = 0x0306;
constexpr double side_bearing = 0.75;  // on either side of the ink

using Strokes = std::vector<std::vector<Point>>;

void add_curve(std::vector<Point>& stroke, Point a, Point b, Point c) {
  constexpr int pieces = 10;
  const Point from = stroke.back();
  for (int i = 1; i <= pieces; ++i) {
    const double t = static_cast<double>(i) / pieces, u = 1 - t;
    const double p = u * u * u, q = 3 * u * u * t, r = 3 * u * t * t, s = t * t * t;
    stroke.push_back({p * from.x + q * a.x + r * b.x + s * c.x, p * from.y + q * a.y + r * b.y + s * c.y});
  }
}

Strokes parse(const char* path) {
  // Bézier handle of a quarter ellipse: 4/3 (sqrt 2 - 1).
  constexpr double handle = 0.5522847498;
  Strokes strokes;
  const auto number = [&] {
    char* end = nullptr;
    const double value = std::strtod(path, &end);
    path = end;
    return value;
  };
  const auto point = [&] {
    const double x = number();
    return Point{x, number()};
  };
  while (*path != '\0') {
    const char command = *path++;
    if (command == ' ') continue;
    const Point to = point();
    if (command == 'M') {
      strokes.push_back({to});
      continue;
    }
    std::vector<Point>& stroke = strokes.back();
    const Point from = stroke.back();
    const double dx = to.x - from.x, dy = to.y - from.y;
    if (command == 'L') stroke.push_back(to);
    if (command == 'V') add_curve(stroke, {from.x, from.y + handle * dy}, {to.x - handle * dx, to.y}, to);
    if (command == 'H') add_curve(stroke, {from.x + handle * dx, from.y}, {to.x, to.y - handle * dy}, to);
    if (command == 'C') {
      const Point second = point();
      add_curve(stroke, to, second, point());
    }
  }
  return strokes;
}

const Glyph* find_glyph(char32_t code) {
  for (const Glyph& glyph : glyphs)
    if (glyph.code == code) return &glyph;
  return nullptr;
}

const Mark* find_mark(char32_t code) {
  for (const Mark& mark : marks)
    if (mark.code == code) return &mark;
  return nullptr;
}

// A letter with its marks, as strokes that begin at x = 0.
struct Letter {
  Strokes strokes;
  double width = 0;
};

void append(Strokes& strokes, const Strokes& more, double x, double y) {
  for (std::vector<Point> stroke : more) {
    for (Point& point : stroke) point = {point.x + x, point.y + y};
    strokes.push_back(std::move(stroke));
  }
}

Letter compose(char32_t base, const std::u32string& accents) {
  const bool above = std::any_of(accents.begin(), accents.end(), [](char32_t mark) {
    return mark != horn && mark != dot_below && mark != bar;
  });
  const Glyph* found = base == U'i' && above ? &dotless_i : find_glyph(base);
  const Glyph& glyph = found == nullptr ? missing : *found;
  Letter letter{parse(glyph.path), glyph.width};
  const bool tall = (base >= U'A' && base <= U'Z') || base == U'd';
  const double top = tall ? 7 : 5, middle = glyph.width / 2;
  double height = top;
  bool stacked = false;
  for (const char32_t mark : accents) {
    if (mark == horn) {
      // On o and u alike it grows from the upper right of the letter.
      const double x = base == U'o' || base == U'O' ? glyph.width - 0.75 : glyph.width;
      const double y = base == U'o' || base == U'O' ? top - 0.75 : top - 0.4;
      append(letter.strokes, parse("M0 0 C.9 0 1.6 .4 1.5 1.5"), x, y);
      letter.width = x + 1.5;
    } else if (mark == bar) {
      const bool capital = base == U'D';
      append(letter.strokes, parse(capital ? "M-1 3.6 L2.2 3.6" : "M1.9 6 L5.4 6"), 0, 0);
      letter.width = std::max(letter.width, capital ? 0 : 4.8);
    } else if (const Mark* sign = find_mark(mark)) {
      if (mark == dot_below) {
        append(letter.strokes, parse(sign->path), middle, 0);
        continue;
      }
      // A tone over circumflex or breve: acute and grave beside its tip, the wider ones above it.
      const bool slanted = mark == 0x0300 || mark == 0x0301;
      const double x = stacked && slanted ? (mark == 0x0301 ? 1.5 : -1.5) : 0;
      append(letter.strokes, parse(sign->path), middle + x, height + (stacked && slanted ? 0.3 : 0));
      if (mark == circumflex || mark == breve) {
        height += 1.5;
        stacked = true;
      }
    }
  }
  return letter;
}

template <class Visit>
double walk(std::string_view text, const Visit& visit) {
  std::u32string codes;
  for (const char32_t code : decode_utf8(text)) codes += decompose(code);
  double x = 0;
  for (std::size_t i = 0; i < codes.size();) {
    std::size_t next = i + 1;
    while (next < codes.size() && is_zero_width(codes[next])) ++next;
    const std::u32string accents = codes.substr(i + 1, next - i - 1);
    const Letter letter = compose(is_zero_width(codes[i]) ? U' ' : codes[i], accents);
    visit(letter, x + side_bearing);
    x += letter.width + 2 * side_bearing;
    i = next;
  }
  return x;
}

}  // namespace

bool has_glyph(char32_t code) {
  const std::u32string letters = decompose(code);
  for (const char32_t mark : letters.substr(1))
    if (mark != horn && mark != bar && find_mark(mark) == nullptr) return false;
  return find_glyph(letters[0]) != nullptr;
}

std::vector<std::vector<Point>> stroke_text(std::string_view text) {
  Strokes strokes;
  walk(text, [&](const Letter& letter, double x) { append(strokes, letter.strokes, x, 0); });
  for (std::vector<Point>& stroke : strokes)
    for (Point& point : stroke) point = {point.x / 10, point.y / 10};
  return strokes;
}

double text_width(std::string_view text, double size) {
  return walk(text, [](const Letter&, double) {}) / 10 * size;
}

std::string cut_text(std::string_view text, double size, double width) {
  if (text_width(text, size) <= width) return std::string(text);
  std::u32string codes = decode_utf8(text);
  std::string cut;
  do {
    // A mark goes with its letter, and no space stands before the dots.
    while (!codes.empty() && is_zero_width(codes.back())) codes.pop_back();
    if (!codes.empty()) codes.pop_back();
    while (!codes.empty() && codes.back() == U' ') codes.pop_back();
    cut.clear();
    for (const char32_t code : codes) append_utf8(cut, code);
    cut += "…";
  } while (!codes.empty() && text_width(cut, size) > width);
  return cut;
}

std::vector<std::string> wrap_text(std::string_view text, double size, double width) {
  std::vector<std::string> lines;
  std::string line;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word(text.substr(begin, end - begin));
    begin = end + 1;
    if (word.empty()) continue;
    const std::string longer = line.empty() ? word : line + ' ' + word;
    if (!line.empty() && text_width(longer, size) > width) {
      lines.push_back(line);
      line = word;
    } else {
      line = longer;
    }
  }
  if (!line.empty()) lines.push_back(line);
  return lines;
}

}  // namespace regard::study

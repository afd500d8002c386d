#include <fmt/format.h>
#include <png.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "regard/error.hpp"
#include "study/drawing.hpp"
#include "study/stroke_font.hpp"

namespace regard::study {
namespace {

// Pixels with 8 bits a channel; every shape is blended by how much of a pixel it covers.
class Raster {
 public:
  Raster(double width, double height, double scale)
      : scale_(scale),
        width_(static_cast<std::size_t>(std::ceil(width * scale))),
        height_(static_cast<std::size_t>(std::ceil(height * scale))),
        bytes_(width_ * height_ * 3, 0xFF) {}

  std::size_t width() const { return width_; }
  std::size_t height() const { return height_; }
  const std::uint8_t* bytes() const { return bytes_.data(); }

  void operator()(const Fill& fill) { fill_box(fill.box, fill.color); }

  void operator()(const Hatch& hatch) {
    fill_box(hatch.box, hatch_ground);
    const double spacing = hatch_spacing * scale_;
    // Lines x + y = k * spacing; the distance to one is measured across it, hence the square root of 2.
    paint(scaled(hatch.box), hatch_ink, [&](double x, double y) {
      const double along = std::fabs(std::remainder(x + y, spacing));
      const double coverage = 0.5 * scale_ + 0.5 - along / std::sqrt(2.0);
      return std::clamp(coverage, 0.0, 1.0) * box_coverage(scaled(hatch.box), x, y);
    });
  }

  void operator()(const Outline& outline) {
    const Box& b = outline.box;
    const double w = outline.width, half = w / 2;
    fill_box({b.x - half, b.y - half, b.width + w, w}, outline.color);
    fill_box({b.x - half, b.y + b.height - half, b.width + w, w}, outline.color);
    fill_box({b.x - half, b.y + half, w, b.height - w}, outline.color);
    fill_box({b.x + b.width - half, b.y + half, w, b.height - w}, outline.color);
  }

  void operator()(const Polyline& line) {
    std::vector<Point> points;
    for (const Point& point : line.points) points.push_back({point.x * scale_, point.y * scale_});
    draw_strokes({points}, line.color, line.width * scale_);
  }

  void operator()(const Disc& disc) {
    draw_strokes({{{disc.centre.x * scale_, disc.centre.y * scale_}}}, disc.color, 2 * disc.radius * scale_);
  }

  void operator()(const Text& text) {
    const TextStyle& style = text.style;
    const double shift = style.anchor == Anchor::start ? 0 : style.anchor == Anchor::middle ? 0.5 : 1;
    const double start = -shift * text_width(text.text, style.size);
    const double angle = style.angle * 3.14159265358979323846 / 180;
    std::vector<std::vector<Point>> strokes = stroke_text(text.text);
    for (std::vector<Point>& stroke : strokes)
      for (Point& point : stroke) {
        const double x = start + point.x * style.size, y = -point.y * style.size;
        point = {(text.at.x + x * std::cos(angle) - y * std::sin(angle)) * scale_,
                 (text.at.y + x * std::sin(angle) + y * std::cos(angle)) * scale_};
      }
    draw_strokes(strokes, style.color, (style.bold ? bold_pen_width : pen_width) * style.size * scale_);
  }

 private:
  Box scaled(const Box& box) const {
    return {box.x * scale_, box.y * scale_, box.width * scale_, box.height * scale_};
  }

  // Share of the pixel centred at (x, y) that lies inside the box.
  static double box_coverage(const Box& box, double x, double y) {
    const auto overlap = [](double centre, double from, double length) {
      return std::clamp(std::min(centre + 0.5, from + length) - std::max(centre - 0.5, from), 0.0, 1.0);
    };
    return overlap(x, box.x, box.width) * overlap(y, box.y, box.height);
  }

  void fill_box(const Box& box, Color color) {
    const Box target = scaled(box);
    paint(target, color, [&](double x, double y) { return box_coverage(target, x, y); });
  }

  // Calls coverage(x, y) for the centre of every pixel that touches the box (in pixels).
  template <class Coverage>
  void paint(const Box& box, Color color, const Coverage& coverage) {
    const auto clamped = [](double value, std::size_t limit) {
      return static_cast<std::size_t>(std::clamp(value, 0.0, static_cast<double>(limit)));
    };
    const std::size_t x_end = clamped(std::ceil(box.x + box.width), width_);
    const std::size_t y_end = clamped(std::ceil(box.y + box.height), height_);
    for (std::size_t y = clamped(std::floor(box.y), height_); y < y_end; ++y)
      for (std::size_t x = clamped(std::floor(box.x), width_); x < x_end; ++x)
        blend(x, y, color, coverage(static_cast<double>(x) + 0.5, static_cast<double>(y) + 0.5));
  }

  void blend(std::size_t x, std::size_t y, Color color, double coverage) {
    if (coverage <= 0) return;
    std::uint8_t* pixel = &bytes_[(y * width_ + x) * 3];
    const auto mix = [&](std::uint8_t under, std::uint8_t over) {
      return static_cast<std::uint8_t>(std::lround(under + (over - under) * coverage));
    };
    pixel[0] = mix(pixel[0], color.red);
    pixel[1] = mix(pixel[1], color.green);
    pixel[2] = mix(pixel[2], color.blue);
  }

  static double distance(const Point& a, const Point& b, double x, double y) {
    const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
    const double t = length > 0 ? std::clamp(((x - a.x) * dx + (y - a.y) * dy) / length, 0.0, 1.0) : 0;
    return std::hypot(x - a.x - t * dx, y - a.y - t * dy);
  }

  // A round pen: a pixel is covered by how far it lies within half the width of the nearest point of the
  // path. Each stroke is one shape, so joints are not painted twice.
  void draw_strokes(const std::vector<std::vector<Point>>& strokes, Color color, double width) {
    for (const std::vector<Point>& stroke : strokes) {
      if (stroke.empty()) continue;
      // A dot as wide as the pen looks thinner than the lines beside it.
      const bool is_dot = stroke.size() == 2 && distance(stroke[0], stroke[0], stroke[1].x, stroke[1].y) == 0;
      const double half = width / 2 * (is_dot ? dot_factor : 1);
      Point low = stroke[0], high = stroke[0];
      for (const Point& point : stroke) {
        low = {std::min(low.x, point.x), std::min(low.y, point.y)};
        high = {std::max(high.x, point.x), std::max(high.y, point.y)};
      }
      const double margin = half + 1;
      const Box box{low.x - margin, low.y - margin, high.x - low.x + 2 * margin, high.y - low.y + 2 * margin};
      paint(box, color, [&](double x, double y) {
        double nearest = distance(stroke[0], stroke[0], x, y);
        for (std::size_t i = 1; i < stroke.size(); ++i)
          nearest = std::min(nearest, distance(stroke[i - 1], stroke[i], x, y));
        return std::clamp(half + 0.5 - nearest, 0.0, 1.0) * std::min(1.0, width);
      });
    }
  }

  static constexpr double dot_factor = 1.25;

  double scale_;
  std::size_t width_, height_;
  std::vector<std::uint8_t> bytes_;
};

// libpng reports errors by longjmp: between setjmp and here nothing may be alive that has a destructor, so
// the bytes and the message belong to the caller.
struct Encoder {
  std::string message;

  void encode(const Raster& raster, std::string& bytes) {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, this, on_error, on_warning);
    png_infop info = png == nullptr ? nullptr : png_create_info_struct(png);
    if (info == nullptr)
      message = "out of memory";
    else
      write(png, info, raster, bytes);
    png_destroy_write_struct(&png, &info);
  }

 private:
  static void write(png_structp png, png_infop info, const Raster& raster, std::string& bytes) {
    if (setjmp(png_jmpbuf(png)) != 0) return;
    png_set_write_fn(png, &bytes, append, nullptr);
    png_set_IHDR(png, info, static_cast<png_uint_32>(raster.width()),
                 static_cast<png_uint_32>(raster.height()), 8, PNG_COLOR_TYPE_RGB, PNG_INTERLACE_NONE,
                 PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
    png_set_sRGB(png, info, PNG_sRGB_INTENT_PERCEPTUAL);
    // Flat areas and equal letters repeat themselves best as they are, unfiltered.
    png_set_filter(png, PNG_FILTER_TYPE_BASE, PNG_FILTER_NONE);
    png_write_info(png, info);
    for (std::size_t y = 0; y < raster.height(); ++y)
      png_write_row(png, raster.bytes() + y * raster.width() * 3);
    png_write_end(png, info);
  }

  static void append(png_structp png, png_bytep data, png_size_t size) {
    static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(data), size);
  }
  static void on_error(png_structp png, png_const_charp text) {
    static_cast<Encoder*>(png_get_error_ptr(png))->message = text;
    png_longjmp(png, 1);
  }
  static void on_warning(png_structp, png_const_charp) {}
};

}  // namespace

std::string to_png(const Drawing& drawing, double scale) {
  // Beyond this a picture is a mistake rather than a picture, and would not fit into memory.
  constexpr double largest_side = 20000;
  if (!(scale > 0) || std::max(drawing.width, drawing.height) * scale > largest_side)
    throw ValueError(fmt::format("png: {:.0f} x {:.0f} at scale {} is not between 1 and {:.0f} pixels a side",
                                 drawing.width, drawing.height, scale, largest_side));
  Raster raster(drawing.width, drawing.height, scale);
  for (const Shape& shape : drawing.shapes) std::visit(raster, shape);

  std::string bytes;
  Encoder encoder;
  encoder.encode(raster, bytes);
  if (!encoder.message.empty()) throw Error("png: " + encoder.message);
  return bytes;
}

}  // namespace regard::study

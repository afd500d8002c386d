#include <fmt/format.h>

#include <cmath>
#include <string>

#include "study/drawing.hpp"
#include "study/utf8.hpp"

namespace regard::study {
namespace {

// Text as XML character data, fit for attributes too. Control characters are not allowed in XML at all.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char32_t code : decode_utf8(text)) {
    if (code == '&')
      out += "&amp;";
    else if (code == '<')
      out += "&lt;";
    else if (code == '>')
      out += "&gt;";
    else if (code == '"')
      out += "&quot;";
    else if (code == '\'')
      out += "&#39;";
    else if ((code < 0x20 && code != '\t' && code != '\n') || code == 0xFFFE || code == 0xFFFF)
      append_utf8(out, 0xFFFD);
    else
      append_utf8(out, code);
  }
  return out;
}

// At most two decimals, no trailing zeros: a hundredth of a pixel is never seen.
std::string number(double value) {
  const double rounded = std::round(value * 100) / 100;
  return fmt::format("{:g}", rounded == 0 ? 0 : rounded);
}

std::string box_attributes(const Box& box) {
  return fmt::format(R"(x="{}" y="{}" width="{}" height="{}")", number(box.x), number(box.y),
                     number(box.width), number(box.height));
}

struct SvgWriter {
  std::string& out;

  void rectangle(const std::string& attributes, const std::string& title) const {
    out += "<rect " + attributes;
    out += title.empty() ? "/>\n" : "><title>" + escaped(title) + "</title></rect>\n";
  }

  void operator()(const Fill& fill) const {
    rectangle(box_attributes(fill.box) + fmt::format(R"( fill="{}")", hex(fill.color)), fill.title);
  }

  void operator()(const Hatch& hatch) const {
    rectangle(box_attributes(hatch.box) + R"x( fill="url(#hatch)" class="hidden")x", hatch.title);
  }

  void operator()(const Outline& outline) const {
    rectangle(box_attributes(outline.box) + fmt::format(R"( fill="none" stroke="{}" stroke-width="{}")",
                                                        hex(outline.color), number(outline.width)),
              "");
  }

  void operator()(const Polyline& line) const {
    out += "<polyline points=\"";
    for (const Point& point : line.points) out += number(point.x) + "," + number(point.y) + " ";
    if (!line.points.empty()) out.pop_back();
    out += fmt::format(R"x(" fill="none" stroke="{}" stroke-width="{}"/>)x", hex(line.color),
                       number(line.width));
    out += '\n';
  }

  void operator()(const Disc& disc) const {
    out += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"{}\"/>\n", number(disc.centre.x),
                       number(disc.centre.y), number(disc.radius), hex(disc.color));
  }

  void operator()(const Text& text) const {
    const TextStyle& style = text.style;
    out += fmt::format(R"(<text x="{}" y="{}" font-size="{}" fill="{}")", number(text.at.x),
                       number(text.at.y), number(style.size), hex(style.color));
    if (style.anchor != Anchor::start)
      out += style.anchor == Anchor::middle ? R"( text-anchor="middle")" : R"( text-anchor="end")";
    if (style.bold) out += R"( font-weight="600")";
    if (style.angle != 0)
      out += fmt::format(R"x( transform="rotate({} {} {})")x", number(style.angle), number(text.at.x),
                         number(text.at.y));
    out += ">" + escaped(text.text) + "</text>\n";
  }
};

}  // namespace

std::string to_svg(const Drawing& drawing) {
  const std::string width = number(drawing.width), height = number(drawing.height);
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "xml:lang=\"{2}\" lang=\"{2}\" role=\"img\" aria-labelledby=\"title desc\" "
      "font-family=\"'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\" "
      "stroke-linejoin=\"round\" stroke-linecap=\"round\">\n",
      width, height, escaped(drawing.language));
  out += "<title id=\"title\">" + escaped(drawing.title) + "</title>\n";
  out += "<desc id=\"desc\">" + escaped(drawing.description) + "</desc>\n";
  out += fmt::format(
      "<defs><pattern id=\"hatch\" width=\"{0}\" height=\"{0}\" patternUnits=\"userSpaceOnUse\">"
      "<rect width=\"{0}\" height=\"{0}\" fill=\"{1}\"/>"
      "<path d=\"M-1 1L1 -1M0 {0}L{0} 0M{2} {3}L{3} {2}\" stroke=\"{4}\" stroke-width=\"1\"/>"
      "</pattern></defs>\n",
      number(hatch_spacing), hex(hatch_ground), number(hatch_spacing - 1), number(hatch_spacing + 1),
      hex(hatch_ink));
  out += fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n", width, height);
  for (const Shape& shape : drawing.shapes) std::visit(SvgWriter{out}, shape);
  return out + "</svg>\n";
}

}  // namespace regard::study

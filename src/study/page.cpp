#include "study/page.hpp"

#include <cstddef>

namespace regard::study {
namespace {

// Background and ink for 0..1 (or -1..1) in even steps, finer than the eye tells apart.
Json color_scale(Color (*color_at)(double, Ground), double low, Ground ground) {
  constexpr int pieces = 100;
  Json scale = Json::array();
  for (int i = 0; i <= pieces; ++i) {
    const Color color = color_at(low + (1 - low) * i / pieces, ground);
    scale.push_back({hex(color), hex(ink_on(color))});
  }
  return scale;
}

}  // namespace

std::string escaped(std::string_view text) {
  std::string out;
  for (const char byte : text) switch (byte) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += byte;
    }
  return out;
}

// JSON fit to stand between script tags: without a "<" nothing can end the element or open a comment.
std::string script_safe(const Json& json) {
  std::string out;
  for (const char byte : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (byte == '<')
      out += "\\u003c";
    else
      out += byte;
  }
  return out;
}

Json both_grounds(Color (*color_at)(double, Ground), double low) {
  return {{"light", color_scale(color_at, low, Ground::light)},
          {"dark", color_scale(color_at, low, Ground::dark)}};
}

// The template with its @NAMES@ replaced, in one pass: what is put in may contain anything, also such names.
std::string filled(std::string_view text, const std::map<std::string_view, std::string>& values) {
  std::string page;
  while (!text.empty()) {
    std::size_t at = text.size();
    std::string_view next;
    for (const auto& [name, value] : values)
      if (const std::size_t found = text.find(name); found < at) {
        at = found;
        next = name;
      }
    page += text.substr(0, at);
    text.remove_prefix(at + next.size());
    if (!next.empty()) page += values.at(next);
  }
  return page;
}

}  // namespace regard::study

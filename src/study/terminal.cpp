#include "regard/study/terminal.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "regard/error.hpp"
#include "study/colormap.hpp"
#include "study/utf8.hpp"

namespace regard::study {
namespace {

constexpr std::string_view reset = "\x1b[0m";

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// Length of the escape sequence (CSI ... final byte) at the start of `text`, 0 if there is none.
std::size_t escape_length(std::string_view text) {
  if (text.size() < 2 || text[0] != '\x1b' || text[1] != '[') return 0;
  std::size_t i = 2;
  while (i < text.size() && (text[i] < 0x40 || text[i] > 0x7E)) ++i;
  return std::min(i + 1, text.size());
}

// xterm's 6x6x6 cube has the levels 0, 95, 135, 175, 215, 255.
int palette_index(Color color) {
  const auto level = [](std::uint8_t value) {
    return value < 48 ? 0 : value < 115 ? 1 : std::min(5, (value - 35) / 40);
  };
  return 16 + 36 * level(color.red) + 6 * level(color.green) + level(color.blue);
}

std::string painted(std::string_view text, Color background, TerminalColors colors) {
  const Color ink = ink_on(background);
  if (colors == TerminalColors::true24bit)
    return fmt::format("\x1b[48;2;{};{};{};38;2;{};{};{}m{}{}", background.red, background.green,
                       background.blue, ink.red, ink.green, ink.blue, text, reset);
  return fmt::format("\x1b[48;5;{};38;5;{}m{}{}", palette_index(background), palette_index(ink), text, reset);
}

std::string padded(std::string_view text, int columns) {
  std::string out = fit_width(text, columns);
  out.append(static_cast<std::size_t>(std::max(0, columns - display_width(out))), ' ');
  return out;
}

std::string centred(std::string_view text, int columns) {
  const std::string fitted = fit_width(text, columns);
  const int left = (columns - display_width(fitted)) / 2;
  return padded(std::string(static_cast<std::size_t>(std::max(0, left)), ' ') + fitted, columns);
}

std::string weight_text(double weight) {
  if (std::isnan(weight)) return "NaN";
  if (std::isinf(weight)) return weight > 0 ? "+inf" : "-inf";
  return fmt::format("{:.2f}", weight);
}

std::string shade(double weight, bool unicode) {
  static constexpr const char* unicode_shades[] = {" ", "░", "▒", "▓", "█"};
  static constexpr const char* ascii_shades[] = {" ", ".", "+", "*", "#"};
  const double level = std::isfinite(weight) ? std::clamp(weight, 0.0, 1.0) : 0;
  const auto index = static_cast<std::size_t>(std::lround(4 * level));
  return unicode ? unicode_shades[index] : ascii_shades[index];
}

std::string cell(const AttentionPanel& panel, std::size_t query, std::size_t key, int columns,
                 const TerminalPicture& picture) {
  if (panel.is_hidden(query, key)) return centred("//", columns);
  const double weight = panel.weight(query, key);
  const std::string text = weight_text(weight);
  if (picture.colors == TerminalColors::none) return centred(shade(weight, picture.unicode) + text, columns);
  if (!std::isfinite(weight)) return centred(text, columns);
  return painted(centred(text, columns), weight_color(weight, Ground::dark), picture.colors);
}

void check_query(const AttentionPanel& panel, std::size_t query) {
  if (query >= panel.queries.size())
    throw ValueError(fmt::format("attention row {} of panel \"{}\": it has {} queries", query, panel.name,
                                 panel.queries.size()));
}

}  // namespace

TerminalColors terminal_colors(std::FILE* stream) {
  const std::string_view term = environment("TERM");
  if (isatty(fileno(stream)) == 0 || !environment("NO_COLOR").empty() || term.empty() || term == "dumb")
    return TerminalColors::none;
  const std::string_view color_term = environment("COLORTERM");
  if (color_term == "truecolor" || color_term == "24bit" || contains(term, "direct"))
    return TerminalColors::true24bit;
  return contains(term, "256") ? TerminalColors::palette256 : TerminalColors::none;
}

bool terminal_unicode() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const std::string_view locale = environment(name);
    if (!locale.empty())
      return contains(locale, "UTF-8") || contains(locale, "utf8") || contains(locale, "UTF8") ||
             contains(locale, "utf-8");
  }
  return false;
}

TerminalPicture terminal_picture(std::FILE* stream) {
  TerminalPicture picture;
  picture.colors = terminal_colors(stream);
  picture.width = terminal_width(stream);
  picture.unicode = terminal_unicode();
  return picture;
}

int terminal_width(std::FILE* stream) {
  winsize size{};
  if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  const int columns = std::atoi(std::string(environment("COLUMNS")).c_str());
  return columns > 0 ? columns : 80;
}

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    if (const std::size_t length = escape_length(text); length > 0) {
      text.remove_prefix(length);
      continue;
    }
    const std::size_t next = std::min(text.find('\x1b', 1), text.size());
    for (const char32_t code : decode_utf8(text.substr(0, next))) width += column_width(code);
    text.remove_prefix(next);
  }
  return width;
}

std::string fit_width(std::string_view text, int columns) {
  if (display_width(text) <= columns) return std::string(text);
  std::string out;
  int width = 0;
  bool cut = columns <= 0;
  while (!text.empty()) {
    if (const std::size_t length = escape_length(text); length > 0) {
      out += text.substr(0, length);
      text.remove_prefix(length);
      continue;
    }
    const std::size_t next = std::min(text.find('\x1b', 1), text.size());
    for (const char32_t code : decode_utf8(text.substr(0, next))) {
      if (cut) continue;
      if (width + column_width(code) > columns - 1) {
        out += "…";
        cut = true;
        continue;
      }
      append_utf8(out, code);
      width += column_width(code);
    }
    text.remove_prefix(next);
  }
  return out;
}

std::vector<std::string> attention_row(const AttentionPanel& panel, std::size_t query,
                                       const TerminalPicture& picture) {
  check_query(panel, query);
  const std::string head = panel.queries[query] + (picture.unicode ? " → " : " > ");
  const int head_width = std::min(display_width(head), picture.width / 3);
  std::vector<std::string> lines;
  std::string tokens = padded("", head_width), weights = padded(head, head_width);
  int used = head_width;
  const auto end_block = [&] {
    lines.push_back(tokens);
    lines.push_back(weights);
    tokens = weights = padded("", head_width);
    used = head_width;
  };
  for (std::size_t key = 0; key < panel.keys.size(); ++key) {
    const int columns = std::max(7, display_width(panel.keys[key]) + 2);
    if (used > head_width && used + columns > picture.width) end_block();
    tokens += centred(panel.keys[key], columns);
    weights += cell(panel, query, key, columns, picture);
    used += columns;
  }
  end_block();
  return lines;
}

std::vector<std::string> attention_grid(const AttentionPanel& panel, const TerminalPicture& picture) {
  constexpr int columns = 6;
  int label = 1;
  for (const std::string& token : panel.queries) label = std::max(label, display_width(token) + 1);
  label = std::min(label, picture.width / 3);

  const auto per_block = static_cast<std::size_t>(std::max(1, (picture.width - label) / columns));
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < panel.keys.size(); begin += per_block) {
    const std::size_t end = std::min(panel.keys.size(), begin + per_block);
    std::string line = padded("", label);
    for (std::size_t key = begin; key < end; ++key) line += centred(panel.keys[key], columns);
    lines.push_back(line);
    for (std::size_t query = 0; query < panel.queries.size(); ++query) {
      line = padded(panel.queries[query], label);
      for (std::size_t key = begin; key < end; ++key) line += cell(panel, query, key, columns, picture);
      lines.push_back(line);
    }
  }
  return lines;
}

}  // namespace regard::study

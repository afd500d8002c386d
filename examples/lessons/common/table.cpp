#include "lessons/common/table.hpp"

#include <algorithm>

#include <fmt/format.h>

#include <regard/error.hpp>
#include <regard/study/terminal.hpp>

namespace lessons {
namespace {

using regard::study::display_width;

std::string spaces(int count) {
  return std::string(static_cast<std::size_t>(std::max(0, count)), ' ');
}

// "0.25", "-1e-5", "12 %", "5x", "inf", "-": what belongs at the right of its column.
bool is_number(const std::string& text) {
  if (text == "-" || text == "inf" || text == "-inf" || text == "nan") return true;
  const std::size_t first = text.find_first_not_of("+-");
  return first != std::string::npos && text[first] >= '0' && text[first] <= '9';
}

}  // namespace

void Table::row(std::vector<std::string> cells) {
  if (cells.size() != header_.size())
    throw regard::ShapeError(
        fmt::format("table: a row of {} cells under a header of {}", cells.size(), header_.size()));
  rows_.push_back(std::move(cells));
}

std::vector<std::string> Table::lines() const {
  std::vector<int> widths;
  std::vector<bool> numbers;
  int total = -2;
  for (std::size_t column = 0; column < header_.size(); ++column) {
    int width = display_width(header_[column]);
    bool number = !rows_.empty();
    for (const auto& cells : rows_) {
      width = std::max(width, display_width(cells[column]));
      number = number && (cells[column].empty() || is_number(cells[column]));
    }
    widths.push_back(width);
    numbers.push_back(number);
    total += width + 2;
  }
  const auto line = [&](const std::vector<std::string>& cells) {
    std::string text;
    for (std::size_t column = 0; column < cells.size(); ++column) {
      if (column > 0) text += "  ";
      text +=
          numbers[column] ? right_in(cells[column], widths[column]) : left_in(cells[column], widths[column]);
    }
    return without_trailing_spaces(text);
  };
  std::vector<std::string> lines = {line(header_)};
  std::string rule;
  for (int i = 0; i < total; ++i) rule += "─";
  lines.push_back(rule);
  for (const auto& cells : rows_) lines.push_back(line(cells));
  return lines;
}

std::vector<std::string> wrapped(std::string_view text, int width, std::string_view first) {
  const std::string indent = spaces(display_width(first));
  std::vector<std::string> lines;
  std::string line(first);
  bool empty = true;  // does the line hold no word yet?
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word(text.substr(begin, end - begin));
    begin = end + 1;
    if (word.empty()) continue;
    if (!empty && display_width(line) + 1 + display_width(word) > width) {
      lines.push_back(line);
      line = indent;
      empty = true;
    }
    line += (empty ? "" : " ") + word;
    empty = false;
  }
  if (!empty) lines.push_back(line);
  return lines;
}

std::string without_trailing_spaces(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line;
}

std::string left_in(std::string_view text, int columns) {
  return std::string(text) + spaces(columns - display_width(text));
}

std::string right_in(std::string_view text, int columns) {
  return spaces(columns - display_width(text)) + std::string(text);
}

}  // namespace lessons

#pragma once
// Text in columns: tables, and paragraphs that end before the terminal does. Widths are those of a terminal,
// so that letters with marks (ộ, ề) count as one.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace lessons {

/// A table for the terminal. Columns of numbers end at the right, all others begin at the left.
class Table {
 public:
  explicit Table(std::vector<std::string> header) : header_(std::move(header)) {}

  /// Throws regard::ShapeError unless there is a cell for each column.
  void row(std::vector<std::string> cells);

  /// Header, a rule and the rows. No spaces at the ends of lines.
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  std::vector<std::string> header_;
  std::vector<std::vector<std::string>> rows_;
};

/// Words in lines of at most `width` columns where that is possible; `first` before the first line, as many
/// spaces before the others.
[[nodiscard]] std::vector<std::string> wrapped(std::string_view text, int width, std::string_view first = "");

/// The text with spaces up to `columns`: behind it, or before it.
[[nodiscard]] std::string left_in(std::string_view text, int columns);
[[nodiscard]] std::string right_in(std::string_view text, int columns);
[[nodiscard]] std::string without_trailing_spaces(std::string line);

}  // namespace lessons

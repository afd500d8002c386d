// Matrices side by side, as a calculation goes from one to the next.
#pragma once

#include <regard/export.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace REGARD_API regard {
namespace study {

/// weight: 0 to 1 on the scale that all attention pictures have. signed_value: blue below 0, orange above, as
/// strong as the number is large beside the largest of its panel.
enum class MatrixScale { weight, signed_value };

/// Which of its two panels an arrow points at.
enum class ArrowTo { this_panel, panel_before };

/// One matrix with its title and labels.
struct MatrixPanel {
  std::string title;                 ///< above, e.g. "Q = X·W_Q"
  std::vector<std::string> rows;     ///< a label each; all may be empty texts
  std::vector<std::string> columns;  ///< a label each
  std::vector<double> values;        ///< [rows, columns], row-major
  std::vector<std::uint8_t> hidden;  ///< [rows, columns], 1 where a mask hides a cell; empty: none
  MatrixScale scale = MatrixScale::signed_value;
  std::string caption;  ///< below
  std::string arrow;    ///< above an arrow between the panel before it and this one; empty: no arrow
  ArrowTo arrow_to = ArrowTo::this_panel;
};

struct PanelsOptions {
  std::string title;
  std::string note;             ///< small print below the panels
  std::size_t per_row = 0;      ///< panels side by side, each under the one above; 0: all
  int decimals = 2;             ///< of the numbers in the cells
  std::string language = "en";  ///< of the picture's own words: "en" or "vi"
};

/// Every number stands in its cell. What is hidden is hatched, what is not a number named. No panels give a
/// picture that says so. Throws ShapeError, naming the panel, when values do not fit its labels.
std::string panels_svg(const std::vector<MatrixPanel>& panels, const PanelsOptions& options = {});

/// The same, written to a file, which is replaced as a whole or not at all. Throws IoError too.
void write_panels_svg(const std::filesystem::path& path, const std::vector<MatrixPanel>& panels,
                      const PanelsOptions& options = {});

}  // namespace study
}  // namespace regard

// Numbers as bars: what is compared stands one below the other.
#pragma once

#include <regard/export.hpp>

#include <filesystem>
#include <string>
#include <vector>

namespace REGARD_API regard {
namespace study {

/// One thing that is compared, with a value for each series.
struct BarGroup {
  std::string label;
  std::vector<double> values;
};

struct BarsOptions {
  std::string title;
  std::string value;                ///< what the length of a bar means, below the axis
  std::vector<std::string> series;  ///< names, where a group has several values
  /// Across all bars, at a value.
  struct Line {
    double value;
    std::string label;
  };
  std::vector<Line> lines;      ///< drawn across: chance, a bound
  std::string note;             ///< small print
  std::string language = "en";  ///< of the picture's own words: "en" or "vi"
};

/// Horizontal bars from 0, to the left where a value is negative, the number at the end of each. What is not
/// finite is written instead of drawn. Nothing to draw gives a picture that says so. Throws ShapeError,
/// naming the group, if groups differ in their number of values or these do not fit the series.
std::string bars_svg(const std::vector<BarGroup>& groups, const BarsOptions& options = {});

/// The same, written to a file, which is replaced as a whole or not at all. Throws IoError too.
void write_bars_svg(const std::filesystem::path& path, const std::vector<BarGroup>& groups,
                    const BarsOptions& options = {});

}  // namespace study
}  // namespace regard

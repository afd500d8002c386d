// The V-curve of a gradient check: how far the difference quotient is from the gradient, against the step.
//
// On the right the step is too coarse (truncation), on the left numbers run out of digits (rounding): the
// best step lies between. A gradient that is wrong shows no V but a floor, as high as the gradient is wrong.
#pragma once

#include <regard/export.hpp>

#include <filesystem>
#include <string>

#include <regard/gradcheck.hpp>

namespace REGARD_API regard {
namespace study {

/// One line per step: step, quotient, difference and a bar on a logarithmic scale; the step of the finding is
/// marked, and steps that vanish in x. A finding whose steps were not swept gives a line that says so.
std::string v_curve_text(const GradientFinding& finding);

/// The same as a picture, both axes logarithmic. `language` of the picture's own words: "en" or "vi".
std::string v_curve_svg(const GradientFinding& finding, const std::string& language = "en");

/// Written to a file, which is replaced as a whole or not at all. Throws IoError.
void write_v_curve_svg(const std::filesystem::path& path, const GradientFinding& finding,
                       const std::string& language = "en");

}  // namespace study
}  // namespace regard

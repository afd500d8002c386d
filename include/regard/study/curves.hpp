// Loss, accuracy, attention mass and entropy against the step.
#pragma once

#include <regard/export.hpp>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <regard/study/frame.hpp>

namespace REGARD_API regard {
namespace study {

/// One run's numbers: each series in `measures` has a value per step. A value that is not finite is a gap.
struct RunCurves {
  std::string name;  ///< e.g. "seed 3"
  std::vector<double> steps;
  std::map<std::string, std::vector<double>> measures;
};

/// The measures of logged frames; NaN where a frame lacks one that others have.
RunCurves curves_of(const std::vector<AttentionFrame>& frames, const std::string& name = "");

/// What several runs are to each other. repeats: the same with other seeds, thin lines under their median.
/// different: things to compare, without a median.
enum class Runs { repeats, different };
/// A logarithmic axis leaves out what is not above 0.
enum class AxisScale { linear, logarithmic };

struct CurvesOptions {
  std::string title;
  /// One small panel each, in this order; those no run has are left out.
  std::vector<std::string> measures = {"loss", "accuracy", "mass", "entropy"};
  std::string language = "en";  ///< of the picture's own words: "en" or "vi"
  std::string x_label;          ///< of the common axis; "step" unless given
  Runs runs = Runs::repeats;
  AxisScale x_scale = AxisScale::linear, y_scale = AxisScale::linear;
};

/// Small panels over a common x axis. Several repeats are thin lines under their median (at every step, over
/// the runs that have a finite value there). Nothing to draw gives a picture that says so. Throws ShapeError,
/// naming run and measure, if a series and its steps differ in length.
std::string curves_svg(const std::vector<RunCurves>& runs, const CurvesOptions& options = {});

/// The same, written to a file, which is replaced as a whole or not at all. Throws IoError too.
void write_curves_svg(const std::filesystem::path& path, const std::vector<RunCurves>& runs,
                      const CurvesOptions& options = {});

}  // namespace study
}  // namespace regard

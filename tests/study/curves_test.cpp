#include "regard/study/curves.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "regard/error.hpp"
#include "study/sample_film.hpp"
#include "study/temporary_folder.hpp"

namespace regard::study {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

RunCurves loss_run(std::vector<double> values, const std::string& name = "") {
  RunCurves run;
  run.name = name;
  for (std::size_t i = 0; i < values.size(); ++i) run.steps.push_back(10 * static_cast<double>(i));
  run.measures["loss"] = std::move(values);
  return run;
}

// Curves of a single run are the only lines of this width.
std::size_t lines(const std::string& svg) {
  return count(svg, "stroke-width=\"1.8\"");
}

TEST(Curves, HasAPanelPerMeasure) {
  const std::string svg = curves_svg({curves_of(sample_film().frames)});
  for (const char* label : {">loss<", ">accuracy<", ">attention on the antecedent<", ">entropy (nats)<"})
    EXPECT_EQ(count(svg, label), 1u) << label;
  EXPECT_EQ(lines(svg), 4u);
}

TEST(Curves, CurvesOfTakesEveryMeasureOfTheFrames) {
  std::vector<AttentionFrame> frames(2);
  frames[0].measures = {{"loss", 3}};
  frames[1].step = 5;
  frames[1].measures = {{"loss", 2}, {"mass", 0.5}};
  const RunCurves run = curves_of(frames, "seed 1");
  EXPECT_EQ(run.steps, (std::vector<double>{0, 5}));
  EXPECT_EQ(run.measures.at("loss"), (std::vector<double>{3, 2}));
  EXPECT_TRUE(std::isnan(run.measures.at("mass")[0]));
  EXPECT_EQ(run.measures.at("mass")[1], 0.5);
}

TEST(Curves, BreaksTheLineAtWhatIsNoNumber) {
  EXPECT_EQ(lines(curves_svg({loss_run({3, 2, 1, 0.5, 0.3})})), 1u);
  const std::string svg = curves_svg({loss_run({3, 2, nan, 0.5, 0.3})});
  EXPECT_EQ(lines(svg), 2u);
  EXPECT_EQ(count(svg, "nan"), 0u);
  const std::string infinite = curves_svg({loss_run({3, std::numeric_limits<double>::infinity(), 0.5})});
  EXPECT_EQ(count(infinite, "<circle"), 2u);
  EXPECT_EQ(count(infinite, "inf"), 0u);
}

TEST(Curves, ASinglePointIsADot) {
  const std::string svg = curves_svg({loss_run({3})});
  EXPECT_EQ(count(svg, "<circle"), 1u);
  EXPECT_EQ(lines(svg), 0u);
  EXPECT_EQ(count(svg, "nan"), 0u);
}

TEST(Curves, ConstantAndHugeValuesHaveAxes) {
  for (const double value : {0.0, 1.0, -3.0, 1e-300, 1e300}) {
    const std::string svg = curves_svg({loss_run({value, value})});
    EXPECT_EQ(lines(svg), 1u) << value;
    EXPECT_EQ(count(svg, "nan") + count(svg, "inf"), 0u) << value;
  }
}

TEST(Curves, NothingToDrawSaysSo) {
  EXPECT_EQ(count(curves_svg({}), ">no data</text>"), 1u);
  EXPECT_EQ(count(curves_svg({RunCurves{}}), ">no data</text>"), 1u);
  EXPECT_EQ(count(curves_svg({loss_run({})}), ">no data</text>"), 1u);
  EXPECT_EQ(count(curves_svg({loss_run({nan, nan})}), ">no data</text>"), 1u);
  CurvesOptions options;
  options.language = "vi";
  EXPECT_EQ(count(curves_svg({}, options), ">không có dữ liệu</text>"), 1u);
}

TEST(Curves, SeveralRunsGetAMedian) {
  const std::string svg = curves_svg({loss_run({1, 4}, "a"), loss_run({2, 5}, "b"), loss_run({9, 9}, "<c>")});
  EXPECT_EQ(count(svg, ">median (3)<"), 1u);
  EXPECT_EQ(count(svg, ">&lt;c&gt;<"), 1u);
  // Once in the legend, once as a curve.
  EXPECT_EQ(count(svg, "stroke-width=\"2.4\""), 2u);
  // Equal runs: the median is the run itself, so its points coincide with theirs.
  const std::string equal = curves_svg({loss_run({1, 4}), loss_run({1, 4})});
  const std::size_t at = equal.rfind("<polyline points=\"");
  EXPECT_EQ(count(equal, equal.substr(at, equal.find('"', at + 18) - at)), 3u);
}

TEST(Curves, ManyRunsAreThinLines) {
  std::vector<RunCurves> runs;
  for (int i = 0; i < 20; ++i) runs.push_back(loss_run({1.0 + i, 0.5}, "seed " + std::to_string(i)));
  const std::string svg = curves_svg(runs);
  EXPECT_EQ(count(svg, ">seed 3<"), 0u);
  EXPECT_EQ(count(svg, ">median (20)<"), 1u);
}

TEST(Curves, DifferentRunsAreComparedWithoutAMedian) {
  CurvesOptions options;
  options.runs = Runs::different;
  options.x_label = "độ dài N";
  const std::string svg = curves_svg({loss_run({1, 4}, "measured"), loss_run({2, 5}, "bound")}, options);
  EXPECT_EQ(count(svg, "median"), 0u);
  EXPECT_EQ(count(svg, ">measured<") + count(svg, ">bound<"), 2u);
  EXPECT_EQ(lines(svg), 4u);  // two in the legend, two curves
  EXPECT_EQ(count(svg, ">độ dài N<"), 1u);
  EXPECT_EQ(count(svg, ">step<"), 0u);
}

TEST(Curves, ALogarithmicAxisGivesEqualRoomToEqualFactors) {
  RunCurves run;
  run.steps = {1, 4, 16, 64};
  run.measures["loss"] = {1, 10, 100, 1000};
  CurvesOptions options;
  options.x_scale = options.y_scale = AxisScale::logarithmic;
  const std::string svg = curves_svg({run}, options);
  // The curve is a straight line: three equal steps from corner to corner.
  EXPECT_EQ(count(svg, "points=\"64,234 164,184 264,134 364,84\""), 1u) << svg;
  for (const char* tick : {">1<", ">4<", ">16<", ">64<", ">10<", ">100<", ">1000<"})
    EXPECT_GE(count(svg, tick), 1u) << tick;
}

TEST(Curves, ALogarithmicAxisLeavesOutWhatIsNotAboveZero) {
  RunCurves run;
  run.steps = {0, 1, 10};
  run.measures["loss"] = {0.5, 0, 5};
  CurvesOptions options;
  options.x_scale = options.y_scale = AxisScale::logarithmic;
  const std::string svg = curves_svg({run}, options);
  EXPECT_EQ(count(svg, "<circle"), 1u);
  EXPECT_EQ(count(svg, "nan") + count(svg, "inf"), 0u);
  run.measures["loss"] = {0, 0, 0};
  EXPECT_EQ(count(curves_svg({run}, options), ">no data<"), 1u);
}

TEST(Curves, ALogarithmicAxisOfManyPlacesHasPowersOfTen) {
  RunCurves run;
  for (int i = 1; i <= 200; ++i) {
    run.steps.push_back(i);
    run.measures["loss"].push_back(1);
  }
  CurvesOptions options;
  options.x_scale = AxisScale::logarithmic;
  const std::string svg = curves_svg({run}, options);
  for (const char* tick : {">1<", ">10<", ">100<", ">1000<"}) EXPECT_GE(count(svg, tick), 1u) << tick;
  EXPECT_EQ(count(svg, ">7<"), 0u);
}

TEST(Curves, RefusesSeriesOfAnotherLength) {
  RunCurves run = loss_run({1, 2, 3}, "seed 4");
  run.steps.pop_back();
  try {
    curves_svg({run});
    FAIL() << "expected an error";
  } catch (const ShapeError& error) {
    EXPECT_STREQ(error.what(), "curves: run \"seed 4\" has 3 values of \"loss\" for 2 steps");
  }
}

TEST(Curves, WritesFiles) {
  const TemporaryFolder folder;
  write_curves_svg(folder / "curves.svg", {});
  EXPECT_THROW(write_curves_svg(folder / "no" / "curves.svg", {}), IoError);
}

}  // namespace
}  // namespace regard::study

#include <regard/study/v_curve.hpp>

#include <cmath>
#include <fstream>
#include <limits>
#include <string>

#include <gtest/gtest.h>

#include <regard/ops.hpp>

#include "study/temporary_folder.hpp"

namespace regard::study {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

GradientFinding of_exp(DType dtype) {
  GradientCheckOptions options;
  options.formula = Formula::central;
  return check_gradients([](const Tensors& x) { return exp(x[0]); }, {tensor({0.5, 1}, dtype)}, options)
      .findings[0];
}

TEST(VCurve, IsPrintedWithALinePerStepAndOneMark) {
  const GradientFinding finding = of_exp(float64);
  const std::string text = v_curve_text(finding);
  EXPECT_EQ(count(text, "\n"), finding.curve.size() + 2);
  EXPECT_EQ(count(text, "\n>"), 1u);
  EXPECT_EQ(count(text, "vanishes"), 0u);
  EXPECT_GT(count(v_curve_text(of_exp(float32)), "vanishes"), 10u);
}

TEST(VCurve, IsDrawn) {
  const std::string svg = v_curve_svg(of_exp(float64));
  EXPECT_EQ(count(svg, "stroke-width=\"1.8\""), 1u);
  EXPECT_EQ(count(svg, ">step taken"), 1u);
  EXPECT_EQ(count(svg, "vanishes"), 0u);
  EXPECT_EQ(count(v_curve_svg(of_exp(float32)), "vanishes in x"), 1u);
  EXPECT_EQ(count(svg, "nan"), 0u);
  EXPECT_EQ(count(v_curve_svg(of_exp(float64), "vi"), "bước được chọn"), 1u);
  const TemporaryFolder folder;
  write_v_curve_svg(folder / "v.svg", of_exp(float64));
  std::ifstream file(folder / "v.svg");
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), svg);
}

TEST(VCurve, DrawsWhatHasNoShape) {
  GradientFinding nothing;
  nothing.where = "x[0]";
  EXPECT_NE(v_curve_text(nothing).find("were not swept"), std::string::npos);
  EXPECT_NE(v_curve_svg(nothing).find("were not swept"), std::string::npos);
  GradientFinding exact = nothing, broken = nothing;
  for (const double step : {1.0, 0.5, 0.25}) {
    exact.curve.push_back({step, 2, 0, true});
    broken.curve.push_back({step, std::nan(""), std::nan(""), true});
  }
  for (const GradientFinding& finding : {exact, broken}) {
    EXPECT_EQ(count(v_curve_text(finding), "\n"), 5u);
    EXPECT_EQ(count(v_curve_svg(finding), "\"nan\""), 0u);
    EXPECT_EQ(count(v_curve_svg(finding), "inf"), 0u);
  }
}

}  // namespace
}  // namespace regard::study

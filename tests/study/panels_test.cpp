#include "regard/study/panels.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "regard/error.hpp"
#include "study/colormap.hpp"
#include "study/temporary_folder.hpp"
#include "support/throws.hpp"

namespace regard::study {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

MatrixPanel sample() {
  MatrixPanel panel;
  panel.title = "S = Q·Kᵀ";
  panel.rows = {"mèo", "nó"};
  panel.columns = {"a", "b", "c"};
  panel.values = {1, -2, 0, 0.5, 11.25, -0.001};
  return panel;
}

TEST(Panels, EveryNumberStandsInItsCell) {
  const std::string svg = panels_svg({sample()});
  for (const char* text : {">1.00<", ">-2.00<", ">0.50<", ">11.25<", ">S = Q·Kᵀ<", ">mèo<", ">nó<", ">c<"})
    EXPECT_EQ(count(svg, text), 1u) << text;
  EXPECT_EQ(count(svg, ">0.00<"), 2u);  // -0.001 is no "-0.00"
  PanelsOptions options;
  options.decimals = 4;
  EXPECT_EQ(count(panels_svg({sample()}, options), ">-0.0010<"), 1u);
}

TEST(Panels, SignedNumbersHaveASideAndAStrengthOfTheirPanel) {
  MatrixPanel panel = sample();
  panel.values = {4, -4, 0, 2, -2, 0};
  const std::string svg = panels_svg({panel});
  for (const double share : {1.0, -1.0, 0.5, -0.5})
    EXPECT_EQ(count(svg, "fill=\"" + hex(signed_color(share)) + "\""), 1u) << share;
  panel.scale = MatrixScale::weight;
  panel.values = {1, 0.25, 0, 0, 0, 0};
  EXPECT_EQ(count(panels_svg({panel}), "fill=\"" + hex(weight_color(0.25)) + "\""), 1u);
}

TEST(Panels, HiddenCellsAreHatchedAndNumberless) {
  MatrixPanel panel = sample();
  panel.hidden = {0, 1, 0, 0, 0, 0};
  const std::string svg = panels_svg({panel});
  EXPECT_EQ(count(svg, "url(#hatch)"), 2u);  // the cell and its explanation
  EXPECT_EQ(count(svg, ">-2.00<"), 0u);
  EXPECT_EQ(count(svg, ">hidden by the mask<"), 1u);
  EXPECT_EQ(count(panels_svg({sample()}), "url(#hatch)"), 0u);
}

TEST(Panels, WhatIsNoNumberIsNamed) {
  MatrixPanel panel = sample();
  panel.values[0] = std::numeric_limits<double>::quiet_NaN();
  panel.values[1] = -std::numeric_limits<double>::infinity();
  const std::string svg = panels_svg({panel});
  EXPECT_EQ(count(svg, ">NaN<"), 1u);
  EXPECT_EQ(count(svg, ">-inf<"), 1u);
}

TEST(Panels, ArrowsCaptionsNoteAndWordsInTwoLanguages) {
  MatrixPanel second = sample();
  second.arrow = "÷ √d_k";
  second.caption = "caption of the second";
  PanelsOptions options;
  options.title = "A & B";
  options.note = "ghi chú";
  options.language = "vi";
  const std::string svg = panels_svg({sample(), second}, options);
  EXPECT_EQ(count(svg, ">÷ √d_k<"), 1u);
  EXPECT_EQ(count(svg, ">caption of the second<"), 1u);
  EXPECT_EQ(count(svg, ">A &amp; B</text>"), 1u);
  EXPECT_EQ(count(svg, "lang=\"vi\""), 2u);
  EXPECT_EQ(count(svg, "xanh: dưới 0"), 1u);
  EXPECT_GE(count(svg, "ghi chú"), 1u);
}

double attribute(const std::string& svg, const std::string& name) {
  const std::size_t at = svg.find(" " + name + "=\"");
  return std::stod(svg.substr(at + name.size() + 3));
}

TEST(Panels, RowsMakeThePictureTallerAndNarrower) {
  const std::vector<MatrixPanel> four(4, sample());
  PanelsOptions two;
  two.per_row = 2;
  EXPECT_GT(attribute(panels_svg(four), "width"), attribute(panels_svg(four, two), "width"));
  EXPECT_LT(attribute(panels_svg(four), "height"), attribute(panels_svg(four, two), "height"));
}

// Where the "1.00" of each panel stands: the x of its text.
std::vector<double> places(const std::string& svg) {
  std::vector<double> found;
  for (std::size_t at = svg.find(">1.00<"); at != std::string::npos; at = svg.find(">1.00<", at + 1))
    found.push_back(attribute(svg.substr(svg.rfind("<text", at)), "x"));
  return found;
}

TEST(Panels, MatricesStandBelowEachOther) {
  MatrixPanel wide = sample();
  wide.rows = {"một nhãn rất dài", "b"};
  wide.values[1] = 12345.678;
  MatrixPanel second = sample();
  second.arrow = "· V";
  PanelsOptions two;
  two.per_row = 2;
  const std::vector<double> x = places(panels_svg({wide, second, sample(), sample()}, two));
  ASSERT_EQ(x.size(), 4u);
  EXPECT_NEAR(x[0], x[2], 16);  // the middles of cells of different widths
  EXPECT_EQ(x[1], x[3]);
}

TEST(Panels, AnArrowPointsForwardsOrBackwards) {
  MatrixPanel second = sample();
  second.arrow = "· V";
  const std::string forwards = panels_svg({sample(), second});
  second.arrow_to = ArrowTo::panel_before;
  const std::string backwards = panels_svg({sample(), second});
  EXPECT_NE(forwards, backwards);
  EXPECT_EQ(forwards.size(), backwards.size());
}

TEST(Panels, NothingToDrawSaysSo) {
  EXPECT_EQ(count(panels_svg({}), ">no data</text>"), 1u);
}

TEST(Panels, RefusesWhatDoesNotFit) {
  MatrixPanel panel = sample();
  panel.values.pop_back();
  EXPECT_THROWS_WITH(panels_svg({panel}), ShapeError, "\"S = Q·Kᵀ\" has 2 rows and 3 columns, but 5 values");
  panel = sample();
  panel.hidden = {1};
  EXPECT_THROWS_WITH(panels_svg({panel}), ShapeError, "1 hidden marks");
}

TEST(Panels, WritesTheSamePicture) {
  const TemporaryFolder folder;
  write_panels_svg(folder / "x.svg", {sample()});
  std::ostringstream written;
  written << std::ifstream(folder / "x.svg").rdbuf();
  EXPECT_EQ(written.str(), panels_svg({sample()}));
  EXPECT_THROW(write_panels_svg(folder / "no" / "x.svg", {sample()}), IoError);
}

}  // namespace
}  // namespace regard::study

#include "regard/study/bars.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "regard/error.hpp"
#include "study/temporary_folder.hpp"
#include "support/throws.hpp"

namespace regard::study {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

struct Bar {
  double x, width;
};

// The bars are the only boxes with a title.
std::vector<Bar> bars_of(const std::string& svg) {
  std::vector<Bar> bars;
  for (std::size_t at = svg.find("<rect "); at != std::string::npos; at = svg.find("<rect ", at + 1)) {
    const std::string box = svg.substr(at, svg.find('\n', at) - at);
    if (box.find("<title>") == std::string::npos) continue;
    const auto number = [&](const std::string& name) {
      return std::stod(box.substr(box.find(" " + name + "=\"") + name.size() + 3));
    };
    bars.push_back({number("x"), number("width")});
  }
  return bars;
}

TEST(Bars, LengthsAreProportionalToTheValues) {
  const std::vector<Bar> bars = bars_of(bars_svg({{"mèo", {0.5}}, {"thảm", {0.25}}, {"nó", {0}}}));
  ASSERT_EQ(bars.size(), 3u);
  EXPECT_GT(bars[1].width, 10);
  EXPECT_NEAR(bars[0].width, 2 * bars[1].width, 0.02);
  EXPECT_EQ(bars[2].width, 0);
  EXPECT_EQ(bars[0].x, bars[1].x);
}

TEST(Bars, NegativeBarsEndWhereTheOthersBegin) {
  const std::vector<Bar> bars = bars_of(bars_svg({{"up", {3}}, {"down", {-3}}}));
  ASSERT_EQ(bars.size(), 2u);
  EXPECT_NEAR(bars[0].width, bars[1].width, 0.02);
  EXPECT_NEAR(bars[1].x + bars[1].width, bars[0].x, 0.02);
}

TEST(Bars, NumbersLabelsSeriesAndLinesAreWritten) {
  BarsOptions options;
  options.title = "Độ chính xác <1>";
  options.value = "accuracy";
  options.series = {"before", "after"};
  options.lines = {{0.5, "chance"}};
  options.language = "vi";
  const std::string svg = bars_svg({{"mèo", {0.25, 1.0 / 3}}, {"thảm", {1e-7, 123456}}}, options);
  for (const char* text : {">0.25<", ">0.3333<", ">1.00e-07<", ">1.23e+05<", ">mèo<", ">thảm<", ">before<",
                           ">after<", ">chance<", ">accuracy<", ">Độ chính xác &lt;1&gt;</text>"})
    EXPECT_GE(count(svg, text), 1u) << text;
  EXPECT_EQ(count(svg, "lang=\"vi\""), 2u);
  EXPECT_EQ(bars_of(svg).size(), 4u);
}

TEST(Bars, WhatIsNotFiniteIsWrittenNotDrawn) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::string svg =
      bars_svg({{"a", {std::numeric_limits<double>::quiet_NaN()}}, {"b", {-inf}}, {"c", {1}}});
  EXPECT_EQ(bars_of(svg).size(), 1u);
  EXPECT_EQ(count(svg, ">NaN<") + count(svg, ">-inf<"), 2u);
  EXPECT_EQ(count(svg, "\"nan") + count(svg, "\"inf"), 0u);
}

TEST(Bars, NothingToDrawSaysSo) {
  EXPECT_EQ(count(bars_svg({}), ">no data</text>"), 1u);
  EXPECT_EQ(bars_of(bars_svg({{"a", {}}})).size(), 0u);
}

TEST(Bars, RefusesGroupsThatDoNotFit) {
  EXPECT_THROWS_WITH(bars_svg({{"a", {1}}, {"b", {1, 2}}}), ShapeError, "\"b\" has 2 values, expected 1");
  BarsOptions options;
  options.series = {"x", "y"};
  EXPECT_THROWS_WITH(bars_svg({{"a", {1}}}, options), ShapeError, "\"a\" has 1 values, expected 2");
}

TEST(Bars, WritesTheSamePicture) {
  const TemporaryFolder folder;
  write_bars_svg(folder / "x.svg", {{"a", {1}}});
  std::ostringstream written;
  written << std::ifstream(folder / "x.svg").rdbuf();
  EXPECT_EQ(written.str(), bars_svg({{"a", {1}}}));
  EXPECT_THROW(write_bars_svg(folder / "no" / "x.svg", {}), IoError);
}

}  // namespace
}  // namespace regard::study

#include "regard/study/heatmap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "io/atomic_file.hpp"
#include "regard/error.hpp"
#include "study/drawing.hpp"
#include "study/png_decoder.hpp"
#include "study/sample_film.hpp"
#include "study/temporary_folder.hpp"

namespace regard::study {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

AttentionFilm one_row(std::vector<double> weights) {
  AttentionPanel panel;
  panel.name = "head";
  panel.queries = {"q"};
  for (std::size_t k = 0; k < weights.size(); ++k) panel.keys.push_back("k" + std::to_string(k));
  panel.weights = std::move(weights);
  AttentionFilm film;
  film.frames.push_back({0, {}, {{"text", {panel}}}});
  return film;
}

TEST(AttentionPicture, StatesItsScale) {
  const std::string svg = attention_svg(sample_film());
  EXPECT_EQ(count(svg, "attention weight, one scale for all panels"), 1u);
  for (const char* tick : {">0.25</text>", ">0.75</text>", ">1</text>"})
    EXPECT_GE(count(svg, tick), 1u) << tick;
}

TEST(AttentionPicture, HatchesHiddenCellsAndNothingElse) {
  SampleOptions causal;
  causal.causal = true;
  AttentionPictureOptions options;
  options.steps = {0, 600};
  const std::string svg = attention_svg(sample_film(causal), options);
  // 28 cells above the diagonal of 8 x 8, two sentences, two steps, and one in the legend.
  EXPECT_EQ(count(svg, "class=\"hidden\""), 28u * 4 + 1);
  EXPECT_EQ(count(svg, "hidden by the mask</title>"), 28u * 4);
  EXPECT_EQ(count(attention_svg(sample_film(), options), "class=\"hidden\""), 0u);
}

// A hidden cell may hold anything, also NaN; it is hatched all the same.
TEST(AttentionPicture, HiddenNotANumberIsHatched) {
  AttentionFilm film = one_row({1, std::numeric_limits<double>::quiet_NaN()});
  film.frames[0].sentences[0].panels[0].hidden = {0, 1};
  const std::string svg = attention_svg(film);
  EXPECT_EQ(count(svg, "NaN"), 0u);
  EXPECT_EQ(count(svg, "not a number"), 0u);
  EXPECT_EQ(count(svg, "class=\"hidden\""), 2u);
}

TEST(AttentionPicture, DrawsNotANumberAsSuch) {
  const std::string svg = attention_svg(one_row({std::numeric_limits<double>::quiet_NaN(), 0.5}));
  EXPECT_EQ(count(svg, ">NaN</text>"), 1u);
  EXPECT_EQ(count(svg, ">not a number</text>"), 1u);
  const std::string infinite = attention_svg(one_row({std::numeric_limits<double>::infinity(), 0.5}));
  EXPECT_EQ(count(infinite, ">inf</text>"), 1u);
}

TEST(AttentionPicture, EscapesTokens) {
  AttentionFilm film = one_row({1});
  film.title = "<script>";
  film.frames[0].sentences[0].panels[0].keys[0] = "<a&b>";
  const std::string svg = attention_svg(film);
  EXPECT_EQ(count(svg, "<script"), 0u);
  EXPECT_EQ(count(svg, ">&lt;a&amp;b&gt;</text>"), 1u);
}

TEST(AttentionPicture, TakesTheNearestLoggedSteps) {
  AttentionPictureOptions options;
  options.steps = {0, 120, 100000};
  const std::string svg = attention_svg(sample_film(), options);
  for (const char* step : {">step 0<", ">step 100<", ">step 600<"}) EXPECT_EQ(count(svg, step), 1u) << step;
  EXPECT_EQ(count(svg, ">step "), 3u);
}

TEST(AttentionPicture, ChoosesDistinctStepsWithTheFirstAndTheLast) {
  for (const int frames : {1, 2, 3, 5, 6, 61}) {
    SampleOptions sample;
    sample.frames = frames;
    sample.step_between = 1;
    const std::string svg = attention_svg(sample_film(sample));
    EXPECT_EQ(count(svg, ">step "), static_cast<std::size_t>(std::min(frames, 5)));
    EXPECT_EQ(count(svg, ">step 0<"), 1u);
    EXPECT_EQ(count(svg, ">step " + std::to_string(frames - 1) + "<"), 1u);
  }
}

TEST(AttentionPicture, SpeaksVietnamese) {
  AttentionPictureOptions options;
  options.language = "vi";
  const std::string svg = attention_svg(sample_film(), options);
  EXPECT_EQ(count(svg, ">bước 600<"), 1u);
  EXPECT_EQ(count(svg, "lang=\"vi\""), 2u);
}

TEST(AttentionPicture, PngShowsWhatTheSvgShows) {
  SampleOptions causal;
  causal.causal = true;
  const DecodedPng png = decode_png(attention_png(sample_film(causal)));
  const std::string svg = attention_svg(sample_film(causal));
  const std::string size =
      "width=\"" + std::to_string(png.width / 2) + "\" height=\"" + std::to_string(png.height / 2) + "\"";
  EXPECT_NE(svg.find(size), std::string::npos) << size;
  EXPECT_GT(png.count(hatch_ground), 10000u);
  EXPECT_GT(png.count(weight_color(1)), 500u);
}

TEST(AttentionPicture, AnEmptyFilmSaysSo) {
  EXPECT_EQ(count(attention_svg(AttentionFilm{}), ">no data</text>"), 1u);
  EXPECT_GT(decode_png(attention_png(AttentionFilm{})).width, 100u);
  AttentionFilm measures_only;
  measures_only.frames.push_back({0, {{"loss", 1}}, {}});
  EXPECT_EQ(count(attention_svg(measures_only), ">no data</text>"), 1u);
}

TEST(AttentionPicture, BearsSizesOfZeroAndLongSentences) {
  EXPECT_NO_THROW(attention_png(one_row({})));
  const AttentionFilm wide = one_row(std::vector<double>(60, 1.0 / 60));
  EXPECT_NO_THROW(attention_png(wide));
  EXPECT_EQ(count(attention_svg(wide), "q → k"), 60u);
}

// A whole sentence as a token: cut at the sides of the matrix, in full on hover.
TEST(AttentionPicture, CutsLongLabels) {
  AttentionFilm film = one_row({1});
  const std::string sentence = "Following that John and Sandra travelled to the bedroom";
  film.frames[0].sentences[0].panels[0].keys[0] = sentence;
  const std::string svg = attention_svg(film);
  EXPECT_EQ(count(svg, ">" + sentence + "<"), 0u);
  EXPECT_EQ(count(svg, ">Following that John and "), 1u);
  EXPECT_EQ(count(svg, "q → " + sentence + ": 1.0000"), 1u);
}

TEST(AttentionPicture, RefusesWhatIsNotThere) {
  AttentionPictureOptions options;
  options.panel = 1;
  EXPECT_THROW(attention_svg(sample_film(), options), ValueError);
  options.panel = 0;
  options.sentences = {2};
  EXPECT_THROW(attention_svg(sample_film(), options), ValueError);
  AttentionFilm film = sample_film();
  film.frames[0].sentences[0].panels[0].weights.clear();
  EXPECT_THROW(attention_svg(film), ShapeError);
}

TEST(AttentionPicture, WritesFiles) {
  const TemporaryFolder folder;
  write_attention_svg(folder / "attention.svg", sample_film());
  write_attention_png(folder / "attention.png", sample_film());
  EXPECT_EQ(read_whole_file(folder / "attention.svg"), attention_svg(sample_film()));
  EXPECT_GT(decode_png(read_whole_file(folder / "attention.png")).width, 1000u);
  EXPECT_THROW(write_attention_png(folder / "no" / "x.png", sample_film()), IoError);
}

}  // namespace
}  // namespace regard::study

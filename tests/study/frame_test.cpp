#include "regard/study/frame.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "io/atomic_file.hpp"
#include "regard/error.hpp"
#include "study/sample_film.hpp"
#include "study/temporary_folder.hpp"

namespace regard::study {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nlacks: " << part;
}

TEST(Frame, SurvivesJsonToTheLastBit) {
  SampleOptions options;
  options.causal = true;
  options.panels = 2;
  const AttentionFrame frame = sample_film(options).frames[3];
  const AttentionFrame again = frame_from_json_line(to_json_line(frame));
  EXPECT_EQ(again.step, frame.step);
  EXPECT_EQ(again.measures, frame.measures);
  ASSERT_EQ(again.sentences.size(), frame.sentences.size());
  for (std::size_t s = 0; s < frame.sentences.size(); ++s) {
    EXPECT_EQ(again.sentences[s].text, frame.sentences[s].text);
    ASSERT_EQ(again.sentences[s].panels.size(), 2u);
    const AttentionPanel &a = again.sentences[s].panels[1], &b = frame.sentences[s].panels[1];
    EXPECT_EQ(a.name, b.name);
    EXPECT_EQ(a.queries, b.queries);
    EXPECT_EQ(a.keys, b.keys);
    EXPECT_EQ(a.weights, b.weights);
    EXPECT_EQ(a.hidden, b.hidden);
    EXPECT_EQ(a.gradients, b.gradients);
    EXPECT_EQ(a.marked_query, b.marked_query);
    EXPECT_EQ(a.marked_key, b.marked_key);
  }
}

TEST(Frame, SurvivesJsonWithNumbersThatAreNone) {
  AttentionFrame frame;
  frame.measures = {{"loss", nan}, {"high", infinity}, {"low", -infinity}};
  const std::string line = to_json_line(frame);
  EXPECT_EQ(line, R"({"step":0,"loss":"NaN","high":"Infinity","low":"-Infinity"})");
  const AttentionFrame again = frame_from_json_line(line);
  EXPECT_TRUE(std::isnan(again.measures.at("loss")));
  EXPECT_EQ(again.measures.at("high"), infinity);
  EXPECT_EQ(again.measures.at("low"), -infinity);
  EXPECT_TRUE(std::isnan(frame_from_json_line(R"({"step": 1, "loss": null})").measures.at("loss")));
}

TEST(Frame, PutsTheFamiliarMeasuresFirst) {
  AttentionFrame frame;
  frame.step = 7;
  frame.measures = {{"accuracy", 1}, {"a", 2}, {"loss", 3}, {"mass", 0.5}};
  EXPECT_EQ(to_json_line(frame), R"({"step":7,"loss":3.0,"accuracy":1.0,"mass":0.5,"a":2.0})");
}

TEST(Frame, KeepsALineOneLine) {
  AttentionFrame frame;
  frame.sentences.push_back({"two\nlines \xff", {}});
  const std::string line = to_json_line(frame);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  EXPECT_EQ(frame_from_json_line(line).sentences[0].text, "two\nlines \xEF\xBF\xBD");
}

TEST(Frame, RefusesAMatrixThatDoesNotFitItsTokens) {
  AttentionFilm film = sample_film();
  film.frames[2].sentences[1].panels[0].weights.pop_back();
  const std::string text = error_of([&] { check(film); });
  expect_contains(text, "layer 1, head 1");
  expect_contains(text, "at step 100: expected 64 weights for 8 queries x 8 keys, got 63");
  EXPECT_THROW(check(film), ShapeError);
  EXPECT_THROW(to_json_line(film.frames[2]), ShapeError);
}

TEST(Frame, RefusesFlagsGradientsAndMarksThatDoNotFit) {
  AttentionFilm film = sample_film();
  AttentionPanel& panel = film.frames[0].sentences[0].panels[0];
  panel.hidden.resize(3);
  expect_contains(error_of([&] { check(film); }), "expected 64 hidden flags");
  panel.hidden.clear();
  panel.gradients.resize(5);
  expect_contains(error_of([&] { check(film); }), "expected 64 gradients");
  panel.gradients.clear();
  panel.marked_key = 8;
  expect_contains(error_of([&] { check(film); }), "marked_key is 8, outside the 8 there are");
}

TEST(Frame, RefusesStepsThatDoNotIncreaseAndFramesThatDiffer) {
  AttentionFilm film = sample_film();
  film.frames[1].step = 0;
  expect_contains(error_of([&] { check(film); }), "steps must increase, got 0 after 0");
  film = sample_film();
  film.frames[4].sentences.pop_back();
  expect_contains(error_of([&] { check(film); }), "step 200 has another number of sentences (1, not 2)");
  film = sample_film();
  film.frames[4].sentences[0].text = "other";
  expect_contains(error_of([&] { check(film); }), "another sentence, \"other\"");
  film = sample_film();
  film.frames[4].sentences[0].panels[0].keys[0] = "x";
  expect_contains(error_of([&] { check(film); }), "other tokens in panel");
}

TEST(Frame, RefusesMeasuresNamedLikeOtherFields) {
  AttentionFrame frame;
  frame.measures["step"] = 1;
  EXPECT_THROW(to_json_line(frame), ValueError);
}

TEST(Frame, FilesRoundTripAndErrorsNameTheLine) {
  const TemporaryFolder folder;
  const AttentionFilm film = sample_film();
  write_frames(folder / "metrics.jsonl", film.frames);
  const auto again = read_frames(folder / "metrics.jsonl");
  ASSERT_EQ(again.size(), film.frames.size());
  EXPECT_EQ(again.back().measures, film.frames.back().measures);

  write_file_atomically(folder / "bad", "{\"step\": 1}\n\n{\"step\": \"two\"}\n");
  expect_contains(error_of([&] { read_frames(folder / "bad"); }), "bad, line 3: not a logged step");
  write_file_atomically(folder / "cut", R"({"step": 1, "lo)");
  expect_contains(error_of([&] { read_frames(folder / "cut"); }), "cut, line 1: ");
  write_file_atomically(folder / "list", "[1]");
  expect_contains(error_of([&] { read_frames(folder / "list"); }), "expected a JSON object");
  EXPECT_TRUE(read_frames("/dev/null").empty());
}

}  // namespace
}  // namespace regard::study

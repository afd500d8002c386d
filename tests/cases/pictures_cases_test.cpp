// Pictures show the weights they were given.
#include <gtest/gtest.h>

#include <string>

#include <regard/study/heatmap.hpp>

#include "study/drawing.hpp"

namespace regard::study {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

AttentionPanel head(const std::string& name, const std::vector<double>& weights) {
  AttentionPanel panel;
  panel.name = name;
  panel.queries = {"q"};
  panel.keys = {"a", "b", "c"};
  panel.weights = weights;
  return panel;
}

// meta-llama/llama3 #155: weights were normalised a second time (0.464, 0.281, 0.255), and heads averaged.
TEST(B58, WeightsAreShownAsTheyAreHeadByHead) {
  AttentionFilm film;
  film.frames.push_back(
      {0, {}, {{"text", {head("head 1", {0.7, 0.2, 0.1}), head("head 2", {0.05, 0.35, 0.5})}}}});
  const std::string first = attention_svg(film);
  for (const char* shown : {">0.70</text>", ">0.20</text>", ">0.10</text>", "q → a: 0.7000"})
    EXPECT_EQ(count(first, shown), 1u) << shown;
  for (const double weight : {0.7, 0.2, 0.1}) EXPECT_GE(count(first, hex(weight_color(weight))), 1u);
  EXPECT_EQ(count(first, "attention weight, one scale for all panels"), 1u);

  AttentionPictureOptions second_head;
  second_head.panel = 1;
  const std::string second = attention_svg(film, second_head);
  for (const char* shown : {">0.05</text>", ">0.35</text>", ">0.50</text>"})
    EXPECT_EQ(count(second, shown), 1u) << shown;
}

}  // namespace
}  // namespace regard::study

#include "regard/study/explain.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <regard/regard.hpp>

#include "support/golden.hpp"
#include "support/throws.hpp"

namespace regard::study {
namespace {

double sum_of(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double number : numbers) sum += number;
  return sum;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// What holds for every row, whatever the numbers.
void expect_laws(const RowExplanation& row) {
  const std::size_t n = row.keys.size();
  const double tolerance = row.dtype == float32 ? 1e-5 : 1e-13;
  double inner = 0, largest = 0, squares = 0;
  for (std::size_t j = 0; j < n; ++j) {
    inner += row.p[j] * row.dp[j];
    largest = std::max(largest, std::fabs(row.dp[j]));
    squares += row.p[j] * row.p[j];
  }
  const double bound = tolerance * std::max(1.0, largest);
  EXPECT_NEAR(row.inner, inner, 1e-14 * std::max(1.0, largest));
  EXPECT_NEAR(sum_of(row.ds), 0, bound);
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(row.ds[i], row.p[i] * (row.dp[i] - row.inner), bound) << i;
    double by_jacobian = 0, row_sum = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double entry = row.jacobian[i * n + j];
      EXPECT_EQ(entry, row.jacobian[j * n + i]);
      by_jacobian += entry * row.dp[j];
      row_sum += entry;
      if (row.hidden[i] || row.hidden[j]) {
        EXPECT_EQ(entry, 0);
      }
    }
    EXPECT_NEAR(by_jacobian, row.ds[i], bound) << i;
    EXPECT_NEAR(row_sum, 0, tolerance) << "a constant added to all scores changes nothing";
    if (row.hidden[i]) {
      EXPECT_EQ(row.p[i], 0);
      EXPECT_EQ(row.dp[i], 0);
      EXPECT_EQ(row.ds[i], 0);
      EXPECT_EQ(row.masked[i], -std::numeric_limits<double>::infinity());
    }
  }
  ASSERT_EQ(row.eigenvalues.size(), n);
  EXPECT_TRUE(std::is_sorted(row.eigenvalues.begin(), row.eigenvalues.end()));
  if (n > 0) {
    // As far as the weights, rounded as they are, sum to 1.
    const double slack = 1e-15 + std::fabs(1 - sum_of(row.p));
    if (sum_of(row.p) > 0) {
      EXPECT_LE(slack, row.dtype == float32 ? 3e-7 : 2e-15);
    }
    EXPECT_GE(row.eigenvalues.front(), -slack);
    EXPECT_LE(row.spectral_norm, 0.5 + slack);
    EXPECT_EQ(row.spectral_norm,
              std::max(std::fabs(row.eigenvalues.front()), std::fabs(row.eigenvalues.back())));
    EXPECT_NEAR(sum_of(row.eigenvalues), sum_of(row.p) - squares, 1e-14) << "the trace of the Jacobian";
  }
}

std::vector<double> row_of(const Tensor& x, Size b, Size h, Size i) {
  std::vector<double> numbers;
  for (Size j = 0; j < x.size(3); ++j) numbers.push_back(x.at({b, h, i, j}));
  return numbers;
}

TEST(Explain, GivesTheEnginesNumbersBitForBit) {
  for (const DType dtype : {float32, float64})
    for (const bool causal : {false, true}) {
      Rng rng(4);
      const Tensor q = variable(normal({2, 4, 5, 6}, rng, 0, 2, dtype)),
                   k = variable(normal({2, 2, 5, 6}, rng, 0, 1, dtype));
      const Tensor v = variable(normal({2, 2, 5, 3}, rng, 0, 1, dtype)),
                   u = normal({2, 4, 5, 3}, rng, 0, 1, dtype);
      const Mask mask = causal ? Mask::causal() : Mask();
      AttentionTrace trace;
      (void)grad(sum(attention(q, k, v, mask, {}, &trace) * u), q);
      for (Size b = 0; b < 2; ++b)
        for (Size h = 0; h < 4; ++h)
          for (Size i = 0; i < 5; ++i) {
            ExplainOptions at;
            at.batch = b;
            at.head = h;
            at.query = i;
            const RowExplanation from_trace = explain(trace, at), afresh = explain(q, k, v, mask, at, u);
            for (const RowExplanation* row : {&from_trace, &afresh}) {
              EXPECT_EQ(row->raw, row_of(trace.raw, b, h, i));
              EXPECT_EQ(row->scaled, row_of(trace.scaled, b, h, i));
              EXPECT_EQ(row->masked, row_of(trace.masked, b, h, i));
              EXPECT_EQ(row->p, row_of(trace.weights, b, h, i));
              EXPECT_EQ(row->dp, row_of(trace.gradients().weights, b, h, i));
              EXPECT_EQ(row->ds, row_of(trace.gradients().masked, b, h, i));
              EXPECT_EQ(row->dtype, dtype);
              EXPECT_EQ(row->scale, trace.scale);
              expect_laws(*row);
            }
          }
    }
}

// The course's third token, causal: its gradients as published beside the lesson.
TEST(Explain, TheCoursesThirdToken) {
  const auto numbers = [](const char* name) {
    return test::course_numbers("lesson09_causal/" + std::string(name));
  };
  ExplainOptions at;
  at.query = 2;
  const RowExplanation row =
      explain(numbers("Q"), numbers("K"), numbers("V"), Mask::causal(), at, numbers("gradients/upstream"));
  for (Size j = 0; j < 3; ++j) {
    EXPECT_NEAR(row.p[static_cast<std::size_t>(j)], numbers("weights").at({2, j}), 1e-15);
    EXPECT_NEAR(row.scaled[static_cast<std::size_t>(j)], numbers("scaled_scores").at({2, j}), 1e-14);
  }
  expect_laws(row);
}

RowExplanation two_equal_keys() {
  return explain(ones({1, 2}), ones({2, 2}), tensor({{1}, {3}}), Mask());
}

TEST(Explain, TheBoundOfOneHalfIsReachedByTwoEqualKeys) {
  const RowExplanation row = two_equal_keys();
  expect_laws(row);
  EXPECT_NEAR(row.spectral_norm, 0.5, 1e-15);
  EXPECT_EQ(row.inner, 2);
  EXPECT_EQ(row.ds, (std::vector<double>{-0.5, 0.5}));
}

TEST(Explain, OneKeyAndNoKeyMoveNothing) {
  const RowExplanation one = explain(ones({1, 2}), ones({1, 2}), ones({1, 2}), Mask());
  EXPECT_EQ(one.p, std::vector<double>{1});
  EXPECT_EQ(one.ds, std::vector<double>{0});
  EXPECT_EQ(one.spectral_norm, 0);
  expect_laws(one);
  EXPECT_TRUE(has(explanation_sentence(one), "only")) << explanation_sentence(one);

  const Mask none = Mask::keep(full({1, 2}, 0, boolean));
  const RowExplanation empty = explain(ones({1, 2}), ones({2, 2}), ones({2, 2}), none);
  EXPECT_EQ(empty.p, (std::vector<double>{0, 0}));
  EXPECT_EQ(empty.ds, (std::vector<double>{0, 0}));
  EXPECT_EQ(empty.hidden, (std::vector<std::uint8_t>{1, 1}));
  expect_laws(empty);
  EXPECT_TRUE(has(explanation_sentence(empty), "sees no key")) << explanation_sentence(empty);
  EXPECT_TRUE(has(explanation_sentence(empty, "vi"), "không thấy key nào"))
      << explanation_sentence(empty, "vi");
  for (const RowExplanation* row : {&one, &empty}) {
    EXPECT_TRUE(has(explanation_text(*row), "dS"));
    EXPECT_TRUE(has(explanation_svg(*row), "</svg>"));
  }
}

// What is named gains: a step against the gradient raises its score more than any other's.
TEST(Explain, TheKeyThatIsNamedGains) {
  Rng rng(6);
  for (int draw = 0; draw < 20; ++draw) {
    const Tensor q = normal({1, 3}, rng), k = normal({4, 3}, rng), v = normal({4, 2}, rng),
                 u = normal({1, 2}, rng);
    ExplainOptions at;
    at.key_names = {"ant", "bee", "cat", "dog"};
    const RowExplanation row = explain(q, k, v, Mask(), at, u);
    const auto loss_with = [&](std::size_t key) {  // that key's score raised a little
      std::vector<double> scores = row.masked;
      scores[key] += 1e-3;
      return sum(matmul(softmax(from_vector(scores, {1, 4})), v) * u).item();
    };
    std::size_t best = 0;
    for (std::size_t key = 1; key < 4; ++key)
      if (loss_with(key) < loss_with(best)) best = key;
    for (const char* language : {"en", "vi"}) {
      const std::string sentence = explanation_sentence(row, language);
      std::size_t first = std::string::npos, named = 9;
      for (std::size_t key = 0; key < 4; ++key)
        if (const std::size_t found = sentence.find("“" + at.key_names[key] + "”"); found < first) {
          first = found;
          named = key;
        }
      EXPECT_EQ(named, best) << sentence;
    }
  }
}

TEST(Explain, RowsInWhichNothingMovesSayWhy) {
  const RowExplanation level = explain(ones({1, 2}), ones({3, 2}), ones({3, 2}), Mask());
  EXPECT_TRUE(has(explanation_sentence(level), "the same dp")) << explanation_sentence(level);
  EXPECT_TRUE(has(explanation_sentence(level, "vi"), "cùng dp")) << explanation_sentence(level, "vi");
  const RowExplanation certain = explain(full({1, 1}, 1000), tensor({{1}, {-1}}), tensor({{1}, {3}}), Mask());
  EXPECT_TRUE(has(explanation_sentence(certain), "all the weight")) << explanation_sentence(certain);
}

TEST(Explain, WhatIsNoNumberIsSaid) {
  const double nan = std::nan("");
  const RowExplanation row = explain(tensor({{nan}}), ones({2, 1}), ones({2, 1}), Mask());
  EXPECT_TRUE(std::isnan(row.spectral_norm));
  EXPECT_TRUE(has(explanation_sentence(row), "no number")) << explanation_sentence(row);
  EXPECT_TRUE(has(explanation_text(row), "nan")) << explanation_text(row);
  EXPECT_TRUE(has(explanation_svg(row), "NaN"));
}

TEST(Explain, RefusesWhatItCannotExplain) {
  const Tensor q = variable(ones({1, 2, 3, 4}));
  AttentionTrace trace;
  EXPECT_THROWS_WITH(explain(trace), ValueError, "empty");
  const Tensor y = attention(q, q, q, Mask(), {}, &trace);
  EXPECT_THROWS_WITH(explain(trace), ValueError, "no backward");
  backward(sum(y));
  ExplainOptions at;
  EXPECT_NO_THROW((void)explain(trace, at));
  at.batch = 1;
  EXPECT_THROWS_WITH(explain(trace, at), ValueError, "batch 1");
  at = {};
  at.head = -1;
  EXPECT_THROWS_WITH(explain(trace, at), ValueError, "head -1");
  at = {};
  at.query = 3;
  EXPECT_THROWS_WITH(explain(trace, at), ValueError, "query 3");
  at = {};
  at.key_names = {"a"};
  EXPECT_THROWS_WITH(explain(trace, at), ValueError, "1 name");
  AttentionOptions options;
  options.normaliser = Normaliser::sigmoid;
  AttentionTrace other;
  backward(sum(attention(q, q, q, Mask(), options, &other)));
  EXPECT_THROWS_WITH(explain(other), ValueError, "not the softmax");
  EXPECT_THROWS_WITH(explain(ones({1, 1}), ones({2049, 1}), ones({2049, 1}), Mask()), ValueError, "2048");
  EXPECT_THROWS_WITH(explain(ones({1, 2}), ones({1, 3}), ones({1, 2}), Mask()), ShapeError, "widths");
  EXPECT_THROWS_WITH(explain(ones({1, 2}), ones({1, 2}), ones({1, 2}), Mask(), {}, ones({2, 2})), GraphError,
                     "seed");
}

TEST(Explain, RunsWhateverTheThreadRecords) {
  const NoGrad off;
  expect_laws(two_equal_keys());
}

TEST(ExplainText, IsATableWithItsSums) {
  ExplainOptions at;
  at.query = 1;
  at.query_name = "mèo";
  at.key_names = {"con", "mèo", "ngồi"};
  const Tensor x = tensor({{1, 0}, {0.5, 1}, {2, 1}});
  const RowExplanation row = explain(x, x, x, Mask::causal(), at);
  const std::string text = explanation_text(row, "vi");
  for (const char* part : {"mèo", "p·dp", "diag(p)", "1/2", "bị mặt nạ che", "Σ"})
    EXPECT_TRUE(has(text, part)) << part << "\n" << text;
  EXPECT_TRUE(has(explanation_text(row), "hidden")) << explanation_text(row);
}

TEST(ExplainSvg, HatchesTheHiddenAndEscapesNames) {
  ExplainOptions at;
  at.key_names = {"<a>", "&b", "c"};
  const Tensor x = tensor({{1, 0}, {0.5, 1}, {2, 1}});
  const std::string svg = explanation_svg(explain(x, x, x, Mask::causal(), at));
  EXPECT_TRUE(has(svg, "&lt;a&gt;"));
  EXPECT_FALSE(has(svg, "<a>"));
  EXPECT_TRUE(has(svg, "url(#")) << "the hatching";
  EXPECT_FALSE(has(explanation_svg(two_equal_keys()), "url(#"));
  EXPECT_TRUE(has(explanation_svg(two_equal_keys(), "vi"), "lang=\"vi\""));
}

}  // namespace
}  // namespace regard::study

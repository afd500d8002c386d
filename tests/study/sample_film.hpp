// A small made-up training run in which two pronouns find their antecedents.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "regard/study/frame.hpp"

namespace regard::study {

struct SampleOptions {
  int frames = 13;
  int step_between = 50;
  bool causal = false;
  bool single_query = false;  ///< only the pronoun's row, as when the clause asks
  int panels = 1;
};

inline AttentionPanel sample_panel(const std::vector<std::string>& tokens, std::size_t pronoun,
                                   std::size_t antecedent, double progress, const SampleOptions& options,
                                   int index) {
  AttentionPanel panel;
  panel.name = "layer " + std::to_string(index / 2 + 1) + ", head " + std::to_string(index % 2 + 1);
  panel.keys = tokens;
  if (options.single_query)
    panel.queries = {tokens[pronoun]};
  else
    panel.queries = tokens;
  panel.marked_query = options.single_query ? 0 : pronoun;
  panel.marked_key = antecedent;
  for (std::size_t row = 0; row < panel.queries.size(); ++row) {
    const std::size_t query = options.single_query ? pronoun : row;
    std::vector<double> scores;
    double sum = 0;
    for (std::size_t key = 0; key < tokens.size(); ++key) {
      const bool hidden = options.causal && key > query;
      panel.hidden.push_back(hidden ? 1 : 0);
      double score =
          std::sin(1.7 * static_cast<double>(query * 5 + key + static_cast<std::size_t>(index) * 3)) *
          (0.3 + 1.5 * progress);
      if (query == pronoun && key == antecedent) score += 7 * progress;
      scores.push_back(hidden ? 0 : std::exp(score));
      sum += scores.back();
    }
    for (std::size_t key = 0; key < tokens.size(); ++key) {
      panel.weights.push_back(scores[key] / sum);
      panel.gradients.push_back(0.2 * (1 - progress) * std::cos(static_cast<double>(query + 2 * key)));
    }
  }
  return panel;
}

inline AttentionFilm sample_film(const SampleOptions& options = {}) {
  const std::vector<std::string> start = {"Con", "mèo", "ngồi", "trên", "thảm", "vì", "nó"};
  AttentionFilm film;
  film.title = "A pronoun finds its antecedent";
  film.description = "Attention of two sentences that differ in the last word, while training goes on.";
  film.note = "Both sentences were held out of training. Made-up numbers.";
  for (int i = 0; i < options.frames; ++i) {
    const double t = options.frames > 1 ? static_cast<double>(i) / (options.frames - 1) : 1;
    const double progress = 1 / (1 + std::exp(-12 * (t - 0.35)));
    AttentionFrame frame;
    frame.step = static_cast<std::int64_t>(i) * options.step_between;
    frame.measures = {{"loss", 2.08 * (1 - progress) + 0.02 * std::cos(9 * t)},
                      {"accuracy", 0.12 + 0.87 * progress},
                      {"mass", 0.12 + 0.85 * progress},
                      {"entropy", 2.0 - 1.8 * progress}};
    for (const auto& [last, antecedent] : {std::pair<const char*, std::size_t>{"mệt", 1}, {"mềm", 4}}) {
      std::vector<std::string> tokens = start;
      tokens.push_back(last);
      WatchedSentence sentence;
      for (std::size_t k = 0; k < tokens.size(); ++k) sentence.text += (k == 0 ? "" : " ") + tokens[k];
      for (int p = 0; p < options.panels; ++p)
        sentence.panels.push_back(sample_panel(tokens, 6, antecedent, progress, options, p));
      frame.sentences.push_back(std::move(sentence));
    }
    film.frames.push_back(std::move(frame));
  }
  return film;
}

}  // namespace regard::study

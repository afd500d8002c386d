// What a model looks at in one story, as panels.
#include <set>

#include <fmt/format.h>

#include <regard/ops.hpp>

#include "babi/training.hpp"

namespace babi {
namespace {

using regard::Tensor;
using regard::study::AttentionPanel;

std::vector<double> doubles(const Tensor& x) {
  return x.to(regard::float64).to_vector<double>();
}

/// A sentence in few words, as pictures have little room: its number, whom it is about and where they are. As
/// the heuristics, this knows the English files: people are what questions end with, places what sentences
/// end with.
std::vector<std::string> labels_of(const std::vector<Words>& sentences, const Part& part) {
  std::set<std::string> people{"he", "she", "they"};
  for (const StoryQuestion& question : part.text) people.insert(question.question.back());
  std::vector<std::string> labels;
  for (const Words& words : sentences) {
    std::string label = std::to_string(labels.size() + 1);
    for (const std::string& word : words)
      if (people.count(word)) label += " " + word;
    labels.push_back(label + " .. " + words.back());
  }
  return labels;
}

AttentionPanel empty_panel(std::string name, std::vector<std::string> queries,
                           const std::vector<std::string>& keys) {
  AttentionPanel panel;
  panel.name = std::move(name);
  panel.queries = std::move(queries);
  panel.keys = keys;
  return panel;
}

/// One row per hop: what the question looks at then.
AttentionPanel hops_panel(const Traces& traces, const std::vector<std::string>& sentences) {
  AttentionPanel panel = empty_panel("hops", {}, sentences);
  for (const regard::AttentionTrace& trace : traces) {
    panel.queries.push_back(fmt::format("hop {}", panel.queries.size() + 1));
    const std::vector<double> weights = doubles(trace.weights);
    panel.weights.insert(panel.weights.end(), weights.begin(), weights.end());
  }
  panel.marked_query = panel.queries.size() - 1;
  return panel;
}

AttentionPanel window_panel(const regard::AttentionTrace& trace, const std::vector<std::string>& sentences) {
  AttentionPanel panel = empty_panel("window: sentences to their neighbours", sentences, sentences);
  panel.weights = doubles(trace.weights);
  for (const bool kept : regard::broadcast_to(trace.keep, trace.weights.shape()).to_vector<bool>())
    panel.hidden.push_back(kept ? 0 : 1);
  return panel;
}

}  // namespace

regard::study::WatchedSentence watch(const Model& model, const Part& part, std::size_t index) {
  const regard::NoGrad no_grad;
  const Question& question = part.questions.at(index);
  const StoryQuestion& text = part.text.at(index);
  const std::vector<std::string> sentences = labels_of(text.sentences, part);

  Traces traces;
  const Stories story({question}, model.settings.words, model.settings.ages, model.settings.dtype);
  (void)model(story.batch({0}), Weighting::softmax, &traces);
  regard::study::WatchedSentence watched;
  watched.text = fmt::format("{}? {}", text_of(text.question), text.answer);
  if (model.settings.model == ModelKind::hops) {
    watched.panels.push_back(hops_panel(traces, sentences));
    watched.panels.back().marked_key = question.supporting.back();
    return watched;
  }
  watched.panels.push_back(window_panel(traces[0], sentences));
  if (question.supporting.size() == 2) {
    watched.panels.back().marked_query = question.supporting[1];
    watched.panels.back().marked_key = question.supporting[0];
  }
  AttentionPanel asked = empty_panel("the question to the sentences", {"question"}, sentences);
  asked.weights = doubles(traces[1].weights);
  asked.marked_query = 0;
  asked.marked_key = question.supporting.back();
  watched.panels.push_back(std::move(asked));
  return watched;
}

}  // namespace babi

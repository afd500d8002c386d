#include "tiny_lm/report.hpp"

#include <cstdio>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <regard/study/curves.hpp>
#include <regard/study/film.hpp>
#include <regard/study/heatmap.hpp>

#include "common/folder.hpp"

namespace tiny_lm {
namespace {

using regard::study::AttentionFilm;
using regard::study::AttentionPanel;
using regard::study::WatchedSentence;

std::string model_line(const Result& result) {
  const ModelSettings& model = result.model;
  return fmt::format("{} layer{} of {} head{}, width {}, context {}{}, {}, {} parameters, seed {}",
                     model.layers, model.layers == 1 ? "" : "s", model.heads, model.heads == 1 ? "" : "s",
                     model.width, model.context, model.attention_only ? ", attention only" : "",
                     regard::name(model.dtype), result.parameters, result.train.seed);
}

/// "layer 2, head 1" -> "lớp 2, đầu 1"
std::string in_vietnamese(const std::string& panel) {
  int layer = 0, head = 0;
  if (std::sscanf(panel.c_str(), "layer %d, head %d", &layer, &head) != 2) return panel;
  return fmt::format("lớp {}, đầu {}", layer, head);
}

AttentionFilm page_film(const Result& result, bool vietnamese) {
  AttentionFilm film = result.film;
  film.title = vietnamese ? "Một mô hình ngôn ngữ tí hon" : "A tiny language model";
  film.description = model_line(result);
  if (vietnamese)
    for (auto& frame : film.frames)
      for (AttentionPanel& panel : frame.sentences[0].panels) panel.name = in_vietnamese(panel.name);
  return film;
}

/// The same film with a layer's heads as sentences, so that they stand side by side.
AttentionFilm heads_of_layer(const AttentionFilm& film, std::size_t layer, std::size_t heads) {
  AttentionFilm result = film;
  for (auto& frame : result.frames) {
    const WatchedSentence line = frame.sentences[0];
    frame.sentences.clear();
    for (std::size_t head = 0; head < heads; ++head) {
      AttentionPanel panel = line.panels[layer * heads + head];
      const std::size_t comma = panel.name.find(", ");  // "layer 2, head 1"
      const std::string name = panel.name.substr(comma + 2);
      panel.name.resize(comma);
      frame.sentences.push_back({name, {panel}});
    }
  }
  return result;
}

/// The loss beside what counting gives, as level lines.
std::vector<regard::study::RunCurves> curves_of(const Result& result, bool vietnamese) {
  std::vector<regard::study::RunCurves> runs = {
      regard::study::curves_of(result.film.frames, vietnamese ? "mô hình" : "model")};
  const auto level = [&](const char* name, double value) {
    runs.push_back({name, runs[0].steps, {{"loss", std::vector<double>(runs[0].steps.size(), value)}}});
  };
  level("bigram", result.entropies.bigram);
  level("unigram", result.entropies.unigram);
  return runs;
}

nlohmann::ordered_json summary(const Result& result) {
  nlohmann::ordered_json json = {{"width", result.model.width},
                                 {"heads", result.model.heads},
                                 {"layers", result.model.layers},
                                 {"context", result.model.context},
                                 {"attention_only", result.model.attention_only},
                                 {"dtype", regard::name(result.model.dtype)},
                                 {"seed", result.train.seed},
                                 {"parameters", result.parameters},
                                 {"characters", result.characters},
                                 {"alphabet", result.alphabet},
                                 {"unigram_entropy", result.entropies.unigram},
                                 {"bigram_entropy", result.entropies.bigram},
                                 {"steps", result.steps},
                                 {"interrupted", result.interrupted},
                                 {"seconds", result.seconds},
                                 {"loss_before", result.loss_before},
                                 {"loss", result.loss}};
  json["below_bigram_since"] = nullptr;
  if (result.below_bigram) json["below_bigram_since"] = *result.below_bigram;
  return json;
}

}  // namespace

std::string report(const Result& result) {
  std::string text = model_line(result) + "\n";
  text += fmt::format("{} steps in {:.2f} s{}\n\n", result.steps, result.seconds,
                      result.interrupted ? " (interrupted)" : "");
  text += fmt::format("  the text: {} characters, {} different\n", result.characters, result.alphabet);
  text +=
      fmt::format("  entropy:  {:.3f} of single characters (unigram), {:.3f} given the one before (bigram)\n",
                  result.entropies.unigram, result.entropies.bigram);
  text += fmt::format("  loss:     {:.3f} before, {:.3f} after training, ", result.loss_before, result.loss);
  text += result.below_bigram ? fmt::format("below the bigram entropy since step {}\n", *result.below_bigram)
                              : "still above the bigram entropy; more --steps may help\n";
  return text + "  all in nats per character\n";
}

void write_files(const std::filesystem::path& folder, const Result& result, Language language) {
  common::prepare_folder(folder);
  const bool vietnamese = language == Language::vietnamese;
  const std::string words(code(language));
  const AttentionFilm film = page_film(result, vietnamese);
  regard::study::write_frames(folder / "metrics.jsonl", result.film.frames);
  common::write_text(folder / "summary.json", summary(result).dump(2) + "\n");

  regard::study::CurvesOptions curves;
  curves.title = film.title;
  curves.measures = {"loss"};
  curves.language = words;
  curves.runs = regard::study::Runs::different;
  regard::study::write_curves_svg(folder / "curves.svg", curves_of(result, vietnamese), curves);

  regard::study::AttentionPictureOptions picture;
  picture.language = words;
  picture.step_count = 3;
  picture.direction = regard::study::StripDirection::down;
  const auto heads = static_cast<std::size_t>(result.model.heads);
  for (std::size_t layer = 0; layer < static_cast<std::size_t>(result.model.layers); ++layer) {
    const AttentionFilm side_by_side = heads_of_layer(film, layer, heads);
    const std::string name = "attention-layer-" + std::to_string(layer + 1);
    regard::study::write_attention_svg(folder / (name + ".svg"), side_by_side, picture);
    regard::study::write_attention_png(folder / (name + ".png"), side_by_side, picture);
  }

  regard::study::FilmOptions page;
  page.language = words;
  regard::study::write_film_html(folder / "film.html", film, page);
}

}  // namespace tiny_lm

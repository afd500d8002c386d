#include "coreference/report.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <regard/study/curves.hpp>
#include <regard/study/film.hpp>
#include <regard/study/heatmap.hpp>

#include "common/folder.hpp"

namespace coreference {
namespace {

using nlohmann::ordered_json;
using regard::study::AttentionFilm;
using regard::study::AttentionPanel;

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

/// The median of numbers at the same place in every run; what is no number is the same in all of them.
ordered_json median_of(const std::vector<const ordered_json*>& values) {
  const ordered_json& first = *values.front();
  if (first.is_number()) {
    std::vector<double> numbers;
    for (const ordered_json* value : values) numbers.push_back(value->get<double>());
    const double middle = median(numbers);
    if (first.is_number_integer() && middle == std::floor(middle)) return static_cast<std::int64_t>(middle);
    return middle;
  }
  if (!first.is_structured()) return first;
  ordered_json result = first;
  for (auto item = result.begin(); item != result.end(); ++item) {
    std::vector<const ordered_json*> inner;
    for (const ordered_json* value : values)
      inner.push_back(first.is_object() ? &value->at(item.key())
                                        : &value->at(static_cast<std::size_t>(item - result.begin())));
    *item = median_of(inner);
  }
  return result;
}

std::string model_line(const Result& result) {
  return fmt::format("{} · {} · {}, scores {}, mask {}, positions {}, {} head{} of width {}, seed {}",
                     name(result.model.task), code(result.model.language), name(result.model.model),
                     name(result.model.scores), name(result.model.mask), name(result.model.positions),
                     result.model.heads, result.model.heads == 1 ? "" : "s", result.model.head_width,
                     result.train.seed);
}

// The row that the course prints for "nó" in the seed sentence, as an illustration, not as the output of a
// program.
AttentionPanel illustrated_row(bool vietnamese) {
  AttentionPanel panel;
  panel.name = vietnamese ? "hàng minh hoạ trong bài học" : "the lesson's illustrative row";
  panel.queries = {"nó"};
  panel.keys = {"con", "mèo", "ngồi", "trên", "thảm", "vì", "nó"};
  panel.weights = {0.03, 0.12, 0.02, 0.02, 0.71, 0.04, 0.06};
  panel.marked_query = 0;
  panel.marked_key = 4;
  return panel;
}

bool shows_the_seed_sentence(const Result& result) {
  return result.model.task == Task::twist && result.model.language == Language::vietnamese;
}

/// "layer 2, head 1" -> "lớp 2, đầu 1"
std::string in_vietnamese(const std::string& panel) {
  int layer = 0, head = 0;
  if (std::sscanf(panel.c_str(), "layer %d, head %d", &layer, &head) != 2) return panel;
  return fmt::format("lớp {}, đầu {}", layer, head);
}

/// The film as the page shows it: with the lesson's row beside the learned ones, where there is one.
AttentionFilm page_film(const Result& result, bool vietnamese) {
  AttentionFilm film = result.film;
  film.title = vietnamese ? "Đại từ tìm tiền ngữ" : "A pronoun finds its antecedent";
  film.description = model_line(result);
  for (auto& frame : film.frames) {
    auto among_candidates = frame.measures.extract("candidate_accuracy");
    among_candidates.key() = vietnamese ? "độ chính xác giữa các ứng viên" : "accuracy among the candidates";
    frame.measures.insert(std::move(among_candidates));
    if (vietnamese)
      for (auto& sentence : frame.sentences)
        for (AttentionPanel& panel : sentence.panels) panel.name = in_vietnamese(panel.name);
  }
  if (!shows_the_seed_sentence(result)) return film;
  for (auto& frame : film.frames)
    frame.sentences.push_back({vietnamese ? "Con mèo ngồi trên thảm vì nó mệt (bài học)"
                                          : "Con mèo ngồi trên thảm vì nó mệt (as the lesson draws it)",
                               {illustrated_row(vietnamese)}});
  film.note = vietnamese ? "Bài học minh hoạ một hàng trong đó “nó” dành 0,71 cho “thảm”. Hàng ấy được vẽ "
                           "tay để giải thích ý tưởng, "
                           "không phải do mô hình học được: trong câu này kẻ mệt là con mèo, nên mô hình "
                           "huấn luyện ở đây học nhìn vào "
                           "“mèo”, và chỉ nhìn vào “thảm” khi từ cuối là “mềm”."
                         : "The lesson illustrates its point with a row in which “nó” gives 0.71 to “thảm” "
                           "(the mat). That row was "
                           "drawn by hand, not learned: in this sentence it is the cat that is tired, so the "
                           "model trained here learns "
                           "to look at “mèo”, and at “thảm” only when the last word is “mềm” (soft).";
  return film;
}

std::string table_row(const char* name, const Score& score) {
  return fmt::format("  {:<11} {:>8.3f} {:>10.3f} {:>6.3f} {:>8.3f}\n", name, score.metrics.accuracy,
                     score.metrics.candidate_accuracy, score.metrics.mass, score.metrics.entropy);
}

}  // namespace

ordered_json summary(const Result& result) {
  const Metrics& validation = result.validation.metrics;
  ordered_json json = {{"task", name(result.model.task)},
                       {"language", code(result.model.language)},
                       {"model", name(result.model.model)},
                       {"mask", name(result.model.mask)},
                       {"scores", name(result.model.scores)},
                       {"positions", name(result.model.positions)},
                       {"heads", result.model.heads},
                       {"width", result.model.width},
                       {"head_width", result.model.head_width},
                       {"dtype", regard::name(result.model.dtype)},
                       {"seed", result.train.seed},
                       {"steps", result.steps},
                       {"interrupted", result.interrupted},
                       {"seconds", result.seconds},
                       {"accuracy", validation.accuracy},
                       {"candidate_accuracy", validation.candidate_accuracy},
                       {"mass", validation.mass},
                       {"mass_per_head", result.validation.mass_per_head},
                       {"entropy", validation.entropy},
                       {"heldout_accuracy", result.held_out.metrics.accuracy},
                       {"heldout_mass", result.held_out.metrics.mass},
                       {"long1_accuracy", result.long_1.metrics.accuracy},
                       {"long2_accuracy", result.long_2.metrics.accuracy},
                       {"seed_sentences", ordered_json::array()}};
  for (const SeedSentence& seed : result.seed_sentences)
    json["seed_sentences"].push_back({{"text", seed.text},
                                      {"antecedent", seed.antecedent},
                                      {"mass_before", seed.mass_before},
                                      {"mass_after", seed.mass_after}});
  return json;
}

ordered_json summary(const std::vector<Result>& results) {
  ordered_json runs = ordered_json::array();
  for (const Result& result : results) runs.push_back(summary(result));
  std::vector<const ordered_json*> values;
  for (const ordered_json& run : runs) values.push_back(&run);
  ordered_json middle = median_of(values);
  middle["seed"] = nullptr;  // a median belongs to no seed
  return {{"runs", runs}, {"median", middle}};
}

std::string report(const Result& result) {
  std::string text = model_line(result) + "\n";
  text += fmt::format("{} steps in {:.2f} s{}\n\n", result.steps, result.seconds,
                      result.interrupted ? " (interrupted)" : "");
  text += "  sentences   accuracy  of the two   mass  entropy\n";
  text += table_row("validation", result.validation) + table_row("held out", result.held_out) +
          table_row("long-1", result.long_1) + table_row("long-2", result.long_2);
  text += "  mass: attention on the antecedent; entropy in nats\n";
  if (result.validation.mass_per_head.size() > 1) {
    text += "  mass per head:";
    for (const double mass : result.validation.mass_per_head) text += fmt::format(" {:.3f}", mass);
    text += '\n';
  }
  for (const SeedSentence& seed : result.seed_sentences)
    text += fmt::format("\n  {}\n    attention on \"{}\": {:.2f} before, {:.2f} after training\n", seed.text,
                        seed.antecedent, seed.mass_before, seed.mass_after);
  return text;
}

std::string report(const std::vector<Result>& results) {
  std::string text = "  seed  accuracy  candidates  mass  entropy  held out  long-1  long-2  seconds\n";
  const auto row = [&text](const std::string& who, const ordered_json& run) {
    text +=
        fmt::format("{:>6}  {:>8.3f}  {:>10.3f}  {:.2f}  {:>7.2f}  {:>8.3f}  {:>6.3f}  {:>6.3f}  {:>7.2f}\n",
                    who, run["accuracy"].get<double>(), run["candidate_accuracy"].get<double>(),
                    run["mass"].get<double>(), run["entropy"].get<double>(),
                    run["heldout_accuracy"].get<double>(), run["long1_accuracy"].get<double>(),
                    run["long2_accuracy"].get<double>(), run["seconds"].get<double>());
  };
  for (const Result& result : results) row(std::to_string(result.train.seed), summary(result));
  row("median", summary(results)["median"]);
  return text;
}

void write_files(const std::filesystem::path& folder, const Result& result,
                 const std::string& page_language) {
  common::prepare_folder(folder);
  const AttentionFilm film = page_film(result, page_language == "vi");
  regard::study::write_frames(folder / "metrics.jsonl", result.film.frames);
  common::write_text(folder / "summary.json", summary(result).dump(2) + "\n");

  regard::study::CurvesOptions curves;
  curves.title = fmt::format("{} · {} · {} · seed {}", name(result.model.task), code(result.model.language),
                             name(result.model.model), result.train.seed);
  curves.language = page_language;
  regard::study::write_curves_svg(folder / "curves.svg", {regard::study::curves_of(result.film.frames)},
                                  curves);

  regard::study::AttentionPictureOptions picture;
  picture.language = page_language;
  picture.sentences = {0, 1};
  picture.panel =
      film.frames.front().sentences.front().panels.size() - static_cast<std::size_t>(result.model.heads);
  regard::study::write_attention_svg(folder / "attention.svg", film, picture);
  regard::study::write_attention_png(folder / "attention.png", film, picture);

  regard::study::FilmOptions page;
  page.language = page_language;
  regard::study::write_film_html(folder / "film.html", film, page);
}

void write_files(const std::filesystem::path& folder, const std::vector<Result>& results,
                 const std::string& page_language) {
  common::prepare_folder(folder);
  std::vector<regard::study::RunCurves> runs;
  for (const Result& result : results) {
    const std::string seed = std::to_string(result.train.seed);
    write_files(folder / ("seed-" + seed), result, page_language);
    runs.push_back(regard::study::curves_of(result.film.frames, "seed " + seed));
  }
  regard::study::CurvesOptions curves;
  curves.title = fmt::format("{} runs", runs.size());
  curves.language = page_language;
  regard::study::write_curves_svg(folder / "curves.svg", runs, curves);
  common::write_text(folder / "summary.json", summary(results).dump(2) + "\n");
}

}  // namespace coreference

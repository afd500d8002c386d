#include "babi/report.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <regard/study/curves.hpp>
#include <regard/study/film.hpp>
#include <regard/study/heatmap.hpp>

#include "babi/heuristics.hpp"
#include "common/folder.hpp"

namespace babi {
namespace {

using nlohmann::ordered_json;

ordered_json or_null(const std::optional<double>& value) {
  return value ? ordered_json(*value) : ordered_json(nullptr);
}

std::string fixed_or_dash(const std::optional<double>& value) {
  return value ? fmt::format("{:.3f}", *value) : "-";
}

std::string described(const Outcome& outcome) {
  const ModelSettings& model = outcome.model;
  const std::string kind = model.model == ModelKind::hops
                               ? fmt::format("{} hop{}", model.hops, model.hops == 1 ? "" : "s")
                               : "attention to neighbouring sentences, then one hop";
  return fmt::format("bAbI task {}, {}: {}, width {}", outcome.task, name(outcome.size), kind, model.width);
}

std::string table_of_runs(const Outcome& outcome) {
  std::string text = "     seed   steps  training  validation  answer mass  edge mass  seconds\n";
  for (std::size_t i = 0; i < outcome.runs.size(); ++i) {
    const Run& run = outcome.runs[i];
    text += fmt::format("  {} {:>5} {:>7} {:>9.3f} {:>11.3f} {:>12} {:>10} {:>8.1f}\n",
                        i == outcome.chosen ? "*" : " ", run.seed, run.steps, run.training.accuracy,
                        run.validation.accuracy, fixed_or_dash(run.validation.answer_mass),
                        fixed_or_dash(run.validation.edge_mass), run.seconds);
  }
  return text;
}

std::string table_of_guesses(const Outcome& outcome) {
  const auto row = [](const char* who, const std::optional<double>& share) {
    return fmt::format("    {:<44} {:>7}\n", who, share ? fmt::format("{:.1f} %", 100 * *share) : "-");
  };
  const Heuristics& guesses = outcome.heuristics;
  return row("most frequent answer of the test", guesses.majority) +
         row("location of the last sentence", guesses.last_location) +
         row("location of the last pronoun of that gender", guesses.last_fitting_pronoun) +
         row("sentence after the last naming (a told rule)", guesses.after_last_naming) +
         row("the chosen model", outcome.test.accuracy);
}

std::string story_text(const ShownStory& shown, const Data& data,
                       const regard::study::TerminalPicture& picture) {
  const Question& question = data.test.questions[shown.index];
  const StoryQuestion& story = data.test.text[shown.index];
  std::string text = fmt::format("\nLine {} of the test file: {}?\n", story.line, text_of(story.question));
  for (std::size_t i = 0; i < story.sentences.size(); ++i) {
    const bool supports =
        std::find(question.supporting.begin(), question.supporting.end(), i) != question.supporting.end();
    text += fmt::format("  {:>2} {} {}\n", i + 1, supports ? ">" : " ", text_of(story.sentences[i]));
  }
  for (const regard::study::AttentionPanel& full : shown.watched.panels) {
    regard::study::AttentionPanel panel = full;  // the sentences stand above: here their numbers do
    for (std::size_t i = 0; i < panel.keys.size(); ++i) panel.keys[i] = std::to_string(i + 1);
    if (panel.queries.size() == panel.keys.size() && panel.queries == full.keys) panel.queries = panel.keys;
    for (const std::string& line : attention_grid(panel, picture)) text += "  " + line + "\n";
  }
  const std::string& said = data.vocabulary.answer(shown.answered.answer);
  return text + (shown.answered.right ? fmt::format("  -> {}, right\n", said)
                                      : fmt::format("  -> {}, WRONG: {}\n", said, story.answer));
}

regard::study::AttentionFilm film_of(const Outcome& outcome) {
  regard::study::AttentionFilm film;
  film.title = "A question finds its sentences";
  film.description = fmt::format("{}, seed {}", described(outcome), outcome.run().seed);
  film.note =
      "Stories of the validation part. Until softmax is switched on the model weighs sentences by their "
      "scores as they "
      "are; the pictures show throughout what softmax makes of these scores. mass: attention of the last hop "
      "on the "
      "sentence with the answer.";
  film.frames = outcome.run().frames;
  return film;
}

}  // namespace

Heuristics heuristics_on(const Data& data, int task) {
  const std::vector<StoryQuestion>& test = data.test.text;
  const std::string most = majority_answer(test);
  Heuristics found;
  found.majority = accuracy([&most](const StoryQuestion&) { return most; }, test);
  found.last_location = accuracy(last_location, test);
  if (task == 11) found.last_fitting_pronoun = accuracy(last_fitting_pronoun, test);
  found.after_last_naming = accuracy(after_last_naming, test);
  return found;
}

std::vector<std::size_t> stories_to_show(const std::vector<Answered>& answers, std::size_t count) {
  constexpr std::size_t most_wrong = 2;
  std::vector<std::size_t> right, chosen;
  for (std::size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].right) right.push_back(i);
    if (!answers[i].right && chosen.size() < std::min(most_wrong, count)) chosen.push_back(i);
  }
  const std::size_t wanted = std::min(count - chosen.size(), right.size());
  for (std::size_t i = 0; i < wanted; ++i) chosen.push_back(right[i * right.size() / wanted]);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

ordered_json summary(const Outcome& outcome) {
  ordered_json runs = ordered_json::array();
  bool interrupted = false;
  for (const Run& run : outcome.runs) {
    interrupted = interrupted || run.interrupted;
    runs.push_back({{"seed", run.seed},
                    {"steps", run.steps},
                    {"accuracy_train", run.training.accuracy},
                    {"loss_train", run.training.loss},
                    {"accuracy_validation", run.validation.accuracy},
                    {"answer_mass", or_null(run.validation.answer_mass)},
                    {"edge_mass", or_null(run.validation.edge_mass)},
                    {"seconds", run.seconds}});
  }
  const Run& run = outcome.run();
  const Heuristics& guesses = outcome.heuristics;
  return {{"task", outcome.task},
          {"size", name(outcome.size)},
          {"model", name(outcome.model.model)},
          {"seed", run.seed},
          {"runs", runs},
          {"accuracy_train", run.training.accuracy},
          {"accuracy_validation", run.validation.accuracy},
          {"accuracy_test", outcome.test.accuracy},
          {"answer_mass", or_null(outcome.test.answer_mass)},
          {"edge_mass", or_null(outcome.test.edge_mass)},
          {"heuristics",
           {{"majority", guesses.majority},
            {"last_location", guesses.last_location},
            {"last_fitting_pronoun", or_null(guesses.last_fitting_pronoun)},
            {"after_last_naming", guesses.after_last_naming}}},
          {"interrupted", interrupted},
          {"seconds", outcome.seconds}};
}

std::string report(const Outcome& outcome) {
  std::string text = described(outcome) + "\n\n" + table_of_runs(outcome);
  if (outcome.runs.size() > 1) text += "  * chosen: the best in training\n";
  text += fmt::format("\n  test, seed {}, used once\n", outcome.run().seed) + table_of_guesses(outcome);
  if (outcome.test.answer_mass)
    text += fmt::format("\n  attention of the question on the sentence with the answer: {:.2f}\n",
                        *outcome.test.answer_mass);
  if (outcome.test.edge_mass)
    text += fmt::format("  attention of that sentence on the one of its antecedent:   {:.2f}\n",
                        *outcome.test.edge_mass);
  return text + fmt::format("  {:.1f} s in all\n", outcome.seconds);
}

std::string show_stories(const Outcome& outcome, const Data& data,
                         const regard::study::TerminalPicture& picture) {
  std::string text =
      "\nWhat it looks at in test stories; > marks the sentences that the answer follows from\n";
  for (const ShownStory& shown : outcome.stories) text += story_text(shown, data, picture);
  return text;
}

void write_files(const std::filesystem::path& folder, const Outcome& outcome) {
  common::prepare_folder(folder);
  common::write_text(folder / "summary.json", summary(outcome).dump(2) + "\n");
  regard::study::write_frames(folder / "metrics.jsonl", outcome.run().frames);

  std::vector<regard::study::RunCurves> curves;
  for (const Run& run : outcome.runs)
    curves.push_back(regard::study::curves_of(run.frames, fmt::format("seed {}", run.seed)));
  regard::study::CurvesOptions options;
  options.title = described(outcome);
  options.measures = {"loss", "accuracy", "mass", "edge_mass"};
  regard::study::write_curves_svg(folder / "curves.svg", curves, options);

  const regard::study::AttentionFilm film = film_of(outcome);
  regard::study::write_attention_svg(folder / "attention.svg", film);
  regard::study::write_attention_png(folder / "attention.png", film);
  regard::study::write_film_html(folder / "film.html", film);
}

}  // namespace babi

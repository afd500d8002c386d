// Trains the demo's model and shows its attention forming. See --help.
#include <atomic>
#include <cstdio>
#include <exception>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <regard/blas.hpp>
#include <regard/error.hpp>
#include <regard/study/progress.hpp>
#include <regard/study/terminal.hpp>

#include "common/exit_codes.hpp"
#include "common/folder.hpp"
#include "common/interrupt.hpp"
#include "common/parallel.hpp"
#include "coreference/checkpoint.hpp"
#include "coreference/command_line.hpp"
#include "coreference/parse.hpp"
#include "coreference/report.hpp"
#include "coreference/training.hpp"

namespace {

using namespace coreference;  // NOLINT: a program
using common::stop_requested;
using nlohmann::ordered_json;

/// A loaded file decides what the model is; a flag that says otherwise is an error.
void take_settings_from_file(CommandLine& line) {
  const ModelSettings loaded = read_settings(line.load);
  const Metadata in_file = metadata_of(loaded), on_line = metadata_of(line.model);
  for (const std::string& key : line.named)
    if (in_file.at(key) != on_line.at(key))
      throw regard::ValueError("--" + key + " " + on_line.at(key) + " does not fit " + line.load +
                               ", which holds a model with " + key + " " + in_file.at(key));
  line.model = loaded;
  if (!line.continues_training) line.train.steps = 0;
}

/// The watched sentences' rows of the readout layer, for the progress display.
std::vector<std::string> attention_lines(const regard::study::AttentionFrame& frame,
                                         const regard::study::TerminalPicture& picture) {
  std::vector<std::string> lines;
  for (const auto& sentence : frame.sentences) {
    const auto& panel = sentence.panels.back();
    lines.push_back("");
    for (std::string& line : regard::study::attention_row(panel, panel.marked_query.value_or(0), picture))
      lines.push_back(std::move(line));
  }
  return lines;
}

Result train_one(TrainingRun& run, const CommandLine& line) {
  regard::study::ProgressOptions options;
  options.quiet = line.quiet || line.train.steps == 0;
  regard::study::Progress display(line.train.steps, options);
  const regard::study::TerminalPicture picture = regard::study::terminal_picture(stderr);
  Result result = run.train(
      [&](const coreference::Progress& at) {
        const auto& measures = at.frame.measures;
        display.update(at.step,
                       fmt::format("loss {:.3f}  accuracy {:.2f}  mass {:.2f}", at.loss,
                                   measures.at("accuracy"), measures.at("mass")),
                       attention_lines(at.frame, picture));
      },
      &stop_requested());
  display.finish();
  return result;
}

/// Runs with seeds seed, seed + 1, ...; each on a thread of its own, so a run's bits do not depend on how
/// many threads there are.
std::vector<Result> train_many(const CommandLine& line) {
  const auto count = static_cast<std::size_t>(line.seeds);
  std::vector<Result> results(count);
  std::atomic<std::size_t> finished{0};
  std::atomic<std::int64_t> steps{0};
  regard::study::ProgressOptions options;
  options.quiet = line.quiet;
  regard::study::Progress display(line.train.steps * line.seeds, options);
  const auto train = [&](std::size_t i) {
    TrainSettings settings = line.train;
    settings.seed += i;
    TrainingRun run(line.model, settings);
    std::int64_t before = 0;
    results[i] = run.train(
        [&](const coreference::Progress& at) {
          steps += at.step - before;
          before = at.step;
        },
        &stop_requested());
    ++finished;
  };
  const auto show = [&] { display.update(steps, fmt::format("{} of {} runs done", finished.load(), count)); };
  common::run_in_parallel(count, static_cast<std::size_t>(line.threads), train, show,
                          [] { stop_requested() = true; });
  display.finish();
  return results;
}

/// What the model makes of the user's sentence: the number it reads at the pronoun names a noun.
ordered_json answer_for(const Model& model, const Sentence& sentence) {
  const regard::NoGrad no_grad;
  const Answer answer = model(Inputs(make_batch({sentence}), model.settings.dtype));
  const std::int64_t number = static_cast<std::int64_t>(regard::argmax(answer.logits).item()) + 1;
  ordered_json json = {
      {"text", sentence.text()}, {"tokens", sentence.words()}, {"attention", readout_rows(model, sentence)}};
  json["answer"] = nullptr;
  for (std::int64_t position = 0; position < sentence.length(); ++position)
    if (position != sentence.pronoun && sentence.referent(position) == number)
      json["answer"] = sentence.words()[static_cast<std::size_t>(position)];
  return json;
}

void print_sentence(const Model& model, const Sentence& sentence) {
  const ordered_json answer = answer_for(model, sentence);
  const regard::study::TerminalPicture picture = regard::study::terminal_picture(stdout);
  fmt::print("\n{}\n", sentence.text());
  const auto watched = watch(model, sentence);
  for (const auto& panel : watched.panels) {
    fmt::print("\n{}, the row of \"{}\"\n", panel.name, panel.queries[*panel.marked_query]);
    for (const std::string& text : regard::study::attention_row(panel, *panel.marked_query, picture))
      fmt::print("{}\n", text);
  }
  const std::string pronoun = sentence.words()[static_cast<std::size_t>(sentence.pronoun)];
  if (answer["answer"].is_null())
    fmt::print("\nThe number read at \"{}\" belongs to no noun of the sentence.\n", pronoun);
  else
    fmt::print("\n\"{}\" is taken for \"{}\".\n", pronoun, answer["answer"].get<std::string>());
}

void print_json(const ordered_json& json) {
  fmt::print("{}\n", json.dump());
}

int run_many(const CommandLine& line) {
  if (!line.out.empty()) common::prepare_folder(line.out);
  const std::vector<Result> results = train_many(line);
  if (!line.out.empty()) write_files(line.out, results, line.page_language);
  if (line.json)
    print_json(summary(results));
  else
    fmt::print("{}", report(results));
  return stop_requested() ? common::interrupted_exit : 0;
}

int run_one(CommandLine line) {
  if (!line.load.empty()) take_settings_from_file(line);
  std::optional<Sentence> own;
  if (!line.sentence.empty()) own = parse_sentence(line.sentence, line.model.language);
  if (!line.out.empty()) common::prepare_folder(line.out);

  TrainingRun run(line.model, line.train);
  if (!line.load.empty()) load_model(line.load, run.model());
  const Result result = train_one(run, line);
  if (!line.out.empty()) write_files(line.out, result, line.page_language);
  if (!line.save.empty()) save_model(line.save, run.model());
  if (line.json) {
    ordered_json json = summary(result);
    if (own) json["sentence"] = answer_for(run.model(), *own);
    print_json(json);
  } else {
    fmt::print("{}", report(result));
    if (own) print_sentence(run.model(), *own);
    if (!line.out.empty())
      fmt::print("\nPictures: {}, attention.png and curves.svg beside it\n", line.out + "/film.html");
  }
  return result.interrupted ? common::interrupted_exit : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Parsed parsed = parse(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  common::stop_on_interrupt();
  regard::set_blas_threads(1);  // the products are small, and runs have threads of their own
  try {
    const CommandLine& line = parsed.command_line;
    return common::run_profiled(line.profile,
                                [&] { return line.seeds > 1 ? run_many(line) : run_one(line); });
  } catch (const regard::ValueError& error) {
    fmt::print(stderr, "train_coreference: {}\n", error.what());
    return common::usage_exit;
  } catch (const std::exception& error) {
    fmt::print(stderr, "train_coreference: {}\n", error.what());
    return common::failure_exit;
  }
}

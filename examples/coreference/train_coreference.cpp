// Trains the demo's model and shows its attention forming. See --help.
#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <regard/blas.hpp>
#include <regard/error.hpp>
#include <regard/study/progress.hpp>
#include <regard/study/terminal.hpp>

#include "coreference/checkpoint.hpp"
#include "coreference/command_line.hpp"
#include "coreference/parse.hpp"
#include "coreference/report.hpp"
#include "coreference/training.hpp"

namespace {

using namespace coreference;  // NOLINT: a program
using nlohmann::ordered_json;

constexpr int interrupted_exit = 130;

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may store to it");

extern "C" void on_interrupt(int) {
  if (stop_requested.exchange(true)) std::_Exit(interrupted_exit);  // the second time at once
}

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

regard::study::TerminalPicture terminal_picture() {
  regard::study::TerminalPicture picture;
  picture.colors = regard::study::terminal_colors(stderr);
  picture.width = regard::study::terminal_width(stderr);
  return picture;
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
  const regard::study::TerminalPicture picture = terminal_picture();
  Result result = run.train(
      [&](const coreference::Progress& at) {
        const auto& measures = at.frame.measures;
        display.update(at.step,
                       fmt::format("loss {:.3f}  accuracy {:.2f}  mass {:.2f}", at.loss,
                                   measures.at("accuracy"), measures.at("mass")),
                       attention_lines(at.frame, picture));
      },
      &stop_requested);
  display.finish();
  return result;
}

/// Runs with seeds seed, seed + 1, ...; each on a thread of its own, so a run's bits do not depend on how
/// many threads there are.
std::vector<Result> train_many(const CommandLine& line) {
  const auto count = static_cast<std::size_t>(line.seeds);
  std::vector<Result> results(count);
  std::vector<std::exception_ptr> errors(count);
  std::atomic<std::size_t> next{0}, finished{0};
  std::atomic<std::int64_t> steps{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < count; i = next++) {
      try {
        TrainSettings train = line.train;
        train.seed += i;
        TrainingRun run(line.model, train);
        std::int64_t before = 0;
        results[i] = run.train(
            [&](const coreference::Progress& at) {
              steps += at.step - before;
              before = at.step;
            },
            &stop_requested);
      } catch (...) {
        errors[i] = std::current_exception();
        stop_requested = true;
      }
      ++finished;
    }
  };
  const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
  const std::size_t wanted = line.threads > 0 ? static_cast<std::size_t>(line.threads) : cores;
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < std::min(wanted, count); ++i) threads.emplace_back(work);

  regard::study::ProgressOptions options;
  options.quiet = line.quiet;
  regard::study::Progress display(line.train.steps * line.seeds, options);
  while (finished < count) {
    display.update(steps, fmt::format("{} of {} runs done", finished.load(), count));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  for (std::thread& thread : threads) thread.join();
  display.update(steps, fmt::format("{} of {} runs done", finished.load(), count));
  display.finish();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
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
  regard::study::TerminalPicture picture;
  picture.colors = regard::study::terminal_colors(stdout);
  picture.width = regard::study::terminal_width(stdout);
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
  if (!line.out.empty()) prepare_folder(line.out);
  const std::vector<Result> results = train_many(line);
  if (!line.out.empty()) write_files(line.out, results, line.page_language);
  if (line.json)
    print_json(summary(results));
  else
    fmt::print("{}", report(results));
  return stop_requested ? interrupted_exit : 0;
}

int run_one(CommandLine line) {
  if (!line.load.empty()) take_settings_from_file(line);
  std::optional<Sentence> own;
  if (!line.sentence.empty()) own = parse_sentence(line.sentence, line.model.language);
  if (!line.out.empty()) prepare_folder(line.out);

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
  return result.interrupted ? interrupted_exit : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Parsed parsed = parse(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  std::signal(SIGINT, on_interrupt);
  regard::set_blas_threads(1);  // the products are small, and runs have threads of their own
  try {
    return parsed.command_line.seeds > 1 ? run_many(parsed.command_line) : run_one(parsed.command_line);
  } catch (const regard::ValueError& error) {
    fmt::print(stderr, "train_coreference: {}\n", error.what());
    return 2;
  } catch (const std::exception& error) {
    fmt::print(stderr, "train_coreference: {}\n", error.what());
    return 1;
  }
}

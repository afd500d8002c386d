// Trains attention to answer questions about the bAbI stories and shows which sentences it looks at. See
// --help.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <mutex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <regard/blas.hpp>
#include <regard/error.hpp>
#include <regard/study/progress.hpp>
#include <regard/study/terminal.hpp>

#include "babi/checkpoint.hpp"
#include "babi/command_line.hpp"
#include "babi/report.hpp"
#include "babi/training.hpp"
#include "common/exit_codes.hpp"
#include "common/folder.hpp"
#include "common/interrupt.hpp"
#include "common/parallel.hpp"

namespace {

using namespace babi;  // NOLINT: a program

/// Where each run stands, for the display: written by the runs' threads, read by the main one.
class Board {
 public:
  Board(std::size_t runs, std::uint64_t first_seed) : states_(runs), first_seed_(first_seed) {}

  void post(std::size_t run, const babi::Progress& state) {
    const std::lock_guard<std::mutex> lock(mutex_);
    states_[run] = state;
  }

  void show(regard::study::Progress& display) const {
    const std::lock_guard<std::mutex> lock(mutex_);
    std::int64_t steps = 0;
    double best = 0;
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const babi::Progress& at = states_[i];
      steps += at.step;
      best = std::max(best, at.validation);
      if (at.step > 0)
        lines.push_back(
            fmt::format("seed {:<4} step {:>6}  {}  loss {:.4f}  validation {:.3f}", first_seed_ + i, at.step,
                        at.weighting == Weighting::linear ? "linear " : "softmax", at.loss, at.validation));
    }
    display.update(steps, fmt::format("{} runs, best validation {:.3f}", states_.size(), best), lines);
  }

 private:
  std::vector<babi::Progress> states_;
  std::uint64_t first_seed_;
  mutable std::mutex mutex_;
};

/// Runs with seeds seed, seed + 1, ...; a run's numbers do not depend on how many there are at the same time.
std::vector<Run> train_all(const Data& data, const CommandLine& line) {
  const auto count = static_cast<std::size_t>(line.seeds);
  std::vector<Run> runs(count);
  Board board(count, line.train.seed);
  regard::study::ProgressOptions options;
  options.quiet = line.quiet;
  options.label = "training";
  regard::study::Progress display(line.train.steps * line.seeds, options);
  common::run_in_parallel(
      count, static_cast<std::size_t>(line.threads),
      [&](std::size_t i) {
        TrainSettings settings = line.train;
        settings.seed += i;
        runs[i] = train(
            data, line.model, settings, [&](const babi::Progress& at) { board.post(i, at); },
            &common::stop_requested());
      },
      [&] { board.show(display); }, [] { common::stop_requested() = true; });
  display.finish();
  return runs;
}

/// The file's model as a run that was not trained here.
Run loaded_run(const Data& data, const CommandLine& line) {
  const Model model = load_model(line.load, line.model, data.vocabulary);
  Run run;
  run.seed = line.train.seed;
  run.training = evaluate(model, data.training.questions, run.weighting);
  run.validation = evaluate(model, data.validation.questions, run.weighting);
  run.numbers = numbers_of(model);
  return run;
}

std::int64_t longest_story(const Part& part) {
  std::size_t longest = 1;
  for (const Question& question : part.questions) longest = std::max(longest, question.sentences.size());
  return static_cast<std::int64_t>(longest);
}

/// Counts that follow from the data. Gaps make stories look longer than they are: twice as many ages leave
/// room.
void fit_to_data(ModelSettings& model, const Data& data) {
  model.words = data.vocabulary.words();
  model.answers = data.vocabulary.answers();
  model.ages = 2 * longest_story(data.training);
}

Outcome outcome_of(const Data& data, const CommandLine& line, std::vector<Run> runs) {
  Outcome outcome;
  outcome.task = line.task;
  outcome.size = line.size;
  outcome.model = line.model;
  outcome.runs = std::move(runs);
  outcome.chosen = static_cast<std::size_t>(&choose(outcome.runs) - outcome.runs.data());
  outcome.heuristics = heuristics_on(data, line.task);
  const Model model = model_of(outcome.run(), line.model);
  const Weighting weighting = outcome.run().weighting;
  outcome.test = evaluate(model, data.test.questions, weighting);
  const std::vector<Answered> answers = answer(model, data.test.questions, weighting);
  for (const std::size_t index : stories_to_show(answers))
    outcome.stories.push_back({index, answers[index], watch(model, data.test, index)});
  return outcome;
}

int run(CommandLine line) {
  const auto started = std::chrono::steady_clock::now();
  if (!line.load.empty()) take_settings_from_file(line);
  if (!line.out.empty()) common::prepare_folder(line.out);
  const Data data = load_data(find_files(line.data, line.task, line.size), line.train.seed);
  if (line.load.empty()) fit_to_data(line.model, data);
  Outcome outcome = outcome_of(
      data, line, line.load.empty() ? train_all(data, line) : std::vector<Run>{loaded_run(data, line)});
  outcome.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
  if (!line.out.empty()) write_files(line.out, outcome);
  if (!line.save.empty()) save_model(line.save, model_of(outcome.run(), line.model), line, data.vocabulary);
  if (line.json) {
    fmt::print("{}\n", summary(outcome).dump());
  } else {
    fmt::print("{}{}", report(outcome), show_stories(outcome, data, regard::study::terminal_picture(stdout)));
    if (!line.out.empty())
      fmt::print("\nPictures: {}/film.html, attention.png and curves.svg beside it\n", line.out);
  }
  return common::stop_requested() ? common::interrupted_exit : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Parsed parsed = parse(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  common::stop_on_interrupt();
  regard::set_blas_threads(1);  // the products are small, and runs have threads of their own
  try {
    return common::run_profiled(parsed.command_line.profile, [&] { return run(parsed.command_line); });
  } catch (const std::invalid_argument& error) {  // flags that do not go with a file
    fmt::print(stderr, "train_babi: {}\n", error.what());
    return common::usage_exit;
  } catch (const std::exception& error) {
    fmt::print(stderr, "train_babi: {}\n", error.what());
    return common::failure_exit;
  }
}

// Trains a tiny language model and lets it write. See --help.
#include <cstdio>
#include <exception>

#include <fmt/format.h>

#include <regard/blas.hpp>
#include <regard/error.hpp>
#include <regard/study/progress.hpp>

#include "common/exit_codes.hpp"
#include "common/folder.hpp"
#include "common/interrupt.hpp"
#include "tiny_lm/checkpoint.hpp"
#include "tiny_lm/command_line.hpp"
#include "tiny_lm/report.hpp"

namespace {

using namespace tiny_lm;  // NOLINT: a program
using common::stop_requested;

enum Stream : std::uint64_t { written_text = 100 };

std::u32string prompt_of(const CommandLine& line, const Alphabet& alphabet) {
  if (line.prompt.empty()) return usual_prompt(alphabet);
  std::u32string prompt = decode_utf8(line.prompt);
  (void)alphabet.ids(prompt);  // says what is unknown before a long run
  return prompt;
}

/// The prompt and what the model makes of it; a start of a line stays unseen.
std::string written(const TinyLm& model, const Alphabet& alphabet, const CommandLine& line,
                    const SamplingSettings& sampling) {
  const std::u32string prompt = prompt_of(line, alphabet);
  const std::u32string text =
      sample(model, alphabet, prompt, sampling, regard::Rng(line.train.seed).split(written_text));
  return encode_utf8(prompt == U"\n" ? text : prompt + text);
}

void print_sample(const TinyLm& model, const Alphabet& alphabet, const CommandLine& line) {
  if (line.sampling.characters == 0) return;
  std::string text = written(model, alphabet, line, line.sampling);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  fmt::print("{}\n", text);
}

/// A loaded file decides what the model is; a flag that says otherwise is an error.
Saved take_settings_from_file(CommandLine& line) {
  const Saved saved = read_saved(line.load);
  const auto in_file = metadata_of(saved.settings), on_line = metadata_of(line.model);
  for (const std::string& key : line.named)
    if (in_file.at(key) != on_line.at(key))
      throw regard::ValueError("--" + key + " " + on_line.at(key) + " does not fit " + line.load +
                               ", which holds a model with " + key + " " + in_file.at(key));
  const double dropout = line.model.dropout;  // belongs to training
  line.model = saved.settings;
  line.model.dropout = dropout;
  return saved;
}

int write_with_saved(CommandLine line) {
  const Saved saved = take_settings_from_file(line);
  regard::Rng rng;
  const TinyLm model(saved.alphabet.size(), saved.settings, rng);
  load_model(line.load, model);
  print_sample(model, saved.alphabet, line);
  return 0;
}

Result train(TrainingRun& run, const Alphabet& alphabet, const CommandLine& line, const Entropies& counted) {
  regard::study::ProgressOptions options;
  options.quiet = line.quiet || line.train.steps == 0;
  regard::study::Progress display(line.train.steps, options);
  SamplingSettings glimpse = line.sampling;
  glimpse.characters = 60;
  const Result result = run.train(
      [&](const tiny_lm::Progress& at) {
        std::vector<std::string> lines;
        if (!options.quiet && display.wants_update()) {
          std::string text = written(run.model(), alphabet, line, glimpse);
          for (char& c : text)
            if (c == '\n' || c == '\t') c = ' ';
          lines = {"", text};
        }
        display.update(at.step,
                       fmt::format("loss {:.3f}, {} the bigram's {:.3f}", at.loss,
                                   at.loss < counted.bigram ? "below" : "above", counted.bigram),
                       lines);
      },
      &stop_requested());
  display.finish();
  return result;
}

int train_and_write(CommandLine line) {
  const std::u32string text = line.text.empty() ? bundled_text(line.language) : read_text(line.text);
  const Alphabet alphabet = line.load.empty() ? Alphabet(text) : take_settings_from_file(line).alphabet;
  (void)prompt_of(line, alphabet);
  TrainingRun run(text, alphabet, line.model, line.train);
  if (!line.out.empty()) common::prepare_folder(line.out);
  if (!line.load.empty()) load_model(line.load, run.model());

  const Result result = train(run, alphabet, line, entropies(text));
  if (!line.out.empty()) write_files(line.out, result, line.language);
  if (!line.save.empty()) save_model(line.save, run.model(), alphabet);
  fmt::print("{}", report(result));
  if (line.sampling.characters > 0) fmt::print("\n");
  print_sample(run.model(), alphabet, line);
  if (!line.out.empty())
    fmt::print("\nPictures: {}/film.html, attention-layer-1.png and curves.svg beside it\n", line.out);
  return result.interrupted ? common::interrupted_exit : 0;
}

}  // namespace

int main(int argc, char** argv) {
  const Parsed parsed = parse(argc, argv);
  if (parsed.exit_code) return *parsed.exit_code;
  common::stop_on_interrupt();
  regard::set_blas_threads(1);  // the products are small
  const CommandLine& line = parsed.command_line;
  try {
    return line.load.empty() || line.continues_training ? train_and_write(line) : write_with_saved(line);
  } catch (const regard::ValueError& error) {
    fmt::print(stderr, "train_tiny_lm: {}\n", error.what());
    return common::usage_exit;
  } catch (const std::exception& error) {
    fmt::print(stderr, "train_tiny_lm: {}\n", error.what());
    return common::failure_exit;
  }
}

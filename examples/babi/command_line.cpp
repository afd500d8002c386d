#include "babi/command_line.hpp"

#include "common/flags.hpp"

namespace babi {

using common::named_option;
Parsed parse(int argc, char** argv) {
  Parsed parsed;
  CommandLine& line = parsed.command_line;
  ModelSettings& model = line.model;
  TrainSettings& train = line.train;

  CLI::App app(
      "Trains attention to answer questions about short stories (bAbI tasks 11 and 13: where is Mary, when "
      "the last\n"
      "sentence about her says \"she\"?), and shows which sentences it looks at. Settings are chosen on "
      "stories set aside\n"
      "from training; the test file is used once, for the run that was chosen.",
      "train_babi");
  common::set_style(app);

  app.add_option("--data", line.data, "folder that holds en/ and en-10k/, or the files themselves")
      ->required();
  const auto task = app.add_option("--task", line.task, "11 (basic coreference) or 13 (compound coreference)")
                        ->check(CLI::IsMember({11, 13}))
                        ->capture_default_str();
  named_option(app, "--size", line.size, size_of, "questions to train on: 1k or 10k", "1k");
  const auto kind = named_option(
      app, "--model", model.model, [](const std::string& text) { return model_of(text); },
      "hops (a memory network) or window (self-attention to neighbours, then one hop)", "window");
  const auto hops = app.add_option("--hops", model.hops, "how often the question reads, in the model hops")
                        ->capture_default_str();
  const auto width = app.add_option("--width", model.width, "of the embeddings")->capture_default_str();
  const auto dtype =
      named_option(app, "--dtype", model.dtype, regard::parse_dtype, "float32 or float64", "float32");

  app.add_option("--learning-rate", train.learning_rate, "of the first step; falls to 0 along a cosine")
      ->capture_default_str();
  app.add_option("--batch", train.batch, "stories per step")->capture_default_str();
  app.add_option("--steps", train.steps, "steps of training")->capture_default_str();
  app.add_option("--linear-start", train.linear_start, "share of the steps without softmax, at first")
      ->capture_default_str();
  app.add_option("--age-gaps", train.age_gaps, "chance of a gap before a sentence, in training")
      ->capture_default_str();
  app.add_option("--clip-norm", train.clip_norm, "largest norm of the gradient")->capture_default_str();
  app.add_option("--log-every", train.log_every, "steps between two frames of the film")
      ->capture_default_str();
  const auto seed = app.add_option("--seed", train.seed, "of the first run, and of the stories set aside")
                        ->capture_default_str();
  app.add_option("--seeds", line.seeds,
                 "so many runs, with seeds from --seed on; the best in training is chosen")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{10'000}))
      ->capture_default_str();
  app.add_option("--threads", line.threads, "runs at the same time; 0: one per core")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1024}))
      ->capture_default_str();

  app.add_option("--out", line.out,
                 "folder for metrics.jsonl, summary.json, curves.svg, attention.svg, attention.png "
                 "and film.html");
  app.add_option("--save", line.save, "write the chosen model (safetensors)");
  app.add_option("--load", line.load, "take a saved model instead of training");
  app.add_flag("--json", line.json, "standard output is exactly one line, one JSON object");
  common::add_profile_flag(app, line.profile);
  app.add_flag("--quiet", line.quiet, "no progress display");

  parsed.exit_code = common::parse_flags(app, argc, argv, [&] {
    check(model);
    check(train);
  });
  for (const CLI::Option* flag : {task, kind, hops, width, dtype, seed})
    if (flag->count() > 0) line.named.push_back(flag->get_lnames().front());
  return parsed;
}

}  // namespace babi

#include "tiny_lm/command_line.hpp"

#include <stdexcept>

#include "common/flags.hpp"

namespace tiny_lm {

using common::named_option;

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  CommandLine& line = parsed.command_line;
  ModelSettings& model = line.model;
  TrainSettings& train = line.train;
  SamplingSettings& sampling = line.sampling;

  CLI::App app(
      "Trains a small transformer to go on with a text, character by character, and lets it write.\n"
      "Its loss is compared with the entropy that counting single characters and pairs of them gives.",
      "train_tiny_lm");
  common::set_style(app);

  app.add_option("--text", line.text, "a UTF-8 file to learn; default: sixty lines of --language");
  named_option(app, "--language", line.language, language_of,
               "of the lines, and of the words in the pictures: vi or en", "vi");
  const auto width = app.add_option("--width", model.width, "of the embeddings")->capture_default_str();
  const auto heads =
      app.add_option("--heads", model.heads, "attention heads per layer")->capture_default_str();
  const auto layers = app.add_option("--layers", model.layers, "of attention")->capture_default_str();
  const auto context = app.add_option("--context", model.context, "characters that one sees in a layer")
                           ->capture_default_str();
  const auto attention_only =
      app.add_flag("--attention-only", model.attention_only, "no feed-forward networks");
  app.add_option("--dropout", model.dropout, "share of numbers that a step of training leaves out")
      ->capture_default_str();
  const auto dtype =
      named_option(app, "--dtype", model.dtype, regard::parse_dtype, "float64 or float32", "float32");

  const auto steps = app.add_option("--steps", train.steps, "steps of training")->capture_default_str();
  app.add_option("--batch", train.batch, "stretches of text per step")->capture_default_str();
  app.add_option("--learning-rate", train.learning_rate, "step size of Adam")->capture_default_str();
  app.add_option("--log-every", train.log_every, "steps between two measurements of the loss")
      ->capture_default_str();
  app.add_option("--seed", train.seed, "of weights, order and samples")->capture_default_str();

  app.add_option("--sample", sampling.characters, "characters to write in the end")->capture_default_str();
  app.add_option("--temperature", sampling.temperature, "below 1 bolder choices, 0 always the likeliest")
      ->capture_default_str();
  app.add_option("--top-k", sampling.top_k, "choose among the k likeliest; 0: among all")
      ->capture_default_str();
  app.add_option("--prompt", line.prompt, "what to go on from; default: the start of a line");

  app.add_option(
      "--out", line.out,
      "folder for metrics.jsonl, summary.json, curves.svg, film.html and attention-layer-N.png, .svg");
  app.add_option("--save", line.save, "write the trained model (safetensors)");
  const auto load = app.add_option(
      "--load", line.load, "write with a saved model instead of training; with --steps train it further");
  app.add_flag("--quiet", line.quiet, "no progress display");

  parsed.exit_code = common::parse_flags(app, argc, argv, [&] {
    check(model);
    check(train);
    check(sampling);
    if (load->count() > 0 && steps->count() == 0)
      for (const char* flag : {"--text", "--out", "--save"})
        if (app.get_option(flag)->count() > 0)
          throw std::invalid_argument(std::string(flag) +
                                      " belongs to training: with --load, say how many --steps");
  });
  line.continues_training = load->count() > 0 && steps->count() > 0;
  for (const CLI::Option* flag : {width, heads, layers, context, attention_only, dtype})
    if (flag->count() > 0) line.named.push_back(flag->get_lnames().front());
  return parsed;
}

}  // namespace tiny_lm

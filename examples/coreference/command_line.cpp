#include "coreference/command_line.hpp"

#include <stdexcept>

#include "common/flags.hpp"

namespace coreference {

using common::named_option;

Parsed parse(int argc, char** argv) {
  Parsed parsed;
  CommandLine& line = parsed.command_line;
  ModelSettings& model = line.model;
  TrainSettings& train = line.train;

  CLI::App app(
      "Trains a small attention model to find what a pronoun stands for, and shows its attention forming.\n"
      "\"Con mèo ngồi trên thảm vì nó mệt\": by gradient descent alone, nó comes to look at mèo; with mềm as "
      "the\n"
      "last word, at thảm.",
      "train_coreference");
  common::set_style(app);

  const auto task_flag =
      named_option(app, "--task", model.task, task_of, "agreement, twist or mutual", "twist");
  const auto language =
      named_option(app, "--language", model.language, language_of, "of the sentences: vi or en", "vi");
  const auto model_flag =
      named_option(app, "--model", model.model, model_of,
                   "who asks: raw (the pronoun), clause (pronoun .. predicate) or two-layer",
                   "two-layer for the twist, raw for the others");
  const auto mask = named_option(app, "--mask", model.mask, mask_of, "none or causal", "none");
  const auto scores =
      named_option(app, "--scores", model.scores, scores_of,
                   "learned (W_Q, W_K), shared (one matrix), embedding (x x^T) or uniform", "learned");
  const auto positions = named_option(app, "--positions", model.positions, positions_of,
                                      "learned, sinusoidal, rope or relative", "learned");
  const auto heads =
      app.add_option("--heads", model.heads, "attention heads per layer")->capture_default_str();
  const auto width = app.add_option("--width", model.width, "of the embeddings")->capture_default_str();
  const auto head_width =
      app.add_option("--head-width", model.head_width, "of queries and keys")->capture_default_str();
  const auto dtype =
      named_option(app, "--dtype", model.dtype, regard::parse_dtype, "float64 or float32", "float64");

  app.add_flag("--freeze-embeddings", train.freeze_embeddings, "train the projections only");
  app.add_flag("--shuffle-labels", train.shuffle_labels, "a control: labels of other sentences");
  named_option(app, "--optimizer", train.optimizer, optimizer_of, "adam or sgd", "adam");
  app.add_option("--learning-rate", train.learning_rate, "step size")->capture_default_str();
  app.add_option("--batch", train.batch, "sentences per step")->capture_default_str();
  const auto steps = app.add_option("--steps", train.steps, "steps of training")->capture_default_str();
  app.add_option("--sentences", train.sentences, "sentences to train on")->capture_default_str();
  app.add_option("--log-every", train.log_every, "steps between two frames of the film")
      ->capture_default_str();
  app.add_option("--seed", train.seed, "of sentences, weights and order")->capture_default_str();
  app.add_option("--seeds", line.seeds, "so many runs, with seeds from --seed on")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{100'000}))
      ->capture_default_str();
  app.add_option("--threads", line.threads, "runs at the same time; 0: one per core")
      ->check(CLI::Range(std::int64_t{0}, std::int64_t{1024}))
      ->capture_default_str();

  app.add_option("--out", line.out,
                 "folder for metrics.jsonl, summary.json, curves.svg, attention.svg, attention.png "
                 "and film.html");
  app.add_option("--page-language", line.page_language,
                 "of the words in the pictures: vi or en; default: --language")
      ->check(CLI::IsMember({"vi", "en"}));
  app.add_option("--save", line.save, "write the trained model (safetensors)");
  const auto load = app.add_option("--load", line.load,
                                   "take a saved model instead of training; with --steps train it further");
  app.add_option("--sentence", line.sentence, "show what the model attends to in a sentence of your own");
  app.add_flag("--json", line.json, "standard output is exactly one line, one JSON object");
  common::add_profile_flag(app, line.profile);
  app.add_flag("--quiet", line.quiet, "no progress display");

  parsed.exit_code = common::parse_flags(app, argc, argv, [&] {
    if (model_flag->count() == 0) model.model = usual_model(model.task);
    if (line.page_language.empty()) line.page_language = code(model.language);
    if (line.seeds > 1 && (!line.save.empty() || !line.load.empty() || !line.sentence.empty()))
      throw std::invalid_argument(
          "--seeds trains several models: it does not go with --save, --load or --sentence");
    check(model, train);
  });
  line.continues_training = load->count() > 0 && steps->count() > 0;
  for (const CLI::Option* flag :
       {task_flag, language, model_flag, mask, scores, positions, heads, width, head_width, dtype})
    if (flag->count() > 0) line.named.push_back(flag->get_lnames().front());
  return parsed;
}

}  // namespace coreference

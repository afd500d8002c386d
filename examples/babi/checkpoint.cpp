#include "babi/checkpoint.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include <regard/error.hpp>
#include <regard/io/safetensors.hpp>
#include <regard/nn/module.hpp>

namespace babi {
namespace {

constexpr std::int64_t most_ages = 1'000'000;
constexpr const char* format = "regard babi model 1";

const std::string& entry(const regard::Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) throw regard::IoError(fmt::format("the metadata lack '{}'", key));
  return found->second;
}

std::int64_t number(const regard::Metadata& metadata, const std::string& key) {
  const std::string& text = entry(metadata, key);
  try {
    std::size_t used = 0;
    const std::int64_t value = std::stoll(text, &used);
    if (used == text.size()) return value;
  } catch (const std::exception&) {
  }
  throw regard::IoError(fmt::format("the metadata give '{}' for {}, which is no number", text, key));
}

/// Word by word: bAbI's words hold no spaces.
std::string words_of(const Vocabulary& vocabulary) {
  Words words;
  for (std::int64_t id = 1; id < vocabulary.words(); ++id) words.push_back(vocabulary.word(id));
  return text_of(words);
}

/// Answers may be of several words.
std::string answers_of(const Vocabulary& vocabulary) {
  std::string answers;
  for (std::int64_t id = 0; id < vocabulary.answers(); ++id) answers += vocabulary.answer(id) + "\n";
  return answers;
}

regard::Metadata metadata_of(const CommandLine& line, const ModelSettings& model) {
  return {{"task", std::to_string(line.task)},      {"model", std::string(name(model.model))},
          {"hops", std::to_string(model.hops)},     {"width", std::to_string(model.width)},
          {"words", std::to_string(model.words)},   {"answers", std::to_string(model.answers)},
          {"ages", std::to_string(model.ages)},     {"dtype", regard::name(model.dtype)},
          {"seed", std::to_string(line.train.seed)}};
}

CommandLine settings_from(const regard::Metadata& metadata) {
  CommandLine line;
  try {
    line.task = static_cast<int>(number(metadata, "task"));
    line.model.model = model_of(entry(metadata, "model"));
    line.model.hops = number(metadata, "hops");
    line.model.width = number(metadata, "width");
    line.model.words = number(metadata, "words");
    line.model.answers = number(metadata, "answers");
    line.model.ages = number(metadata, "ages");
    line.model.dtype = regard::parse_dtype(entry(metadata, "dtype"));
    line.train.seed = static_cast<std::uint64_t>(number(metadata, "seed"));
    check(line.model);
    if (line.model.ages < 1 || line.model.ages > most_ages)
      throw regard::IoError(fmt::format("the metadata give {} ages", line.model.ages));
  } catch (const std::invalid_argument& error) {
    throw regard::IoError(error.what());
  }
  return line;
}

}  // namespace

void save_model(const std::filesystem::path& path, const Model& model, const CommandLine& line,
                const Vocabulary& vocabulary) {
  regard::Metadata metadata = metadata_of(line, model.settings);
  metadata["format"] = format;
  metadata["vocabulary"] = words_of(vocabulary);
  metadata["answer-names"] = answers_of(vocabulary);
  regard::save(path, regard::named_parameters(model), metadata);
}

void take_settings_from_file(CommandLine& line) {
  const regard::Metadata metadata = regard::load(line.load).metadata;
  const auto found = metadata.find("format");
  if (found == metadata.end() || found->second != format)
    throw regard::IoError(
        fmt::format("{}: not a model that train_babi saved (its metadata do not say \"format\": \"{}\")",
                    line.load, format));
  CommandLine loaded;
  try {
    loaded = settings_from(metadata);
  } catch (const regard::Error& error) {
    throw regard::IoError(fmt::format("{}: {}", line.load, error.what()));
  }
  const regard::Metadata on_line = metadata_of(line, line.model);
  for (const std::string& key : line.named)
    if (on_line.at(key) != metadata.at(key))
      throw std::invalid_argument(fmt::format("--{} {} does not fit {}, which holds a model with {} {}", key,
                                              on_line.at(key), line.load, key, metadata.at(key)));
  line.task = loaded.task;
  line.model = loaded.model;
  line.train.seed = loaded.train.seed;
}

Model load_model(const std::filesystem::path& path, const ModelSettings& settings,
                 const Vocabulary& vocabulary) {
  const regard::SavedTensors file = regard::load(path);
  const bool same_words =
      entry(file.metadata, "vocabulary") == words_of(vocabulary) && settings.words == vocabulary.words();
  const bool same_answers = entry(file.metadata, "answer-names") == answers_of(vocabulary) &&
                            settings.answers == vocabulary.answers();
  if (!same_words || !same_answers)
    throw regard::IoError(
        fmt::format("{}: the model was trained on other words or answers than those of the training file",
                    path.string()));
  regard::Rng rng;
  Model model(settings, rng);
  regard::assign(regard::named_parameters(model), file.tensors);
  return model;
}

}  // namespace babi

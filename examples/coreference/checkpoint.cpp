#include "coreference/checkpoint.hpp"

#include <regard/error.hpp>
#include <regard/io/safetensors.hpp>
#include <regard/nn/module.hpp>

namespace coreference {
namespace {

constexpr const char* format = "regard coreference model 1";

const std::string& entry(const Metadata& metadata, const std::string& key) {
  const auto found = metadata.find(key);
  if (found == metadata.end()) throw regard::IoError("the file's metadata lack '" + key + "'");
  return found->second;
}

std::int64_t number(const Metadata& metadata, const std::string& key) {
  const std::string& text = entry(metadata, key);
  try {
    std::size_t used = 0;
    const std::int64_t value = std::stoll(text, &used);
    if (used == text.size()) return value;
  } catch (const std::exception&) {
  }
  throw regard::IoError("the file's metadata give '" + text + "' for " + key + ", which is no number");
}

}  // namespace

Metadata metadata_of(const ModelSettings& settings) {
  return {{"task", std::string(name(settings.task))},
          {"language", std::string(code(settings.language))},
          {"model", std::string(name(settings.model))},
          {"mask", std::string(name(settings.mask))},
          {"scores", std::string(name(settings.scores))},
          {"positions", std::string(name(settings.positions))},
          {"heads", std::to_string(settings.heads)},
          {"width", std::to_string(settings.width)},
          {"head-width", std::to_string(settings.head_width)},
          {"dtype", regard::name(settings.dtype)}};
}

ModelSettings settings_from(const Metadata& metadata) {
  ModelSettings settings;
  try {
    settings.task = task_of(entry(metadata, "task"));
    settings.language = language_of(entry(metadata, "language"));
    settings.model = model_of(entry(metadata, "model"));
    settings.mask = mask_of(entry(metadata, "mask"));
    settings.scores = scores_of(entry(metadata, "scores"));
    settings.positions = positions_of(entry(metadata, "positions"));
    settings.heads = number(metadata, "heads");
    settings.width = number(metadata, "width");
    settings.head_width = number(metadata, "head-width");
    settings.dtype = regard::parse_dtype(entry(metadata, "dtype"));
    check(settings, TrainSettings());
  } catch (const regard::IoError&) {
    throw;
  } catch (const std::exception& error) {
    throw regard::IoError("the file's metadata do not describe a model: " + std::string(error.what()));
  }
  return settings;
}

void save_model(const std::filesystem::path& path, Model& model) {
  Metadata metadata = metadata_of(model.settings);
  metadata["format"] = format;
  regard::save(path, regard::named_parameters(model), metadata);
}

ModelSettings read_settings(const std::filesystem::path& path) {
  const Metadata metadata = regard::load(path).metadata;
  const auto found = metadata.find("format");
  if (found == metadata.end() || found->second != format)
    throw regard::IoError(path.string() +
                          ": not a model saved by train_coreference (its metadata do not say \"format\": \"" +
                          format + "\")");
  try {
    return settings_from(metadata);
  } catch (const regard::IoError& error) {
    throw regard::IoError(path.string() + ": " + error.what());
  }
}

void load_model(const std::filesystem::path& path, Model& model) {
  regard::load(path, regard::named_parameters(model));
}

}  // namespace coreference

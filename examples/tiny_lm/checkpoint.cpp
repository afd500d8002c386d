#include "tiny_lm/checkpoint.hpp"

#include <regard/error.hpp>
#include <regard/io/safetensors.hpp>
#include <regard/nn/module.hpp>

namespace tiny_lm {
namespace {

constexpr const char* format = "regard tiny language model 1";

using Metadata = std::map<std::string, std::string>;

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

Saved saved_from(const Metadata& metadata) {
  if (const auto its = metadata.find("format"); its == metadata.end() || its->second != format)
    throw regard::IoError("not a model saved by train_tiny_lm (its metadata do not say \"format\": \"" +
                          std::string(format) + "\")");
  ModelSettings settings;
  settings.width = number(metadata, "width");
  settings.heads = number(metadata, "heads");
  settings.layers = number(metadata, "layers");
  settings.context = number(metadata, "context");
  settings.attention_only = number(metadata, "attention-only") != 0;
  settings.dtype = regard::parse_dtype(entry(metadata, "dtype"));
  check(settings);
  return {settings, Alphabet(decode_utf8(entry(metadata, "alphabet")))};
}

}  // namespace

Metadata metadata_of(const ModelSettings& settings) {
  return {{"width", std::to_string(settings.width)},
          {"heads", std::to_string(settings.heads)},
          {"layers", std::to_string(settings.layers)},
          {"context", std::to_string(settings.context)},
          {"attention-only", settings.attention_only ? "1" : "0"},
          {"dtype", regard::name(settings.dtype)}};
}

void save_model(const std::filesystem::path& path, const TinyLm& model, const Alphabet& alphabet) {
  Metadata metadata = metadata_of(model.settings);
  metadata["format"] = format;
  metadata["alphabet"] = encode_utf8(alphabet.characters());
  regard::save(path, regard::named_parameters(model), metadata);
}

Saved read_saved(const std::filesystem::path& path) {
  const Metadata metadata = regard::load(path).metadata;
  try {
    return saved_from(metadata);
  } catch (const regard::Error& error) {
    throw regard::IoError(path.string() + ": " + error.what());
  }
}

void load_model(const std::filesystem::path& path, const TinyLm& model) {
  regard::load(path, regard::named_parameters(model));
}

}  // namespace tiny_lm

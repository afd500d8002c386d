#pragma once
// A trained model in a file: its numbers, its alphabet and what it is made of.

#include <filesystem>
#include <map>
#include <string>

#include "tiny_lm/model.hpp"
#include "tiny_lm/text.hpp"

namespace tiny_lm {

/// Settings by flag name ("width"), as text.
std::map<std::string, std::string> metadata_of(const ModelSettings& settings);

/// A safetensors file with settings and alphabet as its metadata.
void save_model(const std::filesystem::path& path, const TinyLm& model, const Alphabet& alphabet);

struct Saved {
  ModelSettings settings;
  Alphabet alphabet;
};
/// What the file says the model is made of. Throws regard::IoError for a file that save_model did not write.
Saved read_saved(const std::filesystem::path& path);
/// Fills the model's numbers, all or none.
void load_model(const std::filesystem::path& path, const TinyLm& model);

}  // namespace tiny_lm

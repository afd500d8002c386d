#pragma once
// A trained model in a file: its numbers, and what it is made of.

#include <filesystem>
#include <map>
#include <string>

#include "coreference/model.hpp"

namespace coreference {

/// Settings by flag name ("head-width"), as text.
using Metadata = std::map<std::string, std::string>;
Metadata metadata_of(const ModelSettings& settings);
/// The inverse. Throws regard::IoError, naming what is missing or is no such value.
ModelSettings settings_from(const Metadata& metadata);

/// A safetensors file with the settings as its metadata.
void save_model(const std::filesystem::path& path, Model& model);
/// What the file says the model is made of. Throws regard::IoError for a file that save_model did not write.
ModelSettings read_settings(const std::filesystem::path& path);
/// Fills the model's numbers, all or none.
void load_model(const std::filesystem::path& path, Model& model);

}  // namespace coreference

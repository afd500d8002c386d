#pragma once
// A trained model in a file: its numbers, what it is made of, and the words it knows.

#include <filesystem>

#include "babi/command_line.hpp"
#include "babi/model.hpp"
#include "babi/questions.hpp"

namespace babi {

/// A safetensors file. Its metadata are the settings, the words and answers, and the seed that the stories
/// were set aside by, so that loading evaluates on the same parts. Throws regard::IoError.
void save_model(const std::filesystem::path& path, const Model& model, const CommandLine& line,
                const Vocabulary& vocabulary);

/// Sets the task, the model and the seed of `line` to those of the file `line.load`. Throws regard::IoError
/// for a file that save_model did not write, and std::invalid_argument if a flag asked for something else.
void take_settings_from_file(CommandLine& line);

/// The file's model, made of `settings`. Throws regard::IoError, also if it learned other words or answers
/// than these.
Model load_model(const std::filesystem::path& path, const ModelSettings& settings,
                 const Vocabulary& vocabulary);

}  // namespace babi

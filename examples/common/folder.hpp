#pragma once
// The folder that a program leaves its results in.

#include <filesystem>
#include <string_view>

namespace common {

/// Creates the folder and makes sure that files can be written there, so that a long run does not find out at
/// its end. Throws regard::IoError.
void prepare_folder(const std::filesystem::path& folder);

/// Replaces the file as a whole or not at all. Throws regard::IoError.
void write_text(const std::filesystem::path& path, std::string_view text);

}  // namespace common

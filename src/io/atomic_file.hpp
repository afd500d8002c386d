// Files that are either the old one or the whole new one, never a part. Not installed, but given out by a
// shared library of the core, because that of the study part writes its files through it.
#pragma once

#include <regard/export.hpp>

#include <filesystem>
#include <string>
#include <string_view>

namespace REGARD_API regard {

/// Writes `bytes` to a temporary file beside `path`, flushes it to the disk and renames it over `path`.
/// Throws IoError naming the path and the system's reason; then `path` is as it was and no temporary is left.
/// A path that exists and is no regular file (/dev/stdout, a pipe) is written to directly.
void write_file_atomically(const std::filesystem::path& path, std::string_view bytes);

/// The whole of a file. Throws IoError naming the path and the system's reason.
std::string read_whole_file(const std::filesystem::path& path);

}  // namespace regard

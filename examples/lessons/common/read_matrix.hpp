#pragma once
// A matrix from a text file.

#include <filesystem>

#include <regard/tensor.hpp>

namespace lessons {

/// The numbers of a file, a row per line, separated by spaces, tabs, commas or semicolons; a line that is
/// empty or begins with # is skipped. float64 [rows, columns], 1 to `most` of each. UsageError names the
/// file, the line and what is wrong: it cannot be read, a word is no finite number of at most 1e6, rows
/// differ in length, too many or none.
[[nodiscard]] regard::Tensor read_matrix(const std::filesystem::path& path, regard::Size most = 32);

}  // namespace lessons

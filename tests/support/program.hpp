// A program, run as a user runs it: what it returns, prints and writes.
#pragma once

#include <filesystem>
#include <string>

namespace regard::test {

struct Outcome {
  int exit_code;         ///< -1 when a signal ended it
  std::string out, err;  ///< standard output and error
};

std::string text_of(const std::filesystem::path& path);

/// `command` as a shell takes it, with `input` as standard input.
Outcome run_program(const std::string& command, const std::string& input = "");

}  // namespace regard::test

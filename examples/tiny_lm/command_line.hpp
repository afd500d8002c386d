#pragma once
// The flags of train_tiny_lm.

#include <optional>
#include <string>
#include <vector>

#include "tiny_lm/sampling.hpp"
#include "tiny_lm/training.hpp"

namespace tiny_lm {

struct CommandLine {
  ModelSettings model;
  TrainSettings train;
  SamplingSettings sampling;
  Language language = Language::vietnamese;
  std::string text, prompt, out, save, load;
  bool quiet = false;
  bool continues_training = false;  ///< --load with --steps: go on from the file
  std::vector<std::string> named;   ///< model settings given as flags; a loaded file must agree with them
};

/// The flags, or the exit code of a program that is finished already: 0 after --help, 2 for a usage error,
/// which has been explained on standard error.
struct Parsed {
  CommandLine command_line;
  std::optional<int> exit_code;
};
Parsed parse(int argc, char** argv);

}  // namespace tiny_lm

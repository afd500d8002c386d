#pragma once
// The flags of train_coreference.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/profile.hpp"
#include "coreference/settings.hpp"

namespace coreference {

struct CommandLine {
  ModelSettings model;
  TrainSettings train;
  std::int64_t seeds = 1;    ///< runs: seed, seed + 1, ...
  std::int64_t threads = 0;  ///< at most so many runs at once; 0: one per core
  std::string out, save, load, sentence;
  std::string page_language;  ///< of the words in the pictures
  common::Profile profile;    ///< null unless asked for
  bool json = false;
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

}  // namespace coreference

#pragma once
// The flags of train_babi.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "babi/data.hpp"
#include "babi/settings.hpp"
#include "common/profile.hpp"

namespace babi {

struct CommandLine {
  std::string data;
  int task = 11;
  DataSize size = DataSize::small;
  ModelSettings model;  ///< its counts of words, answers and ages follow from the data
  TrainSettings train;
  std::int64_t seeds = 6;    ///< runs: seed, seed + 1, ...
  std::int64_t threads = 0;  ///< at most so many runs at once; 0: one per core
  std::string out, save, load;
  common::Profile profile;  ///< null unless asked for
  bool json = false;
  bool quiet = false;
  std::vector<std::string> named;  ///< of the settings that a saved model has, those given as flags
};

/// The flags, or the exit code of a program that is finished already: 0 after --help, 2 for a usage error,
/// which has been explained on standard error.
struct Parsed {
  CommandLine command_line;
  std::optional<int> exit_code;
};
Parsed parse(int argc, char** argv);

}  // namespace babi

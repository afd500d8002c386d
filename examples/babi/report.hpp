#pragma once
// What the program leaves: a JSON summary, tables to read, and the pictures in a folder.

#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>
#include <regard/study/terminal.hpp>

#include "babi/data.hpp"
#include "babi/training.hpp"

namespace babi {

/// What guesses without learning reach on the test questions; see heuristics.hpp.
struct Heuristics {
  double majority = 0;  ///< the test's own most frequent answer, so an upper bound
  double last_location = 0;
  std::optional<double> last_fitting_pronoun;  ///< not for task 13, where the pronoun is always "they"
  double after_last_naming = 0;
};
Heuristics heuristics_on(const Data& data, int task);

/// A test story, what the model answered and what it looked at.
struct ShownStory {
  std::size_t index = 0;  ///< into the test questions
  Answered answered;
  regard::study::WatchedSentence watched;
};

struct Outcome {
  int task = 11;
  DataSize size = DataSize::small;
  ModelSettings model;
  std::vector<Run> runs;
  std::size_t chosen = 0;  ///< into runs
  Score test;
  Heuristics heuristics;
  std::vector<ShownStory> stories;
  double seconds = 0;  ///< from reading the files to the answers

  const Run& run() const { return runs[chosen]; }
};

/// Which test stories to show: the first two that were answered wrongly, if there are, and the rest evenly
/// spaced over those answered rightly; in the order of the file.
std::vector<std::size_t> stories_to_show(const std::vector<Answered>& answers, std::size_t count = 5);

/// The object documented in the README.
nlohmann::ordered_json summary(const Outcome& outcome);

/// The runs, the one that was chosen, and its test accuracy beside the heuristics.
std::string report(const Outcome& outcome);

/// The sentences of each shown story with the supporting facts marked, and what the model looks at.
std::string show_stories(const Outcome& outcome, const Data& data,
                         const regard::study::TerminalPicture& picture);

/// metrics.jsonl, summary.json, curves.svg, attention.svg, attention.png and film.html: curves of all runs,
/// the rest of the chosen one. Each file is replaced as a whole or not at all. Throws regard::IoError.
void write_files(const std::filesystem::path& folder, const Outcome& outcome);

}  // namespace babi

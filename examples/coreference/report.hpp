#pragma once
// What a run leaves: a JSON summary, a table to read, and the pictures in a folder.

#include <filesystem>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "coreference/training.hpp"

namespace coreference {

/// One run's summary, the object documented in the README.
nlohmann::ordered_json summary(const Result& result);
/// {"runs": [...], "median": {...}}: the median of every number over the runs.
nlohmann::ordered_json summary(const std::vector<Result>& results);

/// A few lines for a person: what was reached and what it means.
std::string report(const Result& result);
/// One line a run, and the medians.
std::string report(const std::vector<Result>& results);

/// metrics.jsonl, summary.json, curves.svg, attention.svg, attention.png and film.html. Each file is replaced
/// as a whole or not at all. `page_language`: of the words in the pictures, "en" or "vi".
void write_files(const std::filesystem::path& folder, const Result& result, const std::string& page_language);
/// The same for each run in a folder seed-N, and curves.svg and summary.json of all of them.
void write_files(const std::filesystem::path& folder, const std::vector<Result>& results,
                 const std::string& page_language);

}  // namespace coreference

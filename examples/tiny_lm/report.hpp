#pragma once
// What a run leaves: a few lines to read, and the pictures in a folder.

#include <filesystem>
#include <string>

#include "tiny_lm/training.hpp"

namespace tiny_lm {

/// For a person: the text's entropies, the loss before and after, and which of them it is below.
std::string report(const Result& result);

/// metrics.jsonl, summary.json, curves.svg, film.html, and attention-layer-N.png and .svg with each head of a
/// layer beside the others. Each file is replaced as a whole or not at all. `language`: of the words in the
/// pictures.
void write_files(const std::filesystem::path& folder, const Result& result, Language language);

}  // namespace tiny_lm

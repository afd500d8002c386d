// What a training run leaves to look at: numbers and attention weights, one frame per logged step.
#pragma once

#include <regard/export.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace REGARD_API regard {
namespace study {

/// One attention matrix with the tokens on its axes: `weights[i * keys.size() + j]` is what query i gives to
/// key j. Pictures show the weights as they are; nothing is renormalised or averaged on the way.
struct AttentionPanel {
  std::string name;                         ///< e.g. "layer 1, head 2"
  std::vector<std::string> queries;         ///< the token of each row
  std::vector<std::string> keys;            ///< the token of each column
  std::vector<double> weights;              ///< [queries, keys], row-major
  std::vector<std::uint8_t> hidden;         ///< [queries, keys], 1 where the mask hides a cell; empty: none
  std::vector<double> gradients;            ///< [queries, keys], dL/dweight; empty: not recorded
  std::optional<std::size_t> marked_query;  ///< a row to point out, e.g. the pronoun
  std::optional<std::size_t> marked_key;    ///< a column to point out, e.g. its antecedent

  double weight(std::size_t query, std::size_t key) const { return weights[query * keys.size() + key]; }
  bool is_hidden(std::size_t query, std::size_t key) const {
    return !hidden.empty() && hidden[query * keys.size() + key] != 0;
  }
};

/// A sentence that is watched, with one panel per layer and head.
struct WatchedSentence {
  std::string text;
  std::vector<AttentionPanel> panels;
};

/// Everything logged at one step. `measures` holds named numbers; pictures know the names loss, accuracy,
/// mass (attention on the antecedent) and entropy (nats), and show any other under its own name.
struct AttentionFrame {
  std::int64_t step = 0;
  std::map<std::string, double> measures;
  std::vector<WatchedSentence> sentences;
};

/// A training run as a film.
struct AttentionFilm {
  std::string title;
  std::string description;
  std::string note;  ///< small print below the pictures
  std::vector<AttentionFrame> frames;
};

/// Throws ShapeError, naming the panel and both sizes, if a matrix does not fit its tokens or a mark lies
/// outside; ValueError if the steps do not increase or the frames do not show the same sentences and panels.
void check(const AttentionFilm& film);
void check(const AttentionFrame& frame);

/// One line of `metrics.jsonl`, without the newline: a JSON object with `step`, every measure under its name,
/// and `sentences`: `[{"text", "panels": [{"name", "queries", "keys", "weights": [[..]], "hidden",
/// "gradients", "marked_query", "marked_key"}]}]`, what is empty left out. Numbers are written with as many
/// digits as a double needs; those JSON does not know as the strings "NaN", "Infinity", "-Infinity".
std::string to_json_line(const AttentionFrame& frame);

/// The inverse of to_json_line. Throws IoError for what is no such object. A null reads as NaN.
AttentionFrame frame_from_json_line(std::string_view line);

/// Writes and reads `metrics.jsonl`. Errors of reading name the file and the line; empty lines are skipped.
void write_frames(const std::filesystem::path& path, const std::vector<AttentionFrame>& frames);
std::vector<AttentionFrame> read_frames(const std::filesystem::path& path);

}  // namespace study
}  // namespace regard

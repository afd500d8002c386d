#include "regard/study/frame.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "io/atomic_file.hpp"
#include "regard/error.hpp"
#include "study/frame_json.hpp"

namespace regard::study {
namespace {

// The measures people look at first stand first in a line; the rest follows by name.
constexpr const char* leading_measures[] = {"loss", "accuracy", "mass", "entropy"};

void check_size(const std::string& where, const char* what, std::size_t got, const AttentionPanel& panel) {
  const std::size_t expected = panel.queries.size() * panel.keys.size();
  if (got != expected)
    throw ShapeError(fmt::format("{}: expected {} {} for {} queries x {} keys, got {}", where, expected, what,
                                 panel.queries.size(), panel.keys.size(), got));
}

void check_mark(const std::string& where, const char* what, const std::optional<std::size_t>& mark,
                std::size_t size) {
  if (mark && *mark >= size)
    throw ShapeError(fmt::format("{}: {} is {}, outside the {} there are", where, what, *mark, size));
}

void check_panel(const AttentionPanel& panel, std::int64_t step, const WatchedSentence& sentence) {
  const std::string where =
      fmt::format("attention panel \"{}\" of \"{}\" at step {}", panel.name, sentence.text, step);
  check_size(where, "weights", panel.weights.size(), panel);
  if (!panel.hidden.empty()) check_size(where, "hidden flags", panel.hidden.size(), panel);
  if (!panel.gradients.empty()) check_size(where, "gradients", panel.gradients.size(), panel);
  check_mark(where, "marked_query", panel.marked_query, panel.queries.size());
  check_mark(where, "marked_key", panel.marked_key, panel.keys.size());
}

// Panels are matched across frames by position, so every frame must show the same ones.
void check_same_layout(const AttentionFrame& first, const AttentionFrame& frame) {
  const auto differs = [&](const std::string& how) {
    throw ValueError(fmt::format("attention film: step {} {} than step {}", frame.step, how, first.step));
  };
  if (frame.sentences.size() != first.sentences.size())
    differs(fmt::format("has another number of sentences ({}, not {})", frame.sentences.size(),
                        first.sentences.size()));
  for (std::size_t s = 0; s < frame.sentences.size(); ++s) {
    const WatchedSentence &now = frame.sentences[s], &then = first.sentences[s];
    if (now.text != then.text) differs(fmt::format("shows another sentence, \"{}\",", now.text));
    if (now.panels.size() != then.panels.size())
      differs(fmt::format("has another number of panels for \"{}\"", now.text));
    for (std::size_t p = 0; p < now.panels.size(); ++p)
      if (now.panels[p].queries != then.panels[p].queries || now.panels[p].keys != then.panels[p].keys)
        differs(fmt::format("has other tokens in panel \"{}\" of \"{}\"", now.panels[p].name, now.text));
  }
}

Json numbers_to_json(const std::vector<double>& values, std::size_t columns) {
  Json rows = Json::array();
  for (std::size_t at = 0; at < values.size(); at += columns) {
    Json row = Json::array();
    for (std::size_t j = 0; j < columns; ++j) row.push_back(number_to_json(values[at + j]));
    rows.push_back(std::move(row));
  }
  return rows;
}

Json flags_to_json(const std::vector<std::uint8_t>& flags, std::size_t columns) {
  Json rows = Json::array();
  for (std::size_t at = 0; at < flags.size(); at += columns) {
    Json row = Json::array();
    for (std::size_t j = 0; j < columns; ++j) row.push_back(flags[at + j] != 0 ? 1 : 0);
    rows.push_back(std::move(row));
  }
  return rows;
}

Json panel_to_json(const AttentionPanel& panel) {
  Json json;
  json["name"] = panel.name;
  json["queries"] = panel.queries;
  json["keys"] = panel.keys;
  json["weights"] = numbers_to_json(panel.weights, panel.keys.size());
  if (!panel.hidden.empty()) json["hidden"] = flags_to_json(panel.hidden, panel.keys.size());
  if (!panel.gradients.empty()) json["gradients"] = numbers_to_json(panel.gradients, panel.keys.size());
  if (panel.marked_query) json["marked_query"] = *panel.marked_query;
  if (panel.marked_key) json["marked_key"] = *panel.marked_key;
  return json;
}

double number_from_json(const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json.is_null() || json == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (json == "Infinity") return std::numeric_limits<double>::infinity();
  if (json == "-Infinity") return -std::numeric_limits<double>::infinity();
  throw IoError("expected a number, got " + json.dump());
}

bool is_number(const Json& json) {
  return json.is_number() || json.is_null() || json == "NaN" || json == "Infinity" || json == "-Infinity";
}

template <class T, class Convert>
std::vector<T> matrix_from_json(const Json& rows, const Convert& convert) {
  std::vector<T> values;
  for (const Json& row : rows)
    for (const Json& value : row) values.push_back(convert(value));
  return values;
}

AttentionPanel panel_from_json(const Json& json) {
  AttentionPanel panel;
  panel.name = json.value("name", "");
  panel.queries = json.at("queries").get<std::vector<std::string>>();
  panel.keys = json.at("keys").get<std::vector<std::string>>();
  panel.weights = matrix_from_json<double>(json.at("weights"), number_from_json);
  const auto flag = [](const Json& value) { return static_cast<std::uint8_t>(value.get<int>() != 0); };
  if (json.contains("hidden")) panel.hidden = matrix_from_json<std::uint8_t>(json["hidden"], flag);
  if (json.contains("gradients"))
    panel.gradients = matrix_from_json<double>(json["gradients"], number_from_json);
  if (json.contains("marked_query")) panel.marked_query = json["marked_query"].get<std::size_t>();
  if (json.contains("marked_key")) panel.marked_key = json["marked_key"].get<std::size_t>();
  return panel;
}

AttentionFrame frame_from_json(const Json& json) {
  if (!json.is_object())
    throw IoError("expected a JSON object with a step, got " + json.dump().substr(0, 40));
  AttentionFrame frame;
  frame.step = json.at("step").get<std::int64_t>();
  for (const auto& [name, value] : json.items())
    if (name != "step" && is_number(value)) frame.measures[name] = number_from_json(value);
  if (json.contains("sentences"))
    for (const Json& sentence : json["sentences"]) {
      WatchedSentence watched{sentence.at("text").get<std::string>(), {}};
      for (const Json& panel : sentence.at("panels")) watched.panels.push_back(panel_from_json(panel));
      frame.sentences.push_back(std::move(watched));
    }
  check(frame);
  return frame;
}

}  // namespace

void check(const AttentionFrame& frame) {
  for (const char* reserved : {"step", "sentences"})
    if (frame.measures.count(reserved) != 0)
      throw ValueError(
          fmt::format("attention frame: a measure cannot be called \"{}\", a field of every line", reserved));
  for (const WatchedSentence& sentence : frame.sentences)
    for (const AttentionPanel& panel : sentence.panels) check_panel(panel, frame.step, sentence);
}

void check(const AttentionFilm& film) {
  for (std::size_t i = 0; i < film.frames.size(); ++i) {
    check(film.frames[i]);
    check_same_layout(film.frames.front(), film.frames[i]);
    if (i > 0 && film.frames[i].step <= film.frames[i - 1].step)
      throw ValueError(fmt::format("attention film: steps must increase, got {} after {}",
                                   film.frames[i].step, film.frames[i - 1].step));
  }
}

Json number_to_json(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json to_json(const AttentionFrame& frame) {
  Json json;
  json["step"] = frame.step;
  for (const char* name : leading_measures)
    if (const auto it = frame.measures.find(name); it != frame.measures.end())
      json[name] = number_to_json(it->second);
  for (const auto& [name, value] : frame.measures) json[name] = number_to_json(value);
  if (frame.sentences.empty()) return json;
  json["sentences"] = Json::array();
  for (const WatchedSentence& sentence : frame.sentences) {
    Json panels = Json::array();
    for (const AttentionPanel& panel : sentence.panels) panels.push_back(panel_to_json(panel));
    json["sentences"].push_back({{"text", sentence.text}, {"panels", std::move(panels)}});
  }
  return json;
}

std::string to_json_line(const AttentionFrame& frame) {
  check(frame);
  // A broken UTF-8 sequence in a label must not lose a whole run: it becomes U+FFFD.
  return to_json(frame).dump(-1, ' ', false, Json::error_handler_t::replace);
}

AttentionFrame frame_from_json_line(std::string_view line) {
  try {
    return frame_from_json(Json::parse(line));
  } catch (const Json::exception& error) {
    throw IoError(fmt::format("not a logged step: {}", error.what()));
  }
}

void write_frames(const std::filesystem::path& path, const std::vector<AttentionFrame>& frames) {
  std::string lines;
  for (const AttentionFrame& frame : frames) lines += to_json_line(frame) + '\n';
  write_file_atomically(path, lines);
}

std::vector<AttentionFrame> read_frames(const std::filesystem::path& path) {
  const std::string text = read_whole_file(path);
  std::vector<AttentionFrame> frames;
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      frames.push_back(frame_from_json_line(line));
    } catch (const Error& error) {
      throw IoError(fmt::format("{}, line {}: {}", path.string(), number, error.what()));
    }
  }
  return frames;
}

}  // namespace regard::study

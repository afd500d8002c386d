#include "regard/study/film.hpp"

#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "io/atomic_file.hpp"
#include "study/colormap.hpp"
#include "study/frame_json.hpp"
#include "study/words.hpp"

namespace regard::study {

// src/study/film.html, put into the library by cmake/Embed.cmake.
extern const std::string_view film_template;

namespace {

std::string escaped(std::string_view text) {
  std::string out;
  for (const char byte : text) switch (byte) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += byte;
    }
  return out;
}

// JSON fit to stand between script tags: without a "<" nothing can end the element or open a comment.
std::string script_safe(const Json& json) {
  std::string out;
  for (const char byte : json.dump(-1, ' ', false, Json::error_handler_t::replace)) {
    if (byte == '<')
      out += "\\u003c";
    else
      out += byte;
  }
  return out;
}

// Background and ink for 0..1 (or -1..1) in even steps, finer than the eye tells apart.
Json color_scale(Color (*color_at)(double, Ground), double low, Ground ground) {
  constexpr int pieces = 100;
  Json scale = Json::array();
  for (int i = 0; i <= pieces; ++i) {
    const Color color = color_at(low + (1 - low) * i / pieces, ground);
    scale.push_back({hex(color), hex(ink_on(color))});
  }
  return scale;
}

Json both_grounds(Color (*color_at)(double, Ground), double low) {
  return {{"light", color_scale(color_at, low, Ground::light)},
          {"dark", color_scale(color_at, low, Ground::dark)}};
}

Json page_words(const Words& word) {
  Json json = {{"step", word.step},          {"hidden", word.hidden},
               {"no_data", word.no_data},    {"weight_scale", word.weight_scale},
               {"play", word.play},          {"pause", word.pause},
               {"speed", word.speed},        {"show", word.show},
               {"weights", word.weights},    {"gradients", word.gradients},
               {"light", word.light},        {"dark", word.dark},
               {"controls", word.controls},  {"gradient_scale", word.gradient_scale},
               {"over_time", word.over_time}};
  for (const char* name : {"loss", "accuracy", "mass", "entropy"})
    json["measures"][name] = measure_label(name, word);
  json["keys"] = Json::array({Json::array({"← →", word.key_step}), Json::array({"Home End", word.key_ends}),
                              Json::array({word.space, word.key_play})});
  return json;
}

// The template with its @NAMES@ replaced, in one pass: what is put in may contain anything, also such names.
std::string filled(std::string_view text, const std::map<std::string_view, std::string>& values) {
  std::string page;
  while (!text.empty()) {
    std::size_t at = text.size();
    std::string_view next;
    for (const auto& [name, value] : values)
      if (const std::size_t found = text.find(name); found < at) {
        at = found;
        next = name;
      }
    page += text.substr(0, at);
    text.remove_prefix(at + next.size());
    if (!next.empty()) page += values.at(next);
  }
  return page;
}

}  // namespace

std::string film_html(const AttentionFilm& film, const FilmOptions& options) {
  check(film);
  const Words& word = words(options.language);
  const std::string title = film.title.empty() ? word.attention : film.title;
  Json data = {{"title", title}, {"description", film.description}, {"note", film.note}};
  data["words"] = page_words(word);
  data["colors"] = {{"weights", both_grounds(weight_color, 0)},
                    {"gradients", both_grounds(signed_color, -1)}};
  data["frames"] = Json::array();
  for (const AttentionFrame& frame : film.frames) data["frames"].push_back(to_json(frame));

  return filled(film_template, {{"@LANGUAGE@", escaped(options.language)},
                                {"@TITLE@", escaped(title)},
                                {"@DATA@", script_safe(data)}});
}

void write_film_html(const std::filesystem::path& path, const AttentionFilm& film,
                     const FilmOptions& options) {
  write_file_atomically(path, film_html(film, options));
}

}  // namespace regard::study

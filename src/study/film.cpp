#include "regard/study/film.hpp"

#include <string_view>
#include <utility>

#include "io/atomic_file.hpp"
#include "study/colormap.hpp"
#include "study/frame_json.hpp"
#include "study/page.hpp"
#include "study/words.hpp"

namespace regard::study {

// src/study/film.html, put into the library by cmake/Embed.cmake.
extern const std::string_view film_template;

namespace {

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

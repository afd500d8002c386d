// The film of a training run: one HTML file to open in any browser, offline.
#pragma once

#include <regard/export.hpp>

#include <filesystem>
#include <string>

#include <regard/study/frame.hpp>

namespace REGARD_API regard {
namespace study {

struct FilmOptions {
  std::string language = "en";  ///< of the page and of its own words: "en" or "vi"
};

/// The page: a slider over the logged steps (arrow keys, Home, End; space plays), every measure as a curve
/// with a cursor at the present step (a click seeks), one matrix per sentence, layer and head with tokens on
/// both axes, and the exact weight of the cell under the pointer or the keyboard's focus, with its course
/// over the steps. Light and dark, from 360 pixels of width. It loads nothing: data, style and program are in
/// the file, and its content security policy forbids the rest. Throws what check(film) throws.
std::string film_html(const AttentionFilm& film, const FilmOptions& options = {});

/// The same, written to a file, which is replaced as a whole or not at all. Throws IoError too.
void write_film_html(const std::filesystem::path& path, const AttentionFilm& film,
                     const FilmOptions& options = {});

}  // namespace study
}  // namespace regard

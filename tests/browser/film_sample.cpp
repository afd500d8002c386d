// Writes the films that film_check.sh opens in a browser: film_sample FOLDER
#include "study/sample_film.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>
#include <limits>

#include "regard/study/film.hpp"

namespace {

using namespace regard::study;

void write_samples(const std::filesystem::path& folder) {
  SampleOptions options;
  options.causal = true;
  options.panels = 2;
  AttentionFilm film = sample_film(options);
  film.frames[1].sentences[0].panels[0].weights[0] = std::numeric_limits<double>::quiet_NaN();
  film.frames[2].measures["loss"] = std::numeric_limits<double>::quiet_NaN();
  film.title = "</script><b>Đại từ</b>";
  FilmOptions vietnamese;
  vietnamese.language = "vi";
  write_film_html(folder / "full.html", film, vietnamese);

  options = {};
  options.frames = 1;
  options.single_query = true;
  write_film_html(folder / "single.html", sample_film(options));

  AttentionFilm measures;
  for (int step = 0; step < 3; ++step) measures.frames.push_back({step, {{"loss", 1.0 / (1 + step)}}, {}});
  write_film_html(folder / "measures.html", measures);
  write_film_html(folder / "empty.html", {});
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fputs("usage: film_sample FOLDER\n", stderr);
    return 2;
  }
  try {
    write_samples(arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "film_sample: %s\n", error.what());
    return 1;
  }
}

#include "regard/study/film.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <string>

#include "io/atomic_file.hpp"
#include "regard/error.hpp"
#include "study/sample_film.hpp"
#include "study/temporary_folder.hpp"

namespace regard::study {
namespace {

nlohmann::json data_of(const std::string& page) {
  const std::string open = "<script type=\"application/json\" id=\"film-data\">";
  const std::size_t begin = page.find(open) + open.size();
  return nlohmann::json::parse(page.substr(begin, page.find("</script>", begin) - begin));
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(Film, HoldsTheLinesOfTheMetricsFile) {
  const AttentionFilm film = sample_film();
  const nlohmann::json frames = data_of(film_html(film))["frames"];
  ASSERT_EQ(frames.size(), film.frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i)
    EXPECT_EQ(frames[i], nlohmann::json::parse(to_json_line(film.frames[i])));
}

TEST(Film, NothingInTheDataEndsItsElement) {
  AttentionFilm film = sample_film();
  film.title = "</script><script>alert(1)</script><!-- @DATA@ @TITLE@";
  film.note = "\u2028\xff";
  film.description = "@LANGUAGE@";
  const std::string page = film_html(film);
  EXPECT_EQ(count(page, "<script"), 2u);
  EXPECT_EQ(count(page, "</script>"), 2u);
  EXPECT_EQ(count(page, "<!--"), 0u);
  const nlohmann::json data = data_of(page);
  EXPECT_EQ(data["title"], film.title);
  EXPECT_EQ(data["description"], "@LANGUAGE@");
  EXPECT_EQ(data["note"], "\u2028\uFFFD");
}

TEST(Film, SpeaksTheLanguageAsked) {
  FilmOptions options;
  options.language = "vi";
  const std::string page = film_html(sample_film(), options);
  EXPECT_EQ(count(page, "<html lang=\"vi\">"), 1u);
  EXPECT_EQ(data_of(page)["words"]["step"], "bước");
  options.language = "\"><b>";
  EXPECT_EQ(count(film_html(sample_film(), options), "<b>"), 0u);
}

TEST(Film, ForbidsTheNetwork) {
  const std::string page = film_html(sample_film());
  EXPECT_EQ(count(page, "content=\"default-src 'none';"), 1u);
  EXPECT_EQ(count(page, "src="), 0u);
  EXPECT_EQ(count(page, "http://") - count(page, "http://www.w3.org/2000/svg"), 0u);
  EXPECT_EQ(count(page, "https://"), 0u);
}

TEST(Film, AnEmptyFilmIsAPage) {
  const nlohmann::json data = data_of(film_html({}));
  EXPECT_TRUE(data["frames"].is_array() && data["frames"].empty());
  EXPECT_EQ(data["words"]["no_data"], "no data");
}

TEST(Film, KeepsWhatIsNoNumber) {
  AttentionFilm film = sample_film();
  film.frames[0].sentences[0].panels[0].weights[0] = std::numeric_limits<double>::quiet_NaN();
  film.frames[0].measures["loss"] = std::numeric_limits<double>::infinity();
  const nlohmann::json frame = data_of(film_html(film))["frames"][0];
  EXPECT_EQ(frame["sentences"][0]["panels"][0]["weights"][0][0], "NaN");
  EXPECT_EQ(frame["loss"], "Infinity");
}

TEST(Film, RefusesFramesThatDoNotFit) {
  AttentionFilm film = sample_film();
  film.frames[0].sentences[0].panels[0].weights.pop_back();
  EXPECT_THROW(film_html(film), ShapeError);
}

TEST(Film, WritesFiles) {
  const TemporaryFolder folder;
  write_film_html(folder / "film.html", sample_film());
  EXPECT_EQ(read_whole_file(folder / "film.html"), film_html(sample_film()));
  EXPECT_THROW(write_film_html(folder / "no" / "film.html", sample_film()), IoError);
}

}  // namespace
}  // namespace regard::study

// The film on paper: attention matrices at several steps of training, as SVG and as PNG.
#pragma once

#include <regard/export.hpp>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <regard/study/frame.hpp>

namespace REGARD_API regard {
namespace study {

/// Which way the steps run: across the picture with one row per sentence, or down it with the sentences side
/// by side. `automatic` takes the second for panels of one or two rows, the first otherwise.
enum class StripDirection { automatic, across, down };

struct AttentionPictureOptions {
  std::vector<std::int64_t>
      steps;  ///< the nearest logged step is taken for each; empty: chosen, early ones closer
  std::size_t step_count = 5;          ///< how many to choose
  std::vector<std::size_t> sentences;  ///< which; empty: all
  std::size_t panel = 0;               ///< which panel (layer and head) of each sentence
  StripDirection direction = StripDirection::automatic;
  std::string language = "en";  ///< of the picture's own words: "en" or "vi"
  double png_scale = 2;         ///< pixels per CSS pixel
};

/// Rows are queries, columns keys. One stated colour scale, 0 to 1, holds for all panels; the weights are
/// drawn as they are. What the mask hides is hatched, what is not a number is crossed out; the marked row is
/// framed and the marked key's label set in the same colour. A film without frames or panels gives a picture
/// that says so. Both functions draw one and the same picture. Throw what check(film) throws, and ValueError
/// for a sentence or panel that is not there.
std::string attention_svg(const AttentionFilm& film, const AttentionPictureOptions& options = {});
std::string attention_png(const AttentionFilm& film, const AttentionPictureOptions& options = {});

/// The same, written to a file, which is replaced as a whole or not at all. Throw IoError too.
void write_attention_svg(const std::filesystem::path& path, const AttentionFilm& film,
                         const AttentionPictureOptions& options = {});
void write_attention_png(const std::filesystem::path& path, const AttentionFilm& film,
                         const AttentionPictureOptions& options = {});

}  // namespace study
}  // namespace regard

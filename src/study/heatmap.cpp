#include "regard/study/heatmap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "io/atomic_file.hpp"
#include "regard/error.hpp"
#include "study/drawing.hpp"
#include "study/matrix.hpp"
#include "study/style.hpp"
#include "study/words.hpp"

namespace regard::study {
namespace {

// "nó → mèo 0.98", what to look at in the panel, or the number alone where there is no room for more. Empty
// if nothing is marked or the panel is a single row, where it is plain to see.
std::string marked_text(const AttentionPanel& panel, double room) {
  if (!panel.marked_query || !panel.marked_key || panel.queries.size() == 1) return "";
  const std::size_t query = *panel.marked_query, key = *panel.marked_key;
  const std::string pair = panel.queries[query] + " → " + panel.keys[key];
  const std::string value = panel.is_hidden(query, key) ? "" : " " + weight_text(panel.weight(query, key));
  return label_width(pair + value, 11) <= room ? pair + value : value;
}

std::string measures_text(const AttentionFrame& frame, const Words& word) {
  std::string text;
  for (const char* name : {"loss", "accuracy"}) {
    const auto it = frame.measures.find(name);
    if (it == frame.measures.end()) continue;
    if (!text.empty()) text += " · ";
    text += measure_label(name, word) + " " + weight_text(it->second);
  }
  return text;
}

void draw_legend(Drawing& drawing, double x, double y, const Words& word, bool with_hidden, bool with_nan) {
  constexpr double width = 180, height = 10;
  constexpr int pieces = 90;
  for (int i = 0; i < pieces; ++i)
    drawing.add(Fill{{x + i * width / pieces, y, width / pieces + (i + 1 < pieces ? 0.5 : 0), height},
                     weight_color((i + 0.5) / pieces),
                     ""});
  drawing.add(Outline{{x, y, width, height}, rule, 1});
  for (const double tick : {0.0, 0.25, 0.5, 0.75, 1.0}) {
    drawing.add(Polyline{{{x + tick * width, y + height}, {x + tick * width, y + height + 3}}, faint_ink, 1});
    drawing.add(Text{{x + tick * width, y + height + 14},
                     fmt::format("{:g}", tick),
                     {small_size, faint_ink, Anchor::middle}});
  }
  drawing.add(Text{{x + width + 14, y + 9}, word.weight_scale, {small_size, faint_ink}});
  double next = x + width + 14 + label_width(word.weight_scale, small_size) + 22;
  if (with_hidden) {
    drawing.add(Hatch{{next, y - 1, 18, 12}, ""});
    drawing.add(Outline{{next, y - 1, 18, 12}, rule, 1});
    drawing.add(Text{{next + 24, y + 9}, word.hidden, {small_size, faint_ink}});
    next += 24 + label_width(word.hidden, small_size) + 22;
  }
  if (with_nan) {
    drawing.add(Fill{{next, y - 1, 18, 12}, alarm_ground, ""});
    draw_cross(drawing, {next, y - 1, 18, 12});
    drawing.add(Text{{next + 24, y + 9}, word.not_a_number, {small_size, faint_ink}});
  }
}

double legend_width(const Words& word, bool with_hidden, bool with_nan) {
  double width = 194 + label_width(word.weight_scale, small_size) + 22;
  if (with_hidden) width += 46 + label_width(word.hidden, small_size);
  if (with_nan) width += 46 + label_width(word.not_a_number, small_size);
  return width;
}

// Early steps lie closer together, because there the pattern forms.
std::vector<std::size_t> choose_frames(const AttentionFilm& film, const AttentionPictureOptions& options) {
  std::vector<std::size_t> chosen;
  const auto& frames = film.frames;
  if (options.steps.empty()) {
    const std::size_t count = std::min(std::max<std::size_t>(options.step_count, 1), frames.size());
    for (std::size_t i = 0; i < count; ++i) {
      const double t = count == 1 ? 1 : static_cast<double>(i) / static_cast<double>(count - 1);
      auto index = static_cast<std::size_t>(std::lround(t * t * static_cast<double>(frames.size() - 1)));
      if (!chosen.empty()) index = std::max(index, chosen.back() + 1);
      chosen.push_back(std::min(index, frames.size() - count + i));
    }
    return chosen;
  }
  for (const std::int64_t step : options.steps) {
    const auto distance = [&](const AttentionFrame& frame) { return std::llabs(frame.step - step); };
    const auto nearest = std::min_element(frames.begin(), frames.end(), [&](const auto& a, const auto& b) {
      return distance(a) < distance(b);
    });
    chosen.push_back(static_cast<std::size_t>(nearest - frames.begin()));
  }
  return chosen;
}

std::vector<std::size_t> choose_sentences(const AttentionFilm& film, const AttentionPictureOptions& options) {
  const auto& sentences = film.frames.front().sentences;
  std::vector<std::size_t> chosen = options.sentences;
  if (chosen.empty())
    for (std::size_t s = 0; s < sentences.size(); ++s) chosen.push_back(s);
  for (const std::size_t s : chosen) {
    if (s >= sentences.size())
      throw ValueError(fmt::format("attention picture: sentence {} of {}", s, sentences.size()));
    if (options.panel >= sentences[s].panels.size())
      throw ValueError(fmt::format("attention picture: panel {} of the {} of \"{}\"", options.panel,
                                   sentences[s].panels.size(), sentences[s].text));
  }
  return chosen;
}

Drawing draw_nothing(const AttentionFilm& film, const Words& word, const std::string& language) {
  Drawing drawing;
  drawing.width = 420;
  drawing.height = 140;
  drawing.language = language;
  drawing.title = film.title.empty() ? word.attention : film.title;
  drawing.description = word.no_data;
  drawing.add(Text{{margin, margin + 14}, drawing.title, {title_size, ink, Anchor::start, true}});
  drawing.add(Text{{210, 90}, word.no_data, {14, faint_ink, Anchor::middle}});
  return drawing;
}

// The strip: `across` has time to the right and a row per sentence, else time runs down, a column per
// sentence.
class Strip {
 public:
  Strip(const AttentionFilm& film, const AttentionPictureOptions& options)
      : film_(film),
        options_(options),
        word_(words(options.language)),
        frames_(choose_frames(film, options)),
        sentences_(choose_sentences(film, options)) {
    std::vector<const AttentionPanel*> shown;
    for (const std::size_t f : frames_)
      for (const std::size_t s : sentences_) shown.push_back(&panel(f, s));
    geometry_ = measure(shown);
    bool strip = true;
    for (const AttentionPanel* p : shown) {
      strip = strip && p->queries.size() <= 2;
      for (std::size_t i = 0; i < p->weights.size(); ++i) {
        const bool hidden = !p->hidden.empty() && p->hidden[i] != 0;
        any_hidden_ = any_hidden_ || hidden;
        any_nan_ = any_nan_ || (!hidden && !std::isfinite(p->weights[i]));
      }
    }
    across_ = options.direction == StripDirection::across ||
              (options.direction == StripDirection::automatic && !strip);
  }

  Drawing draw() {
    Drawing drawing;
    drawing.language = options_.language;
    drawing.title = film_.title.empty() ? word_.attention : film_.title;
    drawing.description = film_.description;
    const double top = draw_heading(drawing);
    const Point corner = across_ ? draw_across(drawing, top) : draw_down(drawing, top);
    drawing.width = std::max(corner.x + margin, 2 * margin + legend_width(word_, any_hidden_, any_nan_));
    drawing.height = draw_foot(drawing, corner.y) + margin;
    return drawing;
  }

 private:
  const AttentionPanel& panel(std::size_t frame, std::size_t sentence) const {
    return film_.frames[frame].sentences[sentence].panels[options_.panel];
  }

  std::string step_text(std::size_t frame) const {
    return fmt::format("{} {}", word_.step, film_.frames[frame].step);
  }

  double draw_heading(Drawing& drawing) const {
    drawing.add(Text{{margin, margin + 13}, drawing.title, {title_size, ink, Anchor::start, true}});
    const std::string& name = panel(frames_[0], sentences_[0]).name;
    const std::string below = name.empty() ? word_.axes : name + " · " + word_.axes;
    drawing.add(Text{{margin, margin + 33}, below, {label_size, faint_ink}});
    return margin + 56;
  }

  // A panel with its labels; (x, y) is the corner of the matrix.
  void draw_panel(Drawing& drawing, const AttentionPanel& p, double x, double y, bool keys,
                  bool queries) const {
    if (keys) draw_key_labels(drawing, p, geometry_, x, y);
    if (queries) draw_query_labels(drawing, p, geometry_, x, y);
    draw_matrix(drawing, p, geometry_, x, y, word_);
    const double below = y + static_cast<double>(p.queries.size()) * geometry_.cell_height + 15;
    if (const std::string text = marked_text(p, geometry_.matrix_width + 16); !text.empty())
      drawing.add(Text{{x + static_cast<double>(p.keys.size()) * geometry_.cell_width / 2, below},
                       text,
                       {11, accent, Anchor::middle, true}});
  }

  Point draw_across(Drawing& drawing, double y) const {
    double column_width = geometry_.matrix_width + std::max(18.0, geometry_.overhang + 6);
    for (const std::size_t f : frames_)
      column_width =
          std::max(column_width, label_width(measures_text(film_.frames[f], word_), small_size) + 14);
    const double left = margin + geometry_.query_width;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      const double x = left + static_cast<double>(i) * column_width;
      drawing.add(Text{{x, y + 10}, step_text(frames_[i]), {13, ink, Anchor::start, true}});
      drawing.add(Text{{x, y + 26}, measures_text(film_.frames[frames_[i]], word_), {small_size, faint_ink}});
    }
    y += 40;
    for (const std::size_t s : sentences_) {
      const AttentionPanel& first = panel(frames_[0], s);
      drawing.add(Text{{margin, y + 14}, "“" + film_.frames[0].sentences[s].text + "”", {13, ink}});
      y += 26 + geometry_.key_height;
      for (std::size_t i = 0; i < frames_.size(); ++i)
        draw_panel(drawing, panel(frames_[i], s), left + static_cast<double>(i) * column_width, y, true,
                   i == 0);
      y += static_cast<double>(first.queries.size()) * geometry_.cell_height + 34;
    }
    const double last = left + static_cast<double>(frames_.size() - 1) * column_width;
    return {last + std::max(geometry_.matrix_width + geometry_.overhang, column_width - 14), y - 10};
  }

  Point draw_down(Drawing& drawing, double y) const {
    double step_width = 0;
    for (const std::size_t f : frames_)
      step_width = std::max({step_width, label_width(step_text(f), 13),
                             label_width(measures_text(film_.frames[f], word_), small_size)});
    const double left = margin + step_width + 16;
    double column_width = geometry_.query_width + geometry_.matrix_width + geometry_.overhang + 28;
    for (const std::size_t s : sentences_)
      column_width = std::max(column_width, label_width(film_.frames[0].sentences[s].text, 13) + 40);
    const auto matrix_x = [&](std::size_t column) {
      return left + static_cast<double>(column) * column_width + geometry_.query_width;
    };
    for (std::size_t c = 0; c < sentences_.size(); ++c)
      drawing.add(
          Text{{matrix_x(c), y + 12}, "“" + film_.frames[0].sentences[sentences_[c]].text + "”", {13, ink}});
    y += 24 + geometry_.key_height;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      drawing.add(Text{{margin, y + 12}, step_text(frames_[i]), {13, ink, Anchor::start, true}});
      drawing.add(
          Text{{margin, y + 27}, measures_text(film_.frames[frames_[i]], word_), {small_size, faint_ink}});
      for (std::size_t c = 0; c < sentences_.size(); ++c)
        draw_panel(drawing, panel(frames_[i], sentences_[c]), matrix_x(c), y, i == 0, true);
      y += geometry_.matrix_height + (geometry_.matrix_height > geometry_.cell_height ? 30 : 14);
    }
    return {matrix_x(sentences_.size() - 1) + geometry_.matrix_width + geometry_.overhang, y - 8};
  }

  double draw_foot(Drawing& drawing, double y) const {
    y += 16;
    draw_legend(drawing, margin + 4, y, word_, any_hidden_, any_nan_);
    y += 26;
    for (const std::string& line : wrap_text(film_.note, small_size, (drawing.width - 2 * margin) / slack)) {
      y += 15;
      drawing.add(Text{{margin, y}, line, {small_size, faint_ink}});
    }
    return y;
  }

  const AttentionFilm& film_;
  const AttentionPictureOptions& options_;
  const Words& word_;
  std::vector<std::size_t> frames_, sentences_;
  Geometry geometry_;
  bool across_ = false, any_hidden_ = false, any_nan_ = false;
};

Drawing draw(const AttentionFilm& film, const AttentionPictureOptions& options) {
  check(film);
  const bool nothing = film.frames.empty() || film.frames.front().sentences.empty();
  if (nothing) return draw_nothing(film, words(options.language), options.language);
  return Strip(film, options).draw();
}

}  // namespace

std::string attention_svg(const AttentionFilm& film, const AttentionPictureOptions& options) {
  return to_svg(draw(film, options));
}

std::string attention_png(const AttentionFilm& film, const AttentionPictureOptions& options) {
  return to_png(draw(film, options), options.png_scale);
}

void write_attention_svg(const std::filesystem::path& path, const AttentionFilm& film,
                         const AttentionPictureOptions& options) {
  write_file_atomically(path, attention_svg(film, options));
}

void write_attention_png(const std::filesystem::path& path, const AttentionFilm& film,
                         const AttentionPictureOptions& options) {
  write_file_atomically(path, attention_png(film, options));
}

}  // namespace regard::study

#include "regard/study/progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "regard/study/terminal.hpp"

namespace regard::study {
namespace {

constexpr std::chrono::milliseconds redraw_interval{50};

bool can_move_cursor(std::FILE* stream) {
  const char* term = std::getenv("TERM");
  return isatty(fileno(stream)) != 0 && term != nullptr && std::string_view(term) != "dumb";
}

std::string duration_text(double seconds) {
  if (!std::isfinite(seconds) || seconds > 359999) return "--:--";
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

std::string rate_text(double rate) {
  return rate >= 100 ? fmt::format("{:.0f}", rate) : fmt::format("{:.3g}", rate);
}

std::string ascii_bar(double share, int columns) {
  const auto filled = static_cast<std::size_t>(std::lround(share * columns));
  return std::string(filled, '#') + std::string(static_cast<std::size_t>(columns) - filled, '.');
}

std::string bar(double share, int columns) {
  if (!terminal_unicode()) return ascii_bar(share, columns);
  static constexpr const char* eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  const int filled = static_cast<int>(std::lround(share * 8 * columns));
  std::string out;
  for (int i = 0; i < filled / 8; ++i) out += "█";
  out += eighths[filled % 8];
  const int used = filled / 8 + (filled % 8 != 0 ? 1 : 0);
  for (int i = used; i < columns; ++i) out += "·";
  return out;
}

}  // namespace

Progress::Progress(std::int64_t total, ProgressOptions options)
    : total_(std::max<std::int64_t>(total, 0)), options_(std::move(options)) {
  terminal_ = !options_.quiet && can_move_cursor(options_.stream);
}

Progress::~Progress() {
  finish();
}

double Progress::steps_per_second() const {
  const std::chrono::duration<double> elapsed = Clock::now() - started_;
  return elapsed.count() > 0 ? static_cast<double>(step_) / elapsed.count() : 0;
}

bool Progress::wants_update() const {
  if (options_.quiet || finished_) return false;
  return !shown_once_ || Clock::now() - shown_at_ >= (terminal_ ? redraw_interval : options_.log_interval);
}

void Progress::update(std::int64_t step, const std::string& text, const std::vector<std::string>& lines) {
  if (options_.quiet || finished_) return;
  step_ = step;
  text_ = text;
  if (!lines.empty() || !terminal_) lines_ = lines;
  if (!wants_update()) return;
  terminal_ ? draw() : log();
}

void Progress::finish() {
  if (options_.quiet || finished_) return;
  if (shown_step_ != step_ || terminal_) terminal_ ? draw() : log();
  finished_ = true;
}

void Progress::message(const std::string& line) {
  if (options_.quiet) return;
  const std::string out = erase() + line + '\n';
  std::fwrite(out.data(), 1, out.size(), options_.stream);
  drawn_lines_ = 0;
  if (terminal_ && shown_once_ && !finished_) draw();
  std::fflush(options_.stream);
}

std::string Progress::headline(int width) const {
  const double rate = steps_per_second();
  const double share =
      total_ > 0 ? std::clamp(static_cast<double>(step_) / static_cast<double>(total_), 0., 1.) : 1;
  const double left =
      rate > 0 ? static_cast<double>(std::max<std::int64_t>(total_ - step_, 0)) / rate : HUGE_VAL;
  const std::string label = options_.label.empty() ? "" : options_.label + "  ";
  const std::string numbers = fmt::format("{}/{}  {} steps/s  {} left{}{}", step_, total_, rate_text(rate),
                                          duration_text(left), text_.empty() ? "" : "  ", text_);
  if (!terminal_) return label + numbers;
  const int room = width - display_width(label) - display_width(numbers) - 2;
  const int columns = std::min(24, room);
  return fit_width(label + (columns >= 6 ? bar(share, columns) + "  " : "") + numbers, width);
}

// Back to the first of the lines drawn, and everything below it cleared.
std::string Progress::erase() const {
  return drawn_lines_ == 0 ? "" : fmt::format("\r\x1b[{}A\x1b[J", drawn_lines_);
}

void Progress::draw() {
  const int width = std::max(10, terminal_width(options_.stream) - 1);
  // One write, so that no half-drawn state flashes by.
  std::string out = drawn_lines_ == 0 ? "" : fmt::format("\r\x1b[{}A", drawn_lines_);
  out += headline(width) + "\x1b[K\n";
  for (const std::string& line : lines_) out += fit_width(line, width) + "\x1b[K\n";
  out += "\x1b[J";
  drawn_lines_ = 1 + lines_.size();
  std::fwrite(out.data(), 1, out.size(), options_.stream);
  std::fflush(options_.stream);
  shown_at_ = Clock::now();
  shown_once_ = true;
  shown_step_ = step_;
}

void Progress::log() {
  const std::string out = headline(0) + '\n';
  std::fwrite(out.data(), 1, out.size(), options_.stream);
  std::fflush(options_.stream);
  shown_at_ = Clock::now();
  shown_once_ = true;
  shown_step_ = step_;
}

}  // namespace regard::study

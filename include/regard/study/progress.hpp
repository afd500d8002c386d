// How far a long run has come.
#pragma once

#include <regard/export.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

namespace REGARD_API regard {
namespace study {

struct ProgressOptions {
  std::FILE* stream = stderr;
  bool quiet = false;  ///< nothing is written
  /// Off a terminal: at most one line in this time; on a terminal a redraw happens at most every 50 ms.
  std::chrono::milliseconds log_interval{1000};
  std::string label;  ///< before the bar, e.g. "training"
};

/// Shows step, rate and time left. On a terminal it redraws its lines in place; elsewhere it writes plain log
/// lines at intervals. It writes nothing to standard output unless told to, and hides no cursor, so a run
/// that is killed leaves the terminal as it was.
///
/// ```cpp
/// Progress progress(600);
/// for (int step = 1; step <= 600; ++step) {
///   const double loss = train_step();
///   progress.update(step, "loss " + std::to_string(loss));
/// }
/// progress.finish();
/// ```
class Progress {
 public:
  explicit Progress(std::int64_t total, ProgressOptions options = {});
  ~Progress();  ///< finishes
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// `text` follows the bar; `lines` (which may hold colours) are shown below it, on a terminal only.
  void update(std::int64_t step, const std::string& text = "", const std::vector<std::string>& lines = {});

  /// True if an update would be shown now: lines that cost something to make can wait for it.
  bool wants_update() const;

  /// Shows the last state and moves on to a fresh line. Further calls do nothing.
  void finish();

  /// Writes a line above the display, e.g. a warning.
  void message(const std::string& line);

  double steps_per_second() const;

 private:
  using Clock = std::chrono::steady_clock;

  std::string headline(int width) const;
  void draw();
  void log();
  std::string erase() const;

  std::int64_t total_;
  ProgressOptions options_;
  bool terminal_ = false;
  Clock::time_point started_ = Clock::now();
  Clock::time_point shown_at_{};
  bool shown_once_ = false;
  bool finished_ = false;
  std::int64_t step_ = 0;
  std::int64_t shown_step_ = -1;
  std::string text_;
  std::vector<std::string> lines_;
  std::size_t drawn_lines_ = 0;
};

}  // namespace study
}  // namespace regard

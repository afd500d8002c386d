#include "regard/study/progress.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>

#include "regard/study/terminal.hpp"
#include "study/pseudo_terminal.hpp"

namespace regard::study {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

// What a stream that is no terminal got.
class Capture {
 public:
  Capture() : file_(std::tmpfile()) {}
  ~Capture() { std::fclose(file_); }
  std::FILE* stream() const { return file_; }
  std::string text() const {
    std::rewind(file_);
    std::string text;
    for (int c = std::fgetc(file_); c != EOF; c = std::fgetc(file_)) text += static_cast<char>(c);
    return text;
  }

 private:
  std::FILE* file_;
};

TEST(Progress, WritesPlainLinesOffATerminal) {
  const Capture capture;
  ProgressOptions options;
  options.stream = capture.stream();
  options.label = "training";
  options.log_interval = std::chrono::milliseconds(0);
  {
    Progress progress(4, options);
    for (int step = 1; step <= 4; ++step) progress.update(step, "loss 0.5", {"\x1b[1mcoloured\x1b[0m"});
  }
  const std::string text = capture.text();
  EXPECT_EQ(count(text, "\n"), 4u);
  EXPECT_EQ(count(text, "\x1b"), 0u);
  EXPECT_EQ(count(text, "coloured"), 0u);
  EXPECT_EQ(count(text, "training  4/4"), 1u);
  EXPECT_EQ(count(text, "steps/s"), 4u);
  EXPECT_EQ(count(text, "0:00 left  loss 0.5"), 4u);
}

TEST(Progress, LogsAtIntervalsAndAlwaysTheEnd) {
  const Capture capture;
  ProgressOptions options;
  options.stream = capture.stream();
  options.log_interval = std::chrono::hours(1);
  Progress progress(1000, options);
  for (int step = 1; step <= 1000; ++step) progress.update(step);
  progress.finish();
  progress.finish();
  progress.update(5);
  const std::string text = capture.text();
  EXPECT_EQ(count(text, "\n"), 2u) << text;
  EXPECT_EQ(count(text, "1/1000"), 1u);
  EXPECT_EQ(count(text, "1000/1000"), 1u);
}

TEST(Progress, QuietWritesNothing) {
  const Capture capture;
  ProgressOptions options;
  options.stream = capture.stream();
  options.quiet = true;
  Progress progress(2, options);
  progress.update(1);
  progress.message("warning");
  progress.finish();
  EXPECT_FALSE(progress.wants_update());
  EXPECT_EQ(capture.text(), "");
}

TEST(Progress, RedrawsItsLinesInPlaceOnATerminal) {
  setenv("TERM", "xterm-256color", 1);
  setenv("LC_ALL", "vi_VN.UTF-8", 1);
  PseudoTerminal terminal(60);
  ProgressOptions options;
  options.stream = terminal.stream();
  Progress progress(10, options);
  progress.update(5, "loss 0.5", {"row one", std::string(200, 'x')});
  const std::string first = terminal.take_output();
  EXPECT_EQ(count(first, "\n"), 3u);
  EXPECT_EQ(count(first, "row one"), 1u);
  EXPECT_NE(first.find("█"), std::string::npos);
  EXPECT_NE(first.find("5/10"), std::string::npos);
  for (std::size_t begin = 0; begin < first.size();) {
    const std::size_t end = std::min(first.find('\n', begin), first.size());
    EXPECT_LT(display_width(first.substr(begin, end - begin)), 60);
    begin = end + 1;
  }

  progress.update(6, "too soon");
  EXPECT_EQ(terminal.take_output(), "");

  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  progress.update(7, "loss 0.4");
  const std::string second = terminal.take_output();
  EXPECT_EQ(second.rfind("\r\x1b[3A", 0), 0u);
  EXPECT_NE(second.find("row one"), std::string::npos) << "lines stay until others come";

  progress.message("warning: something");
  const std::string third = terminal.take_output();
  EXPECT_LT(third.find("warning: something"), third.find("7/10"));

  progress.update(10);
  progress.finish();
  const std::string last = terminal.take_output();
  EXPECT_NE(last.find("10/10"), std::string::npos);
  EXPECT_EQ(last.find("\x1b[?25l"), std::string::npos) << "the cursor is never hidden";
}

TEST(Progress, DrawsItsBarInAsciiWhereThereIsNoUnicode) {
  setenv("TERM", "vt100", 1);
  setenv("LC_ALL", "C", 1);
  PseudoTerminal terminal(100);
  ProgressOptions options;
  options.stream = terminal.stream();
  Progress progress(2, options);
  progress.update(1);
  const std::string text = terminal.take_output();
  EXPECT_NE(text.find("############............  1/2"), std::string::npos) << text;
}

TEST(Progress, BearsATotalOfZero) {
  const Capture capture;
  ProgressOptions options;
  options.stream = capture.stream();
  Progress(0, options).update(0);
  EXPECT_EQ(count(capture.text(), "0/0"), 1u);
}

}  // namespace
}  // namespace regard::study

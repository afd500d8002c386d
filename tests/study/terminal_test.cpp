#include "regard/study/terminal.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <limits>
#include <string>

#include "regard/error.hpp"
#include "study/pseudo_terminal.hpp"
#include "study/sample_film.hpp"

namespace regard::study {
namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + '\n';
  return text;
}

AttentionPanel small_panel() {
  AttentionPanel panel;
  panel.queries = {"nó"};
  panel.keys = {"mèo", "thảm", "mệt"};
  panel.weights = {0.75, std::numeric_limits<double>::quiet_NaN(), 0.25};
  panel.hidden = {0, 0, 1};
  return panel;
}

TEST(DisplayWidth, CountsColumnsNotBytes) {
  EXPECT_EQ(display_width("mệt"), 3);
  EXPECT_EQ(display_width("me\u0302\u0323t"), 3);
  EXPECT_EQ(display_width("漢字"), 4);
  EXPECT_EQ(display_width("a\u200Bb"), 2);
  EXPECT_EQ(display_width("\x1b[38;2;1;2;3mđỏ\x1b[0m"), 2);
  EXPECT_EQ(display_width(""), 0);
}

TEST(FitWidth, CutsByColumnsAndKeepsColours) {
  EXPECT_EQ(fit_width("thảm", 4), "thảm");
  EXPECT_EQ(fit_width("thảm mềm", 5), "thảm…");
  EXPECT_EQ(fit_width("漢字漢", 4), "漢…");
  EXPECT_EQ(fit_width("\x1b[1mabcdef\x1b[0m", 3), "\x1b[1mab…\x1b[0m");
  EXPECT_EQ(fit_width("abc", 0), "");
  EXPECT_EQ(fit_width("\x1b[", 5), "\x1b[");
}

TEST(TerminalColors, FollowTheEnvironment) {
  const PseudoTerminal terminal;
  const auto with = [&](const char* term, const char* color_term, const char* no_color) {
    setenv("TERM", term, 1);
    setenv("COLORTERM", color_term, 1);
    setenv("NO_COLOR", no_color, 1);
    return terminal_colors(terminal.stream());
  };
  EXPECT_EQ(with("xterm-256color", "truecolor", ""), TerminalColors::true24bit);
  EXPECT_EQ(with("xterm-256color", "", ""), TerminalColors::palette256);
  EXPECT_EQ(with("vt100", "", ""), TerminalColors::none);
  EXPECT_EQ(with("dumb", "truecolor", ""), TerminalColors::none);
  EXPECT_EQ(with("xterm-256color", "truecolor", "1"), TerminalColors::none);
  with("xterm-256color", "truecolor", "");
  std::FILE* file = std::tmpfile();
  EXPECT_EQ(terminal_colors(file), TerminalColors::none);
  std::fclose(file);
}

TEST(TerminalPicture, TakesWidthAndCharacterSetFromTheTerminal) {
  const PseudoTerminal terminal(77);
  setenv("LC_ALL", "", 1);
  setenv("LC_CTYPE", "", 1);
  setenv("LANG", "vi_VN.UTF-8", 1);
  EXPECT_TRUE(terminal_picture(terminal.stream()).unicode);
  EXPECT_EQ(terminal_picture(terminal.stream()).width, 77);
  setenv("LC_ALL", "C", 1);
  EXPECT_FALSE(terminal_picture(terminal.stream()).unicode);
}

TEST(AttentionRow, PlainShowsNumbersShadesHiddenAndNotANumber) {
  const auto lines = attention_row(small_panel(), 0);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_NE(lines[0].find("mèo"), std::string::npos);
  EXPECT_NE(lines[1].find("▓0.75"), std::string::npos) << lines[1];
  EXPECT_NE(lines[1].find("NaN"), std::string::npos);
  EXPECT_NE(lines[1].find("//"), std::string::npos);
  EXPECT_EQ(lines[1].find("0.25"), std::string::npos);
  EXPECT_EQ(lines[1].find('\x1b'), std::string::npos);
  EXPECT_EQ(display_width(lines[0]), display_width(lines[1]));
}

TEST(AttentionRow, AsciiIsAscii) {
  AttentionPanel panel = small_panel();
  panel.queries = {"it"};
  panel.keys = {"cat", "mat", "soft"};
  TerminalPicture picture;
  picture.unicode = false;
  for (const char byte : joined(attention_row(panel, 0, picture)))
    EXPECT_LT(static_cast<unsigned char>(byte), 0x80);
}

TEST(AttentionRow, ColoursAreSwitchedOffAgain) {
  for (const TerminalColors colors : {TerminalColors::palette256, TerminalColors::true24bit}) {
    TerminalPicture picture;
    picture.colors = colors;
    const std::string line = attention_row(small_panel(), 0, picture)[1];
    EXPECT_NE(line.find(colors == TerminalColors::true24bit ? "\x1b[48;2;" : "\x1b[48;5;"),
              std::string::npos);
    EXPECT_LT(line.rfind("\x1b[48"), line.rfind("\x1b[0m"));
  }
}

TEST(AttentionRow, NoLineIsWiderThanTheTerminal) {
  const AttentionPanel panel = sample_film().frames.back().sentences[0].panels[0];
  for (const int width : {20, 40, 80}) {
    TerminalPicture picture;
    picture.width = width;
    for (const auto& lines : {attention_row(panel, 6, picture), attention_grid(panel, picture)})
      for (const std::string& line : lines) EXPECT_LE(display_width(line), width) << line;
  }
}

TEST(AttentionRow, RefusesARowThatIsNotThere) {
  EXPECT_THROW(attention_row(small_panel(), 1), ValueError);
}

TEST(AttentionGrid, HasALinePerQueryAndAligns) {
  const auto lines = attention_grid(sample_film().frames[0].sentences[0].panels[0]);
  ASSERT_EQ(lines.size(), 9u);
  for (const std::string& line : lines) EXPECT_EQ(display_width(line), display_width(lines[0])) << line;
}

}  // namespace
}  // namespace regard::study

// Attention in a terminal: coloured cells where the terminal can, shades and numbers where it cannot.
#pragma once

#include <regard/export.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include <regard/study/frame.hpp>

namespace REGARD_API regard {
namespace study {

/// What a stream can show.
enum class TerminalColors { none, palette256, true24bit };

/// From the stream and the environment: none if it is not a terminal, NO_COLOR is set (no-color.org) or TERM
/// is "dumb" or unset; 24-bit if COLORTERM says truecolor or 24bit; else 256 colours if TERM says so.
TerminalColors terminal_colors(std::FILE* stream);

/// Whether the environment's character set (LC_ALL, else LC_CTYPE, else LANG) is UTF-8.
bool terminal_unicode();

/// Columns of the terminal behind the stream; COLUMNS, then 80, where there is none.
int terminal_width(std::FILE* stream);

/// Columns a text takes: combining marks take none, wide East Asian characters two, escape sequences none.
int display_width(std::string_view text);

/// The text cut to at most `columns` columns, the last of them "…" if something was cut. Escape sequences are
/// kept, so colours that were switched on are switched off.
std::string fit_width(std::string_view text, int columns);

/// How to draw on a terminal.
struct TerminalPicture {
  TerminalColors colors = TerminalColors::none;
  int width = 80;       ///< columns there are; longer rows go on in a further block of lines
  bool unicode = true;  ///< false: shades are ASCII
};

/// Colours, width and character set of a stream.
TerminalPicture terminal_picture(std::FILE* stream);

/// One query's row: tokens above, weights below, each in a cell coloured (or shaded) by its weight. A hidden
/// cell shows "//", what is not a number "NaN". Lines without newlines, as Progress::update takes them.
std::vector<std::string> attention_row(const AttentionPanel& panel, std::size_t query,
                                       const TerminalPicture& picture = {});

/// The whole matrix, one line per query, keys along the top, in further blocks where the
/// width does not suffice.
std::vector<std::string> attention_grid(const AttentionPanel& panel, const TerminalPicture& picture = {});

}  // namespace study
}  // namespace regard

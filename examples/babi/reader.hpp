#pragma once
// Reads the files of the bAbI tasks (Weston et al. 2015, arXiv 1502.05698, version 1.2):
//
//   1 Mary went to the garden.
//   2 Afterwards she went to the office.
//   3 Where is Mary? <TAB> office <TAB> 1 2
//
// Ids count the lines of a story and restart at 1 with the next one. A line with tabs is a question: its
// answer and the ids of the sentences that the answer follows from. It is asked about all sentences before
// it.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace babi {

using Words = std::vector<std::string>;

/// A question with the sentences before it, in words: lower case, without punctuation.
struct StoryQuestion {
  std::vector<Words> sentences;  // oldest first
  Words question;
  std::string answer;
  std::vector<std::size_t> supporting;  // indices into sentences, in the order of the file
  std::size_t story = 0;                // number of the story in its file, from 0
  std::size_t line = 0;                 // where the question stands, from 1
};

/// Reads a whole file. Lines may end in LF or CRLF; the file may begin with a byte order mark.
///
/// Throws regard::IoError if the file cannot be read, is a directory or is empty, and for anything that does
/// not follow the format, as `file:line:column: what is wrong` (columns count characters from 1): a line
/// without id, an id that is neither the next one nor 1, one tab or more than two, an empty sentence,
/// question or answer, a supporting id that is no number, does not lie before the question or names a
/// question, a story that ends without a question, bytes that are not UTF-8 text, control characters, and a
/// last line that does not end.
std::vector<StoryQuestion> read_questions(const std::string& path);

/// The same for text that is already in memory; `name` stands for the file in error messages.
std::vector<StoryQuestion> parse_questions(std::string_view text, const std::string& name);

}  // namespace babi

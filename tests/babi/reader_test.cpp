#include "babi/reader.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "regard/error.hpp"

namespace babi {
namespace {

using namespace std::string_literals;

constexpr const char* story =
    "1 Mary went back to the garden.\n"
    "2 Afterwards she went to the office.\n"
    "3 Where is Mary? \toffice\t1 2\n"
    "4 Daniel moved to the hallway.\n"
    "5 Where is Daniel?\thallway\t4\n"
    "1 John went to the kitchen.\n"
    "2 Where is John? \tkitchen\t1\n";

std::string error_of(const std::string& text) {
  try {
    parse_questions(text, "file.txt");
  } catch (const regard::IoError& error) {
    return error.what();
  }
  return "no error";
}

TEST(BabiReader, ReadsStories) {
  const std::vector<StoryQuestion> q = parse_questions(story, "story");
  ASSERT_EQ(q.size(), 3u);
  EXPECT_EQ(q[0].sentences, (std::vector<Words>{{"mary", "went", "back", "to", "the", "garden"},
                                                {"afterwards", "she", "went", "to", "the", "office"}}));
  EXPECT_EQ(q[0].question, (Words{"where", "is", "mary"}));
  EXPECT_EQ(q[0].answer, "office");
  EXPECT_EQ(q[0].supporting, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(q[0].line, 3u);
  // A question sees all sentences before it; questions do not count as sentences.
  EXPECT_EQ(q[1].sentences.size(), 3u);
  EXPECT_EQ(q[1].supporting, (std::vector<std::size_t>{2}));
  EXPECT_EQ(q[1].story, 0u);
  EXPECT_EQ(q[2].sentences.size(), 1u);
  EXPECT_EQ(q[2].story, 1u);
}

TEST(BabiReader, LineEndsAndByteOrderMarkDoNotMatter) {
  std::string windows = "\xEF\xBB\xBF";
  for (const char c : std::string(story)) windows += c == '\n' ? "\r\n"s : std::string(1, c);
  const std::vector<StoryQuestion> a = parse_questions(story, "a"), b = parse_questions(windows, "b");
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].sentences, b[i].sentences);
    EXPECT_EQ(a[i].question, b[i].question);
    EXPECT_EQ(a[i].answer, b[i].answer);
    EXPECT_EQ(a[i].supporting, b[i].supporting);
    EXPECT_EQ(a[i].line, b[i].line);
  }
}

TEST(BabiReader, OtherLanguagesAreText) {
  const auto q = parse_questions("1 Mèo ở bếp.\n2 Mèo ở đâu?\tbếp\t1\n", "vi");
  EXPECT_EQ(q.at(0).answer, "bếp");
}

struct Malformed {
  const char* name;
  std::string text;
  std::string error;  // the text begins with it
};

void PrintTo(const Malformed& m, std::ostream* out) {
  *out << m.name;
}

class BabiRefuses : public ::testing::TestWithParam<Malformed> {};

TEST_P(BabiRefuses, WithLineAndColumn) {
  const std::string error = error_of(GetParam().text);
  EXPECT_EQ(error.substr(0, GetParam().error.size()), GetParam().error) << "whole message: " << error;
}

INSTANTIATE_TEST_SUITE_P(
    Malformed, BabiRefuses,
    ::testing::Values(
        Malformed{"empty_file", "", "file.txt:1:1: the file is empty"},
        Malformed{"only_a_mark", "\xEF\xBB\xBF", "file.txt:1:1: the file is empty"},
        Malformed{"missing_id", "1 A b.\nMary went.\n", "file.txt:2:1: expected the number of the line"},
        Malformed{"blank_line", "1 A b.\n\n", "file.txt:2:1: expected the number of the line"},
        Malformed{"negative_id", "-1 A b.\n", "file.txt:1:1: expected the number of the line"},
        Malformed{"id_without_text", "1\n", "file.txt:1:2: expected a space and a sentence"},
        Malformed{"id_glued_to_text", "1Mary went.\n", "file.txt:1:2: expected a space and a sentence"},
        Malformed{"id_and_tab", "1\tMary went.\n", "file.txt:1:2: expected a space and a sentence"},
        Malformed{"huge_id", "99999999999999999999 A.\n", "file.txt:1:1: number is too large"},
        Malformed{"first_id_not_1", "2 A b.\n", "file.txt:1:1: expected number 1, got 2"},
        Malformed{"id_zero", "0 A b.\n", "file.txt:1:1: expected number 1, got 0"},
        Malformed{"id_skipped", "1 A b.\n3 C d.\n",
                  "file.txt:2:1: expected number 2, or 1 for a new story, got 3"},
        Malformed{"id_repeated", "1 A b.\n2 C d.\n2 E f.\n", "file.txt:3:1: expected number 3, or 1"},
        Malformed{"empty_sentence", "1 \n", "file.txt:1:3: expected a sentence, got none"},
        Malformed{"only_punctuation", "1 .\n", "file.txt:1:3: expected a sentence, got none"},
        Malformed{"one_tab", "1 A b.\n2 Where?\tb\n", "file.txt:2:9: one tab"},
        Malformed{"three_tabs", "1 A b.\n2 Where?\tb\t1\t\n", "file.txt:2:13: expected two tabs"},
        Malformed{"empty_question", "1 A b.\n2 \tb\t1\n", "file.txt:2:3: expected a question, got none"},
        Malformed{"empty_answer", "1 A b.\n2 Where?\t\t1\n", "file.txt:2:10: expected an answer, got none"},
        Malformed{"blank_answer", "1 A b.\n2 Where?\t  \t1\n", "file.txt:2:10: expected an answer, got none"},
        Malformed{"no_supporting", "1 A b.\n2 Where?\tb\t\n", "file.txt:2:12: expected the numbers of"},
        Malformed{"supporting_word", "1 A b.\n2 Where?\tb\t1 x\n", "file.txt:2:14: expected the number of a"},
        Malformed{"supporting_comma", "1 A b.\n2 Where?\tb\t1,1\n",
                  "file.txt:2:12: expected the number of a"},
        Malformed{"supporting_zero", "1 A b.\n2 Where?\tb\t0\n",
                  "file.txt:2:12: supporting sentence 0 does not"},
        Malformed{"supporting_itself", "1 A b.\n2 Where?\tb\t2\n",
                  "file.txt:2:12: supporting sentence 2 does not"},
        Malformed{"supporting_later", "1 A b.\n2 Where?\tb\t1 7\n",
                  "file.txt:2:14: supporting sentence 7 does not"},
        Malformed{"supporting_question", "1 A b.\n2 Where?\tb\t1\n3 Who?\ta\t1 2\n",
                  "file.txt:3:12: supporting sentence 2 is itself a question"},
        Malformed{"supporting_of_last_story", "1 A b.\n2 C d.\n3 W?\tb\t2\n1 E f.\n2 W?\tf\t2\n",
                  "file.txt:5:8: supporting sentence 2 does not"},
        Malformed{"question_before_sentences", "1 Where?\tb\t1\n",
                  "file.txt:1:12: supporting sentence 1 does not"},
        Malformed{"story_without_question", "1 A b.\n1 C d.\n2 W?\td\t1\n",
                  "file.txt:2:1: the story before this"},
        Malformed{"file_without_question", "1 A b.\n2 C d.\n", "file.txt:3:1: the story before this"},
        Malformed{"cut_in_a_line", "1 A b.\n2 Where?\tb\t1", "file.txt:2:13: the last line does not end"},
        Malformed{"cut_in_a_number", "1 A b.\n2 W", "file.txt:2:4: the last line does not end"},
        Malformed{"nul_byte", "1 A \0b.\n"s, "file.txt:1:5: NUL byte"},
        Malformed{"not_utf8", "1 A \xE9t\xE9.\n", "file.txt:1:5: this byte is not part of UTF-8"},
        Malformed{"not_utf8_after_letters", "1 \xC3\xA9\xC3\xA9 \xFF.\n",
                  "file.txt:1:6: this byte is not part"},
        Malformed{"overlong_utf8", "1 A \xC0\x80.\n", "file.txt:1:5: this byte is not part"},
        Malformed{"surrogate", "1 A \xED\xA0\x80.\n", "file.txt:1:5: this byte is not part"},
        Malformed{"cut_utf8", "1 A \xE1\xBB\n", "file.txt:1:5: this byte is not part"},
        Malformed{"utf16", "\xFF\xFE\x31\0\n"s, "file.txt:1:1: this byte is not part"},
        Malformed{"carriage_return_inside", "1 A\rb.\n", "file.txt:1:4: control character"},
        Malformed{"columns_count_characters", "1 bếp ở đâu\n2 ếếế?\tb\n", "file.txt:2:7: one tab"}),
    [](const auto& row) { return std::string(row.param.name); });

// A file cut anywhere but at the end of a story's question is refused, and nothing crashes.
TEST(BabiReader, EveryPrefixIsReadOrRefused) {
  const std::string text = story;
  for (std::size_t length = 0; length < text.size(); ++length) {
    const std::string error = error_of(text.substr(0, length));
    const bool ends_with_question = length == text.find("4 Daniel") || length == text.find("1 John");
    EXPECT_EQ(error == "no error", ends_with_question) << "cut after " << length << " bytes: " << error;
  }
}

TEST(BabiReader, EveryChangedByteIsReadOrRefused) {
  const std::string text = story;
  int refused = 0;
  for (std::size_t i = 0; i < text.size(); ++i)
    for (const int byte : {0, 9, 10, 13, 32, 49, 127, 195, 255}) {
      std::string changed = text;
      changed[i] = static_cast<char>(byte);
      refused += error_of(changed) != "no error";
    }
  EXPECT_GT(refused, static_cast<int>(text.size()) * 4);  // NUL, DEL, 0xC3 and 0xFF always
}

class TemporaryFile {
 public:
  TemporaryFile() : path_(std::filesystem::temp_directory_path() / ("babi_" + std::to_string(getpid()))) {}
  ~TemporaryFile() {
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

std::string read_error(const std::string& path) {
  try {
    read_questions(path);
  } catch (const regard::IoError& error) {
    return error.what();
  }
  return "no error";
}

TEST(BabiReader, ReadsAFileAndNamesItInErrors) {
  const TemporaryFile file;
  std::ofstream(file.path()) << story;
  EXPECT_EQ(read_questions(file.path().string()).size(), 3u);
  std::ofstream(file.path()) << "1 A b.\n4 C d.\n";
  EXPECT_EQ(read_error(file.path().string()),
            file.path().string() + ":2:1: expected number 2, or 1 for a new story, got 4");
}

TEST(BabiReader, WhatIsNoReadableFile) {
  EXPECT_EQ(read_error("/no/such/file"), "/no/such/file: cannot be read: No such file or directory");
  EXPECT_NE(read_error(std::filesystem::temp_directory_path().string()).find("is a directory"),
            std::string::npos);
  const TemporaryFile file;
  std::ofstream(file.path()) << story;
  std::filesystem::permissions(file.path(), std::filesystem::perms::none);
  // Root may read everything.
  if (geteuid() != 0) {
    EXPECT_NE(read_error(file.path().string()).find("cannot be read: Permission denied"), std::string::npos);
  }
}

}  // namespace
}  // namespace babi

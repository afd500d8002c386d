#include "babi/reader.hpp"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "regard/error.hpp"

namespace babi {

namespace {

// A piece of the text that knows where it stands.
struct Piece {
  std::string_view text;
  std::size_t line;
  std::size_t column;  // of its first character, from 1

  Piece from(std::size_t byte) const;
};

// Characters are counted, not bytes: a continuation byte of UTF-8 begins with the bits 10.
std::size_t characters(std::string_view text) {
  std::size_t count = 0;
  for (const char c : text) count += (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  return count;
}

Piece Piece::from(std::size_t byte) const {
  return {text.substr(byte), line, column + characters(text.substr(0, byte))};
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Parser {
 public:
  explicit Parser(const std::string& name) : name_(name) {}

  void read_line(const Piece& line);
  std::vector<StoryQuestion> finish(const Piece& end);
  [[noreturn]] void fail(const Piece& at, const std::string& what) const {
    throw regard::IoError(name_ + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " +
                          what);
  }

 private:
  void check_text(const Piece& line) const;
  // The number at the beginning of `piece`, which then begins behind it. Nothing if no number stands there.
  std::optional<std::size_t> take_number(Piece& piece) const;
  Piece take_id(const Piece& line);
  void read_question(const Piece& text);
  Words words_of(const Piece& piece, const char* what) const;
  std::vector<std::size_t> supporting_of(Piece piece) const;
  void check_story_has_ended(const Piece& at) const;

  const std::string& name_;
  std::vector<StoryQuestion> questions_;
  std::vector<Words> sentences_;  // of the story so far
  // For each id of the story so far: the index of its sentence, nothing for a question.
  std::vector<std::optional<std::size_t>> lines_;
  std::size_t stories_ = 0;
};

// Bytes of the UTF-8 character that `text` begins with; 0 if there is none (RFC 3629: no overlong forms, no
// surrogates, nothing above U+10FFFF).
std::size_t utf8_length(std::string_view text) {
  const auto byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : static_cast<unsigned char>(0);
  };
  const auto continues = [&byte](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned first = byte(0), second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool overlong = first == 0xE0 && second < 0xA0, surrogate = first == 0xED && second > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool overlong = first == 0xF0 && second < 0x90, too_large = first == 0xF4 && second > 0x8F;
    return continues(1) && continues(2) && continues(3) && !overlong && !too_large ? 4 : 0;
  }
  return 0;
}

void Parser::check_text(const Piece& line) const {
  for (std::size_t i = 0; i < line.text.size();) {
    const std::size_t length = utf8_length(line.text.substr(i));
    if (length == 0) fail(line.from(i), "this byte is not part of UTF-8 text");
    const char c = line.text[i];
    if (c == '\0') fail(line.from(i), "NUL byte: this is not a text file");
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\t') || c == 0x7F)
      fail(line.from(i), "control character in the text");
    i += length;
  }
}

std::optional<std::size_t> Parser::take_number(Piece& piece) const {
  constexpr std::size_t most_digits = 9;  // fits in 32 bits
  std::size_t digits = 0, value = 0;
  while (digits < piece.text.size() && is_digit(piece.text[digits])) {
    if (digits == most_digits) fail(piece, "number is too large");
    value = value * 10 + static_cast<std::size_t>(piece.text[digits++] - '0');
  }
  if (digits == 0) return std::nullopt;
  piece = piece.from(digits);
  return value;
}

// Checks the id of a line, opens a new story for the id 1, and returns what stands behind the id.
Piece Parser::take_id(const Piece& line) {
  Piece rest = line;
  const std::optional<std::size_t> id = take_number(rest);
  if (!id) fail(line, "expected the number of the line, as in \"1 Mary went to the garden.\"");
  if (rest.text.empty() || rest.text.front() != ' ')
    fail(rest, "expected a space and a sentence after the number");
  const std::size_t next = lines_.size() + 1;
  if (*id == 1 && next != 1) {
    check_story_has_ended(line);
    sentences_.clear();
    lines_.clear();
    ++stories_;
  } else if (*id != next) {
    const std::string or_new_story = next == 1 ? "" : ", or 1 for a new story";
    fail(line, "expected number " + std::to_string(next) + or_new_story + ", got " + std::to_string(*id));
  }
  return rest.from(1);
}

void Parser::check_story_has_ended(const Piece& at) const {
  if (!lines_.empty() && lines_.back()) fail(at, "the story before this ends without a question");
}

// Splits at spaces, drops punctuation, folds ASCII capitals.
Words Parser::words_of(const Piece& piece, const char* what) const {
  Words words;
  std::string word;
  const auto finish = [&] {
    if (!word.empty()) words.push_back(word);
    word.clear();
  };
  for (const char c : piece.text) {
    if (c == ' ')
      finish();
    else if (std::string_view(".?!,;:").find(c) == std::string_view::npos)
      word += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  finish();
  if (words.empty()) fail(piece, std::string("expected ") + what + ", got none");
  return words;
}

std::vector<std::size_t> Parser::supporting_of(Piece piece) const {
  std::vector<std::size_t> supporting;
  while (true) {
    while (!piece.text.empty() && piece.text.front() == ' ') piece = piece.from(1);
    if (piece.text.empty()) break;
    const Piece start = piece;
    const std::optional<std::size_t> id = take_number(piece);
    if (!id || (!piece.text.empty() && piece.text.front() != ' '))
      fail(start, "expected the number of a supporting sentence");
    if (*id == 0 || *id > lines_.size())
      fail(start, "supporting sentence " + std::to_string(*id) + " does not stand before this question");
    const std::optional<std::size_t> sentence = lines_[*id - 1];
    if (!sentence) fail(start, "supporting sentence " + std::to_string(*id) + " is itself a question");
    supporting.push_back(*sentence);
  }
  if (supporting.empty()) fail(piece, "expected the numbers of the supporting sentences, got none");
  return supporting;
}

void Parser::read_question(const Piece& text) {
  const std::size_t first = text.text.find('\t');
  const std::size_t second = text.text.find('\t', first + 1);
  if (second == std::string_view::npos)
    fail(text.from(first),
         "one tab: expected question, answer and supporting numbers with a tab between each");
  const std::size_t third = text.text.find('\t', second + 1);
  if (third != std::string_view::npos) fail(text.from(third), "expected two tabs, got a third one");

  StoryQuestion question;
  const Piece asked{text.text.substr(0, first), text.line, text.column};
  Piece answer = text.from(first + 1);
  answer.text = answer.text.substr(0, second - first - 1);
  question.sentences = sentences_;
  question.question = words_of(asked, "a question");
  for (const std::string& word : words_of(answer, "an answer"))
    question.answer += (question.answer.empty() ? "" : " ") + word;
  question.supporting = supporting_of(text.from(second + 1));
  question.story = stories_;
  question.line = text.line;
  questions_.push_back(std::move(question));
  lines_.emplace_back();
}

void Parser::read_line(const Piece& line) {
  check_text(line);
  const Piece text = take_id(line);
  if (text.text.find('\t') != std::string_view::npos) {
    read_question(text);
  } else {
    lines_.emplace_back(sentences_.size());
    sentences_.push_back(words_of(text, "a sentence"));
  }
}

std::vector<StoryQuestion> Parser::finish(const Piece& end) {
  check_story_has_ended(end);
  return std::move(questions_);
}

}  // namespace

std::vector<StoryQuestion> parse_questions(std::string_view text, const std::string& name) {
  constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
  if (text.substr(0, byte_order_mark.size()) == byte_order_mark) text.remove_prefix(byte_order_mark.size());
  Parser parser(name);
  Piece line{{}, 1, 1};
  if (text.empty()) parser.fail(line, "the file is empty");
  for (; !text.empty(); ++line.line) {
    const std::size_t end = text.find('\n');
    line.text = text.substr(0, end);
    if (end == std::string_view::npos)
      parser.fail(
          line.from(line.text.size()),
          "the last line does not end: the file seems cut short; if it is complete, add a line break");
    if (!line.text.empty() && line.text.back() == '\r') line.text.remove_suffix(1);
    parser.read_line(line);
    text.remove_prefix(end + 1);
  }
  return parser.finish(Piece{{}, line.line, 1});
}

std::vector<StoryQuestion> read_questions(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored))
    throw regard::IoError(path +
                          ": is a directory; expected a bAbI file such as qa11_basic-coreference_train.txt");
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad())
    throw regard::IoError(path +
                          ": cannot be read: " + (errno != 0 ? std::strerror(errno) : "unknown reason"));
  return parse_questions(text, path);
}

}  // namespace babi

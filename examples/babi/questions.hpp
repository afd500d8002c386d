#pragma once
// Questions as numbers.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "babi/reader.hpp"
#include "regard/random.hpp"

namespace babi {

/// The words and the answers of a set of questions, both in alphabetical order. Word id 0 is padding; answers
/// are classes 0 .. answers() - 1 of their own.
class Vocabulary {
 public:
  explicit Vocabulary(const std::vector<StoryQuestion>& questions);

  /// Number of word ids, padding included.
  std::int64_t words() const { return static_cast<std::int64_t>(words_.size()); }
  std::int64_t answers() const { return static_cast<std::int64_t>(answers_.size()); }

  /// Throw regard::ValueError for what the questions did not contain.
  std::int64_t word_id(std::string_view word) const;
  std::int64_t answer_id(std::string_view answer) const;
  /// Throw std::out_of_range.
  const std::string& word(std::int64_t id) const { return words_.at(static_cast<std::size_t>(id)); }
  const std::string& answer(std::int64_t id) const { return answers_.at(static_cast<std::size_t>(id)); }

 private:
  using Ids = std::unordered_map<std::string, std::int64_t>;
  std::vector<std::string> words_, answers_;
  Ids word_ids_, answer_ids_;
};

struct Question {
  std::vector<std::vector<std::int64_t>> sentences;  // word ids, oldest sentence first
  std::vector<std::int64_t> question;                // word ids
  std::int64_t answer = 0;                           // class of the answer
  std::vector<std::size_t> supporting;               // indices into sentences
};

/// Throws regard::ValueError for a word or an answer that the vocabulary does not have, naming the line.
std::vector<Question> encode(const std::vector<StoryQuestion>& questions, const Vocabulary& vocabulary);

/// The sentence or question as text.
std::string text_of(const Words& words);

struct ValidationSplit {
  std::vector<StoryQuestion> training, validation;
};

/// Sets the questions of a share of the stories aside, at least those of one. Whole stories: questions of one
/// story share their sentences. Order within each part is kept. Throws regard::ValueError unless 0 < share <
/// 1 and there are at least two stories.
ValidationSplit split_validation(const std::vector<StoryQuestion>& questions, double share, regard::Rng rng);

}  // namespace babi

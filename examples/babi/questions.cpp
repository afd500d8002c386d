#include "babi/questions.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "regard/error.hpp"

namespace babi {

namespace {

std::int64_t find(const std::unordered_map<std::string, std::int64_t>& ids, std::string_view key,
                  const char* what) {
  const auto entry = ids.find(std::string(key));
  if (entry == ids.end())
    throw regard::ValueError("vocabulary: the " + std::string(what) + " \"" + std::string(key) +
                             "\" does not occur in the questions that it was made from");
  return entry->second;
}

std::vector<std::int64_t> ids_of(const Words& words, const Vocabulary& vocabulary) {
  std::vector<std::int64_t> ids;
  for (const std::string& word : words) ids.push_back(vocabulary.word_id(word));
  return ids;
}

Question encode_one(const StoryQuestion& from, const Vocabulary& vocabulary) {
  Question question;
  for (const Words& sentence : from.sentences) question.sentences.push_back(ids_of(sentence, vocabulary));
  question.question = ids_of(from.question, vocabulary);
  question.answer = vocabulary.answer_id(from.answer);
  question.supporting = from.supporting;
  return question;
}

}  // namespace

Vocabulary::Vocabulary(const std::vector<StoryQuestion>& questions) : words_{""} {
  std::set<std::string> words, answers;
  for (const StoryQuestion& q : questions) {
    for (const Words& sentence : q.sentences) words.insert(sentence.begin(), sentence.end());
    words.insert(q.question.begin(), q.question.end());
    answers.insert(q.answer);
  }
  words_.insert(words_.end(), words.begin(), words.end());
  answers_.assign(answers.begin(), answers.end());
  for (std::size_t i = 1; i < words_.size(); ++i) word_ids_[words_[i]] = static_cast<std::int64_t>(i);
  for (std::size_t i = 0; i < answers_.size(); ++i) answer_ids_[answers_[i]] = static_cast<std::int64_t>(i);
}

std::int64_t Vocabulary::word_id(std::string_view word) const {
  return find(word_ids_, word, "word");
}

std::int64_t Vocabulary::answer_id(std::string_view answer) const {
  return find(answer_ids_, answer, "answer");
}

std::vector<Question> encode(const std::vector<StoryQuestion>& questions, const Vocabulary& vocabulary) {
  std::vector<Question> encoded;
  encoded.reserve(questions.size());
  for (const StoryQuestion& q : questions) {
    try {
      encoded.push_back(encode_one(q, vocabulary));
    } catch (const regard::ValueError& error) {
      throw regard::ValueError("question of line " + std::to_string(q.line) + ": " + error.what());
    }
  }
  return encoded;
}

std::string text_of(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

ValidationSplit split_validation(const std::vector<StoryQuestion>& questions, double share, regard::Rng rng) {
  if (!(share > 0 && share < 1))
    throw regard::ValueError("split_validation: expected a share between 0 and 1, got " +
                             std::to_string(share));
  std::vector<std::size_t> stories;
  for (const StoryQuestion& q : questions)
    if (stories.empty() || stories.back() != q.story) stories.push_back(q.story);
  if (stories.size() < 2)
    throw regard::ValueError("split_validation: expected at least two stories, got " +
                             std::to_string(stories.size()));
  rng.shuffle(stories);
  const auto wanted = static_cast<std::size_t>(std::lround(share * static_cast<double>(stories.size())));
  stories.resize(std::clamp<std::size_t>(wanted, 1, stories.size() - 1));
  const std::set<std::size_t> aside(stories.begin(), stories.end());

  ValidationSplit split;
  for (const StoryQuestion& q : questions)
    (aside.count(q.story) ? split.validation : split.training).push_back(q);
  return split;
}

}  // namespace babi

#include "babi/heuristics.hpp"

#include <algorithm>
#include <map>

#include "regard/error.hpp"

namespace babi {

namespace {

bool contains(const Words& words, const std::string& word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// Index of the last sentence with this word; the number of sentences if there is none.
std::size_t last_with(const StoryQuestion& question, const std::string& word) {
  for (std::size_t i = question.sentences.size(); i-- > 0;)
    if (contains(question.sentences[i], word)) return i;
  return question.sentences.size();
}

std::string location(const StoryQuestion& question, std::size_t sentence) {
  return sentence < question.sentences.size() ? question.sentences[sentence].back() : "";
}

}  // namespace

std::string last_location(const StoryQuestion& question) {
  return question.sentences.empty() ? "" : question.sentences.back().back();
}

std::string last_fitting_pronoun(const StoryQuestion& question) {
  static const std::map<std::string, std::string> pronouns{
      {"john", "he"}, {"daniel", "he"}, {"mary", "she"}, {"sandra", "she"}};
  const auto person = pronouns.find(question.question.back());
  return person == pronouns.end() ? "" : location(question, last_with(question, person->second));
}

std::string after_last_naming(const StoryQuestion& question) {
  return location(question, last_with(question, question.question.back()) + 1);
}

std::string majority_answer(const std::vector<StoryQuestion>& questions) {
  if (questions.empty())
    throw regard::ValueError("majority_answer: expected at least one question, got none");
  std::map<std::string, int> count;
  for (const StoryQuestion& q : questions) ++count[q.answer];
  return std::max_element(count.begin(), count.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

double accuracy(const std::function<std::string(const StoryQuestion&)>& guess,
                const std::vector<StoryQuestion>& questions) {
  if (questions.empty()) throw regard::ValueError("accuracy: expected at least one question, got none");
  const auto right = std::count_if(questions.begin(), questions.end(),
                                   [&guess](const StoryQuestion& q) { return guess(q) == q.answer; });
  return static_cast<double>(right) / static_cast<double>(questions.size());
}

}  // namespace babi

#include "babi/stories.hpp"

#include <algorithm>

#include <regard/error.hpp>
#include <regard/ops.hpp>

namespace babi {

using regard::Tensor;

std::vector<double> position_weighted_bag(const std::vector<std::int64_t>& sentence, std::int64_t words) {
  std::vector<double> bag(static_cast<std::size_t>(2 * words));
  const auto length = static_cast<double>(sentence.size());
  for (std::size_t i = 0; i < sentence.size(); ++i) {
    const double place = static_cast<double>(i + 1) / length;
    bag[static_cast<std::size_t>(sentence[i])] += 1 - place;
    bag[static_cast<std::size_t>(sentence[i] + words)] += 2 * place - 1;
  }
  return bag;
}

Stories::Stories(const std::vector<Question>& questions, std::int64_t words, std::int64_t ages,
                 regard::DType dtype)
    : ages_(ages) {
  if (questions.empty()) throw regard::ValueError("stories: expected at least one question, got none");
  for (const Question& question : questions) {
    lengths_.push_back(static_cast<std::int64_t>(question.sentences.size()));
    longest_ = std::max(longest_, lengths_.back());
  }
  const auto count = static_cast<std::int64_t>(questions.size());
  std::vector<double> sentences(static_cast<std::size_t>(count * longest_ * 2 * words)), asked;
  std::vector<std::int64_t> answers;
  for (std::size_t q = 0; q < questions.size(); ++q) {
    auto place = sentences.begin() + static_cast<std::ptrdiff_t>(q) * longest_ * 2 * words;
    for (const auto& sentence : questions[q].sentences) {
      const std::vector<double> bag = position_weighted_bag(sentence, words);
      place = std::copy(bag.begin(), bag.end(), place);
    }
    const std::vector<double> bag = position_weighted_bag(questions[q].question, words);
    asked.insert(asked.end(), bag.begin(), bag.end());
    answers.push_back(questions[q].answer);
  }
  sentences_ = regard::from_vector(sentences, {count, longest_, 2 * words}).to(dtype);
  questions_ = regard::from_vector(asked, {count, 1, 2 * words}).to(dtype);
  answers_ = regard::from_vector(answers, {count});
}

Batch Stories::batch(const std::vector<std::int64_t>& chosen) const {
  regard::Rng unused;
  return batch(chosen, 0, unused);
}

Batch Stories::batch(const std::vector<std::int64_t>& chosen, double gaps, regard::Rng& rng) const {
  const auto size = static_cast<std::int64_t>(chosen.size());
  std::vector<std::int64_t> ages(static_cast<std::size_t>(size * longest_)), lengths;
  for (std::size_t b = 0; b < chosen.size(); ++b) {
    const std::int64_t length = lengths_.at(static_cast<std::size_t>(chosen[b]));
    lengths.push_back(length);
    std::int64_t age = 0;
    for (std::int64_t i = length; i-- > 0; ++age) {
      if (gaps > 0 && rng.chance(gaps)) ++age;
      ages[b * static_cast<std::size_t>(longest_) + static_cast<std::size_t>(i)] = std::min(age, ages_ - 1);
    }
  }
  const Tensor rows = regard::from_vector(chosen, {size});
  return {regard::take(sentences_, rows), regard::take(questions_, rows),
          regard::from_vector(ages, {size, longest_}), regard::from_vector(lengths, {size}),
          regard::take(answers_, rows)};
}

}  // namespace babi

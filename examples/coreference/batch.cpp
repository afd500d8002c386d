#include "coreference/batch.hpp"

#include <algorithm>
#include <numeric>
#include <string>

#include "regard/error.hpp"

namespace coreference {

namespace {

void append_padded(std::vector<std::int64_t>& rows, const std::vector<std::int64_t>& row,
                   std::int64_t length) {
  rows.insert(rows.end(), row.begin(), row.end());
  rows.resize(rows.size() + static_cast<std::size_t>(length) - row.size());
}

}  // namespace

Batch make_batch(const std::vector<Sentence>& sentences, const std::vector<std::size_t>& chosen) {
  if (chosen.empty()) throw regard::ValueError("make_batch: expected at least one sentence, got none");
  Batch batch;
  batch.size = static_cast<std::int64_t>(chosen.size());
  bool mutual = true;
  for (const std::size_t index : chosen) {
    const Sentence& s = sentences.at(index);
    if (s.pronoun == no_position)
      throw regard::ValueError("make_batch: sentence " + std::to_string(index) + " has no pronoun");
    batch.length = std::max(batch.length, s.length());
    mutual = mutual && s.reverse_label != 0;
  }
  batch.candidates.resize(chosen.size() * static_cast<std::size_t>(batch.length));
  std::size_t row = 0;
  for (const std::size_t index : chosen) {
    const Sentence& s = sentences[index];
    append_padded(batch.tokens, s.tokens, batch.length);
    append_padded(batch.referents, s.referents, batch.length);
    batch.lengths.push_back(s.length());
    batch.pronoun.push_back(s.pronoun);
    batch.predicate.push_back(s.predicate);
    batch.antecedent.push_back(s.antecedent);
    for (const std::int64_t position : s.candidates)
      batch.candidates[row + static_cast<std::size_t>(position)] = 1;
    batch.target.push_back(s.label - 1);
    if (mutual) batch.reverse_target.push_back(s.reverse_label - 1);
    row += static_cast<std::size_t>(batch.length);
  }
  return batch;
}

Batch make_batch(const std::vector<Sentence>& sentences) {
  std::vector<std::size_t> all(sentences.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return make_batch(sentences, all);
}

std::vector<double> clause_weights(const Batch& batch) {
  std::vector<double> weights(static_cast<std::size_t>(batch.size * batch.length));
  for (std::int64_t i = 0; i < batch.size; ++i) {
    const std::int64_t first = batch.pronoun[static_cast<std::size_t>(i)];
    const std::int64_t last = std::max(first, batch.predicate[static_cast<std::size_t>(i)]);
    for (std::int64_t j = first; j <= last; ++j)
      weights[static_cast<std::size_t>(i * batch.length + j)] = 1.0 / static_cast<double>(last - first + 1);
  }
  return weights;
}

}  // namespace coreference

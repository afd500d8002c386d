#pragma once
// Sentences laid side by side in rectangular arrays.

#include <cstddef>
#include <cstdint>
#include <vector>

#include "coreference/grammar.hpp"

namespace coreference {

/// `size` sentences padded to `length` tokens. Arrays marked [size, length] are row-major; padding has token
/// id 0, referent 0 and is no candidate.
struct Batch {
  std::int64_t size = 0;
  std::int64_t length = 0;                   // of the longest sentence
  std::vector<std::int64_t> tokens;          // [size, length]
  std::vector<std::int64_t> referents;       // [size, length]
  std::vector<std::int64_t> lengths;         // [size] tokens before the padding
  std::vector<std::int64_t> pronoun;         // [size] position of the query
  std::vector<std::int64_t> predicate;       // [size] last position of the clause query
  std::vector<std::int64_t> antecedent;      // [size]
  std::vector<std::uint8_t> candidates;      // [size, length] 1 where a candidate stands
  std::vector<std::int64_t> target;          // [size] class of the antecedent's number: label - 1, in 0 .. 7
  std::vector<std::int64_t> reverse_target;  // [size] the same of the pronoun's number; empty unless mutual
};

/// The sentences at `chosen`, in that order. Throws regard::ValueError for an empty choice and for a
/// sentence without pronoun, std::out_of_range for an index past the end. Sentences of the user's own have -1
/// as predicate or antecedent where these are missing, and a target of -1.
Batch make_batch(const std::vector<Sentence>& sentences, const std::vector<std::size_t>& chosen);
/// All of them.
Batch make_batch(const std::vector<Sentence>& sentences);

/// [size, length]: weights that take the mean over pronoun .. predicate, the clause query. Where there is no
/// predicate the pronoun alone has weight 1.
std::vector<double> clause_weights(const Batch& batch);

}  // namespace coreference

#pragma once
// What a model knows (accuracy) and where it looks (mass): two different things, reported apart.

#include <cstdint>
#include <vector>

#include "coreference/batch.hpp"

namespace coreference {

/// Means over `count` sentences.
struct Metrics {
  std::int64_t count = 0;
  double accuracy = 0;            // the antecedent's number has the largest logit of all
  double candidate_accuracy = 0;  // ... the largest among the numbers of the candidates
  double mass = 0;                // attention on the antecedent
  double other_mass = 0;          // attention on the other candidates together
  double peak_share = 0;  // share of sentences in which nothing gets more attention than the antecedent
  double entropy = 0;     // of the attention, in nats; uniform attention has ln(length)
};

/// Adds up the metrics of batches.
class Evaluation {
 public:
  /// logits [size, referent_numbers]; attention [size, length], the weights of the query's row, 0 on the
  /// padding. Equal largest values count as a miss, and so does NaN. Throws regard::ValueError for other
  /// sizes and for a sentence without antecedent.
  void add(const Batch& batch, const std::vector<double>& logits, const std::vector<double>& attention);
  /// Throws regard::ValueError if nothing was added.
  Metrics result() const;

 private:
  Metrics sums_;
};

/// -sum of p ln p over `length` weights, in nats; 0 ln 0 = 0.
double entropy(const double* weights, std::int64_t length);

}  // namespace coreference

#include "coreference/metrics.hpp"

#include <cmath>
#include <string>

#include "regard/error.hpp"

namespace coreference {

namespace {

void expect_size(const char* what, const std::vector<double>& values, std::int64_t rows,
                 std::int64_t columns) {
  if (values.size() == static_cast<std::size_t>(rows * columns)) return;
  throw regard::ValueError(std::string("Evaluation::add: expected ") + what + " [" + std::to_string(rows) +
                           ", " + std::to_string(columns) + "], got " + std::to_string(values.size()) +
                           " numbers");
}

// values[wanted] is larger than every other value for which `counts(index)` holds. False if a NaN is
// involved.
template <class Counts>
bool is_largest(const double* values, std::int64_t size, std::int64_t wanted, Counts counts) {
  for (std::int64_t i = 0; i < size; ++i)
    if (i != wanted && counts(i) && !(values[wanted] > values[i])) return false;
  return !std::isnan(values[wanted]);
}

}  // namespace

double entropy(const double* weights, std::int64_t length) {
  double sum = 0;
  for (std::int64_t i = 0; i < length; ++i)
    if (weights[i] != 0) sum -= weights[i] * std::log(weights[i]);
  return sum;
}

void Evaluation::add(const Batch& batch, const std::vector<double>& logits,
                     const std::vector<double>& attention) {
  expect_size("logits", logits, batch.size, referent_numbers);
  expect_size("attention", attention, batch.size, batch.length);
  for (std::int64_t i = 0; i < batch.size; ++i) {
    const auto row = static_cast<std::size_t>(i);
    const std::int64_t antecedent = batch.antecedent[row];
    if (antecedent == no_position)
      throw regard::ValueError("Evaluation::add: sentence " + std::to_string(i) + " has no antecedent");
    const double* scores = logits.data() + i * referent_numbers;
    const double* weights = attention.data() + i * batch.length;
    const std::int64_t* referents = batch.referents.data() + i * batch.length;
    const std::uint8_t* candidates = batch.candidates.data() + i * batch.length;

    // The number at the antecedent, not the target: shuffled labels must not make a good model look bad.
    const std::int64_t right = referents[antecedent] - 1;
    bool among_candidates[referent_numbers] = {};
    double other_mass = 0;
    for (std::int64_t j = 0; j < batch.length; ++j) {
      if (candidates[j] == 0) continue;
      among_candidates[referents[j] - 1] = true;
      if (j != antecedent) other_mass += weights[j];
    }
    sums_.count += 1;
    sums_.accuracy += is_largest(scores, referent_numbers, right, [](std::int64_t) { return true; });
    sums_.candidate_accuracy +=
        is_largest(scores, referent_numbers, right, [&](std::int64_t n) { return among_candidates[n]; });
    sums_.mass += weights[antecedent];
    sums_.other_mass += other_mass;
    sums_.peak_share += is_largest(weights, batch.length, antecedent, [](std::int64_t) { return true; });
    sums_.entropy += entropy(weights, batch.length);
  }
}

Metrics Evaluation::result() const {
  if (sums_.count == 0) throw regard::ValueError("Evaluation::result: no sentences were added");
  const auto n = static_cast<double>(sums_.count);
  Metrics mean = sums_;
  for (double Metrics::*field : {&Metrics::accuracy, &Metrics::candidate_accuracy, &Metrics::mass,
                                 &Metrics::other_mass, &Metrics::peak_share, &Metrics::entropy})
    mean.*field /= n;
  return mean;
}

}  // namespace coreference

#include <limits>

#include "lessons/27_exercises/exercises.hpp"

namespace exercises::solutions {

using namespace regard;

Tensor masked_softmax(const Tensor& scores, const Tensor& keep) {
  // What is hidden is replaced before anything is computed with it; exp of -∞ is exactly 0.
  const Tensor seen = masked_fill(scores, logical_not(keep), -std::numeric_limits<double>::infinity());
  const Tensor largest = max(seen, {-1}, keep_axes);  // -∞ in a row that keeps nothing, and -∞ - -∞ is NaN
  const Tensor shares = exp(seen - masked_fill(largest, logical_not(isfinite(largest)), 0));
  const Tensor total = sum(shares, {-1}, keep_axes);
  return shares / masked_fill(total, equal(total, zeros_like(total)), 1);
}

}  // namespace exercises::solutions

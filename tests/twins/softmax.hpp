// Twins of softmax, log_softmax and the losses built on it.
#pragma once

#include <cmath>
#include <limits>
#include <optional>

#include "twins/plain.hpp"

namespace regard::test {

/// Along an axis (negative from the end), over the elements where `keep` is not 0, or over all.
inline Plain softmax_twin(const Plain& x, const Plain* keep, int axis) {
  const int at = axis < 0 ? axis + x.shape.rank() : axis;
  const auto kept = [&](const Index& i) { return !keep || keep->broadcast_at(i) != 0; };
  return fill(x.shape, [&](const Index& index) {
    if (!kept(index)) return 0.0;
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    bool nan = false;
    for (Size j = 0; j < x.shape[at]; ++j) {
      const Index i = with(index, at, j);
      if (!kept(i)) continue;
      nan = nan || std::isnan(x.at(i));
      top = std::max(top, x.at(i));
    }
    if (nan) return std::nan("");
    if (std::isinf(top) && top < 0) return keep ? 0.0 : std::nan("");
    for (Size j = 0; j < x.shape[at]; ++j)
      if (kept(with(index, at, j))) sum += std::exp(x.at(with(index, at, j)) - top);
    return std::exp(x.at(index) - top) / sum;
  });
}

inline Plain log_softmax_twin(const Plain& x, const Plain* keep, int axis) {
  const int at = axis < 0 ? axis + x.shape.rank() : axis;
  const auto kept = [&](const Index& i) { return !keep || keep->broadcast_at(i) != 0; };
  return fill(x.shape, [&](const Index& index) {
    if (!kept(index)) return -std::numeric_limits<double>::infinity();
    double top = -std::numeric_limits<double>::infinity(), sum = 0;
    for (Size j = 0; j < x.shape[at]; ++j)
      if (kept(with(index, at, j))) top = std::max(top, x.at(with(index, at, j)));
    for (Size j = 0; j < x.shape[at]; ++j)
      if (kept(with(index, at, j))) sum += std::exp(x.at(with(index, at, j)) - top);
    return x.at(index) - top - std::log(sum);
  });
}

struct CrossEntropyTwin {
  Size ignore = -100;
  double smoothing = 0;
  std::vector<double> weights = {};
};

/// One loss per row of logits [.., classes]; `targets` are ids [..] or probabilities [.., classes].
inline Plain cross_entropy_rows(const Plain& logits, const Plain& targets, const CrossEntropyTwin& options) {
  const int last = logits.shape.rank() - 1;
  const Size classes = logits.shape[last];
  const bool ids = targets.shape.rank() == last;
  const Plain log_p = log_softmax_twin(logits, nullptr, -1);
  Shape rows = logits.shape;
  rows.erase(last);
  return fill(rows, [&](Index row) {
    if (ids && static_cast<Size>(targets.at(row)) == options.ignore) return 0.0;
    const double id = ids ? targets.at(row) : -1;
    row.push_back(0);
    double loss = 0;
    for (Size c = 0; c < classes; ++c) {
      const Index i = with(row, last, c);
      const double target = ids ? static_cast<double>(static_cast<Size>(id) == c) : targets.at(i);
      const double weight = options.weights.empty() ? 1 : options.weights[static_cast<std::size_t>(c)];
      const double smooth =
          (1 - options.smoothing) * target + options.smoothing / static_cast<double>(classes);
      loss -= weight * smooth * log_p.at(i);
    }
    return loss;
  });
}

/// The mean divides by the weights of the targets that count, or by the rows if targets are probabilities.
inline double cross_entropy_divisor(const Plain& logits, const Plain& targets,
                                    const CrossEntropyTwin& options) {
  if (targets.shape.rank() == logits.shape.rank())
    return static_cast<double>(numel(logits.shape) / std::max<Size>(logits.shape.back(), 1));
  double divisor = 0;
  for (const double id : targets.values) {
    if (static_cast<Size>(id) == options.ignore) continue;
    divisor += options.weights.empty() ? 1 : options.weights[static_cast<std::size_t>(id)];
  }
  return divisor;
}

}  // namespace regard::test

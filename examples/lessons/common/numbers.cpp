#include "lessons/common/numbers.hpp"

#include <algorithm>
#include <cmath>

#include <regard/error.hpp>
#include <regard/ops.hpp>

namespace lessons {

using regard::Size;
using regard::Tensor;

namespace {

std::vector<std::uint8_t> hidden_cells(const Tensor& keep, const Tensor& like) {
  std::vector<std::uint8_t> hidden;
  if (!keep.defined()) return hidden;
  for (const bool kept : regard::broadcast_to(matrix(keep), like.shape()).to_vector<bool>())
    hidden.push_back(kept ? 0 : 1);
  return hidden;
}

}  // namespace

std::vector<double> doubles(const Tensor& x) {
  return x.detach().to(regard::float64).to_vector<double>();
}

Tensor matrix(const Tensor& x) {
  if (x.rank() < 2 || x.size(-1) * x.size(-2) != x.numel())
    throw regard::ShapeError("matrix: expected one matrix, got shape " + to_string(x.shape()));
  return regard::reshape(x, {x.size(-2), x.size(-1)});
}

double largest(const Tensor& x) {
  double most = 0;
  for (const double value : doubles(x)) {
    if (std::isnan(value)) return value;
    most = std::max(most, std::fabs(value));
  }
  return most;
}

double largest_difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape())
    throw regard::ShapeError("largest_difference: shapes " + to_string(a.shape()) + " and " +
                             to_string(b.shape()));
  return largest(a.detach() - b.detach());
}

Labels numbered(const std::string& name, Size count) {
  Labels labels;
  for (Size i = 1; i <= count; ++i) labels.push_back(name + std::to_string(i));
  return labels;
}

regard::study::MatrixPanel panel(const std::string& title, const Labels& rows, const Labels& columns,
                                 const Tensor& values, const Tensor& keep) {
  const Tensor numbers = matrix(values);
  regard::study::MatrixPanel made;
  made.title = title;
  made.rows = rows;
  made.columns = columns;
  made.values = doubles(numbers);
  made.hidden = hidden_cells(keep, numbers);
  return made;
}

regard::study::MatrixPanel weights_panel(const std::string& title, const Labels& queries, const Labels& keys,
                                         const Tensor& weights, const Tensor& keep) {
  regard::study::MatrixPanel made = panel(title, queries, keys, weights, keep);
  made.scale = regard::study::MatrixScale::weight;
  return made;
}

regard::study::AttentionPanel attention_panel(const std::string& name, const Labels& queries,
                                              const Labels& keys, const Tensor& weights, const Tensor& keep) {
  const Tensor numbers = matrix(weights);
  regard::study::AttentionPanel made;
  made.name = name;
  made.queries = queries;
  made.keys = keys;
  made.weights = doubles(numbers);
  made.hidden = hidden_cells(keep, numbers);
  return made;
}

}  // namespace lessons

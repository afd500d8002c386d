#include "regard/study/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include <regard/detail/xtensor/linalg.hpp>
#include <regard/regard.hpp>

namespace regard::study {
namespace {

constexpr Size most_keys = 2048;  // eigenvalues take keys³ steps

std::vector<double> row_of(const Tensor& x, const ExplainOptions& at) {
  const NoGrad off;
  Tensor row = x.detach();
  for (const Size index : {at.batch, at.head, at.query}) row = select(row, 0, index);
  return row.to(float64).contiguous().to_vector<double>();
}

void require_index(const char* what, Size index, Size extent) {
  if (index < 0 || index >= extent)
    throw ValueError(fmt::format("explain: there is no {} {}; the trace has {}", what, index, extent));
}

void check(const AttentionTrace& trace, const ExplainOptions& at) {
  if (!trace.weights.defined())
    throw ValueError("explain: the trace is empty; give it to an attention() call first");
  const Shape& shape = trace.weights.shape();
  require_index("batch", at.batch, shape[0]);
  require_index("head", at.head, shape[1]);
  require_index("query", at.query, shape[2]);
  const auto names = static_cast<Size>(at.key_names.size());
  if (names != 0 && names != shape[3])
    throw ValueError(fmt::format("explain: {} name{} for {} keys", names, names == 1 ? "" : "s", shape[3]));
  if (shape[3] > most_keys)
    throw ValueError(
        fmt::format("explain: {} keys; the eigenvalues are worked out for up to {}", shape[3], most_keys));
  if (!trace.gradients().weights.defined() || !trace.gradients().masked.defined())
    throw ValueError(
        "explain: no backward has reached the weights of this trace; run one, from a query or key that "
        "requires a gradient");
}

bool all_finite(const std::vector<double>& numbers) {
  return std::all_of(numbers.begin(), numbers.end(), [](double number) { return std::isfinite(number); });
}

// ValueError unless p is the softmax of the masked scores, but for rounding.
void require_softmax(const RowExplanation& row) {
  if (!all_finite(row.p)) return;
  double largest = -std::numeric_limits<double>::infinity(), total = 0;
  for (const double score : row.masked) largest = std::max(largest, score);
  std::vector<double> p;
  for (const double score : row.masked) {
    p.push_back(std::isinf(score) ? 0 : std::exp(score - largest));
    total += p.back();
  }
  for (std::size_t j = 0; j < p.size(); ++j)
    if (std::fabs(row.p[j] - (total > 0 ? p[j] / total : 0)) > (row.dtype == float32 ? 1e-4 : 1e-10))
      throw ValueError(
          fmt::format("explain: the weights are not the softmax of the masked scores (key {}: {} for a score "
                      "of {}); was another normaliser in "
                      "its place, or through_weights?",
                      row.keys[j], row.p[j], row.masked[j]));
}

void differentiate(RowExplanation& row) {
  const std::size_t n = row.p.size();
  row.inner = 0;
  for (std::size_t j = 0; j < n; ++j) row.inner += row.p[j] * row.dp[j];
  row.jacobian.assign(n * n, 0);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (row.hidden[i] == 0 && row.hidden[j] == 0)
        row.jacobian[i * n + j] = (i == j ? row.p[i] : 0) - row.p[i] * row.p[j];
  row.eigenvalues.assign(n, std::numeric_limits<double>::quiet_NaN());
  if (n > 0 && all_finite(row.jacobian)) {
    const xt::xtensor<double, 2> jacobian = xt::adapt(row.jacobian, std::array<std::size_t, 2>{n, n});
    const xt::xtensor<double, 1> eigenvalues = xt::linalg::eigvalsh(jacobian);
    row.eigenvalues.assign(eigenvalues.begin(), eigenvalues.end());
    std::sort(row.eigenvalues.begin(), row.eigenvalues.end());
  }
  row.spectral_norm =
      n == 0 ? 0 : std::max(std::fabs(row.eigenvalues.front()), std::fabs(row.eigenvalues.back()));
}

}  // namespace

RowExplanation explain(const AttentionTrace& trace, const ExplainOptions& at) {
  check(trace, at);
  RowExplanation row;
  row.query = at.query_name.empty() ? "query " + std::to_string(at.query) : at.query_name;
  row.keys = at.key_names;
  for (Size j = 0; row.keys.size() < static_cast<std::size_t>(trace.weights.size(3)); ++j)
    row.keys.push_back(std::to_string(j));
  row.batch = at.batch;
  row.head = at.head;
  row.dtype = trace.weights.dtype();
  row.scale = trace.scale;
  row.raw = row_of(trace.raw, at);
  row.scaled = row_of(trace.scaled, at);
  row.masked = row_of(trace.masked, at);
  row.p = row_of(trace.weights, at);
  row.dp = row_of(trace.gradients().weights, at);
  row.ds = row_of(trace.gradients().masked, at);
  for (const double kept : row_of(trace.keep, at)) row.hidden.push_back(kept == 0 ? 1 : 0);
  require_softmax(row);
  differentiate(row);
  return row;
}

RowExplanation explain(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                       const ExplainOptions& at, const Tensor& upstream) {
  const EnableGrad recording;
  const Tensor query = variable(q.detach());
  AttentionTrace trace;
  const Tensor output = attention(query, k.detach(), v.detach(), mask, {}, &trace);
  GradOptions options;
  options.seeds = {upstream.defined() ? upstream.detach() : ones_like(output.detach())};
  (void)grad({output}, {query}, options);
  return explain(trace, at);
}

}  // namespace regard::study

// Twins of what attention may take in softmax's place: of one line of numbers, along an axis, and in
// attention.
#pragma once

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "twins/attention.hpp"
#include "twins/plain.hpp"

namespace regard::test {

using Line = std::vector<double>;
using Law = std::function<Line(const Line&)>;

inline Line softmax1_line(const Line& x) {
  Line y = x;
  double top = 0, total = 0;
  for (const double v : x) top = std::isnan(v) ? v : std::max(top, v);
  for (const double v : x) total += std::exp(v - top);
  for (double& v : y) v = std::exp(v - top) / (total + std::exp(-top));
  return y;
}

/// max(factor·x - τ, 0)^power with τ such that the sum is 1, by halving an interval in which τ lies.
inline Line projected_line(const Line& x, double factor, double power) {
  double top = -std::numeric_limits<double>::infinity();
  for (const double v : x) top = std::isnan(v) || std::isnan(top) ? std::nan("") : std::max(top, v);
  if (!std::isfinite(top)) return Line(x.size(), top < 0 && !x.empty() ? 0 : std::nan(""));
  const auto weight = [&](double v, double tau) {
    const double above = factor * (v - top) - tau;
    return above > 0 ? std::pow(above, power) : 0;
  };
  double low = -1, high = 0;
  for (int halving = 0; halving < 80; ++halving) {
    const double middle = (low + high) / 2;
    double total = 0;
    for (const double v : x) total += weight(v, middle);
    (total >= 1 ? low : high) = middle;
  }
  Line y = x;
  for (double& v : y) v = weight(v, low);
  return y;
}
inline Line sparsemax_line(const Line& x) {
  return projected_line(x, 1, 1);
}
inline Line entmax15_line(const Line& x) {
  return projected_line(x, 0.5, 2);
}

/// A law along an axis (negative from the end), over the elements where `keep` is not 0, or over all. The
/// rest is 0, and so is a line without mask of nothing but -inf unless the law knows better.
inline Plain along_twin(const Plain& x, const Plain* keep, int axis, const Law& law) {
  const int at = axis < 0 ? axis + x.shape.rank() : axis;
  Plain y(x.shape);
  for_each_index(x.shape, [&](const Index& index) {
    if (index[static_cast<std::size_t>(at)] != 0) return;
    Line line;
    std::vector<Index> places;
    for (Size j = 0; j < x.shape[at]; ++j) {
      const Index i = with(index, at, j);
      if (keep && keep->broadcast_at(i) == 0) continue;
      places.push_back(i);
      line.push_back(x.at(i));
    }
    line = law(line);
    for (std::size_t j = 0; j < places.size(); ++j) y.at(places[j]) = line[j];
  });
  return y;
}

/// Attention with a law in softmax's place, and something done to the scaled scores before the bias. Rank 4.
struct VariantTwin {
  Plain masked, weights, output;
};
inline VariantTwin variant_twin(
    const Plain& query, const Plain& key, const Plain& value, const Law& law,
    const Condition& visible = always, const Number& bias = nothing,
    const std::function<double(double)>& change = [](double s) { return s; }, double scale = 0) {
  const AttentionTwin plain = attention_twin(query, key, value, visible, bias, scale);
  Plain keep = plain.scaled, masked = plain.scaled;
  for_each_index(masked.shape, [&](const Index& i) {
    keep.at(i) = visible(i[0], i[1], i[2], i[3]) ? 1 : 0;
    masked.at(i) = change(plain.scaled.at(i)) + bias(i[0], i[1], i[2], i[3]);
  });
  const Plain weights = along_twin(masked, &keep, -1, law);
  const Size share = weights.shape[1] / std::max<Size>(value.shape[1], 1);
  Plain output = fill(plain.output.shape, [&](const Index& at) {
    double mixed = 0;
    for (Size j = 0; j < keep.shape[3]; ++j)
      if (keep.at({at[0], at[1], at[2], j}) != 0)
        mixed += weights.at({at[0], at[1], at[2], j}) *
                 value.at({value.shape[0] == 1 ? 0 : at[0], at[1] / share, j, at[3]});
    return mixed;
  });
  return {masked, weights, output};
}

inline Line softmax_line(const Line& x) {
  Line y = x;
  double top = -std::numeric_limits<double>::infinity(), total = 0;
  for (const double v : x) top = std::max(top, v);
  for (const double v : x) total += std::exp(v - top);
  for (double& v : y) v = std::exp(v - top) / total;
  return y;
}
inline Line sigmoid_line(const Line& x) {
  Line y = x;
  for (double& v : y) v = 1 / (1 + std::exp(-v) * static_cast<double>(x.size()));
  return y;
}
inline Line relu_line(const Line& x) {
  Line y = x;
  for (double& v : y) v = std::max(v, 0.0) / static_cast<double>(x.size());
  return y;
}

/// Linear attention as the quadratic form: a row of weights φ(q)·φ(k) of what is visible, divided by its sum.
/// Of any rank.
inline Plain linear_attention_twin(const Plain& query, const Plain& key, const Plain& value,
                                   const Condition& visible = always) {
  const auto features = [](const Plain& x) {
    return map(rank_4(x), [](double v) { return v > 0 ? v + 1 : std::exp(v); });
  };
  const Law law = [](const Line& x) {
    Line y = x;
    double total = 0;
    for (const double v : x) total += v;
    for (double& v : y) v /= total;
    return y;
  };
  Plain output =
      variant_twin(
          features(query), features(key), rank_4(value), law, visible, nothing, [](double s) { return s; }, 1)
          .output;
  if (query.shape.rank() < 4) output.shape.erase(1);
  if (query.shape.rank() < 3) output.shape.erase(0);
  return output;
}

}  // namespace regard::test

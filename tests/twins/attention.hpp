// The twin of attention, with everything that its trace shows.
#pragma once

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "twins/plain.hpp"

namespace regard::test {

/// Of a place in the scores.
using Condition = std::function<bool(Size b, Size h, Size i, Size j)>;
using Number = std::function<double(Size b, Size h, Size i, Size j)>;

inline bool always(Size, Size, Size, Size) {
  return true;
}
inline double nothing(Size, Size, Size, Size) {
  return 0;
}

struct AttentionTwin {
  Plain raw, scaled, masked, weights, output, logsumexp, entropy;
};

/// Equation by equation. Rank 4; a batch of 1 serves all; query heads share key heads. Scale 0 is the usual
/// one.
inline AttentionTwin attention_twin(const Plain& query, const Plain& key, const Plain& value,
                                    const Condition& visible = always, const Number& bias = nothing,
                                    double scale = 0) {
  const double hidden = -std::numeric_limits<double>::infinity();
  const Size width = key.shape[3], keys = key.shape[2], heads = query.shape[1], kv_heads = key.shape[1];
  if (scale == 0) scale = 1 / std::sqrt(static_cast<double>(width));
  const auto batch_at = [](const Plain& x, Size b) { return x.shape[0] == 1 ? 0 : b; };
  const auto key_head = [&](Size h) { return h / (heads / kv_heads); };
  Size batch = 1;
  for (const Plain* x : {&query, &key, &value})
    if (x->shape[0] != 1) batch = x->shape[0];

  const Shape scores{batch, heads, query.shape[2], keys}, rows{batch, heads, query.shape[2]};
  const Plain raw = fill(scores, [&](const Index& at) {
    double dot = 0;
    for (Size d = 0; d < width; ++d)
      dot += query.at({batch_at(query, at[0]), at[1], at[2], d}) *
             key.at({batch_at(key, at[0]), key_head(at[1]), at[3], d});
    return dot;
  });
  const Plain scaled = map(raw, [scale](double s) { return s * scale; });
  const Plain masked = fill(scores, [&](const Index& at) {
    return visible(at[0], at[1], at[2], at[3]) ? scaled.at(at) + bias(at[0], at[1], at[2], at[3]) : hidden;
  });
  const Plain logsumexp = fill(rows, [&](const Index& at) {
    double largest = hidden, total = 0;
    for (Size j = 0; j < keys; ++j) largest = std::max(largest, masked.at({at[0], at[1], at[2], j}));
    if (largest == hidden) return hidden;
    for (Size j = 0; j < keys; ++j) total += std::exp(masked.at({at[0], at[1], at[2], j}) - largest);
    return largest + std::log(total);
  });
  const Plain weights = fill(scores, [&](const Index& at) {
    return masked.at(at) == hidden ? 0 : std::exp(masked.at(at) - logsumexp.at({at[0], at[1], at[2]}));
  });
  const Plain entropy = fill(rows, [&](const Index& at) {
    double nats = 0;
    for (Size j = 0; j < keys; ++j) {
      const double w = weights.at({at[0], at[1], at[2], j});
      if (w > 0) nats -= w * std::log(w);
    }
    return nats;
  });
  const Plain output = fill({batch, heads, query.shape[2], value.shape[3]}, [&](const Index& at) {
    double mixed = 0;
    for (Size j = 0; j < keys; ++j) {
      const double w = weights.at({at[0], at[1], at[2], j});
      if (w != 0) mixed += w * value.at({batch_at(value, at[0]), key_head(at[1]), j, at[3]});
    }
    return mixed;
  });
  return {raw, scaled, masked, weights, output, logsumexp, entropy};
}

/// [batch, heads, tokens, width], with 1 for what is missing.
inline Plain rank_4(Plain x) {
  while (x.shape.rank() < 4) x.shape.insert(x.shape.rank() == 3 ? 1 : 0, 1);
  return x;
}

/// What attention returns: with as many axes as the query has.
inline Plain attention_output(const Plain& query, const Plain& key, const Plain& value,
                              const Condition& visible = always, const Number& bias = nothing,
                              double scale = 0) {
  Plain output = attention_twin(rank_4(query), rank_4(key), rank_4(value), visible, bias, scale).output;
  if (query.shape.rank() < 4) output.shape.erase(1);
  if (query.shape.rank() < 3) output.shape.erase(0);
  return output;
}

}  // namespace regard::test

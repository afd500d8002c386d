// What an attention call computed on its way, for the trace.
#pragma once

#include <optional>

#include <regard/attention.hpp>

namespace regard::detail {

/// Still in the graph. Scores and weights are [batch, heads, queries, keys], or [batch, kv_heads, heads /
/// kv_heads, queries, keys] where query heads share a key head; the other tensors likewise.
struct AttentionSteps {
  Tensor query, key;
  Tensor keep;  ///< undefined where everything is visible
  double scale = 1;
  std::optional<double> softcap;
  Shape scores_shape;  ///< [batch, heads, queries, keys]

  Tensor scaled;  ///< 0 where hidden
  Tensor masked;  ///< scaled, capped, plus bias; anything where hidden
  Tensor weights;
  Tensor dropped;
  Tensor output;

  /// Fills the trace, and attaches hooks that bring it the gradients. Changes nothing in the steps.
  void trace(AttentionTrace& trace) const;
};

}  // namespace regard::detail

// What an attention call computed on its way, for the trace.
#pragma once

#include <optional>

#include <regard/attention.hpp>
#include <regard/ops.hpp>

namespace regard::detail {

/// Where query heads share key heads, the heads axis becomes two: [kv_heads, heads / kv_heads], and what there is once
/// per key head (or once for all) is stretched over the second by the products. Nothing is copied.
struct Grouping {
  Size heads, kv_heads;

  bool shares() const { return heads != kv_heads; }
  Tensor of_queries(const Tensor& x) const {
    if (!shares() || !x.defined()) return x;
    if (x.size(1) == 1) return expand_dims(x, {1});
    return reshape(x, {x.size(0), kv_heads, heads / kv_heads, x.size(2), x.size(3)});
  }
  Tensor of_keys(const Tensor& x) const { return shares() ? expand_dims(x, {2}) : x; }
};

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

// A mask taken apart: for attention in blocks, and for a captured step, where its tensors get new numbers with each
// replay.
#pragma once

#include <functional>

#include <regard/mask.hpp>

#include "memory/pool.hpp"

namespace regard::detail {

/// A mask for scores of one shape, without a table of them: what hides by position, length or document stays in a
/// few numbers.
struct MaskPieces {
  ResolvedMask tables;  ///< keep and hide as they were given, slopes and positions of alibi
  PoolVector<Tensor> biases;
  Size low, high;  ///< query i sees key j only where low <= j - i <= high
  Size first = 0;  ///< where the first query stands, for alibi
  Tensor lengths;  ///< int64 [batch]
  Tensor query_ids, key_ids;  ///< int64 [batch or 1, n, tokens]; all n must be equal

  /// The biases in tables.bias; with several, what they hide joins tables.keep.
  void add_up_biases();
  /// Does each query see a key, as can be told without looking at numbers?
  bool leave_a_key(Size queries, Size keys) const;
};

struct MaskParts {
  /// Checks all that resolve() checks.
  static MaskPieces take(const Mask& mask, Size batch, Size heads, Size queries, Size keys);
  /// The mask with f(x) in place of each of its tensors.
  static Mask map(const Mask& mask, const std::function<Tensor(const Tensor&)>& f);
  /// Both are made of the same kinds of masks in the same order, of tensors of the same shapes and dtypes.
  static bool same_kind(const Mask& a, const Mask& b);
  /// f(x, y) for each tensor of a and that of b.
  static void each(const Mask& a, const Mask& b, void (*f)(const Tensor& x, const Tensor& y));
};

}  // namespace regard::detail

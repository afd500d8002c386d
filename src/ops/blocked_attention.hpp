// Attention in blocks: time as ever, memory for a few blocks of scores.
#pragma once

#include <regard/tensor.hpp>

#include "ops/mask_parts.hpp"

namespace regard::detail {

struct BlockedOutput {
  Tensor y;            ///< [batch, heads, queries, value_width]
  Tensor log_sum_exp;  ///< [batch, heads, queries], a constant; -inf for a query that sees nothing
};

/// softmax(scale·query·keyᵀ + what the mask adds)·value, of tensors of rank 4 whose shapes were checked. The
/// gradients come from blocks, too, unless they are to have gradients themselves (create_graph): those go
/// through the matrix of weights, step by step.
BlockedOutput blocked_attention(const Tensor& query, const Tensor& key, const Tensor& value, Size batch,
                                MaskPieces mask, double scale);

}  // namespace regard::detail

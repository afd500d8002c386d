// Attention in blocks: time as ever, memory for a few blocks of scores.
#pragma once

#include <regard/tensor.hpp>

#include "ops/mask_parts.hpp"

namespace regard::detail {

struct BlockedOutput {
  Tensor y;        ///< as query, but for the batch and the width of value
  Tensor softmax;  ///< [batch, heads, queries, 2] shift and share of each row's weights, constants
};

/// softmax(scale·query·keyᵀ + what the mask adds)·value, of tensors of one rank, 2 to 4, whose shapes were checked. The
/// gradients come from blocks, too, unless they are to have gradients themselves (create_graph): those go
/// through the matrix of weights, step by step.
BlockedOutput blocked_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                const Shape& softmax_shape, MaskPieces mask, double scale);

/// boolean [batch, heads, queries, 1]: does the query see a key?
Tensor sees_a_key(const BlockedOutput& output);

/// [batch, heads, tokens, width], with 1 for what is missing: a view.
Tensor to_rank_4(const Tensor& x);

}  // namespace regard::detail

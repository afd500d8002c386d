// Attention in blocks of queries and keys, without a matrix of scores: Milakov & Gimelshein 2018 for the
// softmax whose maximum is not known in advance, Dao et al. 2022 for the blocks and the gradients.
#pragma once

#include "kernels/attribute_text.hpp"
#include "kernels/block_mask.hpp"

namespace regard::kernels {

inline std::string to_text(const BlockedAttention& at) {
  return named_number("scale", at.scale);
}

/// What stands in for the share of a query that sees nothing.
inline constexpr double share_of_a_blind_query = -1;

/// Inputs as BlockedInput says, without softmax, y and dy. Outputs: y, of query's rank, and the softmax of each query's
/// scores [batch, heads, queries, 2]: shift and share of the weights raised_by·exp(s - shift)·share. Both row-major.
extern const KernelSet blocked_attention;

/// Inputs: the same, with softmax, y and dy. Outputs: the gradients of query, key, value, and of the bias if there is a
/// fourth, each in its shape, row-major.
extern const KernelSet blocked_attention_backward;

/// Inputs as blocked_attention. Output: the whole mask, boolean [batch, heads, queries, keys].
extern const KernelSet blocked_attention_mask;

}  // namespace regard::kernels

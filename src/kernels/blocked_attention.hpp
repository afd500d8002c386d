// Attention in blocks of queries and keys, without a matrix of scores: Milakov & Gimelshein 2018 for the
// softmax whose maximum is not known in advance, Dao et al. 2022 for the blocks and the gradients.
#pragma once

#include "kernels/attribute_text.hpp"
#include "kernels/block_mask.hpp"

namespace regard::kernels {

inline std::string to_text(const BlockedAttention& at) {
  return named_number("scale", at.scale);
}

/// Inputs as BlockedInput says. Outputs: y [batch, heads, queries, value_width] and the log-sum-exp of each
/// query's scores [batch, heads, queries], -inf for one that sees nothing; both row-major.
extern const KernelSet blocked_attention;

/// Inputs: the same, then the log-sum-exp, y and dy. Outputs: the gradients of query, key, value, and of the
/// bias if there is a fourth, each in its shape, row-major.
extern const KernelSet blocked_attention_backward;

/// Inputs as blocked_attention. Output: the whole mask, boolean [batch, heads, queries, keys].
extern const KernelSet blocked_attention_mask;

}  // namespace regard::kernels

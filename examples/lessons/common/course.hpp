#pragma once
// The inputs of the two worked examples, as their NumPy scripts make them.

#include <regard/tensor.hpp>

#include "lessons/common/numbers.hpp"

namespace lessons {

struct Course {
  Labels tokens;                 ///< a name for each row of x (of each sequence)
  regard::Tensor x;              ///< [tokens, width] or [batch, tokens, width]
  regard::Tensor w_q, w_k, w_v;  ///< [width, width]
};

/// "the cat sat", three tokens of width 4; after np.random.seed(seed), W = 0.5·randn(4, 4) for Q, K and V in
/// turn.
[[nodiscard]] Course three_tokens(std::uint64_t seed = 0);
/// W = 0.5·randn(width, width) for Q, K and V in turn, after np.random.seed(seed), around another x [tokens,
/// width].
[[nodiscard]] Course around(const regard::Tensor& x, const Labels& tokens, std::uint64_t seed = 0);
/// Two sequences of five tokens of width 8; after np.random.seed(42), x = randn(2, 5, 8), then W =
/// 0.1·randn(8, 8).
[[nodiscard]] Course two_sequences();

}  // namespace lessons

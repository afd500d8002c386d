// Attention with linear biases, without a table of distances.
#pragma once

#include <regard/tensor.hpp>

namespace regard::detail {

/// scores [.., queries, keys] - slopes·|positions - j|, for key j. Slopes are of the scores' dtype and
/// stretch to them; positions are int64 [queries, 1]. Only the scores get a gradient, dy.
Tensor minus_distances(const Tensor& scores, const Tensor& slopes, const Tensor& positions);

}  // namespace regard::detail

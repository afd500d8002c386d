// The three products of attention, on matrices of which only some elements exist. Each one's gradients are
// the other two. What is hidden is never multiplied in, even if it is NaN or infinite.
//
// keep: boolean, true where an element exists; stretches to the broadcast leading axes and [n, m]. An
// undefined keep means all exist. Leading axes broadcast, so that several query heads may share the keys of
// one.
#pragma once

#include <regard/tensor.hpp>

namespace regard::detail {

/// a [.., n, d], b [.., m, d] -> [.., n, m]: alpha·a·bᵀ where kept, exactly 0 elsewhere.
Tensor masked_scores(const Tensor& a, const Tensor& b, const Tensor& keep, double alpha = 1);
/// weights [.., n, m], v [.., m, d] -> [.., n, d]: alpha·Σ_j weights_ij·v_j over the kept j.
Tensor masked_mix(const Tensor& weights, const Tensor& v, const Tensor& keep, double alpha = 1);
/// weights [.., n, m], a [.., n, d] -> [.., m, d]: alpha·Σ_i weights_ij·a_i over the kept i.
Tensor masked_mix_transposed(const Tensor& weights, const Tensor& a, const Tensor& keep, double alpha = 1);

}  // namespace regard::detail

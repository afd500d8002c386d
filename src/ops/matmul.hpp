// The product behind matmul, with what BLAS can do on the way: read an operand transposed, and scale.
#pragma once

#include <regard/tensor.hpp>

namespace regard::detail {

enum class Transpose { no, yes };

/// alpha·op(a)·op(b), where op swaps the last two axes if asked; ranks from 2 on, leading axes broadcast.
/// The gradients are products with other flags: no operand is copied for being transposed.
/// ShapeError, DTypeError as matmul.
Tensor product(const Tensor& a, const Tensor& b, Transpose transpose_a, Transpose transpose_b,
               double alpha = 1);

/// What the axes in front of the last two broadcast to. ShapeError names `op`.
Shape broadcast_leading(const char* op, const Tensor& a, const Tensor& b);

}  // namespace regard::detail

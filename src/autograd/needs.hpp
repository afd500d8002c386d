// The few ops that a backward itself needs: gradients are added up, and summed back to the shape that was
// stretched. Everything else that a backward computes comes from the rules.
#pragma once

#include "autograd/op.hpp"

namespace regard {

Tensor add(const Tensor& a, const Tensor& b);
Tensor sum_to(const Tensor& x, const Shape& shape);

namespace detail {
const Op& add_op();
}

}  // namespace regard

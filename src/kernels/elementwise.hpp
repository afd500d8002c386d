// Elementwise kernels: out[i] = f(in[i] ...). The inputs come stretched to the output's shape.
#pragma once

#include "kernels/call.hpp"

namespace regard::kernels {

extern const KernelSet add, subtract, multiply, divide, power, maximum, minimum;
extern const KernelSet negate, square, exp, log, sqrt, abs, sign, tanh, sigmoid, relu, softplus;
extern const KernelSet gelu_exact, gelu_slope, gelu_tanh, gelu_tanh_slope, normal_pdf;  ///< gelu_slope: of gelu_exact
extern const KernelSet unit_step;     ///< 1 where x > 0, else 0
extern const KernelSet share_of_max;  ///< 1 where a > b, 1/2 where equal, else 0
extern const KernelSet add_scalar, multiply_scalar, power_scalar;  ///< attribute: double
extern const KernelSet copy;          ///< same dtype
extern const KernelSet cast;          ///< any dtype to any; dispatched on the output
extern const KernelSet where;         ///< (condition, a, b)
extern const KernelSet masked_fill;   ///< (x, mask); attribute: double
extern const KernelSet equal, not_equal, less, less_equal, greater, greater_equal;  ///< to boolean
extern const KernelSet logical_and, logical_or, logical_not, isfinite, isnan;       ///< to boolean

}  // namespace regard::kernels

// Elementwise kernels of functions that are more than arithmetic. The inputs come stretched to the output's shape.
#pragma once

#include "kernels/call.hpp"

namespace regard::kernels {

extern const KernelSet log1p, expm1, sin, cos, erf, silu, log_sigmoid;
extern const KernelSet xlogy;  ///< a·log b, 0 where a = 0 unless b is NaN

}  // namespace regard::kernels

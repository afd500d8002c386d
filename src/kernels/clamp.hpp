// Numbers kept within bounds.
#pragma once

#include <limits>

#include "kernels/call.hpp"

namespace regard::kernels {

/// The attribute.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};

extern const KernelSet clamp;  ///< min(max(x, low), high), also where low > high; NaN stays. Floats and int64

}  // namespace regard::kernels

// Numbers kept within bounds.
#pragma once

#include <limits>

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

/// The attribute.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
};
inline std::string to_text(const Bounds& at) {
  return named_number("min", at.low) + ", " + named_number("max", at.high);
}

extern const KernelSet clamp;  ///< min(max(x, low), high), also where low > high; NaN stays. Floats and int64

}  // namespace regard::kernels

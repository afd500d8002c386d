// Kernels in which every element along an axis takes in those before it.
#pragma once

#include "kernels/call.hpp"

namespace regard::kernels {

/// The attribute.
struct Scan {
  int axis = 0;
  bool backwards = false;  ///< from the last to the first
};

extern const KernelSet cumsum;  ///< floats (added up in float64) and int64

}  // namespace regard::kernels

// Kernels in which every element along an axis takes in those before it.
#pragma once

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

/// The attribute.
struct Scan {
  int axis = 0;
  bool backwards = false;  ///< from the last to the first
};
inline std::string to_text(const Scan& at) {
  return named_number("axis", at.axis) + (at.backwards ? ", backwards" : "");
}

extern const KernelSet cumsum;  ///< floats (added up in float64) and int64

}  // namespace regard::kernels

// Kernels that put numbers somewhere else, or zeros in their place.
#pragma once

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

/// Attribute of slice_backward.
struct Steps {
  int axis;
  Size start, step, count, extent;  ///< `count` places along the axis, whose extent is given
};
inline std::string to_text(const Steps& at) {
  return named_number("axis", at.axis) + ", " + named_number("start", at.start) + ", " +
         named_number("step", at.step) + ", " + named_number("count", at.count);
}

struct AlongAxis {
  int axis;
};
inline std::string to_text(const AlongAxis& at) { return named_number("axis", at.axis); }

/// Attribute of triangle: keeps element (i, j) of the last two axes where low <= j - i <= high.
struct Band {
  Size low, high;
};
inline std::string to_text(const Band& at) {
  return named_number("low", at.low) + ", " + named_number("high", at.high);
}

extern const KernelSet concatenate;     ///< inputs one after another along AlongAxis
extern const KernelSet stack;           ///< inputs side by side along a new axis AlongAxis of the output
extern const KernelSet slice_backward;  ///< zeros, and the input at Steps
extern const KernelSet band;            ///< the input inside Band, zeros outside

}  // namespace regard::kernels

// The order of the elements along an axis.
#pragma once

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

/// The attribute.
struct Sorting {
  int axis = 0;
  bool descending = false;
  bool nan_first = false;  ///< else last, whatever the direction
};
inline std::string to_text(const Sorting& at) {
  return named_number("axis", at.axis) + (at.descending ? ", descending" : "");
}

/// To int64: the places of the elements in their order, as many as the output holds along the axis; of equals
/// the one that stands first comes first. Floats and int64.
extern const KernelSet argsort;

}  // namespace regard::kernels

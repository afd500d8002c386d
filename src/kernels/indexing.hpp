// Kernels that read and write where ids say. Ids are int64 and were checked: each lies in 0..extent - 1.
#pragma once

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

/// Attribute of all but one_hot: the axis of x that ids index, and its extent.
struct Lookup {
  int axis;
  Size extent;
};
inline std::string to_text(const Lookup& at) { return named_number("axis", at.axis); }

/// Place in row-major order of the first id outside 0..extent - 1; -1 when there is none. Ids row-major.
Size first_outside(const Array& ids, Size extent);

extern const KernelSet take;  ///< (x, ids), both row-major: whole rows of x
extern const KernelSet
    take_backward;              ///< (dy, ids), both row-major: rows of dy added up where ids say, in order
extern const KernelSet gather;  ///< (x, ids): element by element
extern const KernelSet scatter_add;  ///< (x, ids, updates): x, then updates added in row-major order
extern const KernelSet
    one_hot;  ///< (ids), row-major, no attribute: 1 where the last axis of the output is the id

}  // namespace regard::kernels

// Dropout: the mask is a function of a key and of the element's row-major position, so the backward needs no
// mask.
#pragma once

#include <cstdint>

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

/// The attribute.
struct Dropout {
  std::uint64_t threshold = 0;  ///< a 32-bit random word below it drops the element: p·2³²
  double scale = 1;             ///< of the elements that stay
};
inline std::string to_text(const Dropout& at) { return named_number("scale", at.scale); }

/// (x, key int64 [1]): 0 where dropped, x·scale elsewhere.
extern const KernelSet dropout;

}  // namespace regard::kernels

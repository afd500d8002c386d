// Reductions: some axes of the input are folded away. The output is row-major over the axes that are left.
#pragma once

#include <cstdint>

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

/// The attribute of every kernel here.
struct Reduction {
  std::uint32_t axes = 0;  ///< bit i is set where axis i of the input is folded away
  bool keep_axes = false;  ///< the output still shows them, with extent 1 (kernels need not know)
  double divisor = 1;      ///< of mean

  bool folds(int axis) const { return (axes >> axis) & 1u; }
};
inline std::string to_text(const Reduction& at) {
  std::string text;
  for (int axis = 0; axis < 32; ++axis)
    if (at.folds(axis)) text += (text.empty() ? "axes=" : ",") + std::to_string(axis);
  return text;
}

extern const KernelSet sum;   ///< floats and int64; floats are added up in float64
extern const KernelSet mean;  ///< floats: sum / divisor
extern const KernelSet max, min;  ///< floats and int64; NaN wins. The folded axes must not be empty
extern const KernelSet logsumexp;
extern const KernelSet argmax;    ///< to int64, one axis: first NaN, else first of the largest
extern const KernelSet all, any;  ///< boolean

}  // namespace regard::kernels

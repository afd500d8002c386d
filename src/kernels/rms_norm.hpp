// Division of each row of the last axis by its root mean square, and the gradient. The root is computed again
// in the backward: a pass over a row that is at hand costs less than another output would.
#pragma once

#include "kernels/attribute_text.hpp"
#include "kernels/call.hpp"

namespace regard::kernels {

/// The attribute of both kernels.
struct RmsNormEpsilon {
  double epsilon = 0;
};
inline std::string to_text(const RmsNormEpsilon& at) {
  return named_number("epsilon", at.epsilon);
}

extern const KernelSet rms_norm;           ///< (x): z = r·x with r = 1 / sqrt(mean(x²) + epsilon)
extern const KernelSet rms_norm_backward;  ///< (dy, x): r·(dy - z·mean(dy·z))

}  // namespace regard::kernels

// Rotary positions: neighbouring numbers of a token are turned as pairs, by angles that depend on its
// position.
#pragma once

#include "kernels/call.hpp"

namespace regard::kernels {

/// The attribute.
struct Rotation {
  double base = 10000;  ///< pair i of the token at position p is turned by p / base^(2i / width)
  double sense = 1;     ///< -1 turns back
};

/// (x [.., tokens, width], positions int64 [tokens]): x with its pairs turned.
extern const KernelSet rotate;

}  // namespace regard::kernels

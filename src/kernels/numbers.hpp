// Comparisons in which NaN wins, on whichever side it stands.
#pragma once

namespace regard::kernels {

template <class T>
T larger(T a, T b) {
  return a > b || a != a ? a : b;
}

template <class T>
T smaller(T a, T b) {
  return a < b || a != a ? a : b;
}

}  // namespace regard::kernels

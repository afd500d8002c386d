#include "kernels/clamp.hpp"

#include <cmath>
#include <type_traits>

#include "kernels/loops.hpp"

namespace regard::kernels {
namespace {

// An integer has no infinity: a bound that is missing is one that it cannot pass.
template <class T>
T bound(double value) {
  if (std::is_floating_point_v<T> || std::isfinite(value)) return static_cast<T>(value);
  return value < 0 ? std::numeric_limits<T>::lowest() : std::numeric_limits<T>::max();
}

template <class T>
void clamp_kernel(const Call& c) {
  const Bounds& bounds = c.get<Bounds>();
  const T low = bound<T>(bounds.low), high = bound<T>(bounds.high);
  map1<T, T>(c, [low, high](T x) -> T {
    const T raised = x < low ? low : x;
    return raised > high ? high : raised;
  });
}

}  // namespace

const KernelSet clamp = {clamp_kernel<float>, clamp_kernel<double>, clamp_kernel<Size>};

}  // namespace regard::kernels

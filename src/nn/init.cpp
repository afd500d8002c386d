#include <regard/nn/init.hpp>

#include <cmath>

#include <regard/error.hpp>

namespace regard::nn {

Tensor initial(const Shape& shape, Init init, double deviation, DType dtype, Rng& rng) {
  switch (init) {
    case Init::glorot_uniform:
      return glorot_uniform(shape, rng, dtype);
    case Init::glorot_normal:
      return glorot_normal(shape, rng, dtype);
    case Init::normal:
      if (!(deviation >= 0) || !std::isfinite(deviation))
        throw ValueError("initial: the deviation must be finite and not negative, got " +
                         std::to_string(deviation));
      return normal(shape, rng, 0, deviation, dtype);
    case Init::zeros:
      return zeros(shape, dtype);
  }
  throw ValueError("initial: there is no such Init");
}

}  // namespace regard::nn

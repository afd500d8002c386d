#include <regard/nn/dropout.hpp>

#include <string>

#include <regard/error.hpp>
#include <regard/ops.hpp>

namespace regard::nn {

Dropout::Dropout(double probability_of_zero, Rng& parent)
    : p(probability_of_zero), rng(parent.split(parent.next())) {
  if (!(p >= 0 && p <= 1)) throw ValueError("dropout: p must lie in [0, 1], got " + std::to_string(p));
}

Tensor Dropout::operator()(const Tensor& x) const {
  const double now = probability();
  return now == 0 ? x : dropout(x, now, rng);
}

}  // namespace regard::nn

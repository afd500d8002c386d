#include <regard/nn/positions.hpp>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "nn/layers.hpp"
#include "ops/rotate.hpp"

namespace regard::nn {
namespace {

void require_tokens(const char* layer, const Tensor& x) {
  if (x.rank() < 2)
    throw ShapeError(std::string(layer) + ": expected x [.., tokens, width], got " + to_string(x.shape()));
}

void require_base(const char* layer, double base) {
  if (!(base > 0) || !std::isfinite(base))
    throw ValueError(std::string(layer) + ": the base must be positive and finite, got " +
                     std::to_string(base));
}

/// The angle of pair i at position p.
double angle(double position, Size i, Size width, double base) {
  return position / std::pow(base, static_cast<double>(2 * i) / static_cast<double>(width));
}

/// How many distances in one direction have a bucket of their own.
Size checked_exact(const RelativeBiasOptions& options) {
  const Size exact = (options.causal ? options.buckets : options.buckets / 2) / 2;
  if (exact < 1 || options.max_distance <= exact)
    throw ValueError("relative bias: expected at least " +
                     std::string(options.causal ? "2" : "4 (2 each way)") +
                     " buckets and a max_distance above " + std::to_string(exact) + ", got " +
                     std::to_string(options.buckets) + " and " + std::to_string(options.max_distance));
  return exact;
}

}  // namespace

LearnedPositions::LearnedPositions(Size length, Size width, Rng& rng,
                                   const LearnedPositionsOptions& options) {
  require_positive("learned positions", "the length", length);
  require_positive("learned positions", "the width", width);
  weight = Parameter(initial({length, width}, options.init, options.deviation, options.dtype, rng));
}

Tensor LearnedPositions::operator()(const Tensor& x, Size first) const {
  const Within here(*this);
  const Size length = weight.shape()[0], width = weight.shape()[1];
  if (x.rank() < 2 || x.shape().back() != width)
    throw ShapeError(describe("learned positions", weight) + ": expected x [.., tokens, " +
                     std::to_string(width) + "], got " + to_string(x.shape()));
  if (first < 0)
    throw ValueError(describe("learned positions", weight) + ": the first position is negative, " +
                     std::to_string(first));
  const Size tokens = x.size(-2);
  if (first > length - tokens)
    throw ShapeError(describe("learned positions", weight) + ": " + std::to_string(tokens) +
                     " tokens from position " + std::to_string(first) + " on are more than the " +
                     std::to_string(length) + " positions there are");
  return x + slice(weight, 0, {first, first + tokens});
}

Tensor sinusoidal_positions(Size length, Size width, Size first, DType dtype, double base) {
  if (length < 0 || first < 0)
    throw ValueError("sinusoidal positions: length and first position must not be negative, got " +
                     std::to_string(length) + " and " + std::to_string(first));
  require_positive("sinusoidal positions", "the width", width);
  require_base("sinusoidal positions", base);
  std::vector<double> values(static_cast<std::size_t>(numel({length, width})));
  auto at = values.begin();
  for (Size p = first; p < first + length; ++p)
    for (Size column = 0; column < width; ++column) {
      const double turned = angle(static_cast<double>(p), column / 2, width, base);
      *at++ = column % 2 == 0 ? std::sin(turned) : std::cos(turned);
    }
  return from_vector(values, {length, width}).to(dtype);
}

Tensor SinusoidalPositions::operator()(const Tensor& x, Size first) const {
  require_tokens("sinusoidal positions", x);
  return x + sinusoidal_positions(x.size(-2), x.size(-1), first, x.dtype(), base);
}

Tensor RotaryPositions::operator()(const Tensor& x, Size first) const {
  require_tokens("rotary positions", x);
  return (*this)(x, arange(static_cast<double>(first), static_cast<double>(first + x.size(-2)), 1, int64));
}

Tensor RotaryPositions::operator()(const Tensor& x, const Tensor& positions) const {
  detail::require_float("rotary positions", x);
  require_tokens("rotary positions", x);
  require_base("rotary positions", base);
  const Size tokens = x.size(-2), width = x.size(-1);
  if (width % 2 != 0)
    throw ShapeError("rotary positions: pairs are turned, so the width must be even, got " +
                     to_string(x.shape()));
  if (positions.dtype() != int64)
    throw DTypeError(std::string("rotary positions: positions must be int64, got ") +
                     name(positions.dtype()));
  if (positions.shape() != Shape{tokens})
    throw ShapeError("rotary positions: expected one position for each token of x " + to_string(x.shape()) +
                     ", got " + to_string(positions.shape()));

  return detail::rotate(x, positions, {base, 1});
}

Size relative_bucket(Size ahead, const RelativeBiasOptions& options) {
  const Size exact = checked_exact(options), buckets = options.causal ? options.buckets : options.buckets / 2;
  const Size side = !options.causal && ahead > 0 ? buckets : 0;
  const Size distance = options.causal ? std::max<Size>(-ahead, 0) : std::abs(ahead);
  if (distance < exact) return side + distance;
  const double farthest = static_cast<double>(options.max_distance) / static_cast<double>(exact);
  const float along = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(farthest)) * static_cast<float>(buckets - exact);
  return side + std::min(exact + static_cast<Size>(along), buckets - 1);
}

RelativeBias::RelativeBias(Size heads, Rng& rng, const RelativeBiasOptions& its) : options(its) {
  require_positive("relative bias", "the number of heads", heads);
  checked_exact(its);
  weight = Parameter(initial({its.buckets, heads}, its.init, its.deviation, its.dtype, rng));
}

Tensor RelativeBias::operator()(Size queries, Size keys, Size first) const {
  const Within here(*this);
  std::vector<Size> ids;
  for (Size i = 0; i < queries; ++i)
    for (Size j = 0; j < keys; ++j) ids.push_back(relative_bucket(j - i - first, options));
  return expand_dims(permute(take(weight, from_vector(ids, {queries, keys})), {2, 0, 1}), {0});
}

}  // namespace regard::nn

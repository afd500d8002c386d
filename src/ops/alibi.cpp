#include "ops/alibi.hpp"

#include <cmath>
#include <vector>

#include <regard/error.hpp>
#include <regard/mask.hpp>

#include "autograd/apply.hpp"
#include "kernels/alibi.hpp"

namespace regard {
namespace {

const detail::Op alibi_op = {
    "alibi", kernels::alibi, {[](const detail::Vjp& at) { return at.dy; }}, nullptr, true};

}  // namespace

Tensor detail::minus_distances(const Tensor& scores, const Tensor& slopes, const Tensor& positions) {
  return apply(alibi_op, {scores, slopes, positions}, scores.shape(), scores.dtype());
}

// Where heads are no power of two, the first are those of the power p below, and the rest every second one of
// 2p heads.
Tensor alibi_slopes(Size heads) {
  if (heads < 0) throw ValueError("alibi_slopes: expected 0 heads or more, got " + std::to_string(heads));
  Size power = 1;
  while (2 * power <= heads) power *= 2;
  std::vector<double> slopes;
  for (Size h = 0; h < heads; ++h) {
    const Size k = h < power ? h + 1 : 2 * (h - power) + 1, of = h < power ? power : 2 * power;
    slopes.push_back(std::exp2(-8 * static_cast<double>(k) / static_cast<double>(of)));
  }
  return from_vector(slopes, {heads});
}

}  // namespace regard

#include <cmath>

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "autograd/host_step.hpp"
#include "kernels/dropout.hpp"

namespace regard {
namespace detail {
namespace {

// The op is linear in x: its gradient is the op itself, with the same mask.
Tensor dropout_dx(const Vjp& at);
const Op dropout_op = {"dropout", kernels::dropout, {dropout_dx}};

Tensor dropout_dx(const Vjp& at) {
  return apply(dropout_op, {at.dy, at.x(1)}, at.dy.shape(), at.dy.dtype(), at.attributes);
}

}  // namespace
}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor dropout(const Tensor& x, double p, Rng& rng) {
  require_float("dropout", x);
  if (!(p >= 0 && p <= 1))
    throw ValueError("dropout: p must be a probability from 0 to 1, got " + std::to_string(p));
  // The key lies in memory, so that a captured step can draw another for each replay.
  const Tensor key = written_by_host_step({1}, int64);
  host_step([key, &rng] { *array(key).as<Size>() = static_cast<Size>(rng.next()); });
  if (p == 0) return unchanged(x);
  kernels::Dropout attributes;
  attributes.threshold = static_cast<std::uint64_t>(std::llround(p * 4294967296.0));  // 2³²
  attributes.scale = p < 1 ? 1 / (1 - p) : 0;
  return apply(dropout_op, {x, key}, x.shape(), x.dtype(), attributes);
}

}  // namespace regard

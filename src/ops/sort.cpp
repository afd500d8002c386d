// What is in order is gathered by its places, so that gradients find their way back.
#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "kernels/sort.hpp"

namespace regard {
namespace detail {
namespace {

const Op argsort_op = {"argsort", kernels::argsort, {}, nullptr, false, DispatchOn::first_input};

}  // namespace
}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor argsort(const Tensor& x, int axis, Order order) {
  const int at = normalize_axis(axis, x.rank(), "argsort");
  return apply(argsort_op, {x}, x.shape(), int64, kernels::Sorting{at, order == Order::descending, false});
}

Sorted sort(const Tensor& x, int axis, Order order) {
  const Tensor indices = argsort(x, normalize_axis(axis, x.rank(), "sort"), order);
  return {gather(x, indices, axis), indices};
}

Sorted top_k(const Tensor& x, Size k, int axis, Order order) {
  const int at = normalize_axis(axis, x.rank(), "top_k");
  Shape shape = x.shape();
  if (k < 0 || k > shape[at])
    throw ValueError("top_k: expected k from 0 to " + std::to_string(shape[at]) + " for axis " +
                     std::to_string(at) + " of " + to_string(shape) + ", got " + std::to_string(k));
  shape[at] = k;
  const kernels::Sorting how{at, order == Order::descending, true};
  const Tensor indices = apply(argsort_op, {x}, shape, int64, how);
  return {gather(x, indices, at), indices};
}

}  // namespace regard

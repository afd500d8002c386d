// Reductions over any axes: kernels fold, rules spread dy over what was folded.
#include <cmath>
#include <limits>

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "autograd/needs.hpp"
#include "kernels/reduce.hpp"
#include "kernels/scan.hpp"

namespace regard {
namespace detail {
namespace {

using kernels::Reduction;

Reduction over_all(const Tensor& x) {
  Reduction reduction;
  reduction.axes = (1u << x.rank()) - 1u;
  return reduction;
}

Reduction over(const char* op, const Tensor& x, const Axes& axes, Keep keep) {
  Reduction reduction;
  reduction.keep_axes = keep == Keep::axes;
  for (const Size axis : normalize_axes(axes, x.rank(), op)) reduction.axes |= 1u << axis;
  return reduction;
}

Axes folded_axes(const Reduction& reduction) {
  Axes axes;
  for (int axis = 0; axis < max_rank; ++axis)
    if (reduction.folds(axis)) axes.push_back(axis);
  return axes;
}

Shape output_shape(const Shape& shape, const Reduction& reduction) {
  Shape out;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!reduction.folds(axis)) out.push_back(shape[axis]);
    if (reduction.folds(axis) && reduction.keep_axes) out.push_back(1);
  }
  return out;
}

/// How many elements become one.
Size count(const Shape& shape, const Reduction& reduction) {
  Size product = 1;
  for (int axis = 0; axis < shape.rank(); ++axis)
    if (reduction.folds(axis)) product *= shape[axis];
  return product;
}

Tensor reduce(const Op& op, const Tensor& x, const Reduction& reduction) {
  return apply(op, {x}, output_shape(x.shape(), reduction), x.dtype(), reduction);
}

/// Something of the output's shape, with the folded axes shown again as extents of 1.
Tensor with_folded_axes(const Tensor& y, const Reduction& reduction) {
  return reduction.keep_axes ? y : expand_dims(y, folded_axes(reduction));
}

/// dy, the same for every element that went into it.
Tensor spread(const Vjp& at, const Tensor& dy) {
  return broadcast_to(with_folded_axes(dy, at.get<Reduction>()), at.x().shape());
}

Tensor mean_dx(const Vjp& at) {
  return spread(at, at.dy / scalar(at.get<Reduction>().divisor, at.dy.dtype()));
}

// Every element that equals the largest (or the smallest) gets the same share.
Tensor chosen_dx(const Vjp& at) {
  const Reduction& reduction = at.get<Reduction>();
  const Tensor chosen = with_folded_axes(at.y.detach(), reduction);
  const Tensor is_chosen = equal(at.x().detach(), chosen).to(at.dy.dtype());
  const Tensor ties = sum(is_chosen, folded_axes(reduction), keep_axes);
  return with_folded_axes(at.dy, reduction) * (is_chosen / ties);
}

// dy·softmax(x), as exp(x - max) / Σ: exp(x - y) would lose the digits that y lost where |x| is large. Where
// all are -inf the shift would be -inf - -inf; there everything is 0.
Tensor logsumexp_dx(const Vjp& at) {
  const Tensor& x = at.x();
  if (x.numel() == 0) return zeros_like(x);
  const Axes axes = folded_axes(at.get<Reduction>());
  const Tensor largest = max(x.detach(), axes, keep_axes);
  const Tensor nothing = equal(largest, scalar(-std::numeric_limits<double>::infinity(), x.dtype()));
  const Tensor e = exp(x - masked_fill(largest, nothing, 0.0));
  const Tensor total = masked_fill(sum(e, axes, keep_axes), nothing, 1.0);
  return with_folded_axes(at.dy, at.get<Reduction>()) * (e / total);
}

Tensor cumulated(const Tensor& x, const kernels::Scan& scan);

const Op sum_op = {"sum", kernels::sum, {[](const Vjp& at) { return spread(at, at.dy); }}};
const Op sum_to_op = {
    "sum_to", kernels::sum, {[](const Vjp& at) { return broadcast_to(at.dy, at.x().shape()); }}};
const Op mean_op = {"mean", kernels::mean, {mean_dx}};
const Op max_op = {"max", kernels::max, {chosen_dx}};
const Op min_op = {"min", kernels::min, {chosen_dx}};
const Op logsumexp_op = {"logsumexp", kernels::logsumexp, {logsumexp_dx}};
const Op argmax_op = {"argmax", kernels::argmax, {}, nullptr, false, DispatchOn::first_input};
const Op cumsum_op = {"cumsum", kernels::cumsum, {[](const Vjp& at) {
                        const kernels::Scan& scan = at.get<kernels::Scan>();
                        return cumulated(at.dy, {scan.axis, !scan.backwards});
                      }}};
const Op all_op = {"all", kernels::all};
const Op any_op = {"any", kernels::any};

Tensor cumulated(const Tensor& x, const kernels::Scan& scan) {
  return apply(cumsum_op, {x}, x.shape(), x.dtype(), scan);
}

Tensor mean_over(const Tensor& x, Reduction reduction) {
  reduction.divisor = static_cast<double>(count(x.shape(), reduction));
  return reduce(mean_op, x, reduction);
}

void require_something(const char* op, const Tensor& x, const Reduction& reduction) {
  if (count(x.shape(), reduction) > 0) return;
  throw ShapeError(std::string(op) + ": x " + to_string(x.shape()) + " has no elements along the axes " +
                   to_string(folded_axes(reduction)) + "; there is nothing to choose from");
}

Tensor choose(const Op& op, const Tensor& x, const Reduction& reduction) {
  require_something(op.name, x, reduction);
  return reduce(op, x, reduction);
}

// Products of pairs, of pairs of pairs and so on. Nothing is divided by a factor: zeros do no harm to any
// derivative.
Tensor product_over(const Tensor& x, const Reduction& reduction) {
  if (x.dtype() == boolean) throw DTypeError("prod: not defined for boolean; convert with .to()");
  const Shape shape = output_shape(x.shape(), reduction);
  Axes folded_last;
  for (const bool folded : {false, true})
    for (int axis = 0; axis < x.rank(); ++axis)
      if (reduction.folds(axis) == folded) folded_last.push_back(axis);
  Size n = count(x.shape(), reduction);
  Tensor y = reshape(permute(x, folded_last), {numel(shape), n});
  if (n == 0) return reshape(sum(y, {1}) + 1.0, shape);
  for (; n > 1; n = (n + 1) / 2) {
    const Tensor pairs = slice(y, 1, {0, n / 2}) * slice(y, 1, {n / 2, n / 2 * 2});
    y = n % 2 ? concatenate({pairs, slice(y, 1, {n - 1, n})}, 1) : pairs;
  }
  return reshape(y, shape);
}

// NaN where nothing is left to divide by.
double variance_divisor(const Tensor& x, const Reduction& reduction, double correction) {
  const double divisor = static_cast<double>(count(x.shape(), reduction)) - correction;
  return divisor > 0 ? divisor : std::numeric_limits<double>::quiet_NaN();
}

// largest·sqrt Σ (x / largest)², which neither overflows nor vanishes; what takes the place of `largest` may
// be any constant, so that no gradient flows through it. A line of zeros is kept away from the root.
Tensor norm_over(const Tensor& x, const Axes& axes, Keep keep, double p) {
  require_float("norm", x);
  (void)normalize_axes(axes, x.rank(), "norm");
  if (p != 1 && p != 2 && p != std::numeric_limits<double>::infinity())
    throw ValueError("norm: p must be 1, 2 or infinity, got " + std::to_string(p));
  if (p == 1 || x.numel() == 0) return sum(abs(x), axes, keep);
  if (p != 2) return max(abs(x), axes, keep);
  const Tensor largest = max(abs(x.detach()), axes, keep_axes);
  const Tensor nothing = equal(largest, scalar(0, x.dtype()));
  const Tensor scale = masked_fill(largest, logical_or(nothing, logical_not(isfinite(largest))), 1.0);
  const Tensor squares = masked_fill(sum(square(x / scale), axes, keep_axes), nothing, 1.0);
  const Tensor y = masked_fill(scale * sqrt(squares), nothing, 0.0);
  return keep == Keep::axes ? y : squeeze(y, axes);
}

bool truth(const Op& op, const Tensor& x) {
  require_dtype(op.name, "x", x, boolean);
  return reduce(op, x, over_all(x)).item() != 0;
}

}  // namespace
}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor sum(const Tensor& x) {
  return reduce(sum_op, x, over_all(x));
}
Tensor sum(const Tensor& x, const Axes& axes, Keep keep) {
  return reduce(sum_op, x, over("sum", x, axes, keep));
}
Tensor mean(const Tensor& x) {
  return mean_over(x, over_all(x));
}
Tensor mean(const Tensor& x, const Axes& axes, Keep keep) {
  return mean_over(x, over("mean", x, axes, keep));
}
Tensor max(const Tensor& x) {
  return choose(max_op, x, over_all(x));
}
Tensor max(const Tensor& x, const Axes& axes, Keep keep) {
  return choose(max_op, x, over("max", x, axes, keep));
}
Tensor min(const Tensor& x) {
  return choose(min_op, x, over_all(x));
}
Tensor min(const Tensor& x, const Axes& axes, Keep keep) {
  return choose(min_op, x, over("min", x, axes, keep));
}
Tensor prod(const Tensor& x) {
  return product_over(x, over_all(x));
}
Tensor prod(const Tensor& x, const Axes& axes, Keep keep) {
  return product_over(x, over("prod", x, axes, keep));
}

Tensor variance(const Tensor& x, const Axes& axes, Keep keep, double correction) {
  require_float("variance", x);
  Reduction reduction = over("variance", x, axes, keep);
  reduction.divisor = variance_divisor(x, reduction, correction);
  return reduce(mean_op, square(x - mean(x, axes, keep_axes)), reduction);
}

// A norm, since the root of the variance has no slope at 0. Distances to one of the numbers are exactly 0
// where all are equal; any constant would do for the value.
Tensor standard_deviation(const Tensor& x, const Axes& axes, Keep keep, double correction) {
  require_float("standard_deviation", x);
  const double divisor = variance_divisor(x, over("standard_deviation", x, axes, keep), correction);
  if (x.numel() == 0) return sum(x, axes, keep) / scalar(divisor, x.dtype());
  const Tensor shifted = x - max(x.detach(), axes, keep_axes);
  return norm_over(shifted - mean(shifted, axes, keep_axes), axes, keep, 2) /
         scalar(std::sqrt(divisor), x.dtype());
}

Tensor entropy(const Tensor& p, int axis, Keep keep) {
  return 0.0 - sum(xlogy(p, p), Axes{axis}, keep);
}

Tensor cumsum(const Tensor& x, int axis) {
  return cumulated(x, {normalize_axis(axis, x.rank(), "cumsum"), false});
}

Tensor logsumexp(const Tensor& x, const Axes& axes, Keep keep) {
  return reduce(logsumexp_op, x, over("logsumexp", x, axes, keep));
}

Tensor norm(const Tensor& x) {
  Axes all_axes;
  for (int axis = 0; axis < x.rank(); ++axis) all_axes.push_back(axis);
  return norm_over(x, all_axes, Keep::no, 2);
}
Tensor norm(const Tensor& x, const Axes& axes, Keep keep, double p) {
  return norm_over(x, axes, keep, p);
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return unchanged(x);
  const int extra = x.rank() - shape.rank();
  Reduction reduction;
  bool fits = extra >= 0;
  for (int axis = 0; fits && axis < x.rank(); ++axis) {
    if (axis < extra || (shape[axis - extra] == 1 && x.shape()[axis] != 1))
      reduction.axes |= 1u << axis;
    else
      fits = shape[axis - extra] == x.shape()[axis];
  }
  if (!fits)
    throw ShapeError("sum_to: " + to_string(shape) + " does not broadcast to x " + to_string(x.shape()) +
                     ", so x cannot be summed back to it");
  return apply(sum_to_op, {x}, shape, x.dtype(), reduction);
}

Tensor argmax(const Tensor& x, int axis, Keep keep) {
  const Reduction reduction = over("argmax", x, Axes{axis}, keep);
  require_something("argmax", x, reduction);
  return apply(argmax_op, {x}, output_shape(x.shape(), reduction), int64, reduction);
}

bool all(const Tensor& x) {
  return truth(all_op, x);
}
bool any(const Tensor& x) {
  return truth(any_op, x);
}

}  // namespace regard

// Losses. Cross entropy is computed row by row, in one op with a gradient of its own; the mean and the sum
// over the rows are ordinary ops.
#include <regard/loss.hpp>

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "kernels/cross_entropy.hpp"
#include "ops/softmax.hpp"

namespace regard {
namespace detail {
namespace {

using kernels::CrossEntropy;

Tensor column(const Tensor& rows) {
  return expand_dims(rows, {-1});
}
Tensor along_classes(const Tensor& x) {
  return sum(x, {-1}, keep_axes);
}

Tensor backward_logits(const Tensor& dy, const Tensor& logits, const Tensor& targets, const Tensor& weights,
                       const CrossEntropy& options);

// For `(…, logits, targets, weights)` from input `first` on.
const Tensor& targets_of(const Vjp& at, int first) {
  return at.x(first + 1);
}
const Tensor& weights_of(const Vjp& at, int first) {
  return at.x(first + 2);
}

/// The rows that count, [.., 1]; undefined when all do.
Tensor counted(const Tensor& targets, const CrossEntropy& options) {
  if (targets.dtype() != int64) return Tensor();
  return column(not_equal(targets, full({}, static_cast<double>(options.ignore_index), int64)));
}

/// d(a_c)/d(t_c): (1 - s)·w_c.
Tensor slope_of_target(const Tensor& like, const Tensor& weights, const CrossEntropy& options) {
  const Tensor w = weights.defined() ? weights.detach() : ones({1}, like.dtype());
  return w * (1 - options.smoothing);
}

/// What a class counts in its row, a_c, [.., classes]: differentiable in probabilities.
Tensor class_targets(const Tensor& logits, const Tensor& targets, const Tensor& weights,
                     const CrossEntropy& options) {
  const Size classes = logits.shape().back();
  const Tensor counts = counted(targets, options);
  const Tensor t = counts.defined() ? equal(column(targets), arange(classes)).to(logits.dtype()) : targets;
  const Tensor a = t * (1 - options.smoothing) + options.smoothing / static_cast<double>(classes);
  const Tensor weighted = weights.defined() ? a * weights.detach() : a;
  return counts.defined() ? where(counts, weighted, scalar(0, weighted.dtype())) : weighted;
}

Tensor rows_dlogits(const Vjp& at) {
  return backward_logits(at.dy, at.x(0), at.x(1), at.x(2), at.get<CrossEntropy>());
}

Tensor rows_dtargets(const Vjp& at) {
  const CrossEntropy& options = at.get<CrossEntropy>();
  return negate(column(at.dy) * log_softmax(at.x(0)) * slope_of_target(at.x(0), weights_of(at, 0), options));
}

// Below, u is the gradient of dx = dy·(A·p - a), with p = softmax(x) and A = Σ a.
struct SecondOrder {
  Tensor counts, u, p, a;

  explicit SecondOrder(const Vjp& at) {
    const CrossEntropy& options = at.get<CrossEntropy>();
    const Tensor& logits = at.x(1);
    counts = counted(targets_of(at, 1), options);
    u = counts.defined() ? where(counts, at.dy, scalar(0, at.dy.dtype())) : at.dy;
    p = counts.defined() ? softmax(logits, counts) : softmax(logits);
    a = class_targets(logits, targets_of(at, 1), weights_of(at, 1), options);
  }
};

Tensor backward_ddy(const Vjp& at) {
  const SecondOrder s(at);
  return sum(s.u * (along_classes(s.a) * s.p - s.a), {-1});
}

Tensor backward_dlogits(const Vjp& at) {
  const SecondOrder s(at);
  return column(at.x(0)) * along_classes(s.a) * softmax_backward(s.u, s.p, s.counts, s.p.rank() - 1);
}

Tensor backward_dtargets(const Vjp& at) {
  const SecondOrder s(at);
  const Tensor slope = slope_of_target(at.x(1), weights_of(at, 1), at.get<CrossEntropy>());
  return column(at.x(0)) * (along_classes(s.u * s.p) - s.u) * slope;
}

const Op rows_op = {"cross_entropy", kernels::cross_entropy, {rows_dlogits, rows_dtargets}};
const Op backward_op = {"cross_entropy_backward",
                        kernels::cross_entropy_backward,
                        {backward_ddy, backward_dlogits, backward_dtargets}};
const Op scale_op = {"cross_entropy_scale", kernels::cross_entropy_scale};

Tensor backward_logits(const Tensor& dy, const Tensor& logits, const Tensor& targets, const Tensor& weights,
                       const CrossEntropy& options) {
  return apply(backward_op, {dy, logits, targets, weights}, logits.shape(), logits.dtype(), options);
}

Shape rows_of(const Tensor& logits) {
  Shape rows = logits.shape();
  rows.erase(rows.rank() - 1);
  return rows;
}

void require_targets(const Tensor& logits, const Tensor& targets) {
  const bool fits_dtype = targets.dtype() == int64 || targets.dtype() == logits.dtype();
  if (fits_dtype && targets.shape() == (targets.dtype() == int64 ? rows_of(logits) : logits.shape())) return;
  const std::string given = std::string(name(targets.dtype())) + " " + to_string(targets.shape());
  const std::string expected = "class ids int64 " + to_string(rows_of(logits)) + " or probabilities " +
                               name(logits.dtype()) + " " + to_string(logits.shape());
  const std::string text = "cross_entropy: logits " + to_string(logits.shape()) + " (classes last) take " +
                           expected + " as targets, got " + given;
  if (!fits_dtype) throw DTypeError(text);
  throw ShapeError(text);
}

void require_options(const Tensor& logits, const CrossEntropyOptions& options) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw ValueError("cross_entropy: label_smoothing must be from 0 to 1, got " +
                     std::to_string(options.label_smoothing));
  const Tensor& weights = options.class_weights;
  if (!weights.defined()) return;
  common_float_dtype("cross_entropy", logits, weights);
  if (weights.shape() != Shape{logits.shape().back()})
    throw ShapeError("cross_entropy: expected class_weights [" + std::to_string(logits.shape().back()) +
                     "] for logits " + to_string(logits.shape()) + ", got " + to_string(weights.shape()));
}

/// 1 / (what the mean divides by), or 0.
Tensor mean_scale(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  if (targets.dtype() == int64) {
    const kernels::CrossEntropyScale attributes{options.ignore_index, logits.shape().back()};
    return apply(scale_op, {targets, options.class_weights}, Shape{}, logits.dtype(), attributes);
  }
  const Size rows = numel(rows_of(logits));
  return scalar(rows == 0 ? 0.0 : 1.0 / static_cast<double>(rows), logits.dtype());
}

}  // namespace
}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  require_float("cross_entropy", logits);
  if (logits.rank() == 0) throw ShapeError("cross_entropy: logits are a scalar, expected [.., classes]");
  require_targets(logits, targets);
  require_options(logits, options);

  const CrossEntropy attributes{options.ignore_index, options.label_smoothing};
  const Tensor rows =
      apply(rows_op, {logits, targets, options.class_weights}, rows_of(logits), logits.dtype(), attributes);
  switch (options.reduction) {
    case Reduction::none:
      return rows;
    case Reduction::sum:
      return sum(rows);
    case Reduction::mean:
      break;
  }
  return sum(rows) * mean_scale(logits, targets, options);
}

Tensor mean_squared_error(const Tensor& prediction, const Tensor& target, Reduction reduction) {
  common_float_dtype("mean_squared_error", prediction, target);
  if (prediction.shape() != target.shape())
    throw ShapeError("mean_squared_error: prediction " + to_string(prediction.shape()) + " and target " +
                     to_string(target.shape()) +
                     " must have the same shape; reshape one, or broadcast_to if that is what you mean");
  const Tensor errors = square(prediction - target);
  switch (reduction) {
    case Reduction::none:
      return errors;
    case Reduction::sum:
      return sum(errors);
    case Reduction::mean:
      break;
  }
  return mean(errors);
}

}  // namespace regard

// Losses. Cross entropy is computed row by row, in one op with a gradient of its own; the mean and the sum
// over the rows are ordinary ops.
#include <regard/loss.hpp>

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "autograd/context.hpp"
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

const Op mean_backward_op = {"cross_entropy_backward", kernels::cross_entropy_mean_backward};

// dy·scale for every row: what the rules of the rows take.
Tensor slope_of_rows(const Vjp& at) {
  return broadcast_to(at.dy * at.x(3), rows_of(at.x(0)));
}

Tensor mean_dlogits(const Vjp& at) {
  const CrossEntropy& options = at.get<CrossEntropy>();
  if (context().recording) return backward_logits(slope_of_rows(at), at.x(0), at.x(1), at.x(2), options);
  return apply(mean_backward_op, {at.dy, at.x(0), at.x(1), at.x(2), at.x(3), at.x(4)}, at.x(0).shape(),
               at.dy.dtype(), options);
}

Tensor mean_dtargets(const Vjp& at) {
  return rows_dtargets({slope_of_rows(at), at.y, at.inputs, at.input_count, at.attributes});
}

const Op mean_op = {"cross_entropy", kernels::cross_entropy_mean, {mean_dlogits, mean_dtargets}};

Tensor mean_of_rows(const Tensor& logits, const Tensor& targets, const Tensor& weights,
                    const CrossEntropy& options) {
  const DType dtype = logits.dtype();
  Shape kept = logits.shape();
  kept[kept.rank() - 1] = 2;
  Tensor outputs[] = {empty({}, dtype), empty({}, dtype), empty(kept, float64)};
  const Tensor inputs[] = {logits, targets, weights, outputs[1], outputs[2]};
  execute(mean_op, inputs, 3, outputs, 3, options);
  return record(mean_op, inputs, 5, std::move(outputs[0]), options);
}

/// A loss of [.., classes] against targets, as errors call it and its input.
struct ClassLoss {
  const char *op, *x;
};
constexpr ClassLoss of_logits{"cross_entropy", "logits"},
    of_log_probabilities{"nll_loss", "log_probabilities"};

void require_targets(const ClassLoss& loss, const Tensor& x, const Tensor& targets) {
  require_float(loss.op, x);
  if (x.rank() == 0)
    throw ShapeError(std::string(loss.op) + ": " + loss.x + " are a scalar, expected [.., classes]");
  const bool fits_dtype = targets.dtype() == int64 || targets.dtype() == x.dtype();
  if (fits_dtype && targets.shape() == (targets.dtype() == int64 ? rows_of(x) : x.shape())) return;
  const std::string given = std::string(name(targets.dtype())) + " " + to_string(targets.shape());
  const std::string expected = "class ids int64 " + to_string(rows_of(x)) + " or probabilities " +
                               name(x.dtype()) + " " + to_string(x.shape());
  const std::string text = std::string(loss.op) + ": " + loss.x + " " + to_string(x.shape()) +
                           " (classes last) take " + expected + " as targets, got " + given;
  if (!fits_dtype) throw DTypeError(text);
  throw ShapeError(text);
}

void require_options(const ClassLoss& loss, const Tensor& x, const CrossEntropyOptions& options) {
  if (!(options.label_smoothing >= 0 && options.label_smoothing <= 1))
    throw ValueError(std::string(loss.op) + ": label_smoothing must be from 0 to 1, got " +
                     std::to_string(options.label_smoothing));
  const Tensor& weights = options.class_weights;
  if (!weights.defined()) return;
  common_float_dtype(loss.op, x, weights);
  if (weights.shape() != Shape{x.shape().back()})
    throw ShapeError(std::string(loss.op) + ": expected class_weights [" + std::to_string(x.shape().back()) +
                     "] for " + loss.x + " " + to_string(x.shape()) + ", got " + to_string(weights.shape()));
}

/// 1 / (what the mean divides by), or 0. Checks the ids.
Tensor mean_scale(const ClassLoss& loss, const Tensor& x, const Tensor& targets,
                  const CrossEntropyOptions& options) {
  if (targets.dtype() == int64) {
    const kernels::CrossEntropyScale attributes{options.ignore_index, x.shape().back(), loss.op};
    return apply(scale_op, {targets, options.class_weights}, Shape{}, x.dtype(), attributes);
  }
  const Size rows = numel(rows_of(x));
  return scalar(rows == 0 ? 0.0 : 1.0 / static_cast<double>(rows), x.dtype());
}

Tensor reduced(const Tensor& each, Reduction reduction) {
  switch (reduction) {
    case Reduction::none:
      return each;
    case Reduction::sum:
      return sum(each);
    case Reduction::batch_mean:
      return sum(each) / (each.rank() == 0 ? 1.0 : static_cast<double>(each.size(0)));
    case Reduction::mean:
      break;
  }
  return mean(each);
}

/// `factor` in 0·factor where p is 0: that is to be 0, not NaN.
Tensor times_zero(const Tensor& factor, const Tensor& p) {
  return masked_fill(factor, logical_and(equal(p, scalar(0, p.dtype())), logical_not(isfinite(factor))), 0);
}

void require_alike(const char* op, const char* what, const Tensor& x, const Tensor& target) {
  common_float_dtype(op, x, target);
  if (x.shape() != target.shape())
    throw ShapeError(std::string(op) + ": " + what + " " + to_string(x.shape()) + " and target " +
                     to_string(target.shape()) +
                     " must have the same shape; reshape one, or broadcast_to if that is what you mean");
}

/// Times a constant, which may be undefined.
Tensor weighted(const char* op, const char* what, const Tensor& each, const Tensor& weight) {
  if (!weight.defined()) return each;
  common_float_dtype(op, each, weight);
  if (broadcast_shapes(each.shape(), weight.shape(), op) != each.shape())
    throw ShapeError(std::string(op) + ": " + what + " " + to_string(weight.shape()) +
                     " does not broadcast to " + to_string(each.shape()));
  return each * weight.detach();
}

}  // namespace
}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor cross_entropy(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  require_targets(of_logits, logits, targets);
  require_options(of_logits, logits, options);
  const CrossEntropy attributes{options.ignore_index, options.label_smoothing};
  const Tensor& weights = options.class_weights;
  if (options.reduction == Reduction::mean) return mean_of_rows(logits, targets, weights, attributes);
  return reduced(apply(rows_op, {logits, targets, weights}, rows_of(logits), logits.dtype(), attributes),
                 options.reduction);
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& targets, const CrossEntropyOptions& options) {
  const Tensor& x = log_probabilities;
  require_targets(of_log_probabilities, x, targets);
  require_options(of_log_probabilities, x, options);
  const Tensor scale = mean_scale(of_log_probabilities, x, targets, options);
  const Tensor a =
      class_targets(x, targets, options.class_weights, {options.ignore_index, options.label_smoothing});
  const Tensor rows = 0.0 - sum(a * times_zero(x, a), {-1});
  return options.reduction == Reduction::mean ? sum(rows) * scale : reduced(rows, options.reduction);
}

Tensor binary_cross_entropy_with_logits(const Tensor& logits, const Tensor& targets,
                                        const BinaryCrossEntropyOptions& options) {
  constexpr const char* op = "binary_cross_entropy_with_logits";
  require_alike(op, "logits", logits, targets);
  const Tensor positive = weighted(op, "pos_weight", targets * softplus(negate(logits)), options.pos_weight);
  const Tensor each = positive + (1.0 - targets) * softplus(logits);
  return reduced(weighted(op, "weight", each, options.weight), options.reduction);
}

Tensor kl_divergence(const Tensor& log_probabilities, const Tensor& targets,
                     const KlDivergenceOptions& options) {
  const Tensor &x = log_probabilities, &t = targets;
  require_alike("kl_divergence", "log_probabilities", x, t);
  const Tensor p = options.log_target ? exp(t) : t;
  const Tensor own = options.log_target ? p * times_zero(t, p) : xlogy(p, p);
  return reduced(own - p * times_zero(x, p), options.reduction);
}

Tensor mean_squared_error(const Tensor& prediction, const Tensor& target, Reduction reduction) {
  require_alike("mean_squared_error", "prediction", prediction, target);
  return reduced(square(prediction - target), reduction);
}

}  // namespace regard

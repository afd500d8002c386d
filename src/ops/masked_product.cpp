#include "ops/masked_product.hpp"

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "kernels/masked_product.hpp"
#include "ops/matmul.hpp"

namespace regard::detail {
namespace {

// With y = alpha·Σ over kept pairs, each rule is the same sum over another index.
Tensor scores_da(const Vjp& at) {
  return sum_to(masked_mix(at.dy, at.x(1), at.x(2), at.get<double>()), at.x(0).shape());
}
Tensor scores_db(const Vjp& at) {
  return sum_to(masked_mix_transposed(at.dy, at.x(0), at.x(2), at.get<double>()), at.x(1).shape());
}
Tensor mix_dweights(const Vjp& at) {
  return sum_to(masked_scores(at.dy, at.x(1), at.x(2), at.get<double>()), at.x(0).shape());
}
Tensor mix_dv(const Vjp& at) {
  return sum_to(masked_mix_transposed(at.x(0), at.dy, at.x(2), at.get<double>()), at.x(1).shape());
}
Tensor mix_transposed_dweights(const Vjp& at) {
  return sum_to(masked_scores(at.x(1), at.dy, at.x(2), at.get<double>()), at.x(0).shape());
}
Tensor mix_transposed_da(const Vjp& at) {
  return sum_to(masked_mix(at.x(0), at.dy, at.x(2), at.get<double>()), at.x(1).shape());
}

const Op scores_op = {"masked_scores", kernels::masked_scores, {scores_da, scores_db}};
const Op mix_op = {"masked_mix", kernels::masked_mix, {mix_dweights, mix_dv}};
const Op mix_transposed_op = {
    "masked_mix_transposed", kernels::masked_mix_transposed, {mix_transposed_dweights, mix_transposed_da}};

// Which axes of the two operands meet, and which two are left.
struct Axes2 {
  int inner_a, inner_b;  // contracted
  int rows, columns;     // of a and of b, in the result
  const char* shapes;    // for the error message
};

Tensor masked(const Op& op, const Tensor& a, const Tensor& b, const Tensor& keep, double alpha,
              const Axes2& axes) {
  const DType dtype = common_float_dtype(op.name, a, b);
  const auto refuse = [&](const std::string& why) {
    throw ShapeError(std::string(op.name) + ": expected " + axes.shapes + ", got " + to_string(a.shape()) +
                     " and " + to_string(b.shape()) + ": " + why);
  };
  if (a.rank() < 2 || b.rank() < 2) refuse("an operand has rank below 2");
  const Size inner_a = a.size(axes.inner_a), inner_b = b.size(axes.inner_b);
  if (inner_a != inner_b)
    refuse("axes of " + std::to_string(inner_a) + " and " + std::to_string(inner_b) + " must agree");
  require_dtype(op.name, "keep", keep, boolean);

  const Shape leading = broadcast_leading(op.name, a, b);
  Shape shape = leading, full = leading;
  shape.push_back(a.size(axes.rows));
  shape.push_back(b.size(axes.columns));
  const bool scores = &op == &scores_op;
  full.push_back(scores ? shape[shape.rank() - 2] : a.size(-2));
  full.push_back(scores ? shape.back() : a.size(-1));
  if (broadcast_shapes(full, keep.shape(), op.name) != full)
    throw ShapeError(std::string(op.name) + ": keep " + to_string(keep.shape()) + " does not stretch to " +
                     to_string(full));
  return apply(op, {a, b, keep}, shape, dtype, alpha);
}

}  // namespace

Tensor masked_scores(const Tensor& a, const Tensor& b, const Tensor& keep, double alpha) {
  if (!keep.defined()) return product(a, b, Transpose::no, Transpose::yes, alpha);
  return masked(scores_op, a, b, keep, alpha, {-1, -1, -2, -2, "[.., n, d] and [.., m, d]"});
}

Tensor masked_mix(const Tensor& weights, const Tensor& v, const Tensor& keep, double alpha) {
  if (!keep.defined()) return product(weights, v, Transpose::no, Transpose::no, alpha);
  return masked(mix_op, weights, v, keep, alpha, {-1, -2, -2, -1, "[.., n, m] and [.., m, d]"});
}

Tensor masked_mix_transposed(const Tensor& weights, const Tensor& a, const Tensor& keep, double alpha) {
  if (!keep.defined()) return product(weights, a, Transpose::yes, Transpose::no, alpha);
  return masked(mix_transposed_op, weights, a, keep, alpha, {-2, -2, -1, -1, "[.., n, m] and [.., n, d]"});
}

}  // namespace regard::detail

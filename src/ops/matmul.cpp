#include "ops/matmul.hpp"

#include <limits>

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "kernels/contraction.hpp"
#include "kernels/matmul.hpp"

namespace regard {
namespace detail {
namespace {

using kernels::Product;

Transpose flag(bool transpose) {
  return transpose ? Transpose::yes : Transpose::no;
}

std::string operands(const Tensor& a, const Tensor& b, const Product& how) {
  return to_string(a.shape()) + (how.transpose_a ? "ᵀ" : "") + " x " + to_string(b.shape()) +
         (how.transpose_b ? "ᵀ" : "");
}

[[noreturn]] void refuse(const Tensor& a, const Tensor& b, const Product& how, const std::string& why) {
  throw ShapeError("matmul: expected [.., n, k] x [.., k, m], got " + operands(a, b, how) + ": " + why);
}

// How many axes in front of the last two, counted from the right, b lacks or has extent 1 in: there, matrices
// of a met the same b. 0 unless a has those axes in full.
int shared_axes(const Shape& a, const Shape& b, const Shape& y) {
  int count = 0;
  for (int i = 3; i <= y.rank() && (i > b.rank() || b[b.rank() - i] == 1); ++i) {
    if (i > a.rank() || a[a.rank() - i] != y[y.rank() - i]) return 0;
    ++count;
  }
  return count;
}

// [.., axes to fold, n, k] -> [.., their product times n, k]
Tensor fold_rows(const Tensor& x, int axes) {
  if (axes == 0) return x;
  Shape shape = x.shape();
  const int row = shape.rank() - 2 - axes;
  for (; axes > 0; --axes) {
    shape[row] *= shape[row + 1];
    shape.erase(row + 1);
  }
  return reshape(x, shape);
}

Tensor product_da(const Vjp& at) {
  const Product& how = at.get<Product>();
  const Tensor& b = at.x(1);
  const Tensor da = how.transpose_a ? product(b, at.dy, flag(how.transpose_b), Transpose::yes, how.alpha)
                                    : product(at.dy, b, Transpose::no, flag(!how.transpose_b), how.alpha);
  return sum_to(da, at.x(0).shape());
}

// y = alpha·Σ aᵀ·b over the rows of all leading axes.
Tensor contraction(const Tensor& a, const Tensor& b, double alpha);

// clang-format off
const Op contraction_op = {"matmul", kernels::contraction, {
    [](const Vjp& at) { return product(at.x(1), at.dy, Transpose::no, Transpose::yes, at.get<double>()); },
    [](const Vjp& at) { return product(at.x(0), at.dy, Transpose::no, Transpose::no, at.get<double>()); }}};
// clang-format on

Tensor contraction(const Tensor& a, const Tensor& b, double alpha) {
  return apply(contraction_op, {a, b}, {a.shape().back(), b.shape().back()}, a.dtype(), alpha);
}

bool fits_blas(Size rows) { return rows <= std::numeric_limits<int>::max(); }

Tensor product_db(const Vjp& at) {
  const Product& how = at.get<Product>();
  const Shape& shape = at.x(1).shape();
  // Matrices of a that met the same b add up as rows of one product, rather than as many products and a sum.
  const int folded = how.transpose_a ? 0 : shared_axes(at.x(0).shape(), shape, at.dy.shape());
  if (folded > 0 && folded + 2 == at.dy.rank() && fits_blas(at.dy.numel())) {
    const Tensor db =
        how.transpose_b ? contraction(at.dy, at.x(0), how.alpha) : contraction(at.x(0), at.dy, how.alpha);
    return shape.rank() == 2 ? db : reshape(db, shape);
  }
  const Tensor a = fold_rows(at.x(0), folded), dy = fold_rows(at.dy, folded);
  const Tensor db = how.transpose_b ? product(dy, a, Transpose::yes, flag(how.transpose_a), how.alpha)
                                    : product(a, dy, flag(!how.transpose_a), Transpose::no, how.alpha);
  Shape without_ones = shape;
  for (int i = 0; i < folded && without_ones.rank() > 2; ++i) without_ones.erase(without_ones.rank() - 3);
  return reshape(sum_to(db, without_ones), shape);
}

const Op product_added_op = {"matmul", kernels::product_added};

bool add_product(const Tensor& a, const Tensor& b, Transpose transpose_b, const Tensor& to) {
  const Product how{false, transpose_b == Transpose::yes, 1};
  const Tensor inputs[] = {a, b, to};
  Tensor output = to;
  execute(product_added_op, inputs, 3, &output, 1, how);
  return true;
}

// Where dy·op(b)ᵀ has a's shape as it is.
bool add_product_da(const Vjp& at, const Tensor& da) {
  const Product& how = at.get<Product>();
  const Tensor& b = at.x(1);
  if (how.transpose_a || b.rank() != 2 || !kernels::adds_at_once(at.dy.shape().back(), how.alpha)) return false;
  return add_product(at.dy, b, flag(!how.transpose_b), da);
}

const Op product_op = {"matmul", kernels::product, {product_da, product_db}, nullptr, false,
                       DispatchOn::output, {add_product_da}};

}  // namespace

Tensor product(const Tensor& a, const Tensor& b, Transpose transpose_a, Transpose transpose_b, double alpha) {
  const Product how{transpose_a == Transpose::yes, transpose_b == Transpose::yes, alpha};
  const DType dtype = common_float_dtype("matmul", a, b);
  const Shape &of_a = a.shape(), &of_b = b.shape();
  if (of_a.rank() < 2 || of_b.rank() < 2) refuse(a, b, how, "an operand has rank below 2");
  const auto extent = [](const Shape& shape, bool last) { return shape[shape.rank() - (last ? 1 : 2)]; };
  const Size rows = extent(of_a, how.transpose_a), inner_a = extent(of_a, !how.transpose_a);
  const Size inner_b = extent(of_b, how.transpose_b), columns = extent(of_b, !how.transpose_b);
  if (inner_a != inner_b)
    refuse(a, b, how,
           "inner axes " + std::to_string(inner_a) + " and " + std::to_string(inner_b) + " differ");
  for (const Size each : {rows, inner_a, columns})
    if (!fits_blas(each))
      refuse(a, b, how, "extent " + std::to_string(each) + " does not fit the 32 bits that BLAS counts with");
  Shape shape = of_b.rank() == 2 ? of_a : broadcast_leading("matmul", a, b);
  if (of_b.rank() == 2) {
    shape[shape.rank() - 2] = rows;
    shape[shape.rank() - 1] = columns;
  } else {
    shape.push_back(rows);
    shape.push_back(columns);
  }
  return apply(product_op, {a, b}, shape, dtype, how);
}

Shape broadcast_leading(const char* op, const Tensor& a, const Tensor& b) {
  Shape leading_a = a.shape(), leading_b = b.shape();
  for (Shape* shape : {&leading_a, &leading_b})
    for (int i = 0; i < 2; ++i) shape->erase(shape->rank() - 1);
  if (leading_a == leading_b) return leading_a;
  try {
    return broadcast_shapes(leading_a, leading_b, op);
  } catch (const ShapeError&) {
    throw ShapeError(std::string(op) + ": the leading axes of " + to_string(a.shape()) + " and " +
                     to_string(b.shape()) + " do not broadcast");
  }
}

}  // namespace detail

using namespace detail;  // NOLINT: ops are written inside the engine

Tensor matmul(const Tensor& a, const Tensor& b) {
  const Product plain;
  if (a.rank() == 0 || b.rank() == 0) refuse(a, b, plain, "a single number is no matrix; multiply() scales");
  const Tensor left = a.rank() == 1 ? expand_dims(a, {0}) : a;
  const Tensor right = b.rank() == 1 ? expand_dims(b, {1}) : b;
  const Size inner_a = left.size(-1), inner_b = right.size(-2);
  if (inner_a != inner_b)
    refuse(a, b, plain,
           "inner axes " + std::to_string(inner_a) + " and " + std::to_string(inner_b) + " differ");
  const Tensor y = product(left, right, Transpose::no, Transpose::no);
  if (a.rank() > 1 && b.rank() > 1) return y;
  Axes dropped;
  if (a.rank() == 1) dropped.push_back(-2);
  if (b.rank() == 1) dropped.push_back(-1);
  return squeeze(y, dropped);
}

}  // namespace regard

#include "kernels/matmul.hpp"

#include <algorithm>
#include <limits>

#include "kernels/blas.hpp"
#include "kernels/loops.hpp"
#include "kernels/small_product.hpp"
#include "memory/pool.hpp"

namespace regard::kernels {
namespace {

constexpr Size blas_limit = std::numeric_limits<int>::max();

// Element (i, j) lies at i * row + j * column.
struct Matrix {
  Size rows, columns;
  Size row, column;
};

Matrix matrix_of(const Array& x, bool transpose) {
  const int last = x.shape.rank() - 1;
  const Matrix m{x.shape[last - 1], x.shape[last], x.strides[last - 1], x.strides[last]};
  return transpose ? Matrix{m.columns, m.rows, m.column, m.row} : m;
}

// How BLAS can read a matrix: its elements lie side by side along one axis, and `leading` is the step of the
// other.
struct BlasForm {
  bool readable, transpose;
  int leading;
};

BlasForm blas_form(const Matrix& m) {
  // A step along an axis of extent 1 is never taken; any legal number will do.
  const auto form = [](bool transpose, Size side_by_side, Size length, Size step, Size steps) -> BlasForm {
    const Size leading = steps == 1 ? std::max<Size>(length, 1) : step;
    const bool readable = (side_by_side == 1 || length == 1) && leading >= length && leading <= blas_limit;
    return {readable, transpose, readable ? static_cast<int>(leading) : 0};
  };
  const BlasForm plain = form(false, m.column, m.columns, m.row, m.rows);
  return plain.readable ? plain : form(true, m.row, m.rows, m.column, m.columns);
}

// The array itself, or a row-major copy where BLAS cannot read it. Leading axes of stride 0 are copied once.
template <class T>
class Readable {
 public:
  Readable(const Array& x, bool transpose) : array_(x) {
    if (blas_form(matrix_of(x, transpose)).readable) return;
    Array from = x;
    for (int axis = 0; axis < from.shape.rank() - 2; ++axis)
      if (from.strides[axis] == 0) from.shape[axis] = 1;
    copy_ = detail::PoolArray<T>::unset(static_cast<std::size_t>(numel(from.shape)));
    array_ = {copy_.data(), x.dtype, from.shape, contiguous_strides(from.shape)};
    map1<T, T>(from, array_, [](T value) { return value; });
  }
  const Array& array() const { return array_; }

 private:
  Array array_;
  detail::PoolArray<T> copy_;
};

// Rows of consecutive matrices that meet the same right operand are rows of one larger matrix.
void fold_rows(Array& results, Array& lefts, Array& rights, Matrix& left) {
  while (!results.shape.empty()) {
    const int last = results.shape.rank() - 1;
    const Size count = results.shape[last];
    if (count != 1) {
      Matrix folded = left;
      if (left.rows == 1) folded.row = lefts.strides[last];
      folded.rows *= count;
      const bool in_step = lefts.strides[last] == left.rows * folded.row;
      if (rights.strides[last] != 0 || !in_step || folded.rows > blas_limit || !blas_form(folded).readable)
        return;
      left = folded;
    }
    for (Array* array : {&results, &lefts, &rights}) {
      array->shape.erase(last);
      array->strides.erase(last);
    }
  }
}

template <class T>
void product_kernel(const Call& call) {
  multiply<T>(call.out(), call.in(0), call.in(1), call.get<Product>());
}

}  // namespace

Array batch_of(const Array& x, const Shape& batch, int inner) {
  Array out{x.data, x.dtype, batch, Sizes::filled(batch.rank(), 0)};
  const int own = x.shape.rank() - inner;
  for (int axis = 0; axis < own; ++axis)
    if (x.shape[axis] != 1) out.strides[batch.rank() - own + axis] = x.strides[axis];
  return out;
}

template <class T>
void multiply(const Array& out, const Array& a, const Array& b, const Product& how) {
  if (numel(out.shape) == 0) return;
  if (matrix_of(a, how.transpose_a).columns == 0) {
    // An empty sum; some versions of BLAS leave garbage here.
    std::fill_n(out.as<T>(), numel(out.shape), T{0});
    return;
  }
  const Readable<T> first(a, how.transpose_a), second(b, how.transpose_b);
  Matrix left = matrix_of(first.array(), how.transpose_a);
  const Matrix right = matrix_of(second.array(), how.transpose_b);
  Shape batch = out.shape;
  batch.erase(batch.rank() - 1);
  batch.erase(batch.rank() - 1);
  Array results = batch_of(out, batch), lefts = batch_of(first.array(), batch),
        rights = batch_of(second.array(), batch);
  fold_rows(results, lefts, rights, left);
  const T alpha = static_cast<T>(how.alpha);
  const auto for_each_product = [&](auto multiply_one) {
    for_each_row<3>({&results, &lefts, &rights}, [&](const auto& at, Size count, const auto& step) {
      for (Size i = 0; i < count; ++i)
        multiply_one(results.as<T>() + at[0] + i * step[0], lefts.as<const T>() + at[1] + i * step[1],
                     rights.as<const T>() + at[2] + i * step[2]);
    });
  };
  SmallProduct<T> small{left.rows,   right.columns, left.columns, alpha,        nullptr, left.row,
                        left.column, nullptr,       right.row,    right.column, nullptr};
  if (is_small(small)) {
    const auto run = rows<T>().small_product;
    for_each_product([&](T* c, const T* x, const T* y) {
      small.c = c;
      small.a = x;
      small.b = y;
      run(small);
    });
  } else {
    const BlasForm left_form = blas_form(left), right_form = blas_form(right);
    const int m = static_cast<int>(left.rows), n = static_cast<int>(right.columns),
              k = static_cast<int>(left.columns);
    for_each_product([&](T* c, const T* x, const T* y) {
      gemm(left_form.transpose, right_form.transpose, m, n, k, alpha, x, left_form.leading, y,
           right_form.leading, c, n);
    });
  }
}

template void multiply<float>(const Array&, const Array&, const Array&, const Product&);
template void multiply<double>(const Array&, const Array&, const Array&, const Product&);

const KernelSet product = {product_kernel<float>, product_kernel<double>};

}  // namespace regard::kernels

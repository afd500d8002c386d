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

bool is_readable(const Array& x) {
  return blas_form(matrix_of(x, false)).readable;
}

/// A row-major copy. Leading axes of stride 0 are copied once.
template <class T>
class Copy {
 public:
  explicit Copy(const Array& x) {
    Array from = x;
    for (int axis = 0; axis < from.shape.rank() - 2; ++axis)
      if (from.strides[axis] == 0) from.shape[axis] = 1;
    numbers_ = detail::PoolArray<T>::unset(static_cast<std::size_t>(numel(from.shape)));
    array_ = {numbers_.data(), x.dtype, from.shape, contiguous_strides(from.shape)};
    map1<T, T>(from, array_, [](T value) { return value; });
  }
  const Array& array() const { return array_; }

 private:
  Array array_;
  detail::PoolArray<T> numbers_;
};

/// How far apart neighbours along an axis of the output's leading ones are in x, which stretches to them.
Size leading_step(const Array& x, int axis, int rank) {
  const int own = axis - (rank - x.shape.rank());
  return own < 0 || x.shape[own] == 1 ? 0 : x.strides[own];
}

/// Takes the leading axes of a batch into one call, from the last on, as long as that can be done: matrices
/// that meet the same right operand as rows of one larger matrix, the others as so many products in equal
/// steps. Gives how many axes are left.
template <class T>
int gather_batch(SmallProduct<T>& at, const Array& out, const Array& a, const Array& b) {
  const int rank = out.shape.rank();
  int axis = rank - 3;
  for (; axis >= 0; --axis) {
    const Size extent = out.shape[axis];
    if (extent == 1) continue;
    const Size step_a = leading_step(a, axis, rank), step_b = leading_step(b, axis, rank),
               step_c = out.strides[axis];
    if (at.count == 1) {
      const Size a_row = at.m == 1 ? step_a : at.a_row, m = at.m * extent;
      const bool in_step = step_b == 0 && step_a == at.m * a_row && step_c == at.m * at.n && m <= blas_limit;
      if (in_step && blas_form({m, at.k, a_row, at.a_column}).readable) {
        at.m = m;
        at.a_row = a_row;
        continue;
      }
      at.next_a = step_a, at.next_b = step_b, at.next_c = step_c;
    } else if (step_a != at.count * at.next_a || step_b != at.count * at.next_b ||
               step_c != at.count * at.next_c) {
      break;
    }
    at.count *= extent;
  }
  return axis + 1;
}

/// at.count calls of BLAS.
template <class T>
void run_blas(const SmallProduct<T>& at) {
  const BlasForm a = blas_form({at.m, at.k, at.a_row, at.a_column}),
                 b = blas_form({at.k, at.n, at.b_row, at.b_column});
  const int m = static_cast<int>(at.m), n = static_cast<int>(at.n), k = static_cast<int>(at.k);
  for (Size i = 0; i < at.count; ++i)
    gemm(a.transpose, b.transpose, m, n, k, at.alpha, at.a + i * at.next_a, a.leading, at.b + i * at.next_b,
         b.leading, at.c + i * at.next_c, n);
}

/// run(at) for all elements of the first `axes` leading axes.
template <class T, class Run>
void for_each_batch(SmallProduct<T> at, const Array& out, const Array& a, const Array& b, int axes, Run run) {
  if (axes == 0) return run(at);
  const int axis = axes - 1, rank = out.shape.rank();
  for (Size i = 0; i < out.shape[axis]; ++i) {
    for_each_batch(at, out, a, b, axis, run);
    at.a += leading_step(a, axis, rank);
    at.b += leading_step(b, axis, rank);
    at.c += out.strides[axis];
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
  if (is_empty(out.shape)) return;
  const Matrix left = matrix_of(a, how.transpose_a), right = matrix_of(b, how.transpose_b);
  // An empty sum; some versions of BLAS leave garbage here.
  if (left.columns == 0) return static_cast<void>(std::fill_n(out.as<T>(), numel(out.shape), T{0}));
  if (!is_readable(a)) return multiply<T>(out, Copy<T>(a).array(), b, how);
  if (!is_readable(b)) return multiply<T>(out, a, Copy<T>(b).array(), how);
  SmallProduct<T> at{left.rows,       right.columns, left.columns, static_cast<T>(how.alpha),
                     a.as<const T>(), left.row,      left.column,  b.as<const T>(),
                     right.row,       right.column,  out.as<T>()};
  const int axes = gather_batch(at, out, a, b);
  for_each_batch(at, out, a, b, axes, is_small(at) ? rows<T>().small_product : run_blas<T>);
}

template void multiply<float>(const Array&, const Array&, const Array&, const Product&);
template void multiply<double>(const Array&, const Array&, const Array&, const Product&);

const KernelSet product = {product_kernel<float>, product_kernel<double>};

}  // namespace regard::kernels

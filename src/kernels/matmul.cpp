#include "kernels/matmul.hpp"

#include <algorithm>
#include <limits>

#include "kernels/blas.hpp"
#include "kernels/large_product.hpp"
#include "kernels/loops.hpp"
#include "kernels/parallel.hpp"
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
  const int last = x.shape.rank() - 1, row = transpose ? last : last - 1,
            column = transpose ? last - 1 : last;
  return {x.shape[row], x.shape[column], x.strides[row], x.strides[column]};
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
      const bool has_dense_rows = at.a_column == 1 && a_row >= at.k && a_row <= blas_limit;
      if (in_step && (has_dense_rows || blas_form({m, at.k, a_row, at.a_column}).readable)) {
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

/// A product in parts, of its rows or of its columns, that are multiplied each by itself.
struct Parts {
  Size count = 1, size = 0;
  bool of_columns = false;
};

/// BLAS reads one operand again for each part, so there are few, of a size in which that does not show. Size
/// alone decides, whoever multiplies: the bits at a part's edges are the part's.
Parts parts_of(Size m, Size n, double multiplications) {
  const Size length = std::max(m, n);
  constexpr double enough = 1 << 23, enough_for_squares = 1 << 25;
  if (multiplications < (length < 1024 ? enough_for_squares : enough) || length < 128) return {};
  const Size size = (length / std::clamp<Size>(length / 512, 2, 8) + 63) / 64 * 64;
  return {(length + size - 1) / size, size, n > m};
}

/// Part `i` of one product.
template <class T>
void run_blas(const SmallProduct<T>& at, const Parts& parts, Size i) {
  const BlasForm a = blas_form({at.m, at.k, at.a_row, at.a_column}),
                 b = blas_form({at.k, at.n, at.b_row, at.b_column});
  const Size first = i * parts.size, row = parts.of_columns ? 0 : first, column = first - row;
  const Size rows = parts.count == 1 || parts.of_columns ? at.m : std::min(parts.size, at.m - row);
  const Size columns = parts.count == 1 || !parts.of_columns ? at.n : std::min(parts.size, at.n - column);
  gemm(a.transpose, b.transpose, static_cast<int>(rows), static_cast<int>(columns), static_cast<int>(at.k),
       at.alpha, at.a + row * at.a_row, a.leading, at.b + column * at.b_column, b.leading,
       at.c + row * at.n + column, static_cast<int>(at.n), at.adds ? T{1} : T{0});
}

/// All products of a batch: at.count for each element of the first `axes` leading axes.
template <class T>
struct Batch {
  const SmallProduct<T>& at;
  const Array &out, &a, &b;
  int axes;

  Size size() const {
    Size all = at.count;
    for (int axis = 0; axis < axes; ++axis) all *= out.shape[axis];
    return all;
  }
  /// The products from `i` on, at most so many; only those that lie in equal steps.
  SmallProduct<T> from(Size i, Size most) const {
    SmallProduct<T> part = at;
    const Size inner = i % at.count;
    part.a += inner * at.next_a;
    part.b += inner * at.next_b;
    part.c += inner * at.next_c;
    part.count = std::min(most, at.count - inner);
    Size rest = i / at.count;
    for (int axis = axes - 1; axis >= 0; --axis) {
      const Size index = rest % out.shape[axis];
      rest /= out.shape[axis];
      part.a += index * leading_step(a, axis, out.shape.rank());
      part.b += index * leading_step(b, axis, out.shape.rank());
      part.c += index * out.strides[axis];
    }
    return part;
  }
};

template <class T>
void run_small(const Batch<T>& batch) {
  const auto run = rows<T>().small_product;
  const SmallProduct<T>& at = batch.at;
  const Size each = at.m * at.n * at.k;
  if (batch.axes == 0 && block_size(at.count, each, multiplied) >= at.count) return run(at);
  parallel_ranges(batch.size(), each, multiplied, [&](Size begin, Size end) {
    while (begin < end) {
      const SmallProduct<T> part = batch.from(begin, end - begin);
      run(part);
      begin += part.count;
    }
  });
}

Size work_of(double multiplications) {
  return static_cast<Size>(std::min(multiplications, 1e12));
}

template <class T>
void run_large(const Batch<T>& batch) {
  const SmallProduct<T>& at = batch.at;
  const double each = static_cast<double>(at.m) * static_cast<double>(at.n) * static_cast<double>(at.k);
  const Size products = batch.size();
  if (is_ours(at)) {
    const auto multiply_all = [&](Size begin, Size end) {
      for (Size i = begin; i < end; ++i) large_product(batch.from(i, 1));
    };
    // Many are shared out themselves, few have blocks for all.
    return products < 4 ? multiply_all(0, products)
                        : parallel_ranges(products, work_of(each), multiplied, multiply_all);
  }
  if (!stays_on_its_thread(each)) {
    for (Size i = 0; i < products; ++i) run_blas(batch.from(i, 1), {}, 0);
    return;
  }
  const Parts parts = parts_of(at.m, at.n, each);
  const Size work = work_of(each / static_cast<double>(parts.count));
  parallel_ranges(products * parts.count, work, multiplied, [&](Size begin, Size end) {
    for (Size i = begin; i < end; ++i) run_blas(batch.from(i / parts.count, 1), parts, i % parts.count);
  });
}

template <class T>
void product_kernel(const Call& call) {
  multiply<T>(call.out(), call.in(0), call.in(1), call.get<Product>());
}

template <class T>
void product_added_kernel(const Call& call) {
  multiply<T>(call.out(), call.in(0), call.in(1), call.get<Product>(), true);
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
void multiply(const Array& out, const Array& a, const Array& b, const Product& how, bool add) {
  if (is_empty(out.shape)) return;
  const Matrix left = matrix_of(a, how.transpose_a), right = matrix_of(b, how.transpose_b);
  // An empty sum; some versions of BLAS leave garbage here.
  if (left.columns == 0) {
    if (!add) std::fill_n(out.as<T>(), numel(out.shape), T{0});
    return;
  }
  SmallProduct<T> at;  // member by member: a list would set it to zeros first
  at.m = left.rows, at.n = right.columns, at.k = left.columns;
  at.alpha = static_cast<T>(how.alpha);
  at.a = a.as<const T>(), at.a_row = left.row, at.a_column = left.column;
  at.b = b.as<const T>(), at.b_row = right.row, at.b_column = right.column;
  at.c = out.as<T>();
  at.adds = add;
  const int axes = gather_batch(at, out, a, b);
  const Batch<T> batch{at, out, a, b, axes};
  if (is_small(at)) return run_small(batch);
  if (!is_readable(a)) return multiply<T>(out, Copy<T>(a).array(), b, how, add);
  if (!is_readable(b)) return multiply<T>(out, a, Copy<T>(b).array(), how, add);
  run_large(batch);
}

template void multiply<float>(const Array&, const Array&, const Array&, const Product&, bool);
template void multiply<double>(const Array&, const Array&, const Array&, const Product&, bool);

const KernelSet product = {product_kernel<float>, product_kernel<double>};
const KernelSet product_added = {product_added_kernel<float>, product_added_kernel<double>};

}  // namespace regard::kernels

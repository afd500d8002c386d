// The table of what is compiled once per instruction set: loops over dense rows of numbers. Kernels walk
// through strided arrays and call these for the rows.
#pragma once

#include <regard/dtype.hpp>

namespace regard::kernels {

/// What one step of Adam is made of, and where its rows lie; new rows may be the old ones.
template <class T>
struct AdamFigures {
  T rate, correction, beta2, epsilon, gain1, gain2, l2, shrink;
};
template <class T>
struct AdamRow {
  const T *p, *g, *m, *v;
  T *new_p, *new_m, *new_v;
};

/// C = alpha·A·B, m x k times k x n. C is row-major; elements (i, j) of the others lie at i·row + j·column.
/// So for `count` matrices, each so many elements behind the one before.
template <class T>
struct SmallProduct {
  Size m, n, k;
  T alpha;
  const T* a;
  Size a_row, a_column;
  const T* b;
  Size b_row, b_column;
  T* c;
  Size count = 1, next_a = 0, next_b = 0, next_c = 0;
};
/// The most elements that B may have where its columns do not lie side by side: it is turned on the stack.
inline constexpr Size small_product_room = 2048;

/// For one float type. Where nothing else is said, an output may be an input itself, but not overlap one
/// otherwise.
template <class T>
struct Rows {
  using Number = T;

  /// y[i] = f(x[i]). What an element gives depends on neither its place nor n.
  using Unary = void (*)(Size n, const T* x, T* y);
  Unary exp, log, tanh, sigmoid, softplus, gelu_exact, gelu_slope, gelu_tanh, normal_cdf, normal_pdf;
  Unary negate, square, sqrt, abs, sign, relu, unit_step;

  /// y[i] = f(a[i], b[i]); a step of 0 instead of 1 takes one number for the whole row.
  using Binary = void (*)(Size n, const T* a, Size a_step, const T* b, Size b_step, T* y);
  Binary add, subtract, multiply, divide, maximum, minimum;

  /// Σ x, in an order that is the same for every instruction set.
  double (*sum)(Size n, const T* x);
  /// y[j] = Σ x[row·step + j] over `rows` rows, in their order. y is no input.
  void (*sum_rows)(Size rows, Size n, const T* x, Size step, T* y);
  /// -inf for none; a NaN is passed over.
  T (*largest)(Size n, const T* x);
  /// What softmax needs to know of a row: the largest, and into `total` Σ exp(x - largest).
  T (*softmax_scale)(Size n, const T* x, double& total);
  /// Σ exp(x - shift), for x <= shift.
  double (*sum_of_exp)(Size n, const T* x, T shift);
  /// y = exp(x - shift)·factor, for x <= shift.
  void (*scaled_exp)(Size n, const T* x, T shift, T factor, T* y);

  /// See kernels/softmax.hpp. keep may be null. The output is no input.
  using Normalise = void (*)(Size n, const T* x, const bool* keep, T* y);
  Normalise softmax, log_softmax;
  using NormaliseBackward = void (*)(Size n, const T* dy, const T* y, const bool* keep, T* dx);
  NormaliseBackward softmax_backward, log_softmax_backward;

  /// More scores of a row whose softmax has begun: s = exp(s - m) with m the largest so far, 0 where hidden. Takes
  /// `largest` to m and `total` to the sum so far, and gives exp(the largest before - m), by which all that was made
  /// with the largest before is to be multiplied. keep may be null.
  T (*online_softmax)(Size n, T* s, const bool* keep, T& largest, double& total);
  /// s = p = exp(s - shift), dp = p·(dp - delta); both 0 where hidden. keep may be null.
  void (*attention_slopes)(Size n, T* s, T* dp, const bool* keep, T shift, T delta);

  /// See kernels/layer_norm.hpp. gamma and beta may be null. The output is no input.
  void (*layer_norm)(Size n, const T* x, const T* gamma, const T* beta, double epsilon, T* y);
  void (*layer_norm_backward)(Size n, const T* dy, const T* x, const T* gamma, double epsilon, T* dx);
  /// totals += dy·normalised x.
  void (*add_layer_norm_gamma)(Size n, const T* dy, const T* x, double epsilon, T* totals);

  void (*small_product)(const SmallProduct<T>& at);

  void (*adam)(Size n, const AdamFigures<T>& figures, const AdamRow<T>& row);
};

struct Table {
  Rows<float> f32;
  Rows<double> f64;
};

/// The table of the instruction set in use (see regard/instruction_set.hpp), chosen at the first call.
/// ValueError when the one that was asked for is unknown or missing.
const Table& table();

template <class T>
const Rows<T>& rows();
template <>
inline const Rows<float>& rows<float>() {
  return table().f32;
}
template <>
inline const Rows<double>& rows<double>() {
  return table().f64;
}

}  // namespace regard::kernels

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
  bool adds = false;  ///< to the numbers that C has, with one rounding for the sum and one for the addition
};
/// The most elements that B may have where its columns do not lie side by side: it is turned on the stack.
inline constexpr Size small_product_room = 10240;

/// The pairs (i, j) of a row and a column with low <= j - i <= high.
struct Band {
  Size low, high;
};
/// A tile of a product has as many rows or fewer.
inline constexpr Size most_tile_rows = 8;

/// alpha·A·B, m x k times k x n, where C or A is a block of attention. Element (i, j) of A lies at i·row + j·column, the
/// rows of B and C are dense.
template <class T>
struct BandProduct {
  Size m, n, k;
  T alpha;
  const T* a;
  Size a_row, a_column;
  const T* b;
  Size b_row;
  T* c;
  Size c_row;
  Band band;
};

/// So many times exp(x) for x <= 0 is far above the denormal numbers, with which a processor is slow.
inline constexpr double raised_by = 18446744073709551616.0;  // 2^64

/// Scores of a block of queries and keys, row i from scores + i·step on; behind its columns each row has room for 16
/// numbers or more, in which anything may be written. Row i sees the columns of the band, of these
/// where keep (with the same steps) is true; keep may be null. `whole`: there are no other keys.
template <class T>
struct ScoreBlock {
  Size rows, columns, step;
  T* scores;
  Band band;
  const bool* keep;
  bool whole;
};
/// What became of the rows of a block: outputs, their gradients, and (shift, share) of each row's weights
/// raised_by·exp(s - shift)·share, for a shift that is the largest of its scores.
template <class T>
struct RowsOfOutput {
  Size width;
  const T* y;
  Size y_row;
  const T* dy;
  Size dy_row;
  const T* softmax;
};

/// So many rows of n numbers for a softmax, and their masks if there are any: each a step behind the one before.
template <class T>
struct SoftmaxLines {
  Size lines, n;
  const T* x;
  Size x_step;
  const bool* keep;
  Size keep_step;
  T* y;
  Size y_step;
};

/// For one float type. Where nothing else is said, an output may be an input itself, but not overlap one
/// otherwise.
template <class T>
struct Rows {
  using Number = T;

  /// y[i] = f(x[i]). What an element gives depends on neither its place nor n.
  using Unary = void (*)(Size n, const T* x, T* y);
  Unary exp, log, tanh, sigmoid, softplus, gelu_exact, gelu_slope, gelu_tanh, gelu_tanh_slope, normal_cdf, normal_pdf;
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
  void (*softmax_lines)(const SoftmaxLines<T>& at);
  using NormaliseBackward = void (*)(Size n, const T* dy, const T* y, const bool* keep, T* dx);
  NormaliseBackward softmax_backward, log_softmax_backward;

  /// More scores of rows whose softmax has begun: s = exp(s - m) with m the largest so far, 0 where hidden. Takes
  /// `largest` to m and `total` to raised_by times the sum so far, and gives exp(the largest before - m), by which all
  /// that was made with the largest before is to be multiplied; is any of them not 1? A whole row is divided by its sum,
  /// if that is not 0. Beside the band come 0s as far as band_mix may read.
  bool (*online_softmax)(const ScoreBlock<T>& s, T* largest, double* total, T* corrections);
  /// s = p, the weights, dp = p·(dp - Σ y·dy); both 0 where hidden, and beside the band likewise.
  void (*attention_slopes)(const ScoreBlock<T>& s, const RowsOfOutput<T>& of, T* dp);
  /// C = alpha·A·B in the band; elsewhere anything. The rows of C have room as those of a ScoreBlock.
  void (*band_scores)(const BandProduct<T>& at);
  /// C += alpha·A·B, where A counts in the band only; beside it A has 0s, which meet what is finite in B.
  void (*band_mix)(const BandProduct<T>& at);
  /// to[c·step + r] = from[r·row + c].
  void (*turn)(Size rows, Size columns, const T* from, Size row, T* to, Size step);
  /// Row i of y times factors[i·factor_step].
  void (*scale_rows)(Size rows, Size columns, T* y, Size step, const T* factors, Size factor_step);
  bool (*all_finite)(Size rows, Size columns, const T* x, Size step);

  /// See kernels/layer_norm.hpp. gamma and beta may be null. The output is no input.
  void (*layer_norm)(Size n, const T* x, const T* gamma, const T* beta, double epsilon, T* y);
  void (*layer_norm_backward)(Size n, const T* dy, const T* x, const T* gamma, double epsilon, T* dx);
  /// dx, and of_gamma += dy·normalised x, of_beta += dy. gamma is not null.
  void (*layer_norm_backward_all)(Size n, const T* dy, const T* x, const T* gamma, double epsilon, T* dx,
                                  T* of_gamma, T* of_beta);
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

// The table of what is compiled once per instruction set: loops over dense rows of numbers. Kernels walk
// through strided arrays and call these for the rows.
#pragma once

#include <regard/dtype.hpp>

namespace regard::kernels {

/// For one float type. Where nothing else is said, an output may be an input itself, but not overlap one
/// otherwise.
template <class T>
struct Rows {
  using Number = T;

  /// y[i] = f(x[i]). What an element gives depends on neither its place nor n.
  using Unary = void (*)(Size n, const T* x, T* y);
  Unary exp, log, tanh, sigmoid, softplus, gelu_exact, gelu_tanh, normal_cdf, normal_pdf;
  Unary negate, square, sqrt, abs, sign, relu, unit_step;

  /// y[i] = f(a[i], b[i]); a step of 0 instead of 1 takes one number for the whole row.
  using Binary = void (*)(Size n, const T* a, Size a_step, const T* b, Size b_step, T* y);
  Binary add, subtract, multiply, divide, maximum, minimum;
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

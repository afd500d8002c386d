// What a training step is made of when it is written by hand: loops over plain memory and calls of BLAS, no
// graph, no allocation. The measure for everything that the library does.
#pragma once

#include <cblas.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace hand_written {

using Size = std::int64_t;

enum class Turn { no, yes };

inline CBLAS_TRANSPOSE of(Turn turn) {
  return turn == Turn::yes ? CblasTrans : CblasNoTrans;
}

/// c [m, n] = alpha·a·b + beta·c, row-major and dense; a is [m, k] or, turned, [k, m]; b likewise.
inline void product(Turn ta, Turn tb, Size m, Size n, Size k, float alpha, const float* a, const float* b,
                    float beta, float* c) {
  const auto i = [](Size x) { return static_cast<int>(x); };
  cblas_sgemm(CblasRowMajor, of(ta), of(tb), i(m), i(n), i(k), alpha, a, i(ta == Turn::yes ? m : k), b,
              i(tb == Turn::yes ? k : n), beta, c, i(n));
}
inline void product(Turn ta, Turn tb, Size m, Size n, Size k, double alpha, const double* a, const double* b,
                    double beta, double* c) {
  const auto i = [](Size x) { return static_cast<int>(x); };
  cblas_dgemm(CblasRowMajor, of(ta), of(tb), i(m), i(n), i(k), alpha, a, i(ta == Turn::yes ? m : k), b,
              i(tb == Turn::yes ? k : n), beta, c, i(n));
}

/// A learned matrix with its gradient and Adam's moments.
template <class T>
struct Learned {
  std::vector<T> value, gradient, first, second;

  explicit Learned(std::vector<T> start)
      : value(std::move(start)), gradient(value.size()), first(value.size()), second(value.size()) {}
  T* data() { return value.data(); }
  T* slope() { return gradient.data(); }
};

struct AdamSettings {
  double rate = 1e-3, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

template <class T>
void adam(Learned<T>& p, Size step, const AdamSettings& by) {
  const double t = static_cast<double>(step);
  const T rate = static_cast<T>(by.rate / (1 - std::pow(by.beta1, t)));
  const T root = static_cast<T>(1 / std::sqrt(1 - std::pow(by.beta2, t)));
  const T beta1 = static_cast<T>(by.beta1), beta2 = static_cast<T>(by.beta2),
          epsilon = static_cast<T>(by.epsilon);
  const T rest1 = static_cast<T>(1 - by.beta1), rest2 = static_cast<T>(1 - by.beta2);
  T *value = p.data(), *first = p.first.data(), *second = p.second.data();
  const T* slope = p.gradient.data();
  const std::size_t count = p.value.size();
  for (std::size_t i = 0; i < count; ++i) {
    const T g = slope[i];
    first[i] = beta1 * first[i] + rest1 * g;
    second[i] = beta2 * second[i] + rest2 * g * g;
    value[i] -= rate * first[i] / (std::sqrt(second[i]) * root + epsilon);
  }
}

/// Row i of `p` [n, n]: softmax of the first i + 1 of `scores`, 0 behind.
template <class T>
void causal_softmax(Size n, const T* scores, T* p) {
  for (Size i = 0; i < n; ++i) {
    const T* s = scores + i * n;
    T* row = p + i * n;
    T largest = s[0];
    for (Size j = 1; j <= i; ++j) largest = s[j] > largest ? s[j] : largest;
    T total = 0;
    for (Size j = 0; j <= i; ++j) total += row[j] = std::exp(s[j] - largest);
    const T scale = 1 / total;
    for (Size j = 0; j <= i; ++j) row[j] *= scale;
    for (Size j = i + 1; j < n; ++j) row[j] = 0;
  }
}

/// ds = p·(dp - Σ p·dp), row by row; in place over dp.
template <class T>
void causal_softmax_backward(Size n, const T* p, T* dp) {
  for (Size i = 0; i < n; ++i) {
    const T* row = p + i * n;
    T* slope = dp + i * n;
    T total = 0;
    for (Size j = 0; j <= i; ++j) total += row[j] * slope[j];
    for (Size j = 0; j <= i; ++j) slope[j] = row[j] * (slope[j] - total);
    for (Size j = i + 1; j < n; ++j) slope[j] = 0;
  }
}

/// The mean over rows of -log softmax(logits)[target]; `slope` becomes its gradient.
template <class T>
double cross_entropy(Size rows, Size classes, const T* logits, const std::int64_t* targets, T* slope) {
  double loss = 0;
  const T share = 1 / static_cast<T>(rows);
  for (Size r = 0; r < rows; ++r) {
    const T* x = logits + r * classes;
    T* dx = slope + r * classes;
    T largest = x[0];
    for (Size c = 1; c < classes; ++c) largest = x[c] > largest ? x[c] : largest;
    T total = 0;
    for (Size c = 0; c < classes; ++c) total += dx[c] = std::exp(x[c] - largest);
    loss += static_cast<double>(std::log(total) + largest - x[targets[r]]);
    const T scale = share / total;
    for (Size c = 0; c < classes; ++c) dx[c] *= scale;
    dx[targets[r]] -= share;
  }
  return loss / static_cast<double>(rows);
}

}  // namespace hand_written

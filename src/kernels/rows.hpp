// Kernels made of the loops over dense rows that the instruction set's table holds. Rows that are not dense
// go through a buffer, so that an element gets the same bits wherever it lies.
#pragma once

#include "kernels/lines.hpp"
#include "kernels/vector/table.hpp"
#include "memory/pool.hpp"

namespace regard::kernels {

constexpr Size buffered = 256;  // numbers at a time

template <class T>
void gather(Size n, const T* from, Size step, T* to) {
  for (Size i = 0; i < n; ++i) to[i] = from[i * step];
}

template <class T>
void scatter(Size n, const T* from, T* to, Size step) {
  for (Size i = 0; i < n; ++i) to[i * step] = from[i];
}

/// out = f(in), row by row. Out may be the input itself.
template <class T>
void map_rows(const Call& call, typename Rows<T>::Unary f, Work work) {
  for_each_row_in_parallel<2>({&call.out(), &call.in(0)}, work,
                              [&](const auto& at, Size n, const auto& step) {
                                T* y = call.out().as<T>() + at[0];
                                const T* x = call.in(0).as<const T>() + at[1];
                                if (step[0] == 1 && step[1] == 1) return f(n, x, y);
                                T numbers[buffered];
                                for (Size i = 0; i < n; i += buffered) {
                                  const Size count = n - i < buffered ? n - i : buffered;
                                  gather(count, x + i * step[1], step[1], numbers);
                                  f(count, numbers, numbers);
                                  scatter(count, numbers, y + i * step[0], step[0]);
                                }
                              });
}

/// out = f(a, b), row by row. Out may be an input itself.
template <class T>
void map_rows(const Call& call, typename Rows<T>::Binary f, Work work = moved) {
  for_each_row_in_parallel<3>({&call.out(), &call.in(0), &call.in(1)}, work,
                              [&](const auto& at, Size n, const auto& step) {
                                T* y = call.out().as<T>() + at[0];
                                const T* a = call.in(0).as<const T>() + at[1];
                                const T* b = call.in(1).as<const T>() + at[2];
                                const auto dense = [](Size one) { return one == 0 || one == 1; };
                                // One number on both sides still makes a row of a dense output.
                                if (step[0] == 1 && dense(step[1]) && dense(step[2]) && step[1] + step[2] > 0)
                                  return f(n, a, step[1], b, step[2], y);
                                T in_a[buffered], in_b[buffered];
                                for (Size i = 0; i < n; i += buffered) {
                                  const Size count = n - i < buffered ? n - i : buffered;
                                  gather(count, a + i * step[1], step[1], in_a);
                                  gather(count, b + i * step[2], step[2], in_b);
                                  f(count, in_a, 1, in_b, 1, in_a);
                                  scatter(count, in_a, y + i * step[0], step[0]);
                                }
                              });
}

/// out = f(in, b) for one number b.
template <class T>
void map_rows(const Call& call, typename Rows<T>::Binary f, T b) {
  for_each_row_in_parallel<2>({&call.out(), &call.in(0)}, moved,
                              [&](const auto& at, Size n, const auto& step) {
                                T* y = call.out().as<T>() + at[0];
                                const T* x = call.in(0).as<const T>() + at[1];
                                if (step[0] == 1 && step[1] == 1) return f(n, x, 1, &b, 0, y);
                                T numbers[buffered];
                                for (Size i = 0; i < n; i += buffered) {
                                  const Size count = n - i < buffered ? n - i : buffered;
                                  gather(count, x + i * step[1], step[1], numbers);
                                  f(count, numbers, 1, &b, 0, numbers);
                                  scatter(count, numbers, y + i * step[0], step[0]);
                                }
                              });
}

/// Lines of n elements, `step` apart, as dense rows: themselves where the step is 1, else copies, one at a
/// time.
template <class T>
class DenseLines {
 public:
  DenseLines(Size n, Size step)
      : n_(n),
        step_(step),
        copy_(detail::PoolArray<T>::unset(static_cast<std::size_t>(is_dense() ? 0 : n))) {}

  /// To be read.
  const T* read(const T* line) {
    if (is_dense()) return line;
    gather(n_, line, step_, copy_.data());
    return copy_.data();
  }
  /// To be written; then it is put in place.
  T* open(T* line) { return is_dense() ? line : copy_.data(); }
  void close(T* line) {
    if (!is_dense()) scatter(n_, copy_.data(), line, step_);
  }

 private:
  bool is_dense() const { return step_ == 1 || n_ <= 1; }

  Size n_, step_;
  detail::PoolArray<T> copy_;
};

}  // namespace regard::kernels

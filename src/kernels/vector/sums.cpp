#include "kernels/vector/sums.hpp"

#include "kernels/vector/functions.hpp"
#include "kernels/vector/variant.hpp"

namespace regard::kernels::REGARD_VARIANT {
namespace {

template <class T>
double sum_row(Size n, const T* x) {
  return sum_of<T>(
      n, [x](Size i, auto count) __attribute__((always_inline)) { return load(x + i, count); });
}

template <class T>
T largest_row(Size n, const T* x) {
  return largest_of<T>(
      n, [x](Size i, auto count) __attribute__((always_inline)) { return load(x + i, count); });
}

template <class T>
double sum_of_exp_row(Size n, const T* x, T shift) {
  const Batch<T> subtracted(shift);
  return static_cast<double>(lowering<T>) *
         sum_of<T>(
             n, [=](Size i, auto count) __attribute__((always_inline)) {
               return raised_exp_of_rounded<T>(load(x + i, count) - subtracted);
             });
}

template <class T>
void scaled_exp_row(Size n, const T* x, T shift, T factor, T* y) {
  const Batch<T> subtracted(shift), times(factor), lowered(lowering<T>);
  map(
      n, x, y, [=](const Batch<T>& v) __attribute__((always_inline)) {
        return raised_exp_of_rounded<T>(v - subtracted) * lowered * times;
      });
}

template <class T>
void set_rows(Rows<T>& rows) {
  rows.sum = sum_row<T>;
  rows.largest = largest_row<T>;
  rows.sum_of_exp = sum_of_exp_row<T>;
  rows.scaled_exp = scaled_exp_row<T>;
}

}  // namespace

void set_sums(Table& table) {
  set_rows(table.f32);
  set_rows(table.f64);
}

}  // namespace regard::kernels::REGARD_VARIANT

#include "kernels/optimise.hpp"

#include <array>
#include <cmath>

#include "kernels/loops.hpp"

// An output may be its input; then each element depends on itself alone, which the compiler cannot know.
#if defined(__GNUC__) && !defined(__clang__)
#define ELEMENTS_ARE_INDEPENDENT _Pragma("GCC ivdep")
#elif defined(__clang__)
#define ELEMENTS_ARE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define ELEMENTS_ARE_INDEPENDENT
#endif

namespace regard::kernels {
namespace {

/// Pointers to where each array's row starts.
template <class T, std::size_t count>
std::array<T*, count> starts(const std::array<const Array*, count>& arrays,
                             const std::array<Size, count>& at) {
  std::array<T*, count> pointers;
  for (std::size_t i = 0; i < count; ++i) pointers[i] = arrays[i]->template as<T>() + at[i];
  return pointers;
}

template <std::size_t count>
bool all_dense(const std::array<Size, count>& step) {
  for (const Size one : step)
    if (one != 1) return false;
  return true;
}

/// Calls update(row, n, place) for every innermost row: element i of array a is row[a][place(i, a)]. Where
/// all rows are dense, place is the identity, so that the loop can be vectorised.
template <class T, int count, class Update>
void update_rows(const std::array<const Array*, count>& arrays, const Update& update) {
  for_each_row<count>(arrays, [&](const auto& at, Size n, const auto& step) {
    const auto row = starts<T>(arrays, at);
    if (all_dense(step)) {
      update(row, n, [](Size i, int) { return i; });
    } else {
      update(row, n, [&step](Size i, int array) { return i * step[static_cast<std::size_t>(array)]; });
    }
  });
}

template <class T>
void sgd_kernel(const Call& call) {
  const auto& now = call.get<SgdStep>();
  const T rate = static_cast<T>(now.rate), decay = static_cast<T>(now.weight_decay);
  update_rows<T, 3>({&call.in(0), &call.in(1), &call.out(0)},
                    [=](const auto& row, Size n, const auto& place) {
                      const T *p = row[0], *g = row[1];
                      T* new_p = row[2];
                      ELEMENTS_ARE_INDEPENDENT
                      for (Size i = 0; i < n; ++i) {
                        const T value = p[place(i, 0)];
                        new_p[place(i, 2)] = value - rate * (g[place(i, 1)] + decay * value);
                      }
                    });
}

template <class T>
void sgd_momentum_kernel(const Call& call) {
  const auto& now = call.get<SgdStep>();
  const T rate = static_cast<T>(now.rate), decay = static_cast<T>(now.weight_decay);
  const T momentum = static_cast<T>(now.momentum), gain = static_cast<T>(now.gain);
  update_rows<T, 5>({&call.in(0), &call.in(1), &call.in(2), &call.out(0), &call.out(1)},
                    [=](const auto& row, Size n, const auto& place) {
                      const T *p = row[0], *g = row[1], *b = row[2];
                      T *new_p = row[3], *new_b = row[4];
                      ELEMENTS_ARE_INDEPENDENT
                      for (Size i = 0; i < n; ++i) {
                        const T value = p[place(i, 0)];
                        const T gradient = g[place(i, 1)] + decay * value;
                        const T moved = momentum * b[place(i, 2)] + gain * gradient;
                        new_b[place(i, 4)] = moved;
                        new_p[place(i, 3)] = value - rate * moved;
                      }
                    });
}

template <class T>
void adam_kernel(const Call& call) {
  const auto& now = call.get<AdamStep>();
  const T rate = static_cast<T>(now.rate), epsilon = static_cast<T>(now.epsilon);
  const T beta2 = static_cast<T>(now.beta2);
  const T gain1 = static_cast<T>(1 - now.beta1), gain2 = static_cast<T>(1 - now.beta2);
  const T correction = static_cast<T>(now.root_correction);
  const T l2 = static_cast<T>(now.l2), shrink = static_cast<T>(now.shrink);
  update_rows<T, 7>(
      {&call.in(0), &call.in(1), &call.in(2), &call.in(3), &call.out(0), &call.out(1), &call.out(2)},
      [=](const auto& row, Size n, const auto& place) {
        const T *p = row[0], *g = row[1], *m = row[2], *v = row[3];
        T *new_p = row[4], *new_m = row[5], *new_v = row[6];
        ELEMENTS_ARE_INDEPENDENT
        for (Size i = 0; i < n; ++i) {
          const T value = p[place(i, 0)];
          const T gradient = g[place(i, 1)] + l2 * value;
          const T first = m[place(i, 2)] + gain1 * (gradient - m[place(i, 2)]);
          const T second = beta2 * v[place(i, 3)] + gain2 * gradient * gradient;
          new_m[place(i, 5)] = first;
          new_v[place(i, 6)] = second;
          new_p[place(i, 4)] = shrink * value - rate * first / (std::sqrt(second) * correction + epsilon);
        }
      });
}

/// total = f(total, x) over all elements.
template <class T, class F>
void fold(const Call& call, F f) {
  const T* const x = call.in(0).as<T>();
  double total = 0;
  for_each_row<1>({&call.in(0)}, [&](const auto& at, Size n, const auto& step) {
    for (Size i = 0; i < n; ++i) total = f(total, static_cast<double>(x[at[0] + i * step[0]]));
  });
  *call.out().as<double>() = total;
}

template <class T>
void sum_of_squares_kernel(const Call& call) {
  fold<T>(call, [](double total, double x) { return total + x * x; });
}

template <class T>
void scaled_sum_of_squares_kernel(const Call& call) {
  const double scale = call.get<double>();
  fold<T>(call, [scale](double total, double x) { return total + (x / scale) * (x / scale); });
}

template <class T>
void largest_magnitude_kernel(const Call& call) {
  // A NaN, once there, stays: every comparison with it is false.
  fold<T>(call, [](double total, double x) {
    const double magnitude = std::abs(x);
    return magnitude > total || std::isnan(magnitude) ? magnitude : total;
  });
}

}  // namespace

const KernelSet sgd = {sgd_kernel<float>, sgd_kernel<double>};
const KernelSet sgd_momentum = {sgd_momentum_kernel<float>, sgd_momentum_kernel<double>};
const KernelSet adam = {adam_kernel<float>, adam_kernel<double>};
const KernelSet sum_of_squares = {sum_of_squares_kernel<float>, sum_of_squares_kernel<double>};
const KernelSet scaled_sum_of_squares = {scaled_sum_of_squares_kernel<float>,
                                         scaled_sum_of_squares_kernel<double>};
const KernelSet largest_magnitude = {largest_magnitude_kernel<float>, largest_magnitude_kernel<double>};

}  // namespace regard::kernels

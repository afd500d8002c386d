#include "kernels/softmax.hpp"

#include <cmath>
#include <limits>

#include "kernels/lines.hpp"
#include "kernels/summation.hpp"

namespace regard::kernels {
namespace {

/// What a line without a mask keeps.
struct KeepAll {
  constexpr bool operator[](Size) const { return true; }
};

// Without a mask the shift of a line of -inf stays 0, and the division 0 / 0 gives the NaN that NumPy gives.
template <class T>
T shift_of(T largest) {
  return largest == -std::numeric_limits<T>::infinity() ? T{0} : largest;
}

struct Softmax {
  template <class T, class X, class Keep, class Y>
  static void line(Size n, X x, Keep keep, Y y) {
    constexpr T hidden = -std::numeric_limits<T>::infinity();
    const T shift = shift_of(largest_of(n, [&](Size i) { return keep[i] ? x[i] : hidden; }));
    for (Size i = 0; i < n; ++i) y[i] = keep[i] ? std::exp(x[i] - shift) : T{0};
    const T total = static_cast<T>(sum_of(n, [&](Size i) { return y[i]; }));
    if (!std::is_same_v<Keep, KeepAll> && total == 0) return;  // nothing kept, or nothing but -inf
    for (Size i = 0; i < n; ++i) y[i] = keep[i] ? y[i] / total : T{0};
  }
};

struct LogSoftmax {
  template <class T, class X, class Keep, class Y>
  static void line(Size n, X x, Keep keep, Y y) {
    constexpr T hidden = -std::numeric_limits<T>::infinity();
    const T shift = shift_of(largest_of(n, [&](Size i) { return keep[i] ? x[i] : hidden; }));
    const T total =
        static_cast<T>(sum_of(n, [&](Size i) { return keep[i] ? std::exp(x[i] - shift) : T{0}; }));
    const bool nothing = !std::is_same_v<Keep, KeepAll> && total == 0;
    const T log_total = std::log(total);
    for (Size i = 0; i < n; ++i) y[i] = keep[i] && !nothing ? (x[i] - shift) - log_total : hidden;
  }
};

struct SoftmaxBackward {
  template <class T, class Dy, class Y, class Keep, class Dx>
  static void line(Size n, Dy dy, Y y, Keep keep, Dx dx) {
    const T inner = static_cast<T>(sum_of(n, [&](Size i) { return keep[i] ? y[i] * dy[i] : T{0}; }));
    for (Size i = 0; i < n; ++i) dx[i] = keep[i] ? y[i] * (dy[i] - inner) : T{0};
  }
};

struct LogSoftmaxBackward {
  template <class T, class Dy, class Y, class Keep, class Dx>
  static void line(Size n, Dy dy, Y y, Keep keep, Dx dx) {
    const T total = static_cast<T>(sum_of(n, [&](Size i) { return keep[i] ? dy[i] : T{0}; }));
    for (Size i = 0; i < n; ++i) dx[i] = keep[i] ? std::exp(y[i]) : T{0};
    const bool nothing = !std::is_same_v<Keep, KeepAll> && sum_of(n, [&](Size i) { return dx[i]; }) == 0;
    for (Size i = 0; i < n; ++i) dx[i] = keep[i] && !nothing ? dy[i] - dx[i] * total : T{0};
  }
};

/// Runs F on every line of (input, keep) -> output.
template <class F, class T>
void forward(const Call& c) {
  const int axis = c.get<SoftmaxAxis>().axis;
  const Array &y = c.out(), &x = c.in(0);
  const bool masked = c.input_count > 1 && c.in(1).data;
  const Array& keep = masked ? c.in(1) : x;
  const Size n = y.shape[axis];
  const Size y_step = y.strides[axis], x_step = x.strides[axis], keep_step = keep.strides[axis];
  const bool dense = y_step == 1 && x_step == 1 && (!masked || keep_step == 1);
  for_each_line<3>({&y, &x, &keep}, axis, [&](const auto& at) {
    T* const to = y.as<T>() + at[0];
    const T* const from = x.as<T>() + at[1];
    const auto run = [&](auto sy, auto sx, auto sk) {
      if (masked)
        F::template line<T>(n, LineOf{from, sx}, LineOf{keep.as<const bool>() + at[2], sk}, LineOf{to, sy});
      else
        F::template line<T>(n, LineOf{from, sx}, KeepAll{}, LineOf{to, sy});
    };
    dense ? run(UnitStep{}, UnitStep{}, UnitStep{}) : run(y_step, x_step, keep_step);
  });
}

/// Runs F on every line of (dy, y, keep) -> dx.
template <class F, class T>
void backward(const Call& c) {
  const int axis = c.get<SoftmaxAxis>().axis;
  const Array &dx = c.out(), &dy = c.in(0), &y = c.in(1);
  const bool masked = c.input_count > 2 && c.in(2).data;
  const Array& keep = masked ? c.in(2) : y;
  const Size n = dx.shape[axis];
  const Size dx_step = dx.strides[axis], dy_step = dy.strides[axis], y_step = y.strides[axis],
             keep_step = keep.strides[axis];
  const bool dense = dx_step == 1 && dy_step == 1 && y_step == 1 && (!masked || keep_step == 1);
  for_each_line<4>({&dx, &dy, &y, &keep}, axis, [&](const auto& at) {
    T* const to = dx.as<T>() + at[0];
    const T* const g = dy.as<T>() + at[1];
    const T* const value = y.as<T>() + at[2];
    const auto run = [&](auto sx, auto sg, auto sy, auto sk) {
      if (masked)
        F::template line<T>(n, LineOf{g, sg}, LineOf{value, sy}, LineOf{keep.as<const bool>() + at[3], sk},
                            LineOf{to, sx});
      else
        F::template line<T>(n, LineOf{g, sg}, LineOf{value, sy}, KeepAll{}, LineOf{to, sx});
    };
    dense ? run(UnitStep{}, UnitStep{}, UnitStep{}, UnitStep{}) : run(dx_step, dy_step, y_step, keep_step);
  });
}

}  // namespace

const KernelSet softmax = {forward<Softmax, float>, forward<Softmax, double>};
const KernelSet softmax_backward = {backward<SoftmaxBackward, float>, backward<SoftmaxBackward, double>};
const KernelSet log_softmax = {forward<LogSoftmax, float>, forward<LogSoftmax, double>};
const KernelSet log_softmax_backward = {backward<LogSoftmaxBackward, float>,
                                        backward<LogSoftmaxBackward, double>};

}  // namespace regard::kernels

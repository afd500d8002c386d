#include "kernels/normalise.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "kernels/lines.hpp"
#include "kernels/summation.hpp"

namespace regard::kernels {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What a line without a mask keeps.
struct KeepAll {
  constexpr bool operator[](Size) const { return true; }
};

using Scratch = std::vector<double>;

struct Softmax1 {
  template <class T, class X, class Keep, class Y>
  static void line(Size n, X x, Keep keep, Y y, Scratch&) {
    constexpr T hidden = -std::numeric_limits<T>::infinity();
    const T shift = std::max(T{0}, largest_of(n, [&](Size i) { return keep[i] ? x[i] : hidden; }));
    for (Size i = 0; i < n; ++i) y[i] = keep[i] ? std::exp(x[i] - shift) : T{0};
    const T total =
        static_cast<T>(std::exp(-static_cast<double>(shift)) + sum_of(n, [&](Size i) { return y[i]; }));
    for (Size i = 0; i < n; ++i) y[i] = keep[i] ? y[i] / total : T{0};
  }
};

// Martins & Astudillo 2016, algorithm 1: as long as 1 + k·z_k > z_1 + .. + z_k, the k largest share 1.
struct Sparsemax {
  static constexpr double factor = 1;
  static double weight(double above) { return above; }
  static double threshold(const Scratch& largest_first) {
    double total = 0, tau = 0, count = 0;
    for (const double z : largest_first) {
      if (1 + (count + 1) * z <= total + z) break;
      total += z;
      tau = (total - 1) / ++count;
    }
    return tau;
  }
};

// Peters, Niculae & Martins 2019, algorithm 2: with mean m and squared deviations s of the k largest, their
// weights (z - τ)² add up to 1 at τ = m - √((1 - s)/k); k grows as long as τ stays below the k-th. Mean and
// deviations are carried along one by one (Welford), so that nothing cancels.
struct Entmax15 {
  static constexpr double factor = 0.5;
  static double weight(double above) { return above * above; }
  static double threshold(const Scratch& largest_first) {
    double mean = 0, deviations = 0, tau = 0, count = 0;
    for (const double z : largest_first) {
      const double from_mean = z - mean;
      mean += from_mean / ++count;
      deviations += from_mean * (z - mean);
      const double next = mean - std::sqrt(std::max(0.0, 1 - deviations) / count);
      if (next > z) break;
      tau = next;
    }
    return tau;
  }
};

/// max(z - τ, 0) to some power, with z = factor·(x - largest): only z above -1 can have weight.
template <class Law>
struct Projection {
  template <class T, class X, class Keep, class Y>
  static void line(Size n, X x, Keep keep, Y y, Scratch& sorted) {
    double top = -infinity;
    bool numbers = true;
    for (Size i = 0; i < n; ++i) {
      if (!keep[i]) continue;
      numbers &= static_cast<double>(x[i]) < infinity;
      top = std::max(top, static_cast<double>(x[i]));
    }
    if (!numbers || (top == -infinity && std::is_same_v<Keep, KeepAll>)) top = std::nan("");
    const bool nothing = top == -infinity;
    const auto shifted = [&](Size i) { return Law::factor * (static_cast<double>(x[i]) - top); };
    sorted.clear();
    for (Size i = 0; i < n; ++i)
      if (keep[i] && shifted(i) > -1) sorted.push_back(shifted(i));
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const double tau = Law::threshold(sorted);
    for (Size i = 0; i < n; ++i) {
      const double above = keep[i] && !nothing ? shifted(i) - tau : 0;
      y[i] = above <= 0 ? T{0} : static_cast<T>(Law::weight(above));  // NaN stays
    }
  }
};

/// Runs F on every line of (x, keep) -> y.
template <class F, class T>
void along(const Call& c) {
  const int axis = c.get<SoftmaxAxis>().axis;
  const Array &y = c.out(), &x = c.in(0);
  const bool masked = c.input_count > 1 && c.in(1).data;
  const Array& keep = masked ? c.in(1) : x;
  const Size n = y.shape[axis];
  for_each_line_in_parallel<3>({&y, &x, &keep}, axis, computed, [&](auto&& lines) {
    Scratch scratch;
    lines([&](const auto& at) {
      const LineOf to{y.as<T>() + at[0], y.strides[axis]};
      const LineOf from{x.as<const T>() + at[1], x.strides[axis]};
      if (masked)
        F::template line<T>(n, from, LineOf{keep.as<const bool>() + at[2], keep.strides[axis]}, to, scratch);
      else
        F::template line<T>(n, from, KeepAll{}, to, scratch);
    });
  });
}

// In float64, since dy and its mean nearly cancel where one element has almost all the weight.
template <class T>
void backward(const Call& c) {
  const int axis = c.get<SoftmaxAxis>().axis;
  const Array &dx = c.out(), &dy = c.in(0), &s = c.in(1);
  const bool masked = c.input_count > 2 && c.in(2).data;
  const Array& keep = masked ? c.in(2) : s;
  const Size n = dx.shape[axis];
  for_each_line_in_parallel<4>({&dx, &dy, &s, &keep}, axis, computed, [&](auto&& lines) {
    lines([&](const auto& at) {
      const LineOf to{dx.as<T>() + at[0], dx.strides[axis]};
      const LineOf from{dy.as<const T>() + at[1], dy.strides[axis]},
          slope{s.as<const T>() + at[2], s.strides[axis]};
      const auto kept = [&](Size i) {
        return !masked || keep.as<const bool>()[at[3] + i * keep.strides[axis]];
      };
      const auto sum_of_kept = [&](auto f) {
        return sum_of(n, [&](Size i) { return kept(i) ? f(i) : 0.0; });
      };
      const double total = sum_of_kept([&](Size i) { return static_cast<double>(slope[i]); });
      const double mixed =
          sum_of_kept([&](Size i) { return static_cast<double>(slope[i]) * static_cast<double>(from[i]); });
      const double mean = total == 0 ? 0 : mixed / total;
      for (Size i = 0; i < n; ++i)
        to[i] = kept(i)
                    ? static_cast<T>(static_cast<double>(slope[i]) * (static_cast<double>(from[i]) - mean))
                    : T{0};
    });
  });
}

}  // namespace

const KernelSet entmax_backward = {backward<float>, backward<double>};
const KernelSet softmax1 = {along<Softmax1, float>, along<Softmax1, double>};
const KernelSet sparsemax = {along<Projection<Sparsemax>, float>, along<Projection<Sparsemax>, double>};
const KernelSet entmax15 = {along<Projection<Entmax15>, float>, along<Projection<Entmax15>, double>};

}  // namespace regard::kernels

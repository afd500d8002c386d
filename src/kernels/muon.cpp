#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/loops.hpp"
#include "kernels/matmul.hpp"
#include "kernels/optimise.hpp"

namespace regard::kernels {
namespace {

/// A row-major matrix of its own.
template <class T>
struct Scratch {
  Scratch(Size rows, Size columns, DType dtype)
      : numbers(static_cast<std::size_t>(rows * columns)),
        array{numbers.data(), dtype, {rows, columns}, {columns, 1}} {}
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;

  std::vector<T> numbers;
  Array array;
};

/// m moves towards g; the direction is m, or with Nesterov's look ahead a step further.
template <class T>
void mix(const Array& direction, const Array& new_m, const Array& g, const Array& m, const MuonStep& now) {
  const T stays = static_cast<T>(now.momentum), gain = static_cast<T>(1 - now.momentum);
  for_each_row<4>({&direction, &new_m, &g, &m}, [&](const auto& at, Size n, const auto& step) {
    for (Size i = 0; i < n; ++i) {
      const T gradient = g.as<T>()[at[2] + i * step[2]];
      const T mixed = stays * m.as<T>()[at[3] + i * step[3]] + gain * gradient;
      new_m.as<T>()[at[1] + i * step[1]] = mixed;
      direction.as<T>()[at[0] + i * step[0]] = now.nesterov ? stays * mixed + gain * gradient : mixed;
    }
  });
}

/// x / max(|x|, epsilon) with the Frobenius norm, whose squares neither overflow nor vanish here.
template <class T>
void normalise(std::vector<T>& x, double epsilon) {
  double largest = 0, squares = 0;
  for (const T value : x)
    if (!(static_cast<double>(std::abs(value)) <= largest)) largest = static_cast<double>(std::abs(value));
  if (largest == 0) return;
  for (const T value : x)
    squares += (static_cast<double>(value) / largest) * (static_cast<double>(value) / largest);
  const double norm = std::fmax(std::sqrt(squares), epsilon / largest);
  for (T& value : x) value = static_cast<T>(static_cast<double>(value) / largest / norm);
}

/// Newton and Schulz, with Jordan's polynomial: x <- a·x + (b·G + c·G²)·x with G = x·xᵀ, which brings the
/// singular values near 1. A tall x is worked on from the right, so that G has the shorter side.
template <class T>
void orthogonalise(Scratch<T>& x, const MuonStep& now) {
  const Size rows = x.array.shape[0], columns = x.array.shape[1], side = std::min(rows, columns);
  const bool tall = rows > columns;
  Scratch<T> gram(side, side, x.array.dtype), square(side, side, x.array.dtype);
  Scratch<T> change(rows, columns, x.array.dtype);
  const T a = static_cast<T>(now.a), b = static_cast<T>(now.b), c = static_cast<T>(now.c);
  for (int i = 0; i < now.iterations; ++i) {
    multiply<T>(gram.array, x.array, x.array, {tall, !tall, 1});
    multiply<T>(square.array, gram.array, gram.array, {});
    for (std::size_t k = 0; k < gram.numbers.size(); ++k)
      gram.numbers[k] = b * gram.numbers[k] + c * square.numbers[k];
    multiply<T>(change.array, tall ? x.array : gram.array, tall ? gram.array : x.array, {});
    for (std::size_t k = 0; k < x.numbers.size(); ++k) x.numbers[k] = a * x.numbers[k] + change.numbers[k];
  }
}

template <class T>
void muon_kernel(const Call& call) {
  const auto& now = call.get<MuonStep>();
  const Array &p = call.in(0), &new_p = call.out(0);
  if (numel(p.shape) == 0) return;
  Scratch<T> direction(p.shape[0], p.shape[1], p.dtype);
  mix<T>(direction.array, call.out(1), call.in(1), call.in(2), now);
  normalise(direction.numbers, now.epsilon);
  orthogonalise(direction, now);
  const double inputs = static_cast<double>(p.shape[0]), outputs = static_cast<double>(p.shape[1]);
  const double scale =
      now.as_adam ? 0.2 * std::sqrt(std::fmax(inputs, outputs)) : std::sqrt(std::fmax(1, outputs / inputs));
  const T rate = static_cast<T>(now.rate * scale), shrink = static_cast<T>(1 - now.rate * now.decay);
  for_each_row<3>({&new_p, &p, &direction.array}, [&](const auto& at, Size n, const auto& step) {
    for (Size i = 0; i < n; ++i)
      new_p.as<T>()[at[0] + i * step[0]] = shrink * p.as<T>()[at[1] + i * step[1]] -
                                           rate * direction.array.template as<T>()[at[2] + i * step[2]];
  });
}

}  // namespace

const KernelSet muon = {muon_kernel<float>, muon_kernel<double>};

}  // namespace regard::kernels

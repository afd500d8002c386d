#include "kernels/transcendental.hpp"

#include <cmath>

#include "kernels/loops.hpp"
#include "kernels/numbers.hpp"

namespace regard::kernels {
namespace {

// exp of a non-positive number only, so that nothing overflows.
template <class T>
T x_times_logistic(T x) {
  const T e = std::exp(-std::abs(x));
  return x >= 0 ? x / (1 + e) : x * e / (1 + e);
}

}  // namespace

// A row: name, then f of one element x (or of a and b), as a kernel for floats.
#define UNARY(op, f)                                                                                      \
  const KernelSet op = {[](const Call& c) { map1<float, float>(c, [](float x) -> float { return f; }, computed); }, \
                        [](const Call& c) { map1<double, double>(c, [](double x) -> double { return f; }, computed); }};
#define BINARY(op, f)                                                                                              \
  const KernelSet op = {[](const Call& c) { map2<float, float>(c, [](float a, float b) -> float { return f; }, computed); }, \
                        [](const Call& c) { map2<double, double>(c, [](double a, double b) -> double { return f; }, computed); }};

// clang-format off
UNARY (log1p,       std::log1p(x))
UNARY (expm1,       std::expm1(x))
UNARY (sin,         std::sin(x))
UNARY (cos,         std::cos(x))
UNARY (erf,         std::erf(x))
UNARY (silu,        x_times_logistic(x))
UNARY (log_sigmoid, smaller(x, decltype(x){0}) - std::log1p(std::exp(-std::abs(x))))
BINARY(xlogy,       a == 0 && b == b ? 0 : a * std::log(b))
// clang-format on

}  // namespace regard::kernels

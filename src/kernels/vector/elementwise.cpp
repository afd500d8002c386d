#include "kernels/vector/functions.hpp"
#include "kernels/vector/variant.hpp"

namespace regard::kernels::REGARD_VARIANT {
namespace {

// A row: name, then f of the vector x (or of a and b).
// clang-format off
#define UNARY(op, f)                           \
  rows.op = [](Size n, const T* from, T* to) { \
    map(n, from, to, [](const V& x) __attribute__((always_inline)) -> V { return f; }); \
  };
#define BINARY(op, f)                                                                               \
  rows.op = [](Size n, const T* first, Size first_step, const T* second, Size second_step, T* to) { \
    map(n, first, first_step, second, second_step, to,                                              \
        [](const V& a, const V& b) __attribute__((always_inline)) -> V { return f; });              \
  };
// clang-format on

template <class T>
void set_rows(Rows<T>& rows) {
  using V = Batch<T>;
  // clang-format off
  UNARY(exp,        exp(x))
  UNARY(log,        log(x))
  UNARY(tanh,       tanh(x))
  UNARY(sigmoid,    sigmoid(x))
  UNARY(softplus,   softplus(x))
  UNARY(gelu_exact, gelu_exact(x))
  UNARY(gelu_slope, gelu_slope(x))
  UNARY(gelu_tanh,  gelu_tanh(x))
  UNARY(gelu_tanh_slope, gelu_tanh_slope(x))
  UNARY(normal_cdf, normal_cdf(x))
  UNARY(normal_pdf, normal_pdf(x))

  UNARY(negate,     negate(x))
  UNARY(square,     x * x)
  UNARY(sqrt,       square_root<T>(x))
  UNARY(abs,        xsimd::abs(x))
  UNARY(sign,       xsimd::select(x > V(T{0}), V(T{1}), xsimd::select(x < V(T{0}), V(T{-1}), x)))
  UNARY(relu,       xsimd::select(x <= V(T{0}), V(T{0}), x))
  UNARY(unit_step,  xsimd::select(x > V(T{0}), V(T{1}), xsimd::select(x <= V(T{0}), V(T{0}), x)))

  BINARY(add,       a + b)
  BINARY(subtract,  a - b)
  BINARY(multiply,  a * b)
  BINARY(divide,    divide<T>(a, b))
  BINARY(maximum,   xsimd::select((a > b) | is_nan(a), a, b))
  BINARY(minimum,   xsimd::select((a < b) | is_nan(a), a, b))
  // clang-format on
}

}  // namespace

void set_elementwise(Table& table) {
  set_rows(table.f32);
  set_rows(table.f64);
}

}  // namespace regard::kernels::REGARD_VARIANT

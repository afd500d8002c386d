#include "kernels/elementwise.hpp"

#include <cmath>
#include <limits>

#include "kernels/loops.hpp"
#include "kernels/numbers.hpp"
#include "kernels/rows.hpp"

namespace regard::kernels {
namespace {

template <class T>
void map_one(const Call& c, typename Rows<T>::Unary f) {
  f(1, c.in(0).as<const T>(), c.out().as<T>());
}
template <class T>
void map_one(const Call& c, typename Rows<T>::Binary f) {
  f(1, c.in(0).as<const T>(), 1, c.in(1).as<const T>(), 1, c.out().as<T>());
}

// One row function of the instruction set's table as a kernel.
template <class T, auto function, const Work& work = moved>
void rows_kernel(const Call& c) {
  const auto f = rows<T>().*function;
  c.out().shape.empty() ? map_one<T>(c, f) : map_rows<T>(c, f, work);
}

}  // namespace

// A row: name, then f of one element x (or of a and b), as a kernel for floats.
#define UNARY(op, f)                                                                                \
  const KernelSet op = {[](const Call& c) { map1<float, float>(c, [](float x) -> float { return f; }); }, \
                        [](const Call& c) { map1<double, double>(c, [](double x) -> double { return f; }); }};
// The same, also for int64.
#define UNARY_INT(op, f)                                                                                  \
  const KernelSet op = {[](const Call& c) { map1<float, float>(c, [](float x) -> float { return f; }); }, \
                        [](const Call& c) { map1<double, double>(c, [](double x) -> double { return f; }); }, \
                        [](const Call& c) { map1<Size, Size>(c, [](Size x) -> Size { return f; }); }};
// The same, where floats have a loop per instruction set, in kernels/vector/elementwise.cpp.
#define VECTOR(op) const KernelSet op = {rows_kernel<float, &Rows<float>::op>, rows_kernel<double, &Rows<double>::op>};
#define COMPUTED(op)                                             \
  const KernelSet op = {rows_kernel<float, &Rows<float>::op, computed>, \
                        rows_kernel<double, &Rows<double>::op, computed>};
#define VECTOR_UNARY_INT(op, f)                                                                 \
  const KernelSet op = {rows_kernel<float, &Rows<float>::op>, rows_kernel<double, &Rows<double>::op>, \
                        [](const Call& c) { map1<Size, Size>(c, [](Size x) -> Size { return f; }); }};
#define VECTOR_BINARY_INT(op, f)                                                                 \
  const KernelSet op = {rows_kernel<float, &Rows<float>::op>, rows_kernel<double, &Rows<double>::op>, \
                        [](const Call& c) { map2<Size, Size>(c, [](Size a, Size b) -> Size { return f; }); }};
#define BINARY(op, f)                                                                                          \
  const KernelSet op = {[](const Call& c) { map2<float, float>(c, [](float a, float b) -> float { return f; }); }, \
                        [](const Call& c) { map2<double, double>(c, [](double a, double b) -> double { return f; }); }};
#define BINARY_INT(op, f)                                                                                      \
  const KernelSet op = {[](const Call& c) { map2<float, float>(c, [](float a, float b) -> float { return f; }); }, \
                        [](const Call& c) { map2<double, double>(c, [](double a, double b) -> double { return f; }); }, \
                        [](const Call& c) { map2<Size, Size>(c, [](Size a, Size b) -> Size { return f; }); }};
#define COMPARISON(op, f)                                                                                      \
  const KernelSet op = {[](const Call& c) { map2<bool, float>(c, [](float a, float b) { return f; }); },       \
                        [](const Call& c) { map2<bool, double>(c, [](double a, double b) { return f; }); },    \
                        [](const Call& c) { map2<bool, Size>(c, [](Size a, Size b) { return f; }); },          \
                        [](const Call& c) { map2<bool, bool>(c, [](bool a, bool b) { return f; }); }};

// clang-format off
VECTOR_BINARY_INT(add,      a + b)
VECTOR_BINARY_INT(subtract, a - b)
VECTOR_BINARY_INT(multiply, a * b)
VECTOR   (divide)
BINARY   (power,    std::pow(a, b))
VECTOR_BINARY_INT(maximum,  larger(a, b))
VECTOR_BINARY_INT(minimum,  smaller(a, b))
BINARY   (share_of_max, a > b ? 1 : a == b ? static_cast<decltype(a)>(0.5) : 0)

VECTOR_UNARY_INT(negate, -x)
VECTOR_UNARY_INT(square, x * x)
VECTOR_UNARY_INT(abs,    x < 0 ? -x : x)
COMPUTED(exp)
COMPUTED(log)
VECTOR(sqrt)
VECTOR(sign)
COMPUTED(tanh)
COMPUTED(sigmoid)
VECTOR(relu)
COMPUTED(softplus)
VECTOR(unit_step)
COMPUTED(gelu_exact)
COMPUTED(gelu_tanh)
COMPUTED(gelu_slope)
COMPUTED(gelu_tanh_slope)
COMPUTED(normal_pdf)

COMPARISON(equal,         a == b)
COMPARISON(not_equal,     a != b)
COMPARISON(less,          a < b)
COMPARISON(less_equal,    a <= b)
COMPARISON(greater,       a > b)
COMPARISON(greater_equal, a >= b)
// clang-format on

const KernelSet logical_and = {nullptr, nullptr, nullptr,
                               [](const Call& c) { map2<bool, bool>(c, [](bool a, bool b) { return a && b; }); }};
const KernelSet logical_or = {nullptr, nullptr, nullptr,
                              [](const Call& c) { map2<bool, bool>(c, [](bool a, bool b) { return a || b; }); }};
const KernelSet logical_not = {nullptr, nullptr, nullptr,
                               [](const Call& c) { map1<bool, bool>(c, [](bool x) { return !x; }); }};
const KernelSet isfinite = {[](const Call& c) { map1<bool, float>(c, [](float x) { return std::isfinite(x); }); },
                            [](const Call& c) { map1<bool, double>(c, [](double x) { return std::isfinite(x); }); },
                            [](const Call& c) { map1<bool, Size>(c, [](Size) { return true; }); },
                            [](const Call& c) { map1<bool, bool>(c, [](bool) { return true; }); }};
const KernelSet isnan = {[](const Call& c) { map1<bool, float>(c, [](float x) { return std::isnan(x); }); },
                         [](const Call& c) { map1<bool, double>(c, [](double x) { return std::isnan(x); }); },
                         [](const Call& c) { map1<bool, Size>(c, [](Size) { return false; }); },
                         [](const Call& c) { map1<bool, bool>(c, [](bool) { return false; }); }};

namespace {

template <class T>
void add_scalar_kernel(const Call& c) {
  const T b = static_cast<T>(c.get<double>());
  if constexpr (std::is_floating_point_v<T>)
    map_rows<T>(c, rows<T>().add, b);
  else
    map1<T, T>(c, [b](T x) -> T { return x + b; });
}

template <class T>
void multiply_scalar_kernel(const Call& c) {
  const T b = static_cast<T>(c.get<double>());
  if constexpr (std::is_floating_point_v<T>)
    map_rows<T>(c, rows<T>().multiply, b);
  else
    map1<T, T>(c, [b](T x) -> T { return x * b; });
}

template <class T>
void power_scalar_kernel(const Call& c) {
  const T b = static_cast<T>(c.get<double>());
  if (b == 2)
    map1<T, T>(c, [](T x) -> T { return x * x; });
  else if (b == 3)
    map1<T, T>(c, [](T x) -> T { return x * x * x; });
  else
    map1<T, T>(c, [b](T x) -> T { return std::pow(x, b); }, computed);
}

template <class T>
void copy_kernel(const Call& c) {
  map1<T, T>(c, [](T x) { return x; });
}

template <class Out, class In>
void cast_from(const Call& c) {
  map1<Out, In>(c, [](In x) -> Out {
    if constexpr (std::is_same_v<Out, bool>)
      return x != In{0};
    else
      return static_cast<Out>(x);
  });
}

template <class Out>
void cast_kernel(const Call& c) {
  switch (c.in(0).dtype) {
    case DType::float32: return cast_from<Out, float>(c);
    case DType::float64: return cast_from<Out, double>(c);
    case DType::int64: return cast_from<Out, Size>(c);
    case DType::boolean: return cast_from<Out, bool>(c);
  }
}

template <class T>
void where_kernel(const Call& c) {
  T* const out = c.out().as<T>();
  const bool* const condition = c.in(0).as<bool>();
  const T* const in_a = c.in(1).as<T>();
  const T* const in_b = c.in(2).as<T>();
  const std::array<const Array*, 4> arrays = {&c.out(), &c.in(0), &c.in(1), &c.in(2)};
  for_each_row_in_parallel<4>(arrays, moved, [&](const auto& at, Size n, const auto& step) {
    for (Size i = 0; i < n; ++i)
      out[at[0] + i * step[0]] =
          condition[at[1] + i * step[1]] ? in_a[at[2] + i * step[2]] : in_b[at[3] + i * step[3]];
  });
}

template <class T>
void masked_fill_kernel(const Call& c) {
  const T value = static_cast<T>(c.get<double>());
  T* const out = c.out().as<T>();
  const T* const x = c.in(0).as<T>();
  const bool* const mask = c.in(1).as<bool>();
  const std::array<const Array*, 3> arrays = {&c.out(), &c.in(0), &c.in(1)};
  for_each_row_in_parallel<3>(arrays, moved, [&](const auto& at, Size n, const auto& step) {
    for (Size i = 0; i < n; ++i)
      out[at[0] + i * step[0]] = mask[at[2] + i * step[2]] ? value : x[at[1] + i * step[1]];
  });
}

}  // namespace

const KernelSet add_scalar = {add_scalar_kernel<float>, add_scalar_kernel<double>, add_scalar_kernel<Size>};
const KernelSet multiply_scalar = {multiply_scalar_kernel<float>, multiply_scalar_kernel<double>,
                                   multiply_scalar_kernel<Size>};
const KernelSet power_scalar = {power_scalar_kernel<float>, power_scalar_kernel<double>};
const KernelSet copy = {copy_kernel<float>, copy_kernel<double>, copy_kernel<Size>, copy_kernel<bool>};
const KernelSet cast = {cast_kernel<float>, cast_kernel<double>, cast_kernel<Size>, cast_kernel<bool>};
const KernelSet where = {where_kernel<float>, where_kernel<double>, where_kernel<Size>, where_kernel<bool>};
const KernelSet masked_fill = {masked_fill_kernel<float>, masked_fill_kernel<double>, masked_fill_kernel<Size>};

}  // namespace regard::kernels

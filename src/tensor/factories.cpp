#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/orthogonal.hpp"
#include "tensor/impl.hpp"

namespace regard {
namespace {

/// Toward zero, as NumPy converts.
Size to_int64(double value) {
  if (value >= -9223372036854775808.0 && value < 9223372036854775808.0) return static_cast<Size>(value);  // 2^63
  throw ValueError("tensor: " + to_string(scalar(value)) + " does not fit int64");
}

/// Fills a new tensor with next(), converted to its dtype.
template <class Next>
Tensor filled(const Shape& shape, DType dtype, Next next) {
  Tensor x = detail::empty(shape, dtype);
  const kernels::Array& array = detail::array(x);
  const Size count = x.numel();
  for (Size i = 0; i < count; ++i) {
    const double value = next();
    switch (dtype) {
      case DType::float32: array.as<float>()[i] = static_cast<float>(value); break;
      case DType::float64: array.as<double>()[i] = value; break;
      case DType::int64: array.as<Size>()[i] = to_int64(value); break;
      case DType::boolean: array.as<bool>()[i] = value != 0; break;
    }
  }
  return x;
}

void measure(const NestedList& list, int depth, Shape& shape, int& leaf_depth) {
  if (!list.is_list()) {
    if (leaf_depth >= 0 && leaf_depth != depth)
      throw ShapeError("tensor: the nested list is ragged: a number stands where a list is expected, at depth " +
                       std::to_string(std::min(depth, leaf_depth)));
    leaf_depth = depth;
    return;
  }
  if (leaf_depth >= 0 && depth >= leaf_depth)
    throw ShapeError("tensor: the nested list is ragged: a list stands where a number is expected, at depth " +
                     std::to_string(depth));
  const Size extent = static_cast<Size>(list.items().size());
  if (shape.rank() == depth) {
    shape.push_back(extent);
  } else if (shape[depth] != extent) {
    throw ShapeError("tensor: the nested list is ragged: lists of " + std::to_string(shape[depth]) + " and " +
                     std::to_string(extent) + " items at depth " + std::to_string(depth));
  }
  for (const NestedList& item : list.items()) measure(item, depth + 1, shape, leaf_depth);
}

void flatten(const NestedList& list, std::vector<double>& values) {
  if (!list.is_list()) return values.push_back(list.value());
  for (const NestedList& item : list.items()) flatten(item, values);
}

void require_matrix(const char* op, const Shape& shape) {
  if (shape.rank() < 2)
    throw ShapeError(std::string(op) + ": expected rank 2 or more ([.., fan_in, fan_out]), got shape " +
                     to_string(shape));
}

double fans(const Shape& shape) { return static_cast<double>(shape[shape.rank() - 2] + shape.back()); }

}  // namespace

Tensor tensor(std::initializer_list<NestedList> values, DType dtype) {
  const NestedList list(values);
  Shape shape;
  int leaf_depth = -1;
  measure(list, 0, shape, leaf_depth);
  std::vector<double> flat;
  flatten(list, flat);
  auto next = flat.begin();
  return filled(shape, dtype, [&next] { return *next++; });
}

double fan_in(const Shape& shape) { return static_cast<double>(std::max<Size>(shape[shape.rank() - 2], 1)); }

Tensor scalar(double value, DType dtype) { return full({}, value, dtype); }

template <class T>
Tensor from_memory(const T* values, const Shape& shape) {
  Tensor x = detail::empty(shape, dtype_of<T>());
  if (x.numel() > 0) std::copy_n(values, x.numel(), detail::array(x).as<T>());
  return x;
}

template <class T>
Tensor from_vector(const std::vector<T>& values, const Shape& shape) {
  if (static_cast<Size>(values.size()) != numel(shape))
    throw ShapeError("from_vector: " + std::to_string(values.size()) + " values do not fill shape " +
                     to_string(shape) + ", which has " + std::to_string(numel(shape)) + " elements");
  if constexpr (std::is_same_v<T, bool>) {
    auto next = values.begin();
    return filled(shape, boolean, [&next] { return *next++ ? 1.0 : 0.0; });
  } else {
    return from_memory(values.data(), shape);
  }
}

template Tensor from_memory(const float*, const Shape&);
template Tensor from_memory(const double*, const Shape&);
template Tensor from_memory(const Size*, const Shape&);
template Tensor from_memory(const bool*, const Shape&);
template Tensor from_vector(const std::vector<float>&, const Shape&);
template Tensor from_vector(const std::vector<double>&, const Shape&);
template Tensor from_vector(const std::vector<Size>&, const Shape&);
template Tensor from_vector(const std::vector<bool>&, const Shape&);

Tensor zeros(const Shape& shape, DType dtype) { return full(shape, 0, dtype); }
Tensor ones(const Shape& shape, DType dtype) { return full(shape, 1, dtype); }
Tensor full(const Shape& shape, double value, DType dtype) {
  return filled(shape, dtype, [value] { return value; });
}
Tensor zeros_like(const Tensor& x) { return zeros(x.shape(), x.dtype()); }
Tensor ones_like(const Tensor& x) { return ones(x.shape(), x.dtype()); }

Tensor arange(Size count, DType dtype) {
  if (count < 0) throw ValueError("arange: expected a count of 0 or more, got " + std::to_string(count));
  double next = 0;
  return filled({count}, dtype, [&next] { return next++; });
}

Tensor arange(double start, double stop, double step, DType dtype) {
  if (step == 0 || !std::isfinite(start) || !std::isfinite(stop) || !std::isfinite(step))
    throw ValueError("arange: start, stop and step must be finite and step not 0, got " + std::to_string(start) +
                     ", " + std::to_string(stop) + ", " + std::to_string(step));
  const double count = std::max(0.0, std::ceil((stop - start) / step));
  if (count > 9e15)
    throw ValueError("arange: " + std::to_string(count) + " elements are too many");
  Size i = 0;
  return filled({static_cast<Size>(count)}, dtype, [&] { return start + static_cast<double>(i++) * step; });
}

Tensor eye(Size n, DType dtype) {
  Size i = 0;
  return filled({n, n}, dtype, [&i, n] { return i++ % (n + 1) == 0 ? 1.0 : 0.0; });
}

Tensor uniform(const Shape& shape, Rng& rng, double low, double high, DType dtype) {
  detail::require_no_capture("uniform", "draw outside of it, and give the numbers as an input");
  return filled(shape, dtype, [&] { return rng.uniform(low, high); });
}

Tensor normal(const Shape& shape, Rng& rng, double mean, double deviation, DType dtype) {
  detail::require_no_capture("normal", "draw outside of it, and give the numbers as an input");
  return filled(shape, dtype, [&] { return mean + deviation * rng.normal(); });
}

Tensor glorot_uniform(const Shape& shape, Rng& rng, DType dtype) {
  require_matrix("glorot_uniform", shape);
  const double bound = std::sqrt(6.0 / fans(shape));
  return uniform(shape, rng, -bound, bound, dtype);
}

Tensor glorot_normal(const Shape& shape, Rng& rng, DType dtype) {
  require_matrix("glorot_normal", shape);
  return normal(shape, rng, 0, std::sqrt(2.0 / fans(shape)), dtype);
}

Tensor kaiming_uniform(const Shape& shape, Rng& rng, DType dtype) {
  require_matrix("kaiming_uniform", shape);
  const double bound = std::sqrt(6.0 / fan_in(shape));
  return uniform(shape, rng, -bound, bound, dtype);
}

Tensor kaiming_normal(const Shape& shape, Rng& rng, DType dtype) {
  require_matrix("kaiming_normal", shape);
  return normal(shape, rng, 0, std::sqrt(2.0 / fan_in(shape)), dtype);
}

Tensor orthogonal(const Shape& shape, Rng& rng, DType dtype) {
  if (shape.rank() != 2) throw ShapeError("orthogonal: expected a matrix, got shape " + to_string(shape));
  std::vector<double> values = normal(shape, rng).to_vector<double>();
  kernels::orthonormalise(values, shape[0], shape[1]);
  return from_vector(values, shape).to(dtype);
}

}  // namespace regard

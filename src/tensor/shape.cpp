#include <regard/shape.hpp>

#include <algorithm>

#include <regard/error.hpp>

#include "tensor/impl.hpp"

namespace regard {
namespace {

[[noreturn]] void too_long(std::size_t count) {
  throw ShapeError("shape: at most " + std::to_string(max_rank) + " axes are supported, got " +
                   std::to_string(count));
}

}  // namespace

Sizes::Sizes(std::initializer_list<Size> values) {
  if (values.size() > static_cast<std::size_t>(max_rank)) too_long(values.size());
  std::copy(values.begin(), values.end(), values_.begin());
  rank_ = static_cast<int>(values.size());
}

Sizes::Sizes(const std::vector<Size>& values) {
  if (values.size() > static_cast<std::size_t>(max_rank)) too_long(values.size());
  std::copy(values.begin(), values.end(), values_.begin());
  rank_ = static_cast<int>(values.size());
}

void Sizes::refuse_more() { too_long(static_cast<std::size_t>(max_rank) + 1); }

void Sizes::insert(int at, Size value) {
  push_back(value);
  std::rotate(values_.begin() + at, values_.begin() + rank_ - 1, values_.begin() + rank_);
}

Size detail::checked_numel(const Shape& shape) {
  Size count = 1;
  bool overflow = false, nothing = false, negative = false;
  for (const Size extent : shape) {
    negative |= extent < 0;
    nothing |= extent == 0;
    overflow |= __builtin_mul_overflow(count, extent, &count);
  }
  if (negative) throw ShapeError("shape: " + to_string(shape) + " has a negative extent");
  if (nothing) return 0;
  if (overflow) throw ShapeError("shape: " + to_string(shape) + " has more elements than fit 63 bits");
  return count;
}

std::string to_string(const Sizes& sizes) {
  std::string text = "[";
  for (int i = 0; i < sizes.rank(); ++i) text += (i ? ", " : "") + std::to_string(sizes[i]);
  return text + "]";
}

Strides contiguous_strides(const Shape& shape) {
  Strides strides = shape;
  detail::make_contiguous(strides);
  return strides;
}

Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op) {
  if (a == b) return a;
  const int rank = std::max(a.rank(), b.rank());
  Shape out = Sizes::filled(rank, 1);
  for (int i = 1; i <= rank; ++i) {
    const Size in_a = i <= a.rank() ? a[a.rank() - i] : 1;
    const Size in_b = i <= b.rank() ? b[b.rank() - i] : 1;
    if (in_a != in_b && in_a != 1 && in_b != 1)
      throw ShapeError(std::string(op) + ": shapes " + to_string(a) + " and " + to_string(b) +
                       " do not broadcast: axis " + std::to_string(-i) + " is " + std::to_string(in_a) + " and " +
                       std::to_string(in_b));
    out[rank - i] = in_a == 1 ? in_b : in_a;
  }
  return out;
}

void detail::refuse_axis(Size axis, int rank, const char* op) {
  throw ShapeError(std::string(op) + ": axis " + std::to_string(axis) + " is out of range for rank " +
                     std::to_string(rank) +
                     (rank == 0 ? std::string(", which has no axes")
                                : "; expected " + std::to_string(-rank) + " to " + std::to_string(rank - 1)));
}

Axes normalize_axes(const Axes& axes, int rank, const char* op) {
  Axes sorted;
  for (int axis = 0; axis < rank; ++axis) {
    int times = 0;
    for (const Size named : axes) times += normalize_axis(named, rank, op) == axis;
    if (times > 1)
      throw ShapeError(std::string(op) + ": axis " + std::to_string(axis) + " is named " + std::to_string(times) +
                       " times in " + to_string(axes));
    if (times == 1) sorted.push_back(axis);
  }
  if (rank == 0 && !axes.empty()) (void)normalize_axis(axes[0], rank, op);  // throws
  return sorted;
}

DType parse_dtype(const std::string& text) {
  for (const DType dtype : {float32, float64, int64, boolean})
    if (text == name(dtype)) return dtype;
  throw ValueError("dtype: '" + text + "' is not one of float32, float64, int64, boolean");
}

}  // namespace regard

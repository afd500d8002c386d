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

[[noreturn]] void do_not_broadcast(const Shape& a, const Shape& b, int from_the_right, const char* op) {
  throw ShapeError(std::string(op) + ": shapes " + to_string(a) + " and " + to_string(b) +
                   " do not broadcast: axis " + std::to_string(-from_the_right) + " is " +
                   std::to_string(a[a.rank() - from_the_right]) + " and " +
                   std::to_string(b[b.rank() - from_the_right]));
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
  const bool b_is_longer = b.rank() > a.rank();
  const Shape& shorter = b_is_longer ? a : b;
  Shape out = b_is_longer ? b : a;
  for (int i = 1; i <= shorter.rank(); ++i) {
    const Size extent = shorter[shorter.rank() - i];
    Size& wanted = out[out.rank() - i];
    if (extent == wanted || extent == 1) continue;
    if (wanted != 1) do_not_broadcast(a, b, i, op);
    wanted = extent;
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

// Shapes and axis lists: up to eight extents, stored inline.
#pragma once

#include <array>
#include <initializer_list>
#include <string>
#include <vector>

#include <regard/dtype.hpp>
#include <regard/export.hpp>

namespace REGARD_API regard {

/// The largest rank a Tensor may have.
inline constexpr int max_rank = 8;

/// A short list of integers kept inline: extents, strides or axes.
class Sizes {
 public:
  Sizes() = default;
  /// ShapeError when there are more than max_rank values.
  Sizes(std::initializer_list<Size> values);
  explicit Sizes(const std::vector<Size>& values);
  /// `count` times `value`.
  static Sizes filled(int count, Size value) {
    Sizes sizes;
    for (int i = 0; i < count; ++i) sizes.push_back(value);
    return sizes;
  }

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  Size operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }
  Size& operator[](int i) { return values_[static_cast<std::size_t>(i)]; }
  Size back() const { return (*this)[rank_ - 1]; }
  const Size* begin() const { return values_.data(); }
  const Size* end() const { return values_.data() + rank_; }

  /// Appends; ShapeError beyond max_rank.
  void push_back(Size value) {
    if (rank_ == max_rank) refuse_more();
    values_[static_cast<std::size_t>(rank_++)] = value;
  }
  void insert(int at, Size value);
  void erase(int at) {
    --rank_;
    for (int i = at; i < rank_; ++i) (*this)[i] = (*this)[i + 1];
    (*this)[rank_] = 0;
  }

  friend bool operator==(const Sizes& a, const Sizes& b) {
    if (a.rank_ != b.rank_) return false;
    for (int i = 0; i < a.rank_; ++i)
      if (a[i] != b[i]) return false;
    return true;
  }
  friend bool operator!=(const Sizes& a, const Sizes& b) { return !(a == b); }

 private:
  [[noreturn]] static void refuse_more();

  std::array<Size, max_rank> values_{};
  int rank_ = 0;
};

using Shape = Sizes;
using Strides = Sizes;  ///< in elements, not bytes; may be negative, 0 where an axis is broadcast
using Axes = Sizes;     ///< axis numbers; negative ones count from the end

namespace detail {
Size checked_numel(const Shape& shape);
[[noreturn]] void refuse_axis(Size axis, int rank, const char* op);
}  // namespace detail

/// Product of the extents; 1 for rank 0. ShapeError when it does not fit 63 bits.
[[nodiscard]] inline Size numel(const Shape& shape) {
  Size count = 1;
  bool strange = false;
  for (const Size extent : shape) strange |= extent <= 0 || __builtin_mul_overflow(count, extent, &count);
  return strange ? detail::checked_numel(shape) : count;
}

/// "[2, 3]"; "[]" for rank 0.
[[nodiscard]] std::string to_string(const Sizes& sizes);

/// Row-major strides of a shape.
[[nodiscard]] Strides contiguous_strides(const Shape& shape);

/// NumPy's broadcasting: axes are matched from the right, 1 stretches. ShapeError names `op` and both shapes.
[[nodiscard]] Shape broadcast_shapes(const Shape& a, const Shape& b, const char* op);

/// `axis` in 0..rank-1, negative counted from the end. ShapeError names `op`, the axis and the rank.
[[nodiscard]] inline int normalize_axis(Size axis, int rank, const char* op) {
  if (axis < -rank || axis >= rank) detail::refuse_axis(axis, rank, op);
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

/// All axes normalised, sorted, each once. ShapeError for a repeated or impossible one.
[[nodiscard]] Axes normalize_axes(const Axes& axes, int rank, const char* op);

}  // namespace regard

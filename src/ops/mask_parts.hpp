// A mask taken apart, for a captured step: its tensors get new numbers with each replay.
#pragma once

#include <functional>

#include <regard/mask.hpp>

namespace regard::detail {

struct MaskParts {
  /// The mask with f(x) in place of each of its tensors.
  static Mask map(const Mask& mask, const std::function<Tensor(const Tensor&)>& f);
  /// Both are made of the same kinds of masks in the same order, of tensors of the same shapes and dtypes.
  static bool same_kind(const Mask& a, const Mask& b);
  /// f(x, y) for each tensor of a and that of b.
  static void each(const Mask& a, const Mask& b, void (*f)(const Tensor& x, const Tensor& y));
};

}  // namespace regard::detail

// Values for twins: the same operation once more, in plain loops over doubles. Nothing here, nor in any twin,
// uses the library's kernels or ops, only its shapes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <regard/shape.hpp>

namespace regard::test {

using Index = std::vector<Size>;

/// Numbers in row-major order with their shape. Booleans are 0 and 1.
struct Plain {
  Shape shape;
  std::vector<double> values;

  explicit Plain(Shape its_shape, double value = 0)
      : shape(std::move(its_shape)), values(static_cast<std::size_t>(numel(shape)), value) {}
  Plain(Shape its_shape, std::vector<double> its_values)
      : shape(std::move(its_shape)), values(std::move(its_values)) {}

  std::size_t place(const Index& index) const {
    Size at = 0;
    for (int axis = 0; axis < shape.rank(); ++axis)
      at = at * shape[axis] + index[static_cast<std::size_t>(axis)];
    return static_cast<std::size_t>(at);
  }
  double& at(const Index& index) { return values[place(index)]; }
  double at(const Index& index) const { return values[place(index)]; }
  /// The element that stands at `index` of a larger shape when this one is broadcast to it.
  double broadcast_at(const Index& index) const {
    Index own;
    const std::size_t extra = index.size() - static_cast<std::size_t>(shape.rank());
    for (int axis = 0; axis < shape.rank(); ++axis)
      own.push_back(shape[axis] == 1 ? 0 : index[extra + static_cast<std::size_t>(axis)]);
    return at(own);
  }
};
using Plains = std::vector<Plain>;

/// Calls f(index) for every element of a shape, in row-major order.
template <class F>
void for_each_index(const Shape& shape, F f) {
  Index index(static_cast<std::size_t>(shape.rank()), 0);
  for (Size left = numel(shape); left > 0; --left) {
    f(static_cast<const Index&>(index));
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      if (++index[static_cast<std::size_t>(axis)] < shape[axis]) break;
      index[static_cast<std::size_t>(axis)] = 0;
    }
  }
}

/// The shape that both broadcast to.
inline Shape common_shape(const Shape& a, const Shape& b) {
  const int rank = std::max(a.rank(), b.rank());
  Shape out = Sizes::filled(rank, 1);
  for (const Shape* s : {&a, &b})
    for (int axis = 0; axis < s->rank(); ++axis)
      if ((*s)[axis] != 1) out[rank - s->rank() + axis] = (*s)[axis];
  return out;
}

/// A shape filled by f(index).
template <class F>
Plain fill(const Shape& shape, F f) {
  Plain out(shape);
  for_each_index(shape, [&](const Index& index) { out.at(index) = f(index); });
  return out;
}

template <class F>
Plain map(const Plain& x, F f) {
  return fill(x.shape, [&](const Index& index) { return f(x.at(index)); });
}

template <class F>
Plain map(const Plain& a, const Plain& b, F f) {
  return fill(common_shape(a.shape, b.shape),
              [&](const Index& index) { return f(a.broadcast_at(index), b.broadcast_at(index)); });
}

/// An index with one coordinate replaced.
inline Index with(Index index, int axis, Size value) {
  index[static_cast<std::size_t>(axis)] = value;
  return index;
}

}  // namespace regard::test

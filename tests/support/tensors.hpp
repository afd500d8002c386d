// Tensors to test with: random ones from a domain, and the same values laid out in other ways.
#pragma once

#include <iosfwd>
#include <utility>
#include <vector>

#include <regard/tensor.hpp>

namespace regard::test {

/// Where random values come from. Chosen so that a difference quotient never steps over a kink or an edge.
enum class Domain {
  normal,          ///< N(0, 1)
  positive,        ///< [0.5, 2)
  unit,            ///< [0.1, 0.9)
  away_from_zero,  ///< ±[0.5, 2)
  distinct,        ///< shuffled, no two closer than 0.1, none closer than 0.05 to zero
  small,           ///< ±1e-3
  large,           ///< ±[500, 1000)
};

/// float32 or float64. The same seed gives the same values in both, rounded.
Tensor random_tensor(const Shape& shape, Rng& rng, Domain domain = Domain::normal, DType dtype = float64);
/// int64 from 0 to bound - 1.
Tensor random_ids(const Shape& shape, Rng& rng, Size bound);
/// Booleans, true with probability p.
Tensor random_mask(const Shape& shape, Rng& rng, double p = 0.5);

/// How the same values may lie in memory.
enum class Layout {
  row_major,
  column_major,  ///< the first axis is the densest, as a transposed tensor's
  spaced,        ///< every second element of a larger block, behind an offset
  flipped,       ///< negative strides
};
inline constexpr Layout all_layouts[] = {Layout::row_major, Layout::column_major, Layout::spaced,
                                         Layout::flipped};
std::ostream& operator<<(std::ostream& out, Layout layout);

/// The values of x (a constant) in that layout.
Tensor with_layout(const Tensor& x, Layout layout);
/// x stretched to `shape` by strides of 0, as a view, by NumPy's rules. A constant.
Tensor stretched(const Tensor& x, const Shape& shape);

/// The elements in row-major order as doubles, whatever the dtype.
std::vector<double> values_of(const Tensor& x);
/// A tensor of that dtype from doubles.
Tensor from_values(const std::vector<double>& values, const Shape& shape, DType dtype = float64);
/// A constant with its own storage in row-major order.
Tensor deep_copy(const Tensor& x);
/// Index of the place-th element in row-major order.
std::vector<Size> unravel(Size place, const Shape& shape);

}  // namespace regard::test

#include "support/tensors.hpp"

#include <algorithm>
#include <cstring>
#include <ostream>

#include "tensor/impl.hpp"

namespace regard::test {
namespace {

double with_random_sign(double magnitude, Rng& rng) {
  return rng.chance(0.5) ? magnitude : -magnitude;
}

// One value per cell of width 0.2, the cells in random order: neighbours stay 0.1 apart.
std::vector<double> distinct_values(Size count, Rng& rng) {
  std::vector<double> values;
  for (Size i = 0; i < count; ++i) {
    const double cell = 0.2 * static_cast<double>(i - count / 2);
    values.push_back(cell + rng.uniform(0.05, 0.15));
  }
  rng.shuffle(values);
  return values;
}

double draw(Domain domain, Rng& rng) {
  switch (domain) {
    case Domain::normal:
      return rng.normal();
    case Domain::positive:
      return rng.uniform(0.5, 2);
    case Domain::unit:
      return rng.uniform(0.1, 0.9);
    case Domain::away_from_zero:
      return with_random_sign(rng.uniform(0.5, 2), rng);
    case Domain::small:
      return rng.uniform(-1e-3, 1e-3);
    case Domain::large:
      return with_random_sign(rng.uniform(500, 1000), rng);
    case Domain::distinct:
      break;
  }
  return 0;
}

/// Copies x into a block of `span` elements: element [0, 0, ..] at `first`, the others by `strides`.
Tensor copy_strided(const Tensor& x, Size span, Size first, const Strides& strides) {
  const Tensor block = detail::empty({span}, x.dtype());
  const Tensor source = x.detach().contiguous();
  const auto item = static_cast<std::size_t>(item_size(x.dtype()));
  auto* const to = static_cast<unsigned char*>(detail::array(block).data);
  std::memset(to, 0x5a, static_cast<std::size_t>(span) * item);  // what lies between is neither 0 nor NaN
  const auto* const from = static_cast<const unsigned char*>(detail::array(source).data);
  for (Size place = 0; place < x.numel(); ++place) {
    const std::vector<Size> index = unravel(place, x.shape());
    Size at = first;
    for (int axis = 0; axis < x.rank(); ++axis) at += index[static_cast<std::size_t>(axis)] * strides[axis];
    std::memcpy(to + static_cast<std::size_t>(at) * item, from + static_cast<std::size_t>(place) * item,
                item);
  }
  return detail::view(block, to + static_cast<std::size_t>(first) * item, x.shape(), strides);
}

}  // namespace

Tensor random_tensor(const Shape& shape, Rng& rng, Domain domain, DType dtype) {
  const Size count = numel(shape);
  std::vector<double> values;
  if (domain == Domain::distinct) {
    values = distinct_values(count, rng);
  } else {
    for (Size i = 0; i < count; ++i) values.push_back(draw(domain, rng));
  }
  return from_values(values, shape, dtype);
}

Tensor random_ids(const Shape& shape, Rng& rng, Size bound) {
  std::vector<Size> ids;
  for (Size i = 0; i < numel(shape); ++i) ids.push_back(rng.below(bound));
  return from_vector(ids, shape);
}

Tensor random_mask(const Shape& shape, Rng& rng, double p) {
  std::vector<bool> mask;
  for (Size i = 0; i < numel(shape); ++i) mask.push_back(rng.chance(p));
  return from_vector(mask, shape);
}

std::ostream& operator<<(std::ostream& out, Layout layout) {
  switch (layout) {
    case Layout::row_major:
      return out << "row-major";
    case Layout::column_major:
      return out << "column-major";
    case Layout::spaced:
      return out << "spaced";
    case Layout::flipped:
      return out << "flipped";
  }
  return out;
}

Tensor with_layout(const Tensor& x, Layout layout) {
  const Size count = x.numel();
  Strides strides = contiguous_strides(x.shape());
  switch (layout) {
    case Layout::row_major:
      break;
    case Layout::column_major: {
      Size step = 1;
      for (int axis = 0; axis < x.rank(); ++axis) {
        strides[axis] = step;
        step *= std::max<Size>(x.shape()[axis], 1);
      }
      break;
    }
    case Layout::spaced:
      for (int axis = 0; axis < x.rank(); ++axis) strides[axis] *= 2;
      return copy_strided(x, 2 * count + 3, 3, strides);
    case Layout::flipped:
      for (int axis = 0; axis < x.rank(); ++axis) strides[axis] = -strides[axis];
      return copy_strided(x, std::max<Size>(count, 1), std::max<Size>(count, 1) - 1, strides);
  }
  return copy_strided(x, count, 0, strides);
}

Tensor stretched(const Tensor& x, const Shape& shape) {
  Strides strides = Sizes::filled(shape.rank(), 0);
  const int extra = shape.rank() - x.rank();
  for (int axis = 0; axis < x.rank(); ++axis)
    if (x.shape()[axis] != 1) strides[axis + extra] = x.strides()[axis];
  return detail::view(x, detail::array(x).data, shape, strides);
}

std::vector<double> values_of(const Tensor& x) {
  std::vector<double> values;
  values.reserve(static_cast<std::size_t>(x.numel()));
  for (Size place = 0; place < x.numel(); ++place) values.push_back(x.at(unravel(place, x.shape())));
  return values;
}

Tensor from_values(const std::vector<double>& values, const Shape& shape, DType dtype) {
  switch (dtype) {
    case DType::float32:
      return from_vector(std::vector<float>(values.begin(), values.end()), shape);
    case DType::float64:
      return from_vector(values, shape);
    case DType::int64:
      return from_vector(std::vector<Size>(values.begin(), values.end()), shape);
    case DType::boolean:
      return from_vector(std::vector<bool>(values.begin(), values.end()), shape);
  }
  return {};
}

Tensor deep_copy(const Tensor& x) {
  return with_layout(x, Layout::row_major);
}

std::vector<Size> unravel(Size place, const Shape& shape) {
  std::vector<Size> index(static_cast<std::size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<std::size_t>(axis)] = place % shape[axis];
    place /= shape[axis];
  }
  return index;
}

}  // namespace regard::test

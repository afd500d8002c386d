// The twin of sorting: each element's place is the number of those that come before it.
#pragma once

#include <cmath>

#include "twins/plain.hpp"

namespace regard::test {

struct SortTwin {
  bool descending = false;
  bool nan_first = false;
};

/// The places along `axis` (negative from the end) that the first `count` elements in order came from; all
/// unless given.
inline Plain argsort_twin(const Plain& x, int axis, const SortTwin& how, Size count = -1) {
  const int at = axis < 0 ? axis + x.shape.rank() : axis;
  Shape shape = x.shape;
  if (count >= 0) shape[at] = count;
  Plain out(shape);
  for_each_index(x.shape, [&](const Index& index) {
    const double own = x.at(index);
    const Size place = index[static_cast<std::size_t>(at)];
    Size before = 0;
    for (Size i = 0; i < x.shape[at]; ++i) {
      const double other = x.at(with(index, at, i));
      const bool equal = own == other || (std::isnan(own) && std::isnan(other));
      const bool first = equal               ? i < place
                         : std::isnan(own)   ? !how.nan_first
                         : std::isnan(other) ? how.nan_first
                         : how.descending    ? other > own
                                             : other < own;
      before += first ? 1 : 0;
    }
    if (before < shape[at]) out.at(with(index, at, before)) = static_cast<double>(place);
  });
  return out;
}

/// What stood at these places.
inline Plain at_places(const Plain& x, const Plain& places, int axis) {
  const int at = axis < 0 ? axis + x.shape.rank() : axis;
  return fill(places.shape,
              [&](const Index& index) { return x.at(with(index, at, static_cast<Size>(places.at(index)))); });
}

}  // namespace regard::test

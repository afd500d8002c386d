// Samples that whole families share.
#pragma once

#include <limits>

#include "op_table/table.hpp"

namespace regard::test {

inline constexpr double infinity = std::numeric_limits<double>::infinity();
inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// For f(x), element by element or along an axis.
inline Samples one_input(Domain domain) {
  return {
      {real({3, 4}, domain)},
      {real({}, domain)},
      {real({1}, domain)},
      {real({0, 3}, domain)},
      {real({2, 1, 3}, domain)},
      {repeated({1, 3}, {2, 3}, domain)},
      values_only({real({2, 3}, Domain::large)}),
      values_only({given({not_a_number, infinity, -infinity, 0, -0.0, 1e-30}, {6})}),
  };
}

/// For f(a, b), element by element with broadcasting.
inline Samples two_inputs(Domain a, Domain b) {
  return {
      {real({3, 4}, a), real({3, 4}, b)},
      {real({3, 4}, a), real({4}, b)},
      {real({3, 1}, a), real({1, 4}, b)},
      {real({2}, a), real({3, 1, 1}, b)},
      {real({}, a), real({2}, b)},
      {real({2, 3}, a), real({}, b)},
      {real({1}, a), real({1}, b)},
      {real({0, 3}, a), real({3}, b)},
      {real({0, 1}, a), real({1, 0}, b)},
      {real({2, 3}, a), same_as(0)},
      {repeated({1, 3}, {2, 3}, a), real({2, 3}, b)},
      values_only({real({2, 3}, Domain::large), real({3}, Domain::large)}),
      values_only({given({not_a_number, 0, infinity, -infinity, 0, -0.0}, {6}),
                   given({0, not_a_number, -infinity, 1, -0.0, 0}, {6})}),
  };
}

}  // namespace regard::test

// How much arithmetic an operation does, by its name and shapes.
#pragma once

#include <map>
#include <string_view>

#include <regard/shape.hpp>

namespace regard::study {

/// Multiplications and additions of a product of matrices, a·b -> y, whichever of the two is transposed; 0
/// for other operations. What a mask hides counts.
inline double flops(std::string_view op, const Shape& a, const Shape& y) {
  // Linear attention adds up a matrix for each token, and multiplies by it.
  static const std::map<std::string_view, double> per_sum = {{"matmul", 2},
                                                             {"masked_scores", 2},
                                                             {"masked_mix", 2},
                                                             {"masked_mix_transposed", 2},
                                                             {"causal_product", 4}};
  const auto found = per_sum.find(op);
  if (found == per_sum.end() || numel(a) == 0 || numel(y) == 0) return 0;
  const Size summed = a[a.rank() - 2] * a[a.rank() - 1] / y[y.rank() - 2];
  return found->second * static_cast<double>(numel(y)) * static_cast<double>(summed);
}

}  // namespace regard::study

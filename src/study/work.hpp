// How much arithmetic an operation does, by its name and shapes.
#pragma once

#include <map>
#include <string_view>
#include <utility>

#include <regard/shape.hpp>

namespace regard::study {

/// Multiplications and additions of a product of matrices, a·b -> y, whichever of the two is transposed, and
/// of attention in blocks; 0 for other operations. What a mask hides counts. input(i): the shape of an input.
template <class ShapeOf>
double flops(std::string_view op, const ShapeOf& input, const Shape& y) {
  // Linear attention adds up a matrix for each token, and multiplies by it.
  static const std::map<std::string_view, double> per_sum = {{"matmul", 2},
                                                             {"masked_scores", 2},
                                                             {"masked_mix", 2},
                                                             {"masked_mix_transposed", 2},
                                                             {"causal_product", 4}};
  // Products of the width of keys, and of values: scores and mix; the scores again, their gradient, three
  // more.
  static const std::map<std::string_view, std::pair<double, double>> in_blocks = {
      {"blocked_attention", {1, 1}}, {"blocked_attention_backward", {3, 2}}};
  const auto number = [](Size count) { return static_cast<double>(count); };
  if (const auto found = per_sum.find(op); found != per_sum.end() && numel(y) > 0) {
    const Shape& a = input(0);
    // A weight's gradient adds up over the rows of all leading axes.
    const Size rows = y.rank() < a.rank() ? numel(a) / a.back() : a[a.rank() - 2];
    return found->second * number(numel(y)) * number(rows * a.back() / y[y.rank() - 2]);
  }
  if (const auto found = in_blocks.find(op); found != in_blocks.end() && numel(y) > 0) {
    const Shape &key = input(1), &value = input(2);
    const double pairs = number(numel(y) / y.back()) * number(key[key.rank() - 2]);
    return 2 * pairs *
           (found->second.first * number(key.back()) + found->second.second * number(value.back()));
  }
  return 0;
}

}  // namespace regard::study

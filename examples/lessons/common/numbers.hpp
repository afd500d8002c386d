#pragma once
// From tensors to what is printed and drawn.

#include <string>
#include <vector>

#include <regard/study/frame.hpp>
#include <regard/study/panels.hpp>
#include <regard/tensor.hpp>

namespace lessons {

using Labels = std::vector<std::string>;

/// All numbers in row-major order, as double.
[[nodiscard]] std::vector<double> doubles(const regard::Tensor& x);
/// The last two axes of a tensor whose others have extent 1: one head of one sequence, say. ShapeError.
[[nodiscard]] regard::Tensor matrix(const regard::Tensor& x);
/// The largest magnitude; 0 of nothing, NaN if there is one.
[[nodiscard]] double largest(const regard::Tensor& x);
/// The largest |a - b|. ShapeError unless the shapes are the same.
[[nodiscard]] double largest_difference(const regard::Tensor& a, const regard::Tensor& b);

/// "x1", "x2", ...
[[nodiscard]] Labels numbered(const std::string& name, regard::Size count);

/// A matrix as a panel of a picture. `keep`: boolean, false where a mask hides; undefined: nowhere.
[[nodiscard]] regard::study::MatrixPanel panel(const std::string& title, const Labels& rows,
                                               const Labels& columns, const regard::Tensor& values,
                                               const regard::Tensor& keep = {});
/// The same on the scale of attention weights.
[[nodiscard]] regard::study::MatrixPanel weights_panel(const std::string& title, const Labels& queries,
                                                       const Labels& keys, const regard::Tensor& weights,
                                                       const regard::Tensor& keep = {});
/// Weights as the film, the strip and the terminal take them.
[[nodiscard]] regard::study::AttentionPanel attention_panel(const std::string& name, const Labels& queries,
                                                            const Labels& keys, const regard::Tensor& weights,
                                                            const regard::Tensor& keep = {});

}  // namespace lessons

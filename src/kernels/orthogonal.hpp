#pragma once

#include <vector>

#include <regard/shape.hpp>

namespace regard::kernels {

/// Gram and Schmidt, twice: the rows of a row-major matrix, or its columns where there are fewer, become
/// orthonormal and span what they spanned. Of independent normal numbers it makes every such matrix equally
/// likely.
void orthonormalise(std::vector<double>& matrix, Size rows, Size columns);

}  // namespace regard::kernels

// Numbers computed elsewhere, kept under tests/golden.
#pragma once

#include <string>

#include <regard/tensor.hpp>

namespace regard::test {

/// A float64 tensor from tests/golden/course_numbers.json, by its path: "lesson10_causal/gradients/dX".
Tensor course_numbers(const std::string& path);

}  // namespace regard::test

// Numbers computed elsewhere, kept under tests/golden.
#pragma once

#include <string>

#include <nlohmann/json_fwd.hpp>

#include <regard/tensor.hpp>

namespace regard::test {

/// A document of tests/golden, which is read once and stays. std::runtime_error when it cannot be read.
const nlohmann::json& golden(const char* name);
/// Where a file of tests/golden lies.
std::string golden_path(const std::string& name);
/// A float64 tensor from tests/golden/course_numbers.json, by its path: "lesson10_causal/gradients/dX".
Tensor course_numbers(const std::string& path);

}  // namespace regard::test

// Comparisons of tensors that say where they fail.
#pragma once

#include <gtest/gtest.h>

#include <regard/tensor.hpp>

namespace regard::test {

/// Same dtype and shape, and |a - b| <= atol + rtol·|b| everywhere. NaN equals NaN, an infinity only itself.
::testing::AssertionResult tensors_near(const char* a_text, const char* b_text, const char* rtol_text,
                                        const char* atol_text, const Tensor& a, const Tensor& b, double rtol,
                                        double atol);

/// Same dtype, shape and bytes, whatever the strides.
::testing::AssertionResult same_bits(const char* a_text, const char* b_text, const Tensor& a,
                                     const Tensor& b);

}  // namespace regard::test

#define EXPECT_TENSOR_NEAR(a, b, rtol, atol) \
  EXPECT_PRED_FORMAT4(::regard::test::tensors_near, a, b, rtol, atol)
#define ASSERT_TENSOR_NEAR(a, b, rtol, atol) \
  ASSERT_PRED_FORMAT4(::regard::test::tensors_near, a, b, rtol, atol)
#define EXPECT_SAME_BITS(a, b) EXPECT_PRED_FORMAT2(::regard::test::same_bits, a, b)
#define ASSERT_SAME_BITS(a, b) ASSERT_PRED_FORMAT2(::regard::test::same_bits, a, b)

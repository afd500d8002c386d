// GoogleTest matchers over check_gradients; needs <gtest/gtest.h>, and is not part of <regard/regard.hpp>.
//
// <!-- declarations -->
// ```cpp
// TEST(MyLayer, HasRightGradients) {
//   EXPECT_GRADIENTS_OK([](const Tensors& x) { return matmul(x[0], x[1]); }, (Tensors{x, weight}));
//   EXPECT_GRADIENTS_OK(model, [&] { return loss(model(x)); });
// }
// ```
#pragma once

#include <utility>

#include <gtest/gtest.h>

#include <regard/gradcheck.hpp>

namespace REGARD_API regard {

/// Success when the report is ok; the report's text otherwise.
[[nodiscard]] inline ::testing::AssertionResult gradients_ok(const GradientReport& report) {
  if (report.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << to_string(report);
}
/// The arguments are those of check_gradients.
template <class First, class Second>
[[nodiscard]] ::testing::AssertionResult gradients_ok(First&& first, Second&& second,
                                                      const GradientCheckOptions& options = {}) {
  return gradients_ok(check_gradients(std::forward<First>(first), std::forward<Second>(second), options));
}

}  // namespace regard

/// EXPECT_GRADIENTS_OK(f, inputs), (module, loss), or with options as the third; also of a GradientReport.
#define EXPECT_GRADIENTS_OK(...) EXPECT_TRUE(::regard::gradients_ok(__VA_ARGS__))
#define ASSERT_GRADIENTS_OK(...) ASSERT_TRUE(::regard::gradients_ok(__VA_ARGS__))

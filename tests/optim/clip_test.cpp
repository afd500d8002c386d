#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <regard/error.hpp>
#include <regard/optim.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

std::vector<Parameter> with_gradients(const Tensors& gradients) {
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    parameters.emplace_back(ones(gradients[i].shape(), gradients[i].dtype()), "p" + std::to_string(i));
    parameters.back().set_gradient(gradients[i]);
  }
  return parameters;
}

TEST(Clip, ScalesAllGradientsByOneFactor) {
  const auto parameters = with_gradients({tensor({3}), tensor({4})});
  EXPECT_EQ(clip_gradients_by_norm(parameters, 1), 5);
  EXPECT_TENSOR_NEAR(parameters[0].gradient(), tensor({0.6}), 1e-15, 0);
  EXPECT_TENSOR_NEAR(parameters[1].gradient(), tensor({0.8}), 1e-15, 0);
  EXPECT_NEAR(clip_gradients_by_norm(parameters, 10), 1, 1e-15);
}

TEST(Clip, LeavesASmallNormAlone) {
  const auto parameters = with_gradients({tensor({3, 4})});
  EXPECT_EQ(clip_gradients_by_norm(parameters, 5), 5);
  EXPECT_SAME_BITS(parameters[0].gradient(), tensor({3, 4}));
}

TEST(Clip, ReportsWhatIsNotFiniteAndChangesNothing) {
  for (const double bad : {infinity, -infinity, nan}) {
    const auto parameters = with_gradients({tensor({2, 5}), tensor({bad, 1})});
    EXPECT_THROWS_WITH(clip_gradients_by_norm(parameters, 1), ValueError, "the gradient of p1 [2]");
    EXPECT_FALSE(std::isfinite(clip_gradients_by_norm(parameters, 1, NonFinite::report)));
    EXPECT_SAME_BITS(parameters[0].gradient(), tensor({2, 5}));
    EXPECT_SAME_BITS(parameters[1].gradient(), tensor({bad, 1}));
    EXPECT_SAME_BITS(parameters[1].value(), tensor({1, 1}));
  }
}

TEST(Clip, NeitherOverflowsNorVanishes) {
  EXPECT_NEAR(clip_gradients_by_norm(with_gradients({tensor({3e200, 4e200})}), 1) / 5e200, 1, 1e-15);
  EXPECT_NEAR(clip_gradients_by_norm(with_gradients({tensor({3e-200}), tensor({4e-200})}), 1) / 5e-200, 1,
              1e-15);
  const auto parameters = with_gradients({tensor({3e30, 4e30}, float32)});
  EXPECT_NEAR(clip_gradients_by_norm(parameters, 1) / 5e30, 1, 1e-7);
  EXPECT_TENSOR_NEAR(parameters[0].gradient(), tensor({0.6, 0.8}, float32), 1e-6, 0);
}

TEST(Clip, CountsATiedParameterOnceAndSkipsWhatHasNoGradient) {
  auto parameters = with_gradients({tensor({3, 4})});
  parameters.push_back(parameters[0]);
  parameters.emplace_back(tensor({1}), "unused");
  EXPECT_EQ(clip_gradients_by_norm(parameters, 2.5), 5);
  EXPECT_SAME_BITS(parameters[0].gradient(), tensor({1.5, 2}));
  EXPECT_FALSE(parameters[2].has_gradient());
}

TEST(Clip, TakesAnyLayout) {
  Rng rng(3);
  const Tensor gradient = test::random_tensor({3, 4}, rng);
  const auto plain = with_gradients({gradient});
  const double norm = clip_gradients_by_norm(plain, 0.5);
  for (const test::Layout layout : test::all_layouts) {
    const auto parameters = with_gradients({test::with_layout(gradient, layout)});
    EXPECT_NEAR(clip_gradients_by_norm(parameters, 0.5), norm, 1e-15);
    EXPECT_TENSOR_NEAR(parameters[0].gradient(), plain[0].gradient(), 1e-15, 0);
  }
}

}  // namespace
}  // namespace regard

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <regard/error.hpp>
#include <regard/loss.hpp>
#include <regard/ops.hpp>
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

// ---- by value ------------------------------------------------------------------------------------------

TEST(ClipByValue, BringsEachNumberIntoTheLimits) {
  for (const DType dtype : {float64, float32}) {
    const auto parameters = with_gradients({tensor({-3, 0.25, 0.5}, dtype), tensor({4}, dtype)});
    EXPECT_EQ(clip_gradients_by_value(parameters, 0.5), 4);
    EXPECT_SAME_BITS(parameters[0].gradient(), tensor({-0.5, 0.25, 0.5}, dtype));
    EXPECT_SAME_BITS(parameters[1].gradient(), tensor({0.5}, dtype));
    EXPECT_EQ(clip_gradients_by_value(parameters, 0.5), 0.5);
    EXPECT_EQ(clip_gradients_by_value(parameters, 0), 0.5);
    EXPECT_SAME_BITS(parameters[1].gradient(), tensor({0}, dtype));
  }
  EXPECT_EQ(clip_gradients_by_value({}, 1), 0);
}

TEST(ClipByValue, ReportsWhatIsNotFiniteAndChangesNothing) {
  for (const double bad : {infinity, -infinity, nan}) {
    const auto parameters = with_gradients({tensor({2, 5}), tensor({bad, 1})});
    EXPECT_THROWS_WITH(clip_gradients_by_value(parameters, 1), ValueError,
                       "clip_gradients_by_value: the gradient of p1 [2]");
    EXPECT_FALSE(std::isfinite(clip_gradients_by_value(parameters, 1, NonFinite::report)));
    EXPECT_SAME_BITS(parameters[0].gradient(), tensor({2, 5}));
    EXPECT_SAME_BITS(parameters[1].gradient(), tensor({bad, 1}));
  }
  EXPECT_THROWS_WITH(clip_gradients_by_value({}, -1), ValueError, "limit must not be negative, got -1");
  EXPECT_THROWS_WITH(clip_gradients_by_value({}, nan), ValueError, "limit");
}

// ---- parts of a batch ----------------------------------------------------------------------------------

struct Batch {
  Tensor inputs, targets;
};

// Rows of a batch whose targets are partly padding: the parts have 5, 1, 0 and 3 tokens that count.
std::vector<Batch> parts_of_a_batch(DType dtype) {
  constexpr Size padding = -100;
  Rng rng(5);
  std::vector<Batch> parts;
  for (const std::vector<Size>& targets : std::vector<std::vector<Size>>{
           {0, 1, 2, 2, 1}, {1, padding, padding}, {padding, padding}, {2, 0, padding, 1}}) {
    const Size rows = static_cast<Size>(targets.size());
    parts.push_back({normal({rows, 4}, rng).to(dtype), from_vector(targets, {rows})});
  }
  return parts;
}

Size tokens_of(const Batch& part) {
  return static_cast<Size>(sum(not_equal(part.targets, scalar(-100, int64)).to(float64)).item());
}

TEST(GradientSum, IsTheGradientOfOneLargeBatch) {
  for (const DType dtype : {float64, float32}) {
    const std::vector<Batch> parts = parts_of_a_batch(dtype);
    Tensors inputs, targets;
    for (const Batch& part : parts) {
      inputs.push_back(part.inputs);
      targets.push_back(part.targets);
    }
    Rng rng(6);
    const Tensor start = normal({4, 3}, rng).to(dtype);
    Parameter whole(start, "whole"), in_parts(start, "in parts");
    const Tensor loss = cross_entropy(matmul(concatenate(inputs), whole), concatenate(targets));
    backward(loss);

    CrossEntropyOptions summed;
    summed.reduction = Reduction::sum;
    GradientSum batch({in_parts});
    for (int again = 0; again < 2; ++again) {  // what the first batch left is dropped
      for (const Batch& part : parts)
        batch.add(cross_entropy(matmul(part.inputs, in_parts), part.targets, summed), tokens_of(part));
      const double tolerance = dtype == float64 ? 1e-12 : 1e-6;
      EXPECT_NEAR(batch.finish(), loss.item(), tolerance);
      EXPECT_TENSOR_NEAR(in_parts.gradient(), whole.gradient(), tolerance, tolerance);
    }
    // The mean of the means is another number.
    double means = 0;
    for (const Batch& part : parts) means += cross_entropy(matmul(part.inputs, start), part.targets).item();
    EXPECT_GT(std::abs(means / 4 - loss.item()), 0.05);
  }
}

TEST(GradientSum, RefusesWhatHasNoMean) {
  Parameter w(tensor({2}), "w");
  GradientSum batch({w});
  EXPECT_THROWS_WITH(batch.finish(), ValueError, "no token was added");
  EXPECT_THROWS_WITH((batch.add(sum(Tensor(w)), -1), 0), ValueError, "at least 0 tokens, got -1");
  EXPECT_THROWS_WITH((batch.add(tensor({1, 2}) * w, 1), 0), GraphError, "scalar");
  batch.add(sum(Tensor(w)) * 0.0, 0);
  EXPECT_THROWS_WITH(batch.finish(), ValueError, "no token was added");
  batch.add(sum(Tensor(w)) * 6.0, 3);
  EXPECT_EQ(batch.finish(), 4);
  EXPECT_SAME_BITS(w.gradient(), tensor({2}));
}

TEST(GradientSum, DividesATiedParameterOnce) {
  Parameter w(tensor({2}), "w");
  GradientSum batch({w, w});
  batch.add(sum(Tensor(w)), 2);
  static_cast<void>(batch.finish());
  EXPECT_SAME_BITS(w.gradient(), tensor({0.5}));
}

}  // namespace
}  // namespace regard

// Cross entropy and squared error against plain loops, with every option, and the targets that others read
// past.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/loss.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

CrossEntropyOptions with_reduction(Reduction reduction) {
  CrossEntropyOptions options;
  options.reduction = reduction;
  return options;
}

/// The definition, written with sums over rows: the mean of ids divides by the weights of the rows that
/// count.
double by_loops(const Tensor& logits, const Tensor& targets, const CrossEntropyOptions& options) {
  const std::size_t classes = static_cast<std::size_t>(logits.shape().back());
  const std::vector<double> x = test::values_of(logits), t = test::values_of(targets);
  std::vector<double> w(classes, 1.0);
  if (options.class_weights.defined()) w = test::values_of(options.class_weights);
  const double s = options.label_smoothing, even = 1.0 / static_cast<double>(classes);
  const bool ids = targets.dtype() == int64;
  double total = 0, count = 0;
  for (std::size_t row = 0; row * classes < x.size(); ++row) {
    if (ids && t[row] == static_cast<double>(options.ignore_index)) continue;
    double sum_of_exp = 0;
    for (std::size_t c = 0; c < classes; ++c) sum_of_exp += std::exp(x[row * classes + c]);
    for (std::size_t c = 0; c < classes; ++c) {
      const double probability = ids ? (static_cast<double>(c) == t[row] ? 1 : 0) : t[row * classes + c];
      total -= w[c] * ((1 - s) * probability + s * even) * (x[row * classes + c] - std::log(sum_of_exp));
    }
    count += ids ? w[static_cast<std::size_t>(t[row])] : 1;
  }
  return options.reduction == Reduction::mean ? total / count : total;
}

Tensor some_probabilities(const Shape& shape, Rng& rng, DType dtype = float64) {
  return softmax(test::random_tensor(shape, rng, test::Domain::normal, dtype));
}

TEST(CrossEntropy, EveryOptionAgreesWithLoops) {
  Rng rng(1);
  for (const DType dtype : {float32, float64}) {
    for (const Shape& rows : {Shape{}, {6}, {2, 3}}) {
      Shape shape = rows;
      shape.push_back(5);
      const Tensor logits = test::random_tensor(shape, rng, test::Domain::normal, dtype);
      const Tensor weights = test::random_tensor({5}, rng, test::Domain::positive, dtype);
      for (const Tensor& targets : {test::random_ids(rows, rng, 5), some_probabilities(shape, rng, dtype)}) {
        for (const double smoothing : {0.0, 0.1, 1.0}) {
          for (const Size ignored : {-100, 0}) {
            for (const bool weighted : {false, true}) {
              for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
                CrossEntropyOptions options;
                options.reduction = reduction;
                options.label_smoothing = smoothing;
                options.ignore_index = ignored;
                if (weighted) options.class_weights = weights;
                double expected = by_loops(logits, targets, options);
                if (std::isnan(expected)) expected = 0;  // nothing but class 0, which is ignored
                const double tolerance = (dtype == float32 ? 1e-5 : 1e-12) * (1 + std::abs(expected));
                for (const test::Layout layout : test::all_layouts) {
                  const Tensor x = test::with_layout(logits, layout), t = test::with_layout(targets, layout);
                  EXPECT_NEAR(cross_entropy(x, t, options).item(), expected, tolerance)
                      << to_string(shape) << " " << name(targets.dtype()) << " s " << smoothing
                      << " ignoring " << ignored << " " << layout;
                }
              }
            }
          }
        }
      }
    }
  }
}

TEST(CrossEntropy, WithoutReductionEachRowHasItsLoss) {
  const Tensor logits = tensor({{{0, 0}, {100, 0}}, {{0, 100}, {0, 0}}});
  const Tensor targets = tensor({{0, 0}, {0, -100}}, int64);
  const Tensor rows = cross_entropy(logits, targets, with_reduction(Reduction::none));
  EXPECT_TENSOR_NEAR(rows, tensor({{std::log(2), 0}, {100, 0}}), 1e-15, 1e-40);
}

TEST(CrossEntropy, IdsAndOneHotProbabilitiesAgree) {
  Rng rng(2);
  const Tensor logits = test::random_tensor({4, 3}, rng);
  const Tensor ids = tensor({2, 0, 1, 1}, int64);
  const Tensor one_hot_targets = equal(expand_dims(ids, {1}), arange(3)).to(float64);
  EXPECT_SAME_BITS(cross_entropy(logits, ids), cross_entropy(logits, one_hot_targets));
}

TEST(CrossEntropy, GradientIsSoftmaxMinusTarget) {
  const Tensor x = variable(tensor({{1, 2, 3}, {0, 0, 0}}));
  const Tensor dx = grad(cross_entropy(x, tensor({2, 0}, int64)), x);
  const Tensor expected = (softmax(x.detach()) - tensor({{0, 0, 1}, {1, 0, 0}})) * 0.5;
  EXPECT_TENSOR_NEAR(dx, expected, 1e-15, 1e-16);
}

TEST(CrossEntropy, IgnoredRowsMayHoldAnything) {
  CrossEntropyOptions options;
  options.ignore_index = 1;  // a class like any other
  options.label_smoothing = 0.1;
  const Tensor ids = tensor({1, 0}, int64);
  const auto losses = [&](const Tensor& value) {
    const Tensor x = variable(value);
    GradOptions create;
    create.create_graph = true;
    const Tensor loss = cross_entropy(x, ids, options);
    const Tensor dx = grad(loss, x, create);
    return Tensors{loss.detach(), dx.detach(), grad(sum(square(dx)), x)};
  };
  const Tensors clean = losses(tensor({{0, 0}, {1, 2}})), dirty = losses(tensor({{nan, inf}, {1, 2}}));
  for (std::size_t i = 0; i < clean.size(); ++i) EXPECT_SAME_BITS(dirty[i], clean[i]) << i;
}

TEST(CrossEntropy, WeightsThatAddUpToNothing) {
  CrossEntropyOptions options;
  options.class_weights = tensor({0, 1});
  options.label_smoothing = 0.1;
  const Tensor x = variable(tensor({{1, 2}}));
  const Tensor loss = cross_entropy(x, tensor({0}, int64), options);
  EXPECT_EQ(loss.item(), 0);
  EXPECT_TENSOR_NEAR(grad(loss, x), zeros({1, 2}), 0, 0);
}

TEST(CrossEntropy, AClassOfProbabilityZeroMayHaveTheLogitMinusInfinity) {
  const Tensor x = variable(tensor({{0, 0, -inf}}));
  for (const Tensor& targets : {tensor({{0.5, 0.5, 0}}), tensor({0}, int64)}) {
    const Tensor loss = cross_entropy(x, targets);
    EXPECT_NEAR(loss.item(), std::log(2), 1e-15);
    EXPECT_EQ(grad(loss, x).at({0, 2}), 0);
  }
  EXPECT_EQ(cross_entropy(x, tensor({2}, int64)).item(), inf);
}

TEST(CrossEntropy, LargeLogitsDoNotOverflow) {
  const Tensor logits = tensor({{1000, 0}, {-1000, 0}});
  EXPECT_TENSOR_NEAR(cross_entropy(logits, tensor({1, 0}, int64), with_reduction(Reduction::none)),
                     tensor({1000, 1000}), 1e-15, 0);
}

TEST(CrossEntropy, Derivatives) {
  Rng rng(3);
  const Tensor logits = test::random_tensor({2, 2, 3}, rng);
  const Tensor ids = tensor({{0, 2}, {-100, 1}}, int64);
  const Tensor probabilities = some_probabilities({2, 2, 3}, rng);
  for (const Reduction reduction : {Reduction::mean, Reduction::none}) {
    for (const bool plain : {true, false}) {
      SCOPED_TRACE(plain);
      CrossEntropyOptions options;
      options.reduction = reduction;
      if (!plain) {
        options.label_smoothing = 0.2;
        options.class_weights = tensor({0.5, 2, 1});
      }
      const auto of_ids = [&](const Tensors& in) { return cross_entropy(in[0], ids, options); };
      const auto of_probabilities = [&](const Tensors& in) { return cross_entropy(in[0], in[1], options); };
      test::expect_gradients(of_ids, {logits});
      test::expect_second_order(of_ids, {logits});
      test::expect_gradients(of_probabilities, {logits, probabilities});
      test::expect_second_order(of_probabilities, {logits, probabilities});
    }
  }
}

TEST(CrossEntropy, ThirdOrder) {
  Rng rng(4);
  const Tensor ids = tensor({0, 2, -100}, int64);
  const auto slope = [&](const Tensors& in) {
    const EnableGrad recording;  // difference quotients are taken with recording off
    const Tensor at = in[0].requires_grad() ? in[0] : variable(in[0]);
    GradOptions options;
    options.create_graph = true;
    return grad(square(cross_entropy(at, ids)), at, options);
  };
  test::expect_second_order(slope, {test::random_tensor({3, 3}, rng)});
}

TEST(CrossEntropy, Errors) {
  const Tensor logits = zeros({2, 3});
  EXPECT_THROWS_WITH(
      cross_entropy(logits, zeros({3}, int64)), ShapeError,
      "cross_entropy: logits [2, 3] (classes last) take class ids int64 [2] or probabilities float64 "
      "[2, 3] as targets, got int64 [3]");
  EXPECT_THROWS_WITH(cross_entropy(logits, zeros({2})), ShapeError, "got float64 [2]");
  EXPECT_THROWS_WITH(cross_entropy(logits, zeros({2, 3}, float32)), DTypeError, "got float32 [2, 3]");
  EXPECT_THROWS_WITH(cross_entropy(logits, zeros({2}, boolean)), DTypeError, "got boolean [2]");
  EXPECT_THROWS_WITH(cross_entropy(scalar(1), scalar(0, int64)), ShapeError, "logits are a scalar");
  EXPECT_THROWS_WITH(cross_entropy(logits.to(int64), zeros({2}, int64)), DTypeError, "cross_entropy");
  CrossEntropyOptions options;
  for (const double smoothing : {-0.1, 1.5, nan}) {
    options.label_smoothing = smoothing;
    EXPECT_THROWS_WITH(cross_entropy(logits, zeros({2}, int64), options), ValueError, "label_smoothing");
  }
  options.label_smoothing = 0;
  options.class_weights = ones({2});
  EXPECT_THROWS_WITH(cross_entropy(logits, zeros({2}, int64), options), ShapeError,
                     "expected class_weights [3] for logits [2, 3], got [2]");
  options.class_weights = ones({3}, float32);
  EXPECT_THROWS_WITH(cross_entropy(logits, zeros({2}, int64), options), DTypeError, "cross_entropy");
}

TEST(MeanSquaredError, ValuesAndReductions) {
  const Tensor a = tensor({{1, 2}, {3, 4}}), b = tensor({{1, 0}, {0, 4}});
  EXPECT_EQ(mean_squared_error(a, b).item(), 3.25);
  EXPECT_EQ(mean_squared_error(a, b, Reduction::sum).item(), 13);
  EXPECT_SAME_BITS(mean_squared_error(a, b, Reduction::none), tensor({{0, 4}, {9, 0}}));
}

TEST(MeanSquaredError, Derivatives) {
  Rng rng(5);
  for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
    const auto f = [&](const Tensors& in) { return mean_squared_error(in[0], in[1], reduction); };
    const Tensors inputs = {test::random_tensor({3, 2}, rng), test::random_tensor({3, 2}, rng)};
    test::expect_gradients(f, inputs);
    test::expect_second_order(f, inputs);
  }
}

TEST(MeanSquaredError, NeverBroadcasts) {
  EXPECT_THROWS_WITH(mean_squared_error(zeros({3}), zeros({3, 1})), ShapeError,
                     "mean_squared_error: prediction [3] and target [3, 1] must have the same shape");
  EXPECT_THROWS_WITH(mean_squared_error(zeros({3}), zeros({3}, float32)), DTypeError, "mean_squared_error");
}

TEST(NllLoss, OfLogSoftmaxIsCrossEntropy) {
  Rng rng(8);
  const Tensor x = test::random_tensor({2, 3, 4}, rng);
  CrossEntropyOptions options;
  options.ignore_index = 1;
  options.label_smoothing = 0.2;
  options.class_weights = test::random_tensor({4}, rng, test::Domain::positive);
  for (const Tensor& targets : {test::random_ids({2, 3}, rng, 4), some_probabilities({2, 3, 4}, rng)})
    for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none, Reduction::batch_mean}) {
      options.reduction = reduction;
      EXPECT_TENSOR_NEAR(nll_loss(log_softmax(x), targets, options), cross_entropy(x, targets, options), 1e-14, 0);
    }
}

TEST(NllLoss, AClassThatCannotBeMayHaveNoProbability) {
  const Tensor x = variable(tensor({{-1, -inf}, {-inf, -2}}));
  const Tensor loss = nll_loss(x, tensor({0, 1}, int64));
  EXPECT_EQ(loss.item(), 1.5);
  EXPECT_TENSOR_NEAR(grad(loss, x), tensor({{-0.5, 0}, {0, -0.5}}), 0, 0);
}

TEST(BinaryCrossEntropy, NeitherOverflowsNorLosesDigits) {
  const Tensor x = variable(tensor({1000, -1000, 50, -50}));
  const Tensor t = tensor({0, 1, 1, 0});
  BinaryCrossEntropyOptions options;
  options.reduction = Reduction::none;
  const Tensor loss = binary_cross_entropy_with_logits(x, t, options);
  EXPECT_TENSOR_NEAR(loss.detach(), tensor({1000, 1000, std::exp(-50), std::exp(-50)}), 1e-15, 0);
  const Tensor expected = tensor({1, -1, -std::exp(-50), std::exp(-50)});
  EXPECT_TENSOR_NEAR(grad(sum(loss), x), expected, 1e-15, 0);
}

TEST(KlDivergence, IsFiniteWhereTheTargetIsZero) {
  const Tensor x = variable(tensor({-inf, std::log(0.5), std::log(0.5)}));
  const Tensor t = variable(tensor({0, 0, 1}));
  KlDivergenceOptions options;
  options.reduction = Reduction::sum;
  const Tensor loss = kl_divergence(x, t, options);
  EXPECT_NEAR(loss.item(), std::log(2.0), 1e-15);
  const Tensors d = grad(Tensors{loss}, Tensors{x, t});
  EXPECT_TENSOR_NEAR(d[0], tensor({0, 0, -1}), 0, 0);
  EXPECT_TENSOR_NEAR(d[1], tensor({0, std::log(2.0), 1 + std::log(2.0)}), 1e-15, 0);

  options.log_target = true;
  const Tensor logarithms = variable(tensor({-inf, -inf, 0}));
  const Tensor same = kl_divergence(x, logarithms, options);
  EXPECT_NEAR(same.item(), std::log(2.0), 1e-15);
  EXPECT_TENSOR_NEAR(grad(same, logarithms), tensor({0, 0, 1 + std::log(2.0)}), 1e-15, 0);
}

TEST(Reduction, BatchMeanDividesByTheFirstExtent) {
  EXPECT_EQ(mean_squared_error(ones({2, 3}), zeros({2, 3}), Reduction::batch_mean).item(), 3);
  EXPECT_EQ(mean_squared_error(scalar(1), scalar(0), Reduction::batch_mean).item(), 1);
}

}  // namespace
}  // namespace regard

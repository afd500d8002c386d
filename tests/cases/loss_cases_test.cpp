// Cross entropy: second order, ignored targets, ids that are none, weights, batches in parts.
#include <string>
#include <vector>

#include <regard/loss.hpp>

#include "cases/cases.hpp"

namespace regard::test {
namespace {

Tensor ids(const std::vector<Size>& values) {
  return from_vector(values, {static_cast<Size>(values.size())});
}

// pytorch/pytorch #2210: the second order was missing.
TEST(B15, ALossAndItsGradientInOneLoss) {
  in_both_dtypes([](DType dtype) {
    const Tensor x = variable(tensor({1, 0}, dtype));
    const Tensor loss = cross_entropy(x, scalar(0, int64));
    expect_case(loss, scalar(0.313261687518223), dtype);
    GradOptions options;
    options.create_graph = true;
    const Tensor g = grad(loss, x, options);
    expect_case(grad(loss + sum(g * x), x), tensor({-0.341270909498508, 0.341270909498508}), dtype);
  });
}

// pytorch/pytorch #70348, #116349, #75181: the mean over nothing was 0/0. Here it is 0.
TEST(B31, NothingButIgnoredTargets) {
  in_both_dtypes([](DType dtype) {
    CrossEntropyOptions options;
    for (const double smoothing : {0.0, 0.1}) {
      for (const Reduction reduction : {Reduction::mean, Reduction::sum}) {
        options.label_smoothing = smoothing;
        options.reduction = reduction;
        const Tensor x = variable(tensor({{1, 2, 3}}, dtype));
        const Tensor loss = cross_entropy(x, ids({-100}), options);
        EXPECT_SAME_BITS(loss.detach(), scalar(0, dtype));
        EXPECT_SAME_BITS(grad(loss, x), zeros({1, 3}, dtype));
      }
    }
    EXPECT_EQ(cross_entropy(zeros({0, 3}, dtype), zeros({0}, int64)).item(), 0);
    EXPECT_EQ(cross_entropy(zeros({0, 3}, dtype), zeros({0, 3}, dtype)).item(), 0);
  });
}

// qubvel-org/segmentation_models.pytorch #852: ignored rows were counted in the denominator.
TEST(B32, IgnoredRowsDoNotCount) {
  in_both_dtypes([](DType dtype) {
    const Tensor x = variable(tensor({{0.5, 0}, {0.5, 0}, {0.5, 0}}, dtype));
    expect_case(cross_entropy(x, ids({1, 1, 1})), scalar(0.974076984180107), dtype);
    const Tensor loss = cross_entropy(x, ids({-100, 1, 1}));
    expect_case(loss, scalar(0.974076984180107), dtype);
    const double g = 0.311229665600927;
    expect_case(grad(loss, x), tensor({{0, 0}, {g, -g}, {g, -g}}), dtype);
  });
}

// pytorch/pytorch #12670, #15508: a target out of range read memory.
TEST(B33, TargetsAreChecked) {
  const Tensor logits = zeros({2, 2, 5});
  for (const Size wrong : {Size{-4}, Size{5}, Size{1} << 31}) {
    const Tensor targets = from_vector(std::vector<Size>{0, 4, wrong, 1}, {2, 2});
    for (const Reduction reduction : {Reduction::mean, Reduction::sum, Reduction::none}) {
      CrossEntropyOptions options;
      options.reduction = reduction;
      EXPECT_THROWS_WITH(cross_entropy(logits, targets, options), ValueError,
                         "cross_entropy: target " + std::to_string(wrong) +
                             " at [1, 0] is not a class: expected 0 to 4, or ignore_index -100");
    }
  }
}

// pytorch/pytorch #91383: class weights, smoothing and an ignored target together.
TEST(B34, WeightsSmoothingAndIgnoredTargets) {
  in_both_dtypes([](DType dtype) {
    const Tensor x = tensor({{1, 0, 0}, {1, 0, 0}, {1, 0, 0}}, dtype);
    const Tensor targets = ids({0, 1, -100});
    CrossEntropyOptions options;
    options.label_smoothing = 0.1;
    options.class_weights = ones({3}, dtype);
    expect_case(cross_entropy(x, targets, options), scalar(1.06811138059872), dtype);
    options.class_weights = tensor({1, 2, 3}, dtype);
    expect_case(cross_entropy(x, targets, options), scalar(1.28093731550756), dtype);
    options.label_smoothing = 0;
    expect_case(cross_entropy(x, targets, options), scalar(1.21811138059872), dtype);
  });
}

// huggingface/transformers #24725, PR #34191: the mean of the means of unequal parts is not the mean (4
// instead of 5). Reduction::mean is that of one call; the sum adds up, as its docstring says.
TEST(B64, ABatchInUnequalParts) {
  in_both_dtypes([](DType dtype) {
    // The loss of logits [log(e^l - 1), 0] and target 1 is l.
    const auto logits_of = [&](double loss, Size tokens) {
      return broadcast_to(tensor({std::log(std::exp(loss) - 1), 0}, dtype), {tokens, 2});
    };
    const Tensor first = logits_of(2, 1), second = logits_of(6, 3);
    const Tensor one = ids({1}), three = ids({1, 1, 1});
    expect_case(cross_entropy(concatenate({first, second}), ids({1, 1, 1, 1})), scalar(5), dtype);

    CrossEntropyOptions summed;
    summed.reduction = Reduction::sum;
    const Tensor in_parts = cross_entropy(first, one, summed) + cross_entropy(second, three, summed);
    expect_case(in_parts / 4.0, scalar(5), dtype);
    expect_case((cross_entropy(first, one) + cross_entropy(second, three)) / 2.0, scalar(4), dtype);
  });
}

}  // namespace
}  // namespace regard::test

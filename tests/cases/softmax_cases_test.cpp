// Softmax and its logarithm. What masks do to them is among the cases of attention.
#include <vector>

#include "cases/cases.hpp"

namespace regard::test {
namespace {

// pytorch/pytorch #41508: the softmax inside, and its logarithm.
TEST(B01, ARowThatKeepsNothing) {
  in_both_dtypes([](DType dtype) {
    const Tensor x = variable(tensor({{1, 2}, {3, 4}}, dtype));
    const Tensor keep = tensor({{true, true}, {false, false}}, boolean);
    const Tensor p = softmax(x, keep);
    expect_case(p, tensor({{0.268941421369995, 0.731058578630005}, {0, 0}}), dtype);
    expect_case(grad_from(p, x, tensor({{1, 2}, {0, 0}})),
                tensor({{-0.196611933241482, 0.196611933241482}, {0, 0}}), dtype);

    const Tensor l = log_softmax(x, keep);
    EXPECT_SAME_BITS(select(l.detach(), 0, 1), full({2}, -infinity, dtype));
    EXPECT_SAME_BITS(grad_from(l, x, tensor({{0, 0}, {5, 7}})), zeros({2, 2}, dtype));
  });
}

// apache/singa PR #540: large logits gave NaN.
TEST(B12, LargeValuesAndShifts) {
  in_both_dtypes([](DType dtype) {
    const Tensor expected =
        tensor({0.032058603280085, 0.0871443187420326, 0.23688281808991, 0.643914259887972});
    expect_case(softmax(tensor({10000, 10001, 10002, 10003}, dtype)), expected, dtype);
    expect_case(softmax(tensor({-10003, -10002, -10001, -10000}, dtype)), expected, dtype);
    EXPECT_SAME_BITS(softmax(tensor({10000, 10001}, dtype)), softmax(tensor({0, 1}, dtype)));
  });
}

// mlpack/mlpack #2360: the upstream gradient was added instead of multiplied.
TEST(B13, TheUpstreamGradientIsMultiplied) {
  in_both_dtypes([](DType dtype) {
    const Tensor x = variable(tensor({0.1, 0.9}, dtype));
    const Tensor y = log_softmax(x);
    expect_case(y, tensor({-1.17110066594778, -0.371100665947778}), dtype);
    expect_case(grad(sum(y), x), tensor({0.379948962255225, -0.379948962255225}), dtype);
  });
}

// xtensor-stack/xtensor #2871: lazy intermediates gave wrong numbers in Release.
TEST(B14, LogarithmsOfUnderflowedWeights) {
  in_both_dtypes([](DType dtype) {
    expect_case(log_softmax(tensor({{1, 2, 3}, {0, -800, 0}}, dtype)),
                tensor({{-2.40760596444438, -1.40760596444438, -0.407605964444381},
                        {-0.693147180559945, -800.693147180560, -0.693147180559945}}),
                dtype);
  });
}

// pytorch/pytorch PR #65242: the formula of the second derivative.
TEST(B16, HessianOfSoftmax) {
  in_both_dtypes([](DType dtype) {
    const Tensor w = tensor({1, 2, 3}, dtype);
    const auto f = [&](const Tensor& x) { return sum(w * softmax(x)); };
    const Tensor x = variable(tensor({0, 0, 0}, dtype));
    const double t = 1.0 / 3, n = 1.0 / 9;
    expect_case(grad(f(x), x), tensor({-t, 0, t}), dtype);
    expect_case(hessian(f, x), tensor({{-n, n, 0}, {n, 0, -n}, {0, -n, n}}), dtype);
  });
}

// tensorflow/tensorflow #13046, mindspore #391: NaN was dropped, or spread to other rows.
TEST(B65, NanStaysInItsRow) {
  in_both_dtypes([](DType dtype) {
    EXPECT_TENSOR_NEAR(softmax(tensor({{0, nan}, {0, 0}}, dtype)), tensor({{nan, nan}, {0.5, 0.5}}, dtype), 0,
                       0);
    const Tensor keep = tensor({{true, true, false}, {true, true, false}}, boolean);
    EXPECT_TENSOR_NEAR(softmax(tensor({{nan, 0, 1}, {0, 0, nan}}, dtype), keep),
                       tensor({{nan, nan, 0}, {0.5, 0.5, 0}}, dtype), 0, 0);
  });
}

}  // namespace
}  // namespace regard::test

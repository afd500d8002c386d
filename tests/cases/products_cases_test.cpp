// Matrix products: batches, views, sizes of zero, and threads.
#include <regard/blas.hpp>
#include <regard/nn/attention.hpp>
#include <regard/nn/layer_norm.hpp>
#include <regard/optim.hpp>

#include "cases/cases.hpp"

namespace regard::test {
namespace {

// xtensor-stack/xtensor #1681: a batch of matrices times a matrix crashed, and its gradient kept the batch.
TEST(B26, ABatchTimesAMatrix) {
  in_both_dtypes([](DType dtype) {
    const Tensor a = variable(ones({2, 3, 5}, dtype)), b = variable(ones({5, 4}, dtype));
    const Tensor y = matmul(a, b);
    EXPECT_SAME_BITS(y.detach(), full({2, 3, 4}, 5, dtype));
    EXPECT_SAME_BITS(grad_from(matmul(a, b), a, ones({2, 3, 4})), full({2, 3, 5}, 4, dtype));
    EXPECT_SAME_BITS(grad_from(y, b, ones({2, 3, 4})), full({5, 4}, 6, dtype));
  });
}

// xtensor-stack/xtensor-blas #100, #66: views that begin inside their storage, or run backwards, were read
// from its start (168 instead of 94).
TEST(B27, ViewsAreReadWhereTheyBegin) {
  in_both_dtypes([](DType dtype) {
    const Tensor m = tensor({{2, 3}, {5, 7}, {11, 13}}, dtype);
    const Tensor reversed = slice(select(m, 1, 1), 0, Slice::reversed());
    EXPECT_EQ(matmul(select(m, 1, 0), reversed).item(), 2 * 13 + 5 * 7 + 11 * 3);
    const Tensor t = reshape(arange(0, 8, 1, dtype), {2, 2, 2});
    const Tensor first = select(t, 0, 0), second = select(t, 0, 1);
    EXPECT_SAME_BITS(matmul(second, second), tensor({{46, 55}, {66, 79}}, dtype));
    EXPECT_SAME_BITS(matmul(transpose(second), first), tensor({{12, 22}, {14, 26}}, dtype));
  });
}

// xtensor-stack/xtensor #389: a transpose assigned to its own source.
TEST(B28, ATransposeOfItself) {
  in_both_dtypes([](DType dtype) {
    Tensor x = tensor({{0, 1, 1, 1}}, dtype);
    x = transpose(x);
    EXPECT_SAME_BITS(x, tensor({{0}, {1}, {1}, {1}}, dtype));
    Parameter p(tensor({{1, 2}, {3, 4}}, dtype), "p");
    p.assign(transpose(p.value()));
    EXPECT_SAME_BITS(p.value(), tensor({{1, 3}, {2, 4}}, dtype));
  });
}

// OpenMathLib/OpenBLAS #2914: an inner axis of 0 is an empty sum, and left garbage.
TEST(B61, AnInnerAxisOfZeroGivesZeros) {
  in_both_dtypes([](DType dtype) {
    const auto check = [&](const Shape& left, const Shape& right, const Shape& out) {
      const Tensor a = variable(zeros(left, dtype)), b = variable(zeros(right, dtype));
      EXPECT_SAME_BITS(matmul(a, b).detach(), zeros(out, dtype));
      EXPECT_SAME_BITS(grad_from(matmul(a, b), a, ones(out)), zeros(left, dtype));
      EXPECT_SAME_BITS(grad_from(matmul(a, b), b, ones(out)), zeros(right, dtype));
    };
    check({2, 0}, {0, 3}, {2, 3});
    check({0, 2}, {2, 3}, {0, 3});
    check({4, 2, 0}, {0, 3}, {4, 2, 3});
    check({4, 0, 2}, {2, 3}, {4, 0, 3});
    check({0, 5, 2}, {2, 3}, {0, 5, 3});
  });
}

// OpenMathLib/OpenBLAS #5806, ggml-org/llama.cpp #22956, ElmerCSC/elmerfem #901: results that depend on the
// number of threads. What is promised stands in blas.hpp.
Tensor trained(int threads) {
  const int before = blas_threads();
  set_blas_threads(threads);
  Rng rng(1);
  constexpr Size width = 128;
  const nn::MultiHeadAttention attention(width, 4, rng);
  const nn::LayerNorm norm(width);
  const Tensor x = normal({8, 16, width}, rng), wanted = normal({8, 16, width}, rng);
  Adam optimizer(parameters(attention, norm));
  Tensor loss;
  for (int step = 0; step < 20; ++step) {
    optimizer.zero_grad();
    loss = mean(square(norm(x + attention(x, Mask::causal())) - wanted));
    backward(loss);
    optimizer.step();
  }
  set_blas_threads(before);
  return concatenate({reshape(loss.detach(), {1}), reshape(attention.query.weight.value(), {-1}),
                      reshape(attention.output.weight.value(), {-1})});
}

TEST(B67, TrainingDoesNotDependOnTheThreads) {
  const Tensor one = trained(1), two = trained(2);
  for (int repeat = 0; repeat < 4; ++repeat) {
    EXPECT_SAME_BITS(trained(1), one);
    EXPECT_SAME_BITS(trained(2), two);
  }
  EXPECT_TENSOR_NEAR(two, one, 1e-10, 1e-13);
}

}  // namespace
}  // namespace regard::test

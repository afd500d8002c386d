// Layer normalisation of rows without spread.
#include <regard/nn/layer_norm.hpp>

#include "cases/cases.hpp"

namespace regard::test {
namespace {

// FluxML/Flux.jl #2096, tracel-ai/burn #1992: a row of equal numbers.
TEST(B35, AConstantRow) {
  in_both_dtypes([](DType dtype) {
    const Tensor gamma = ones({4}, dtype), beta = zeros({4}, dtype), dy = tensor({1, 0, 0, 0});
    const Tensor x = variable(tensor({3, 3, 3, 3}, dtype));
    const Tensor y = layer_norm(x, gamma, beta);
    EXPECT_SAME_BITS(y.detach(), zeros({4}, dtype));
    const double rest = -79.0569415042095;
    expect_case(grad_from(y, x, dy), tensor({237.170824512628, rest, rest, rest}), dtype);

    const Tensor z = variable(tensor({1, 2, 3, 4}, dtype));
    const Tensor t = layer_norm(z, gamma, beta);
    expect_case(t, tensor({-1.34163541996893, -0.447211806656309, 0.447211806656309, 1.34163541996893}),
                dtype);
    expect_case(grad_from(t, z, dy),
                tensor({0.268330303893034, -0.357768372025298, -0.0894434346310114, 0.178881502763275}),
                dtype);
  });
}

// tensorflow/tensorflow #61287: an epsilon of 0, and rows of one number.
TEST(B36, AnEpsilonThatIsNotPositive) {
  for (const double epsilon : {0.0, -1e-5, nan}) {
    EXPECT_THROWS_WITH(layer_norm(zeros({3, 4}), ones({4}), zeros({4}), epsilon), ValueError, "epsilon");
    nn::LayerNormOptions options;
    options.epsilon = epsilon;
    EXPECT_THROWS_WITH(nn::LayerNorm(4, options), ValueError, "epsilon");
  }
}

TEST(B36, WidthOne) {
  in_both_dtypes([](DType dtype) {
    const Tensor x = variable(tensor({{7}, {-2}}, dtype)), gamma = variable(tensor({3}, dtype)),
                 beta = variable(tensor({0.5}, dtype));
    const Tensor y = layer_norm(x, gamma, beta);
    EXPECT_SAME_BITS(y.detach(), tensor({{0.5}, {0.5}}, dtype));
    GradOptions options;
    options.seeds = {tensor({{2}, {5}}, dtype)};
    const Tensors d = grad(Tensors{y}, Tensors{x, gamma, beta}, options);
    EXPECT_SAME_BITS(d[0], zeros({2, 1}, dtype));
    EXPECT_SAME_BITS(d[1], tensor({0}, dtype));
    EXPECT_SAME_BITS(d[2], tensor({7}, dtype));
  });
}

}  // namespace
}  // namespace regard::test

// Layers: dropout and its modes, heads, empty batches, positions of odd width.
#include <regard/nn/attention.hpp>
#include <regard/nn/dropout.hpp>
#include <regard/nn/positions.hpp>

#include "cases/cases.hpp"

namespace regard::test {
namespace {

nn::MultiHeadAttention attention_with(double dropout, DType dtype) {
  nn::MultiHeadAttentionOptions options;
  options.dropout = dropout;
  options.dtype = dtype;
  Rng rng(13);
  return nn::MultiHeadAttention(4, 2, rng, options);
}

// pytorch/pytorch #124464, #99293, pytorch-image-models PR #1978: dropout stayed on in evaluation.
TEST(B57, AttentionInUseDropsNothing) {
  in_both_dtypes([](DType dtype) {
    Rng rng(14);
    const Tensor x = normal({2, 5, 4}, rng, 0, 1, dtype);
    nn::MultiHeadAttention layer = attention_with(0.5, dtype);
    const Tensor without = attention_with(0, dtype)(x);
    EXPECT_NE(values_of(layer(x)), values_of(without));
    evaluate(layer);
    EXPECT_SAME_BITS(layer(x), without);
    EXPECT_SAME_BITS(layer(x), without);
    EXPECT_SAME_BITS(attention_with(1, dtype)(x), zeros({2, 5, 4}, dtype));
  });
}

TEST(B57, DroppingNothingAndDroppingAll) {
  in_both_dtypes([](DType dtype) {
    Rng rng(4);
    const Tensor x = tensor({1, nan, infinity, -2}, dtype);
    EXPECT_SAME_BITS(dropout(x, 1, rng), zeros({4}, dtype));
    EXPECT_SAME_BITS(dropout(x, 0, rng), x);
    EXPECT_SAME_BITS(dropout(zeros({0, 2}, dtype), 0.5, rng), zeros({0, 2}, dtype));
    const Tensor v = variable(x);
    EXPECT_SAME_BITS(grad(sum(dropout(v, 1, rng)), v), zeros({4}, dtype));
  });
}

// jsbaan/transformer-from-scratch PR #6, reczoo/FuxiCTR #30, ajhalthor/Transformer-Neural-Network PR #4:
// heads were merged by a reshape alone ([1, 2, 3, 4] for token 0).
TEST(B59, HeadsAreMergedTokenByToken) {
  in_both_dtypes([](DType dtype) {
    const Tensor heads = tensor({{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}}, dtype);
    EXPECT_SAME_BITS(nn::merge_heads(heads), tensor({{{1, 2, 5, 6}, {3, 4, 7, 8}}}, dtype));
    EXPECT_SAME_BITS(nn::split_heads(nn::merge_heads(heads), 2), heads);
  });
}

// pytorch/pytorch PR #166318, Dao-AILab/flash-attention #1159: an empty batch left gradients uninitialised.
TEST(B60, AnEmptyBatchThroughProjections) {
  in_both_dtypes([](DType dtype) {
    const nn::MultiHeadAttention layer = attention_with(0, dtype);
    const Tensor y = layer(zeros({0, 3, 4}, dtype));
    EXPECT_SAME_BITS(y.detach(), zeros({0, 3, 4}, dtype));
    backward(sum(y));
    for (const auto& [path, parameter] : named_parameters(layer))
      EXPECT_SAME_BITS(parameter.gradient(), zeros(parameter.shape(), dtype)) << path;
  });
}

// gc-os-ai/pyaptamer #526, codertimo/BERT-pytorch #78: an odd width. It ends with a sine.
TEST(B62, WavesOfOddWidth) {
  in_both_dtypes([](DType dtype) {
    expect_case(nn::sinusoidal_positions(1, 5, 1, dtype),
                tensor({{0.841470984807897, 0.54030230586814, 0.0251162229097738, 0.99968453791521,
                         0.00063095730261542}}),
                dtype);
    expect_case(nn::sinusoidal_positions(1, 1, 1, dtype), tensor({{0.841470984807897}}), dtype);
  });
}

}  // namespace
}  // namespace regard::test

// Failures that others have had with attention, each with the report it comes from and worked out by hand.
// Scores are put in by keys that are the identity: scores = query · I.
#include <vector>

#include <gtest/gtest.h>

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "cases/cases.hpp"

namespace regard::test {
namespace {

AttentionOptions unscaled() {
  AttentionOptions options;
  options.scale = 1.0;
  return options;
}

// Attention whose scores are given; the last two axes of scores are [queries, keys].
Tensor attend(const Tensor& scores, const Tensor& value, const Mask& mask, AttentionTrace* trace = nullptr) {
  return attention(scores, eye(scores.size(-1), scores.dtype()), value, mask, unscaled(), trace);
}

// Values 1, 2, ... as a column.
Tensor counting(Size keys) {
  return reshape(arange(1, static_cast<double>(keys) + 1, 1), {keys, 1});
}

void expect_values(const Tensor& got, const std::vector<double>& expected, DType dtype = float64) {
  ASSERT_EQ(got.numel(), static_cast<Size>(expected.size()));
  expect_case(got, from_values(expected, got.shape()), dtype);
}

// pytorch/pytorch #41508: one row that is masked altogether turns every gradient into NaN.
TEST(B01, AFullyMaskedRow) {
  in_both_dtypes([](DType dtype) {
    const Tensor scores = variable(tensor({{1, 2}, {3, 4}}, dtype)), value = variable(eye(2, dtype));
    AttentionTrace trace;
    const Tensor o = attend(scores, value, Mask::keep(tensor({{1, 1}, {0, 0}}, boolean)), &trace);
    const Tensor loss = select(select(o, 0, 0), 0, 0) + 2.0 * select(select(o, 0, 0), 0, 1);
    const Tensors g = grad({loss}, {scores, value});
    expect_values(trace.weights, {0.26894142136999512, 0.73105857863000488, 0, 0}, dtype);
    expect_values(g[0], {-0.19661193324148185, 0.19661193324148185, 0, 0}, dtype);
    expect_values(g[1], {0.26894142136999512, 0.53788284273999024, 0.73105857863000488, 1.46211715726000976},
                  dtype);
    EXPECT_SAME_BITS(select(o, 0, 1), zeros({2}, dtype));
    EXPECT_SAME_BITS(select(g[0], 0, 1), zeros({2}, dtype));
  });
}

// pytorch/pytorch #160064: asking for the weights changes the output.
TEST(B02, AskingForTheWeightsChangesNothing) {
  const Tensor scores = broadcast_to(tensor({{1, 2}, {3, 4}}), {1, 2, 2, 2});
  const Tensor key = broadcast_to(eye(2), {1, 2, 2, 2});
  const Mask mask = Mask::hide(reshape(tensor({0, 1}, boolean), {1, 2, 1, 1}));
  const auto run = [&](AttentionTrace* trace) {
    return attention(scores, key, key, mask, unscaled(), trace);
  };
  AttentionTrace trace;
  const Tensor asked = run(&trace);
  EXPECT_SAME_BITS(asked, run(nullptr));
  EXPECT_SAME_BITS(select(asked, 1, 1), zeros({1, 2, 2}));
  EXPECT_SAME_BITS(select(trace.weights, 1, 1), zeros({1, 2, 2}));
  expect_values(select(asked, 1, 0),
                {0.26894142136999512, 0.73105857863000488, 0.26894142136999512, 0.73105857863000488});
}

// pytorch/pytorch #103082: one query and a causal mask see key 0 only. Ours demands that one says so.
TEST(B03, OneQueryAndManyKeys) {
  const Tensor scores = zeros({1, 4});
  EXPECT_THROWS_WITH(attend(scores, counting(4), Mask::causal()), ShapeError, "Align::top_left");
  expect_values(attend(scores, counting(4), Mask::causal(Align::top_left)), {1});
  expect_values(attend(scores, counting(4), Mask::causal(Align::bottom_right)), {2.5});
}

// pytorch/pytorch #108108, ml-explore/mlx #2835, Dao-AILab/flash-attention #1778: alignment, and the empty
// rows of more queries than keys.
TEST(B04, LengthsThatDiffer) {
  expect_values(attend(zeros({2, 4}), counting(4), Mask::causal(Align::top_left)), {1, 1.5});
  expect_values(attend(zeros({2, 4}), counting(4), Mask::causal(Align::bottom_right)), {2, 2.5});
  expect_values(attend(zeros({5, 2}), counting(2), Mask::causal(Align::top_left)), {1, 1.5, 1.5, 1.5, 1.5});
  expect_values(attend(zeros({5, 2}), counting(2), Mask::causal(Align::bottom_right)), {0, 0, 0, 1, 1.5});
}

// rasbt/LLMs-from-scratch #1061, pytorch/pytorch PR #170415: which way round a boolean mask is.
TEST(B05, WhichWayRoundAMaskIs) {
  const Tensor lower = tensor({{1, 0, 0}, {1, 1, 0}, {1, 1, 1}}, boolean);
  expect_values(attend(zeros({3, 3}), counting(3), Mask::keep(lower)), {1, 1.5, 2});
  expect_values(attend(zeros({3, 3}), counting(3), Mask::hide(lower)), {2.5, 3, 0});
}

// Ascend/pytorch #88, pytorch/pytorch #117939: boolean and additive masks disagree; ones and zeros are
// numbers.
TEST(B06, BooleanAndAdditiveMasksAgree) {
  const Tensor scores = tensor({{1, 2, 3}}), value = reshape(tensor({1, 2, 4}), {3, 1});
  const Tensor kept = attend(scores, value, Mask::keep(tensor({{1, 1, 0}}, boolean)));
  expect_values(kept, {1.731058578630005});
  EXPECT_SAME_BITS(attend(scores, value, Mask::bias(tensor({{0, 0, -infinity}}))), kept);
  EXPECT_SAME_BITS(attend(scores, value, Mask::bias(tensor({{0, 0, -1e9}}))), kept);

  AttentionTrace trace;
  (void)attend(scores, value, Mask::bias(tensor({{1, 1, 0}})), &trace);
  EXPECT_TENSOR_NEAR(trace.weights, softmax(reshape(tensor({2, 3, 3}), {1, 1, 1, 3})), 1e-15, 0);
  const Tensor numbers = tensor({{1, 1, 0}});
  EXPECT_THROWS_WITH(Mask::keep(numbers), DTypeError, "convert ones and zeros with .to(boolean)");
}

// hyunwoongko/transformer PR #40: padding laid along the queries instead of the keys.
TEST(B07, PaddingIsAlongTheKeys) {
  const Tensor scores = zeros({1, 4, 4}), key = expand_dims(eye(4), {0}),
               value = expand_dims(counting(4), {0});
  const Mask mask = Mask::padding(tensor({2}, int64));  // tokens 5, 7 and twice padding
  expect_values(attention(scores, key, value, mask), {1.5, 1.5, 1.5, 1.5});
}

// lucidrains/vit-pytorch #71, hyunwoongko/transformer #32, pytorch/pytorch #64706: a mask of rank 3 taken for
// one per head, unseen where batch and heads are equal.
TEST(B08, AMaskPerSequence) {
  const Tensor zero = zeros({2, 2, 2, 2});
  const Tensor value = broadcast_to(reshape(tensor({1, 3}), {2, 1}), {2, 2, 2, 1});
  const Tensor keep = tensor({{{1, 0}, {1, 0}}, {{1, 1}, {1, 1}}}, boolean);
  expect_values(attention(zero, zero, value, Mask::keep(keep)), {1, 1, 1, 1, 2, 2, 2, 2});
}

// harvard-edge/cs249r_book PR #1875: a mask that is not square.
TEST(B09, AMaskThatIsNotSquare) {
  expect_values(attend(zeros({2, 3}), counting(3), Mask::keep(tensor({{1, 0, 0}, {1, 1, 1}}, boolean))),
                {1, 2});
}

// pytorch/pytorch #68425: the infinite slope of what is not chosen is multiplied by 0. Attention never
// multiplies what is hidden.
TEST(B10, WhatIsHiddenIsNotMultiplied) {
  const Tensor key = variable(tensor({{1}, {infinity}}));
  const Tensor o = attention(ones({1, 1}), key, counting(2), Mask::keep(tensor({{1, 0}}, boolean)));
  EXPECT_EQ(o.item(), 1);
  EXPECT_SAME_BITS(grad(o, key), zeros({2, 1}));
}

// d2l-ai/d2l-en PR #2423: a large negative number makes an empty row uniform.
TEST(B11, NoLargeNegativeNumbers) {
  const Tensor zero = zeros({2, 1, 4}), value = broadcast_to(counting(4), {2, 4, 1});
  const Mask lengths = Mask::padding(tensor({2, 0}, int64));
  expect_values(attention(zero, zeros({2, 4, 4}), value, lengths), {1.5, 0});

  AttentionTrace trace;
  const Tensor scores = tensor({{1, 2, 3}});
  expect_values(attend(scores, counting(3), Mask::hide(ones({1, 3}, boolean)), &trace), {0});
  expect_values(trace.weights, {0, 0, 0});
  (void)attend(scores, counting(3), Mask::bias(full({1, 3}, -1e9)), &trace);  // the way that goes wrong
  expect_values(trace.weights, {0.090030573170380462, 0.24472847105479764, 0.66524095577482189});
}

// pytorch/pytorch #124464, #99293, pytorch-image-models PR #1978: dropout that stays on in evaluation.
TEST(B57, DropoutOfTheWeights) {
  Rng rng(1);
  const Tensor q = variable(normal({2, 2, 3, 4}, rng)), v = variable(normal({2, 2, 5, 3}, rng));
  const Tensor k = normal({2, 2, 5, 4}, rng);
  const Tensor evaluated = attention(q, k, v);
  EXPECT_SAME_BITS(attention(q, k, v), evaluated);
  AttentionOptions training;
  training.rng = &rng;
  training.dropout = 0;
  EXPECT_SAME_BITS(attention(q, k, v, {}, training), evaluated);
  training.dropout = 1;
  const Tensor dropped = attention(q, k, v, {}, training);
  EXPECT_SAME_BITS(dropped, zeros(dropped.shape()));
  for (const Tensor& g : grad({sum(dropped)}, {q, v})) EXPECT_TENSOR_NEAR(g, zeros(g.shape()), 0, 0);
}

// pytorch/pytorch PR #166318, Dao-AILab/flash-attention #1159: an empty batch, and no keys.
TEST(B60, AnEmptyBatchAndNoKeys) {
  const Parameter projection(ones({4, 4}), "projection");
  const Tensor empty = zeros({0, 2, 3, 4});
  const Tensor projected = matmul(empty, projection);
  const Tensor output = attention(projected, projected, projected, Mask::causal());
  EXPECT_EQ(output.shape(), (Shape{0, 2, 3, 4}));
  backward(sum(output));
  EXPECT_SAME_BITS(projection.gradient(), zeros({4, 4}));

  const Tensor q = variable(ones({1, 2, 3, 4})), k = variable(zeros({1, 2, 0, 4})),
               v = variable(zeros({1, 2, 0, 5}));
  const Tensor nothing = attention(q, k, v);
  EXPECT_SAME_BITS(nothing, zeros({1, 2, 3, 5}));
  const Tensors g = grad({sum(nothing)}, {q, k, v});
  EXPECT_SAME_BITS(g[0], zeros({1, 2, 3, 4}));
  EXPECT_EQ(g[2].shape(), (Shape{1, 2, 0, 5}));
}

// pytorch/executorch #22426: one key.
TEST(B68, OneKey) {
  in_both_dtypes([](DType dtype) {
    for (const Mask& mask : {Mask(), Mask::causal()}) {
      const Tensor q = variable(tensor({{0.7}}, dtype)), k = variable(tensor({{-1.3}}, dtype)),
                   v = variable(tensor({{2, -3}}, dtype));
      AttentionTrace trace;
      const Tensor output = attention(q, k, v, mask, {}, &trace);
      EXPECT_EQ(values_of(trace.weights), std::vector<double>{1});
      EXPECT_SAME_BITS(output, v);
      const Tensors g = grad({sum(output)}, {q, k, v});
      EXPECT_EQ(g[0].item(), 0);
      EXPECT_EQ(g[1].item(), 0);
      EXPECT_SAME_BITS(g[2], ones({1, 2}, dtype));
    }
  });
}

// rsokl/MyGrad PR #131, sebgao/cTensor #5: one tensor as query, key and value.
TEST(B69, OneTensorThreeTimes) {
  in_both_dtypes([](DType dtype) {
    const Tensor x = variable(tensor({{1}, {2}}, dtype));
    const Tensor output = attention(x, x, x, {}, unscaled());
    expect_values(output, {1.731058578630005, 1.880797077977882}, dtype);
    expect_values(grad(sum(output), x), {0.1781571725851, 2.12344834605989}, dtype);
  });
}

}  // namespace
}  // namespace regard::test

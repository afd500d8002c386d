// Failures that others have had with attention, each with the report it comes from and worked out by hand.
// Scores are put in by keys that are the identity: scores = query · I.
#include <cmath>
#include <vector>

#include <gtest/gtest.h>

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "attention/reference.hpp"
#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

AttentionOptions unscaled() {
  AttentionOptions options;
  options.scale = 1.0;
  return options;
}

// Attention whose scores are given; the last two axes of scores are [queries, keys].
Tensor attend(const Tensor& scores, const Tensor& value, const Mask& mask, AttentionTrace* trace = nullptr) {
  return attention(scores, eye(scores.size(-1)), value, mask, unscaled(), trace);
}

// Values 1, 2, ... as a column.
Tensor counting(Size keys) {
  return reshape(arange(1, static_cast<double>(keys) + 1, 1), {keys, 1});
}

void expect_values(const Tensor& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.numel(), static_cast<Size>(expected.size()));
  EXPECT_TENSOR_NEAR(got, from_values(expected, got.shape()), 1e-12, 1e-15);
}

// pytorch/pytorch #41508: one row that is masked altogether turns every gradient into NaN.
TEST(AttentionCases, B01) {
  const Tensor scores = variable(tensor({{1, 2}, {3, 4}})), value = variable(eye(2));
  AttentionTrace trace;
  const Tensor o = attend(scores, value, Mask::keep(tensor({{1, 1}, {0, 0}}, boolean)), &trace);
  const Tensor loss = select(select(o, 0, 0), 0, 0) + 2.0 * select(select(o, 0, 0), 0, 1);
  const Tensors g = grad({loss}, {scores, value});
  expect_values(trace.weights, {0.26894142136999512, 0.73105857863000488, 0, 0});
  expect_values(g[0], {-0.19661193324148185, 0.19661193324148185, 0, 0});
  expect_values(g[1], {0.26894142136999512, 0.53788284273999024, 0.73105857863000488, 1.46211715726000976});
  EXPECT_SAME_BITS(select(o, 0, 1), zeros({2}));
  EXPECT_SAME_BITS(select(g[0], 0, 1), zeros({2}));
}

// pytorch/pytorch #160064: asking for the weights changes the output.
TEST(AttentionCases, B02) {
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
TEST(AttentionCases, B03) {
  const Tensor scores = zeros({1, 4});
  EXPECT_THROWS_WITH(attend(scores, counting(4), Mask::causal()), ShapeError, "Align::top_left");
  expect_values(attend(scores, counting(4), Mask::causal(Align::top_left)), {1});
  expect_values(attend(scores, counting(4), Mask::causal(Align::bottom_right)), {2.5});
}

// pytorch/pytorch #108108, ml-explore/mlx #2835, Dao-AILab/flash-attention #1778: alignment, and the empty
// rows of more queries than keys.
TEST(AttentionCases, B04) {
  expect_values(attend(zeros({2, 4}), counting(4), Mask::causal(Align::top_left)), {1, 1.5});
  expect_values(attend(zeros({2, 4}), counting(4), Mask::causal(Align::bottom_right)), {2, 2.5});
  expect_values(attend(zeros({5, 2}), counting(2), Mask::causal(Align::top_left)), {1, 1.5, 1.5, 1.5, 1.5});
  expect_values(attend(zeros({5, 2}), counting(2), Mask::causal(Align::bottom_right)), {0, 0, 0, 1, 1.5});
}

// rasbt/LLMs-from-scratch #1061, pytorch/pytorch PR #170415: which way round a boolean mask is.
TEST(AttentionCases, B05) {
  const Tensor lower = tensor({{1, 0, 0}, {1, 1, 0}, {1, 1, 1}}, boolean);
  expect_values(attend(zeros({3, 3}), counting(3), Mask::keep(lower)), {1, 1.5, 2});
  expect_values(attend(zeros({3, 3}), counting(3), Mask::hide(lower)), {2.5, 3, 0});
}

// Ascend/pytorch #88, pytorch/pytorch #117939: boolean and additive masks disagree; ones and zeros are
// numbers.
TEST(AttentionCases, B06) {
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
TEST(AttentionCases, B07) {
  const Tensor scores = zeros({1, 4, 4}), key = expand_dims(eye(4), {0}),
               value = expand_dims(counting(4), {0});
  const Mask mask = Mask::padding(tensor({2}, int64));  // tokens 5, 7 and twice padding
  expect_values(attention(scores, key, value, mask), {1.5, 1.5, 1.5, 1.5});
}

// lucidrains/vit-pytorch #71, hyunwoongko/transformer #32, pytorch/pytorch #64706: a mask of rank 3 taken for
// one per head, unseen where batch and heads are equal.
TEST(AttentionCases, B08) {
  const Tensor zero = zeros({2, 2, 2, 2});
  const Tensor value = broadcast_to(reshape(tensor({1, 3}), {2, 1}), {2, 2, 2, 1});
  const Tensor keep = tensor({{{1, 0}, {1, 0}}, {{1, 1}, {1, 1}}}, boolean);
  expect_values(attention(zero, zero, value, Mask::keep(keep)), {1, 1, 1, 1, 2, 2, 2, 2});
}

// harvard-edge/cs249r_book PR #1875: a mask that is not square.
TEST(AttentionCases, B09) {
  expect_values(attend(zeros({2, 3}), counting(3), Mask::keep(tensor({{1, 0, 0}, {1, 1, 1}}, boolean))),
                {1, 2});
}

// pytorch/pytorch #68425: the branch that where() does not choose overflows, and its slope is multiplied by
// 0. That is documented on where(), with the way out; attention never multiplies what is hidden.
TEST(AttentionCases, B10) {
  const Tensor a = variable(scalar(1000));
  const Tensor chosen = less_equal(a.detach(), scalar(0));
  const Tensor naive = where(chosen, exp(a), a + 1.0);
  EXPECT_EQ(naive.item(), 1001);
  EXPECT_TRUE(std::isnan(grad(naive, a).item()));
  const Tensor careful = where(chosen, exp(where(chosen, a, scalar(0))), a + 1.0);
  EXPECT_EQ(careful.item(), 1001);
  EXPECT_EQ(grad(careful, a).item(), 1);

  const Tensor key = variable(tensor({{1}, {infinity}}));
  const Tensor o = attention(ones({1, 1}), key, counting(2), Mask::keep(tensor({{1, 0}}, boolean)));
  EXPECT_EQ(o.item(), 1);
  EXPECT_SAME_BITS(grad(o, key), zeros({2, 1}));
}

// d2l-ai/d2l-en PR #2423: a large negative number makes an empty row uniform.
TEST(AttentionCases, B11) {
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
TEST(AttentionCases, B57) {
  Rng rng(1);
  const Inputs x(Sizes4{}, rng);
  const Tensor q = variable(x.query), v = variable(x.value);
  const Tensor evaluated = attention(q, x.key, v);
  EXPECT_SAME_BITS(attention(q, x.key, v), evaluated);
  AttentionOptions training;
  training.rng = &rng;
  training.dropout = 0;
  EXPECT_SAME_BITS(attention(q, x.key, v, {}, training), evaluated);
  training.dropout = 1;
  const Tensor dropped = attention(q, x.key, v, {}, training);
  EXPECT_SAME_BITS(dropped, zeros(dropped.shape()));
  for (const Tensor& g : grad({sum(dropped)}, {q, v})) EXPECT_TENSOR_NEAR(g, zeros(g.shape()), 0, 0);
}

// pytorch/pytorch PR #166318, Dao-AILab/flash-attention #1159: an empty batch, and no keys.
TEST(AttentionCases, B60) {
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
TEST(AttentionCases, B68) {
  for (const Mask& mask : {Mask(), Mask::causal()}) {
    const Tensor q = variable(tensor({{0.7}})), k = variable(tensor({{-1.3}})),
                 v = variable(tensor({{2, -3}}));
    AttentionTrace trace;
    const Tensor output = attention(q, k, v, mask, {}, &trace);
    EXPECT_EQ(values_of(trace.weights), std::vector<double>{1});
    EXPECT_SAME_BITS(output, v);
    const Tensors g = grad({sum(output)}, {q, k, v});
    EXPECT_EQ(g[0].item(), 0);
    EXPECT_EQ(g[1].item(), 0);
    EXPECT_SAME_BITS(g[2], ones({1, 2}));
  }
}

// rsokl/MyGrad PR #131, sebgao/cTensor #5: one tensor as query, key and value.
TEST(AttentionCases, B69) {
  const Tensor x = variable(tensor({{1}, {2}}));
  const Tensor output = attention(x, x, x, {}, unscaled());
  expect_values(output, {1.731058578630005, 1.880797077977882});
  EXPECT_TENSOR_NEAR(grad(sum(output), x), tensor({{0.1781571725851}, {2.12344834605989}}), 1e-12, 0);
}

}  // namespace
}  // namespace regard::test

#include <regard/nn/attention.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include <nlohmann/json.hpp>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/golden.hpp"
#include "support/modules.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::nn {
namespace {

using test::course_numbers;
using test::random_tensor;

// ---- the course's SelfAttention ------------------------------------------------------------------------

SelfAttention with_weights(const std::string& lesson) {
  Rng rng(1);
  SelfAttention layer(8, rng);
  layer.w_q.assign(course_numbers(lesson + "/W_q"));
  layer.w_k.assign(course_numbers(lesson + "/W_k"));
  layer.w_v.assign(course_numbers(lesson + "/W_v"));
  return layer;
}

TEST(SelfAttention, IsThatOfTheLesson) {
  const SelfAttention layer = with_weights("lesson10_class");
  AttentionTrace trace;
  EXPECT_TENSOR_NEAR(layer(course_numbers("lesson10_class/X"), &trace).detach(),
                     course_numbers("lesson10_class/output"), 1e-12, 1e-13);
  EXPECT_TENSOR_NEAR(squeeze(trace.weights, {1}), course_numbers("lesson10_class/weights"), 1e-12, 1e-13);
}

TEST(SelfAttention, HasTheGradientsOfTheLesson) {
  for (const bool causal : {true, false}) {
    const std::string lesson = causal ? "lesson10_causal" : "lesson10_full";
    SelfAttention layer = with_weights("lesson10_inputs");
    layer.causal = causal;
    const Tensor x = variable(course_numbers("lesson10_inputs/X"));
    const Tensor output = layer(x);
    EXPECT_TENSOR_NEAR(output.detach(), course_numbers(lesson + "/output"), 1e-12, 1e-13);
    const Tensor loss = sum(output * course_numbers(lesson + "/gradients/upstream"));
    BackwardOptions walk;
    walk.retain_graph = true;
    backward(loss, walk);
    EXPECT_TENSOR_NEAR(layer.w_q.gradient(), course_numbers(lesson + "/gradients/dW_Q"), 1e-11, 1e-12);
    EXPECT_TENSOR_NEAR(layer.w_k.gradient(), course_numbers(lesson + "/gradients/dW_K"), 1e-11, 1e-12);
    EXPECT_TENSOR_NEAR(layer.w_v.gradient(), course_numbers(lesson + "/gradients/dW_V"), 1e-11, 1e-12);
    EXPECT_TENSOR_NEAR(grad(loss, x), course_numbers(lesson + "/gradients/dX"), 1e-11, 1e-12);
  }
}

TEST(SelfAttention, StartsWithAsMuchAsAsked) {
  SelfAttentionOptions options;
  options.init = Init::normal;
  Rng a(5), b(5);
  const SelfAttention layer(8, a, options);
  EXPECT_SAME_BITS(layer.w_q.value(), normal({8, 8}, b, 0, 0.1));
  EXPECT_SAME_BITS(layer.w_k.value(), normal({8, 8}, b, 0, 0.1));
  EXPECT_SAME_BITS(layer.w_v.value(), normal({8, 8}, b, 0, 0.1));
  EXPECT_EQ(parameter_count(layer), 3 * 64);
  EXPECT_TRUE(layer.causal);
}

TEST(SelfAttention, ATokenDoesNotSeeTheFuture) {
  Rng rng(2);
  SelfAttention layer(4, rng);
  const Tensor x = random_tensor({2, 5, 4}, rng);
  const Tensor changed = concatenate({slice(x, 1, {0, 3}), random_tensor({2, 2, 4}, rng)}, 1);
  EXPECT_SAME_BITS(slice(layer(x), 1, {0, 3}), slice(layer(changed), 1, {0, 3}));
  layer.causal = false;
  EXPECT_NE(test::values_of(slice(layer(x), 1, {0, 1})), test::values_of(slice(layer(changed), 1, {0, 1})));
}

TEST(SelfAttention, GradientsAgreeWithDifferences) {
  Rng rng(3);
  const SelfAttention layer(3, rng);
  test::expect_module_gradients(layer, {random_tensor({2, 4, 3}, rng)},
                                [&](const Tensors& x) { return layer(x[0]); });
}

TEST(SelfAttention, TakesASequenceWithoutBatch) {
  Rng rng(4);
  const SelfAttention layer(3, rng);
  const Tensor x = random_tensor({4, 3}, rng);
  EXPECT_SAME_BITS(layer(x), squeeze(layer(expand_dims(x, {0})), {0}));
}

TEST(SelfAttention, RefusesWhatDoesNotFit) {
  Rng rng(5);
  const SelfAttention layer(3, rng);
  (void)named_parameters(layer);
  EXPECT_THROWS_WITH(
      layer(zeros({2, 4, 5})), ShapeError,
      "self-attention w_q [3, 3]: expected x [batch, tokens, 3] or [tokens, 3], got [2, 4, 5]");
  EXPECT_THROWS_WITH(layer(zeros({3})), ShapeError, "got [3]");
  EXPECT_THROWS_WITH(layer(zeros({1, 2, 4, 3})), ShapeError, "got [1, 2, 4, 3]");
  EXPECT_THROWS_WITH(SelfAttention(0, rng), ValueError, "the width must be positive");
}

// ---- against PyTorch -----------------------------------------------------------------------------------

Tensor read(const nlohmann::json& x) {
  return from_vector(x.at("values").get<std::vector<double>>(),
                     Shape(x.at("shape").get<std::vector<Size>>()));
}

void compare_with_torch(const std::string& name) {
  const nlohmann::json known = test::golden("multi_head.json").at("cases").at(name);
  const Tensor x = read(known.at("query_input")), memory = read(known.at("memory"));
  const nlohmann::json& weights = known.at("parameters");
  MultiHeadAttentionOptions options;
  const Size heads = known.at("heads");
  options.kv_heads = known.at("kv_heads");
  options.bias = weights.contains("query.bias");
  options.key_width = read(weights.at("query.weight")).size(1) / heads;
  options.value_width = read(weights.at("value.weight")).size(1) / options.kv_heads;
  options.memory_width = memory.size(-1);
  Rng rng(1);
  const MultiHeadAttention layer(x.size(-1), heads, rng, options);
  for (auto [path, parameter] : named_parameters(layer)) parameter.assign(read(weights.at(path)));

  const bool causal = known.at("causal");
  const Tensor query_input = variable(x), other_input = variable(memory);
  AttentionTrace trace;
  const Tensor output = causal ? layer(query_input, Mask::causal(), &trace)
                               : layer(query_input, other_input, Mask::none(), &trace);
  EXPECT_TENSOR_NEAR(output.detach(), read(known.at("output")), 1e-12, 1e-13) << name;
  if (known.contains("weights")) {
    EXPECT_TENSOR_NEAR(trace.weights, read(known.at("weights")), 1e-12, 1e-13) << name;
  }

  BackwardOptions walk;
  walk.seed = read(known.at("seed"));
  walk.retain_graph = true;
  backward(output, walk);
  const nlohmann::json& gradients = known.at("gradients");
  for (const auto& [path, parameter] : named_parameters(layer))
    EXPECT_TENSOR_NEAR(parameter.gradient(), read(gradients.at(path)), 1e-12, 1e-12) << name << ": " << path;
  GradOptions from_seed;
  from_seed.seeds = {walk.seed};
  from_seed.retain_graph = true;
  EXPECT_TENSOR_NEAR(grad(output, query_input, from_seed), read(gradients.at("query_input")), 1e-12, 1e-12)
      << name;
  if (!causal) {
    EXPECT_TENSOR_NEAR(grad(output, other_input, from_seed), read(gradients.at("memory")), 1e-12, 1e-12)
        << name;
  }
}

TEST(MultiHeadAttention, EqualsPyTorchCausalWithBias) {
  compare_with_torch("self, causal, bias");
}
TEST(MultiHeadAttention, EqualsPyTorchAcrossTwoSequences) {
  compare_with_torch("cross");
}
TEST(MultiHeadAttention, EqualsPyTorchWithSharedHeadsAndFreeWidths) {
  compare_with_torch("grouped, free widths");
}

// ---- heads ---------------------------------------------------------------------------------------------

// A reshape without the permutation would give [1, 2, 3, 4] for token 0.
TEST(Heads, AreMergedTokenByToken) {
  const Tensor heads = tensor({{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}}});
  EXPECT_SAME_BITS(merge_heads(heads), tensor({{{1, 2, 5, 6}, {3, 4, 7, 8}}}));
  EXPECT_SAME_BITS(split_heads(merge_heads(heads), 2), heads);
  EXPECT_THROWS_WITH(split_heads(zeros({1, 2, 5}), 2), ShapeError, "with 2 heads, got [1, 2, 5]");
  EXPECT_THROWS_WITH(split_heads(zeros({2, 4}), 2), ShapeError, "got [2, 4]");
  EXPECT_THROWS_WITH(merge_heads(zeros({1, 2, 5})), ShapeError, "got [1, 2, 5]");
}

MultiHeadAttentionOptions everything() {
  MultiHeadAttentionOptions options;
  options.kv_heads = 1;
  options.key_width = 4;
  options.value_width = 3;
  options.memory_width = 5;
  options.bias = true;
  options.rotary = true;
  return options;
}

TEST(MultiHeadAttention, NamesItsParts) {
  Rng rng(1);
  const MultiHeadAttention layer(6, 2, rng, everything());
  std::vector<std::string> shapes;
  for (const auto& [path, parameter] : named_parameters(layer))
    shapes.push_back(path + to_string(parameter.shape()));
  EXPECT_EQ(shapes, (std::vector<std::string>{"query.weight[6, 8]", "query.bias[8]", "key.weight[5, 4]",
                                              "key.bias[4]", "value.weight[5, 3]", "value.bias[3]",
                                              "output.weight[6, 6]", "output.bias[6]"}));
  EXPECT_EQ(named_probes(layer), (std::vector<std::string>{"weights", "head_outputs"}));
}

TEST(MultiHeadAttention, GradientsAgreeWithDifferences) {
  Rng rng(6);
  const MultiHeadAttention cross(6, 2, rng, everything());
  test::expect_module_gradients(cross, {random_tensor({2, 3, 6}, rng), random_tensor({2, 4, 5}, rng)},
                                [&](const Tensors& x) { return cross(x[0], x[1], Mask::none()); });
  const MultiHeadAttention self(4, 2, rng);
  test::expect_module_gradients(self, {random_tensor({2, 3, 4}, rng)},
                                [&](const Tensors& x) { return self(x[0], Mask::causal()); });
}

// Turned by positions, equal tokens are told apart; all shifted by the same amount, nothing changes.
TEST(MultiHeadAttention, RotaryPositionsEnterTheScores) {
  MultiHeadAttentionOptions options;
  options.rotary = true;
  Rng rng(7);
  MultiHeadAttention layer(4, 1, rng, options);
  const Tensor x =
      concatenate({random_tensor({1, 1, 4}, rng), broadcast_to(random_tensor({1, 1, 4}, rng), {1, 3, 4})}, 1);
  AttentionTrace trace;
  (void)layer(x, Mask::none(), &trace);
  const Tensor q = layer.query(x), k = layer.key(x);
  const RotaryPositions rotary;
  EXPECT_TENSOR_NEAR(squeeze(trace.raw, {1}), matmul(rotary(q, 9), transpose(rotary(k, 9))), 1e-12, 1e-13);
  layer.rotary.reset();
  (void)layer(x, Mask::none(), &trace);
  EXPECT_TENSOR_NEAR(squeeze(trace.raw, {1}), matmul(q, transpose(k)), 1e-13, 1e-14);
}

TEST(MultiHeadAttention, TakesASequenceWithoutBatch) {
  Rng rng(8);
  const MultiHeadAttention layer(4, 2, rng);
  const Tensor x = random_tensor({3, 4}, rng), memory = random_tensor({5, 4}, rng);
  EXPECT_SAME_BITS(layer(x, memory, Mask::none()),
                   squeeze(layer(expand_dims(x, {0}), expand_dims(memory, {0}), Mask::none()), {0}));
}

TEST(MultiHeadAttention, FrozenPartsGetNoGradient) {
  Rng rng(10);
  const MultiHeadAttention layer(4, 2, rng);
  freeze(layer, "query");
  backward(sum(square(layer(random_tensor({1, 3, 4}, rng)))));
  EXPECT_FALSE(layer.query.weight.has_gradient());
  EXPECT_TRUE(layer.key.weight.has_gradient());
}

TEST(MultiHeadAttention, WorksInFloat32) {
  MultiHeadAttentionOptions options;
  options.dtype = float32;
  options.rotary = true;
  Rng rng(11), same(11);
  const MultiHeadAttention narrow(4, 2, rng, options);
  options.dtype = float64;
  MultiHeadAttention wide(4, 2, same, options);
  const NamedParameters from = named_parameters(narrow), to = named_parameters(wide);
  for (std::size_t i = 0; i < to.size(); ++i)
    Parameter(to[i].second).assign(from[i].second.value().to(float64));
  Rng values(12);
  const Tensor x = random_tensor({2, 3, 4}, values, test::Domain::normal, float32);
  EXPECT_TENSOR_NEAR(narrow(x).to(float64), wide(x.to(float64)), 1e-5, 1e-6);
}

TEST(MultiHeadAttention, RefusesWhatDoesNotFit) {
  Rng rng(12);
  const MultiHeadAttention layer(6, 2, rng, everything());
  (void)named_parameters(layer);
  EXPECT_THROWS_WITH(layer(zeros({2, 3, 5}), zeros({2, 3, 5}), Mask::none()), ShapeError,
                     "multi-head attention query.weight [6, 8]: expected x [batch, tokens, 6] or [tokens, "
                     "6], got [2, 3, 5]");
  EXPECT_THROWS_WITH(layer(zeros({2, 3, 6}), zeros({2, 3, 6}), Mask::none()), ShapeError,
                     "expected memory [batch, tokens, 5]");
  EXPECT_THROWS_WITH(layer(zeros({2, 3, 6}), zeros({3, 5}), Mask::none()), ShapeError, "expected memory");
  EXPECT_THROWS_WITH(MultiHeadAttention(5, 2, rng), ValueError, "the width 5 does not divide into 2 heads");
  MultiHeadAttentionOptions options;
  options.kv_heads = 3;
  EXPECT_THROWS_WITH(MultiHeadAttention(8, 4, rng, options), ValueError, "4 heads cannot share 3");
  options.kv_heads = -1;
  EXPECT_THROWS_WITH(MultiHeadAttention(8, 4, rng, options), ValueError, "kv_heads must be positive, got -1");
  options = {};
  options.rotary = true;
  options.key_width = 3;
  EXPECT_THROWS_WITH(MultiHeadAttention(8, 4, rng, options), ValueError, "key_width must be even, got 3");
  options = {};
  options.dropout = 2;
  EXPECT_THROWS_WITH(MultiHeadAttention(8, 4, rng, options), ValueError, "dropout");
}

// ---- dropout -------------------------------------------------------------------------------------------

MultiHeadAttention with_dropout(double p) {
  MultiHeadAttentionOptions options;
  options.dropout = p;
  Rng rng(13);
  return MultiHeadAttention(4, 2, rng, options);
}

TEST(MultiHeadAttention, ACloneDropsAsTheOriginalWouldHave) {
  Rng rng(16);
  const Tensor x = random_tensor({2, 5, 4}, rng);
  const MultiHeadAttention layer = with_dropout(0.5);
  (void)layer(x);
  const MultiHeadAttention copy = clone(layer);
  EXPECT_SAME_BITS(copy(x), layer(x));
}

// ---- the probe -----------------------------------------------------------------------------------------

TEST(MultiHeadAttention, ShowsItsWeightsWithoutChangingABit) {
  for (const Size kv_heads : {4, 2, 1}) {
    MultiHeadAttentionOptions options;
    options.kv_heads = kv_heads;
    Rng rng(17);
    const MultiHeadAttention layer(8, 4, rng, options);
    const Tensor x = random_tensor({2, 3, 8}, rng);
    AttentionTrace trace;
    const Tensor expected = layer(x, Mask::causal(), &trace);
    Tensor seen;
    const Attachment watching =
        attach(layer, "weights", [&](const Tensor& weights) { seen = weights.detach(); });
    EXPECT_SAME_BITS(layer(x, Mask::causal()), expected);
    EXPECT_SAME_BITS(seen, trace.weights);
  }
}

// Head 1 looks at the first key alone; head 0 goes on as it was.
TEST(MultiHeadAttention, LetsTheWeightsOfAHeadBeReplaced) {
  Rng rng(18);
  const MultiHeadAttention layer(4, 2, rng);
  const Tensor x = random_tensor({1, 3, 4}, rng);
  AttentionTrace plain, replaced;
  (void)layer(x, Mask::none(), &plain);
  const Attachment pinning = attach(layer, "weights", [](const Tensor& weights) {
    const Tensor pinned = broadcast_to(tensor({1, 0, 0}), {1, 1, 3, 3});
    return concatenate({slice(weights, 1, {0, 1}), pinned}, 1);
  });
  (void)layer(x, Mask::none(), &replaced);
  EXPECT_SAME_BITS(slice(replaced.output, 1, {0, 1}), slice(plain.output, 1, {0, 1}));
  const Tensor values = split_heads(layer.value(x), 2);
  for (Size query = 0; query < 3; ++query)
    EXPECT_SAME_BITS(select(select(replaced.output, 1, 1), 1, query), select(select(values, 1, 1), 1, 0));
}

TEST(MultiHeadAttention, RefusesWeightsThatDoNotFit) {
  AttentionOptions options;
  options.through_weights = [](const Tensor&) { return zeros({1, 1, 2, 4}); };
  const Tensor x = zeros({3, 4});
  EXPECT_THROWS_WITH(attention(x, x, x, {}, options), ShapeError,
                     "returned [1, 1, 2, 4], expected [1, 1, 3, 3]");
  options.through_weights = [](const Tensor& weights) { return weights.to(float32); };
  EXPECT_THROWS_WITH(attention(x, x, x, {}, options), DTypeError, "returned float32, expected float64");
}

TEST(MultiHeadAttention, ShowsTheGradientOfItsWeights) {
  Rng rng(19);
  const MultiHeadAttention layer(4, 2, rng);
  const Tensor x = random_tensor({1, 3, 4}, rng);
  Tensor seen;
  const Attachment watching =
      attach_gradient(layer, "weights", [&](const Tensor& dx) { seen = dx.detach(); });
  AttentionTrace trace;
  backward(sum(square(layer(x, Mask::none(), &trace))));
  ASSERT_TRUE(seen.defined());
  EXPECT_SAME_BITS(seen, trace.gradients().weights);
}

}  // namespace
}  // namespace regard::nn

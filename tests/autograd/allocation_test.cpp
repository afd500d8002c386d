// A training step that has run a few times asks nothing from the heap.
#include <gtest/gtest.h>

#include <cstdlib>
#include <vector>

#include <regard/regard.hpp>

#include "support/count_heap.hpp"

namespace regard::test {
namespace {

/// Requests during one call of `step`, once it has run a few times.
template <class Step>
std::size_t requests_of(Step step) {
  for (int i = 0; i < 4; ++i) step();
  const std::size_t before = heap_requests;
  step();
  return heap_requests - before;
}

// A sanitizer has a malloc of its own, and other C libraries give no way to stand in front of theirs.
#define SKIP_UNLESS_COUNTED() \
  if (!REGARD_COUNTS_HEAP) GTEST_SKIP() << "the heap of this build cannot be counted"

TEST(Allocation, TheCounterSeesTheHeap) {
  SKIP_UNLESS_COUNTED();
  const std::size_t before = heap_requests;
  std::vector<int> numbers(100);
  void* block = nullptr;
  ASSERT_EQ(posix_memalign(&block, 64, 640), 0);
  std::free(block);
  EXPECT_EQ(heap_requests - before, 2u);
}

class TrainingStep : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, TrainingStep, testing::Values(float32, float64),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

TEST_P(TrainingStep, OfOneHeadAsksNothing) {
  SKIP_UNLESS_COUNTED();
  Rng rng(1);
  nn::SelfAttentionOptions options;
  options.dtype = GetParam();
  nn::EmbeddingOptions embedding_options;
  embedding_options.dtype = GetParam();
  const nn::Embedding embedding(11, 8, rng, embedding_options);
  const nn::SelfAttention attention(8, rng, options);
  nn::LinearOptions linear_options;
  linear_options.dtype = GetParam();
  const nn::Linear head(8, 11, rng, linear_options);
  std::vector<Parameter> all = {embedding.weight, attention.w_q, attention.w_k,
                                attention.w_v,    head.weight,   head.bias};
  Adam adam(all);
  const Tensor ids = tensor({{1, 2, 3, 4, 5}, {5, 6, 7, 8, 9}}, int64);
  const Tensor targets = tensor({{2, 3, 4, 5, 6}, {6, 7, 8, 9, 10}}, int64);
  EXPECT_EQ(requests_of([&] {
              adam.zero_grad();
              const Tensor x = embedding(ids);
              backward(cross_entropy(head(x + attention(x)), targets));
              adam.step();
            }),
            0u);
}

TEST_P(TrainingStep, OfABlockWithPaddingDropoutAndClippingAsksNothing) {
  SKIP_UNLESS_COUNTED();
  const DType dtype = GetParam();
  Rng rng(1);
  nn::MultiHeadAttentionOptions options;
  options.dtype = dtype;
  options.dropout = 0.1;
  options.rotary = true;
  options.kv_heads = 2;
  const nn::MultiHeadAttention attention(16, 4, rng, options);
  nn::LayerNormOptions norm_options;
  norm_options.dtype = dtype;
  const nn::LayerNorm norm(16, norm_options);
  std::vector<Parameter> all = {attention.query.weight,  attention.key.weight, attention.value.weight,
                                attention.output.weight, norm.gamma,           norm.beta};
  AdamW adam(all);
  const Tensor x = normal({3, 6, 16}, rng, 0, 1, dtype);
  const Tensor lengths = tensor({6, 4, 5}, int64);
  EXPECT_EQ(requests_of([&] {
              adam.zero_grad();
              const Mask mask = Mask::causal() & Mask::padding(lengths) & Mask::window(4);
              const Tensor y = concatenate({x, gelu(norm(x + attention(x, mask)))}, -1);
              backward(mean(square(y)));
              clip_gradients_by_norm(adam.parameters(), 0.5);
              adam.step();
            }),
            0u);
}

}  // namespace
}  // namespace regard::test

// Trainings on several threads: the numbers are those of one thread to the last bit, as it is written and
// captured, and threads of the program's own may each train a model.
#include <gtest/gtest.h>

#include <string>
#include <thread>
#include <vector>

#include <regard/regard.hpp>

#include "support/close.hpp"
#include "support/count_heap.hpp"
#include "support/tensors.hpp"
#include "support/threads.hpp"

namespace regard::test {
namespace {

struct Setting {
  Size width, batch, tokens;
  int steps;
};
constexpr Setting small{24, 3, 9, 4};    // for blocks that are made small
constexpr Setting large{128, 8, 64, 2};  // shared out as it is

nn::TransformerOptions options_for(DType dtype) {
  nn::TransformerOptions options;
  options.dtype = dtype;
  options.heads = 4;
  options.dropout = 0.1;
  return options;
}

struct Model {
  Model(const Setting& setting, DType dtype, Rng rng)
      : embedding(vocabulary, setting.width, rng, embedding_options(dtype)),
        block(setting.width, rng, options_for(dtype)),
        head(setting.width, vocabulary, rng, linear_options(dtype)) {}

  static nn::EmbeddingOptions embedding_options(DType dtype) {
    nn::EmbeddingOptions options;
    options.dtype = dtype;
    return options;
  }
  static nn::LinearOptions linear_options(DType dtype) {
    nn::LinearOptions options;
    options.dtype = dtype;
    return options;
  }
  Tensor operator()(const Tensor& ids) const { return head(block(embedding(ids), Mask::causal())); }
  template <class F>
  void visit(F&& f) {
    f("embedding", embedding);
    f("block", block);
    f("head", head);
  }

  static constexpr Size vocabulary = 301;
  nn::Embedding embedding;
  nn::TransformerBlock block;
  nn::Linear head;
};

enum class How { as_written, captured };

/// Loss and parameters after a few steps.
Tensors trained(const Setting& setting, DType dtype, How how = How::as_written, std::uint64_t seed = 1) {
  Rng rng(seed);
  Model model(setting, dtype, rng);
  Adam optimizer(parameters(model));
  const auto step = [&](const Tensors& ids) -> Tensors {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(model(ids[0]), ids[1]);
    backward(loss);
    clip_gradients_by_norm(optimizer.parameters(), 1);
    optimizer.step();
    return {loss.detach()};
  };
  CapturedStep captured = capture(step);
  Tensors last;
  for (int i = 0; i < setting.steps; ++i) {
    const Tensors ids = {random_ids({setting.batch, setting.tokens}, rng, Model::vocabulary),
                         random_ids({setting.batch, setting.tokens}, rng, Model::vocabulary)};
    last = how == How::captured ? captured.replay(ids) : step(ids);
  }
  for (const Parameter& p : parameters(model)) last.push_back(p.value());
  return last;
}

void expect_same(const Tensors& one, const Tensors& other, const std::string& what) {
  ASSERT_EQ(one.size(), other.size());
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_SAME_BITS(one[i], other[i]) << what << ", output " << i;
}

class ThreadsTrain : public testing::TestWithParam<DType> {
 protected:
  void SetUp() override { set_blas_threads(1); }
  void TearDown() override { set_blas_threads(before_); }

 private:
  int before_ = blas_threads();
};
INSTANTIATE_TEST_SUITE_P(DTypes, ThreadsTrain, testing::Values(float32, float64),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

Tensors trained_on(int threads, const Setting& setting, DType dtype, How how = How::as_written) {
  const WithThreads with(threads);
  return trained(setting, dtype, how);
}

TEST_P(ThreadsTrain, ToTheSameBits) {
  const Tensors one = trained_on(1, large, GetParam());
  for (const int threads : {2, 3, 7})
    expect_same(one, trained_on(threads, large, GetParam()), std::to_string(threads) + " threads");
}

TEST_P(ThreadsTrain, ToTheSameBitsInSmallBlocks) {
  const SmallBlocks blocks(10);
  const Tensors one = trained_on(1, small, GetParam());
  for (const int threads : {2, 3, 7})
    expect_same(one, trained_on(threads, small, GetParam()), std::to_string(threads) + " threads");
}

TEST_P(ThreadsTrain, ACapturedStepAsTheWrittenOne) {
  const SmallBlocks blocks(10);
  expect_same(trained_on(1, small, GetParam()), trained_on(3, small, GetParam(), How::captured), "small");
  expect_same(trained_on(1, large, GetParam()), trained_on(2, large, GetParam(), How::captured), "large");
}

TEST_P(ThreadsTrain, SeveralModelsAtOnce) {
  const SmallBlocks blocks(8);
  const WithThreads with(2);
  const std::uint64_t seeds[] = {1, 2, 3};
  std::vector<Tensors> alone, together(3);
  for (const std::uint64_t seed : seeds) alone.push_back(trained(small, GetParam(), How::as_written, seed));
  std::vector<std::thread> users;
  for (std::size_t i = 0; i < 3; ++i)
    users.emplace_back([&together, &seeds, i, dtype = GetParam()] {
      together[i] = trained(small, dtype, How::as_written, seeds[i]);
    });
  for (std::thread& user : users) user.join();
  for (std::size_t i = 0; i < 3; ++i) expect_same(alone[i], together[i], "seed " + std::to_string(seeds[i]));
}

// The sizes at which OpenBLAS gets a product in parts, and others, with edges that no vector length divides.
TEST_P(ThreadsTrain, ProductsHaveTheSameBits) {
  struct Sizes {
    Size batch, m, k, n;
  };
  Rng rng(3);
  for (const Sizes& s : {Sizes{1, 512, 512, 512},
                         {1, 2051, 129, 67},
                         {1, 67, 129, 2051},
                         {3, 515, 301, 259},
                         {1, 333, 2001, 335},
                         {5, 130, 65, 131},
                         {40, 33, 32, 35}}) {
    const Tensor a = normal({s.batch, s.m, s.k}, rng).to(GetParam()),
                 b = normal({s.batch, s.k, s.n}, rng).to(GetParam());
    const auto all = [&] {
      return Tensors{matmul(a, b), matmul(transpose(transpose(a).contiguous()), b),
                     matmul(a, transpose(transpose(b).contiguous())), matmul(a, slice(b, 0, {0, 1}))};
    };
    const auto on = [&](int threads) {
      const WithThreads with(threads);
      return all();
    };
    const Tensors one = on(1);
    for (const int threads : {2, 3, 7}) expect_same(one, on(threads), to_string(matmul(a, b).shape()));
  }
}

// OpenBLAS asks for memory itself when it uses threads of its own.
TEST_P(ThreadsTrain, AskingNothingFromTheHeap) {
  if (!REGARD_COUNTS_HEAP) GTEST_SKIP() << "the heap of this build cannot be counted";
  const WithThreads with(2);
  Rng rng(1);
  Model model(large, GetParam(), rng);
  Adam optimizer(parameters(model));
  const Tensor ids = random_ids({large.batch, large.tokens}, rng, Model::vocabulary);
  const auto step = [&] {
    optimizer.zero_grad();
    backward(cross_entropy(model(ids), ids));
    optimizer.step();
  };
  for (int i = 0; i < 8; ++i) step();
  const std::size_t before = heap_requests;
  for (int i = 0; i < 4; ++i) step();
  EXPECT_EQ(heap_requests - before, 0u);
}

}  // namespace
}  // namespace regard::test

// A captured step takes hardly more memory than the step as it is written.
#include <gtest/gtest.h>

#include <string>
#include <thread>

#include <regard/regard.hpp>

#include "memory/pool.hpp"

namespace regard::test {
namespace {

struct Sizes {
  const char* name;
  Size layers, batch, tokens, width, vocabulary;
};

struct LanguageModel {
  LanguageModel(const Sizes& n, DType dtype, Rng& rng)
      : embedding(n.vocabulary, n.width, rng, {nn::Init::normal, 0.02, dtype, {}}),
        encoder(n.width, n.layers, rng, options(dtype)),
        readout(n.width, n.vocabulary, rng, {true, nn::Init::glorot_uniform, 0.1, dtype}) {}
  static nn::TransformerOptions options(DType dtype) {
    nn::TransformerOptions options;
    options.heads = 2;
    options.dropout = 0.1;
    options.dtype = dtype;
    return options;
  }
  template <class F>
  void visit(F&& f) {
    f("embedding", embedding);
    f("encoder", encoder);
    f("readout", readout);
  }
  nn::Embedding embedding;
  nn::Encoder encoder;
  nn::Linear readout;
};

/// Bytes of all blocks that a training on a thread of its own took: in the end all of them wait to be used
/// again.
std::size_t bytes_of_training(const Sizes& n, DType dtype, bool captured) {
  std::size_t bytes = 0;
  const auto train = [&] {
    Rng rng(1);
    const LanguageModel model(n, dtype, rng);
    Adam adam(parameters(model));
    const Tensor ids = uniform({n.batch, n.tokens}, rng, 0, static_cast<double>(n.vocabulary)).to(int64);
    const auto step = [&](const Tensors& in) {
      adam.zero_grad();
      const Tensor loss =
          cross_entropy(model.readout(model.encoder(model.embedding(in[0]), Mask::causal())), in[0]);
      backward(loss);
      adam.step();
      return Tensors{loss};
    };
    CapturedStep replayed = capture(step);
    for (int i = 0; i < 5; ++i) captured ? replayed.replay({ids}) : step({ids});
    EXPECT_EQ(replayed.captured(), captured);
  };
  std::thread([&] {
    train();
    bytes = detail::pool_counts().cached_bytes;
  }).join();
  return bytes;
}

class CapturedMemory : public testing::TestWithParam<std::tuple<Sizes, DType>> {};
INSTANTIATE_TEST_SUITE_P(
    Models, CapturedMemory,
    testing::Combine(testing::Values(Sizes{"four_blocks", 4, 4, 32, 64, 200},
                                     Sizes{"one_block", 1, 32, 12, 32, 40},
                                     Sizes{"one_block_of_long_texts", 1, 2, 200, 32, 40}),
                     testing::Values(float32, float64)),
    [](const auto& models) {
      return std::string(std::get<0>(models.param).name) + "_" + name(std::get<1>(models.param));
    });

TEST_P(CapturedMemory, IsAtMostATenthMore) {
  if (!detail::pooling) GTEST_SKIP() << "with AddressSanitizer nothing waits to be used again";
  const auto& [sizes, dtype] = GetParam();
  const std::size_t as_written = bytes_of_training(sizes, dtype, false);
  const std::size_t captured = bytes_of_training(sizes, dtype, true);
  EXPECT_GT(as_written, std::size_t{500'000});
  EXPECT_LE(static_cast<double>(captured), 1.1 * static_cast<double>(as_written));
}

}  // namespace
}  // namespace regard::test

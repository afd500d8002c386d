#include <regard/study/summary.hpp>

#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include <regard/regard.hpp>

#include "support/throws.hpp"

namespace regard::study {
namespace {

std::map<std::string, ModuleSummary> by_path(const Summary& summary) {
  std::map<std::string, ModuleSummary> found;
  for (const ModuleSummary& module : summary.modules) found[module.path] = module;
  return found;
}

struct LanguageModel {
  explicit LanguageModel(Rng& rng, DType dtype = float64)
      : embedding(10, 4, rng, embedding_options(dtype)), encoder(4, 2, rng, encoder_options(dtype)) {}
  static nn::EmbeddingOptions embedding_options(DType dtype) {
    nn::EmbeddingOptions options;
    options.dtype = dtype;
    return options;
  }
  static nn::TransformerOptions encoder_options(DType dtype) {
    nn::TransformerOptions options;
    options.heads = 2;
    options.hidden = 8;
    options.dtype = dtype;
    return options;
  }
  Tensor operator()(const Tensor& ids) const {
    return embedding.logits(encoder(embedding(ids), Mask::causal()));
  }
  template <class F>
  void visit(F&& f) {
    f("embedding", embedding);
    f("encoder", encoder);
  }
  nn::Embedding embedding;
  nn::Encoder encoder;
};

TEST(Summary, CountsEachModuleWithAllThatIsInIt) {
  Rng rng(1);
  const LanguageModel model(rng);
  const Summary whole = summary(model);
  const auto modules = by_path(whole);
  const Size attention = 4 * (4 * 4 + 4), feed_forward = 4 * 8 + 8 + 8 * 4 + 4, norm = 8;
  EXPECT_EQ(modules.at("encoder.blocks.1.attention").parameters, attention);
  EXPECT_EQ(modules.at("encoder.blocks.1.feed_forward").parameters, feed_forward);
  EXPECT_EQ(modules.at("encoder.blocks.1").parameters, attention + feed_forward + 2 * norm);
  EXPECT_EQ(modules.at("encoder").parameters, 2 * (attention + feed_forward + 2 * norm) + norm);
  EXPECT_EQ(modules.at("embedding").parameters, 40);  // tied: once
  EXPECT_EQ(modules.at("").parameters, parameter_count(model));
  EXPECT_EQ(modules.at("").bytes, 8 * parameter_count(model));
  Rng other(1);
  EXPECT_EQ(by_path(summary(LanguageModel(other, float32))).at("").bytes, 4 * parameter_count(model));

  // Each before what is in it.
  std::map<std::string, bool> seen{{"", true}};
  for (const ModuleSummary& module : whole.modules) {
    const std::size_t dot = module.path.rfind('.');
    EXPECT_TRUE(seen[dot == std::string::npos ? "" : module.path.substr(0, dot)]) << module.path;
    seen[module.path] = true;
  }
}

TEST(Summary, CountsTheProductsOfAPass) {
  Rng rng(2);
  const LanguageModel model(rng);
  constexpr Size batch = 3, tokens = 5;
  const Size nodes = live_nodes();
  const Summary result = summary(model, batch * tokens, [&] { return model(zeros({batch, tokens}, int64)); });
  EXPECT_EQ(live_nodes(), nodes);
  EXPECT_EQ(result.tokens, batch * tokens);
  const auto modules = by_path(result);
  // By hand: 2·in·out for each layer; scores and mix each 2·tokens·width.
  EXPECT_EQ(modules.at("encoder.blocks.0.attention.query").flops_per_token, 2 * 4 * 4);
  EXPECT_EQ(modules.at("encoder.blocks.0.attention").flops_per_token, 4 * 2 * 4 * 4 + 2 * 2 * tokens * 4);
  EXPECT_EQ(modules.at("encoder.blocks.0.feed_forward").flops_per_token, 2 * 2 * 4 * 8);
  EXPECT_EQ(modules.at("encoder.blocks.0.attention_norm").flops_per_token, 0);
  EXPECT_EQ(modules.at("encoder").flops_per_token,
            modules.at("encoder.blocks.0").flops_per_token + modules.at("encoder.blocks.1").flops_per_token);
  EXPECT_EQ(modules.at("embedding").flops_per_token, 2 * 4 * 10);  // the logits; looking up is no product
  EXPECT_EQ(modules.at("").flops_per_token,
            modules.at("encoder").flops_per_token + modules.at("embedding").flops_per_token);
  EXPECT_THROWS_WITH(summary(model, 0, [] { return Tensor(); }), ValueError, "at least 1 token, got 0");
}

TEST(Summary, CountsLinearAttention) {
  Rng rng(4);
  const nn::Linear layer(3, 3, rng);
  // Two heads; for each the layer, and 3 x 4 sums (with a column of ones) that are added to and read.
  const Tensor x = normal({1, 2, 4, 3}, rng);
  LinearAttentionOptions options;
  options.causal = true;
  const Summary result = summary(layer, 4, [&] { return linear_attention(layer(x), x, x, options); });
  EXPECT_EQ(result.modules[0].flops_per_token, 2 * (2 * 3 * 3 + 4 * 3 * 4));
}

struct Perceptron {
  nn::Linear hidden, output;
  Tensor operator()(const Tensor& x) const { return output(tanh(hidden(x))); }
  template <class F>
  void visit(F&& f) {
    f("hidden", hidden);
    f("output", output);
  }
};

TEST(Summary, IsATable) {
  Rng rng(3);
  const Perceptron model{nn::Linear(100, 200, rng), nn::Linear(200, 3, rng)};
  freeze(model, "hidden");
  std::ostringstream out;
  out << summary(model, 2, [&] { return model(zeros({2, 100})); });
  EXPECT_EQ(out.str(),
            "module       parameters      memory  FLOP per token\n"
            "model            20,803   162.5 KiB          41,200  20,200 frozen\n"
            "  hidden         20,200   157.8 KiB          40,000  frozen\n"
            "  output            603     4.7 KiB           1,200\n"
            "(products of matrices in one pass over 2 tokens)\n");
  EXPECT_EQ(to_string(summary(model), 0),
            "module     parameters      memory\n"
            "model          20,803   162.5 KiB  20,200 frozen\n");
}

struct Nothing {
  template <class F>
  void visit(F&&) {}
};

TEST(Summary, OfAModelWithoutParametersHasOneLine) {
  EXPECT_EQ(to_string(summary(Nothing())),
            "module     parameters      memory\n"
            "model               0         0 B\n");
}

}  // namespace
}  // namespace regard::study

// Variants of attention against PyTorch.
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/nn/positions.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/golden.hpp"
#include "support/tensors.hpp"

namespace regard::test {
namespace {

Tensor read(const nlohmann::json& x) {
  return from_vector(x.at("values").get<std::vector<double>>(),
                     Shape(x.at("shape").get<std::vector<Size>>()));
}

// The output, and the gradients of query, key and value.
void compare(const nlohmann::json& known, const FunctionOfMany& attend) {
  const Tensors x = {variable(read(known.at("query"))), variable(read(known.at("key"))),
                     variable(read(known.at("value")))};
  const Tensor output = attend(x);
  EXPECT_TENSOR_NEAR(output.detach(), read(known.at("output")), 1e-12, 1e-13);
  const Tensors d = grad({sum(output * read(known.at("upstream")))}, x);
  EXPECT_TENSOR_NEAR(d[0], read(known.at("dquery")), 1e-11, 1e-12);
  EXPECT_TENSOR_NEAR(d[1], read(known.at("dkey")), 1e-11, 1e-12);
  EXPECT_TENSOR_NEAR(d[2], read(known.at("dvalue")), 1e-11, 1e-12);
}

TEST(VariantsOfPyTorch, AttentionIsTheSame) {
  const std::map<std::string, Normaliser> named = {
      {"softmax", Normaliser::softmax},     {"softmax1", Normaliser::softmax1},
      {"sigmoid", Normaliser::sigmoid},     {"relu", Normaliser::relu},
      {"sparsemax", Normaliser::sparsemax}, {"entmax15", Normaliser::entmax15}};
  const nlohmann::json cases = golden("variants.json").at("attention");
  EXPECT_EQ(cases.size(), 17u);
  for (const nlohmann::json& known : cases) {
    AttentionOptions options;
    options.normaliser = named.at(known.at("normaliser").get<std::string>());
    if (known.at("softcap") > 0) options.softcap = known.at("softcap").get<double>();
    Mask mask;
    if (known.at("causal")) mask = Mask::causal();
    if (known.at("alibi")) mask = mask & Mask::alibi();
    SCOPED_TRACE(known.at("normaliser").get<std::string>() + ", " + mask.describe());
    compare(known, [&](const Tensors& x) { return attention(x[0], x[1], x[2], mask, options); });
  }
}

TEST(VariantsOfPyTorch, LinearAttentionIsTheSame) {
  for (const nlohmann::json& known : golden("variants.json").at("linear")) {
    LinearAttentionOptions options;
    options.causal = known.at("causal");
    compare(known, [&](const Tensors& x) { return linear_attention(x[0], x[1], x[2], options); });
  }
}

TEST(VariantsOfPyTorch, SlopesAreThoseOfThePaper) {
  for (const auto& [heads, values] : golden("variants.json").at("slopes").items())
    EXPECT_TENSOR_NEAR(alibi_slopes(std::stoll(heads)),
                       from_values(values.get<std::vector<double>>(), {std::stoll(heads)}), 1e-14, 0);
}

TEST(VariantsOfPyTorch, BucketsAreThoseOfT5) {
  for (const nlohmann::json& known : golden("variants.json").at("buckets")) {
    nn::RelativeBiasOptions options;
    options.buckets = known.at("buckets");
    options.max_distance = known.at("max_distance");
    options.causal = known.at("causal");
    Size ahead = known.at("first");
    for (const Size bucket : known.at("values").get<std::vector<Size>>())
      EXPECT_EQ(nn::relative_bucket(ahead++, options), bucket) << ahead - 1 << " of " << options.buckets;
  }
}

}  // namespace
}  // namespace regard::test

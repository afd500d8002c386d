// Ops against PyTorch: values, gradients, and gradients of the gradients.
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <regard/autograd.hpp>
#include <regard/loss.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/golden.hpp"
#include "support/tensors.hpp"

namespace regard {
namespace {

using Inputs = const Tensors&;

const nlohmann::json& cases() {
  static const nlohmann::json document = test::golden("ops.json");
  return document.at("cases");
}

CrossEntropyOptions rows_of(Reduction reduction, bool weighted, Size ignored = -100) {
  CrossEntropyOptions options;
  options.reduction = reduction;
  options.ignore_index = ignored;
  if (weighted) options.class_weights = tensor({1, 2, 0.5});
  return options;
}
BinaryCrossEntropyOptions binary(Reduction reduction, const Tensor& weight = {},
                                 const Tensor& positive = {}) {
  return {reduction, weight, positive};
}
Tensor einsum_of(const char* subscripts, Inputs x) {
  return einsum(subscripts, x);
}

const std::map<std::string, std::function<Tensor(Inputs)>>& functions() {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr Reduction mean_of = Reduction::mean, sum_of = Reduction::sum, each = Reduction::none;
  // clang-format off
  static const std::map<std::string, std::function<Tensor(Inputs)>> map = {
      {"clamp", [](Inputs x) { return clamp(x[0], -1, 0.5); }},
      {"clamp, bounds the wrong way round", [](Inputs x) { return clamp(x[0], 1, -1); }},
      {"log1p", [](Inputs x) { return log1p(x[0]); }},
      {"expm1", [](Inputs x) { return expm1(x[0]); }},
      {"sin", [](Inputs x) { return sin(x[0]); }},
      {"cos", [](Inputs x) { return cos(x[0]); }},
      {"erf", [](Inputs x) { return erf(x[0]); }},
      {"silu", [](Inputs x) { return silu(x[0]); }},
      {"log_sigmoid", [](Inputs x) { return log_sigmoid(x[0]); }},
      {"xlogy", [](Inputs x) { return xlogy(x[0], x[1]); }},
      {"entropy", [](Inputs x) { return entropy(x[0]); }},
      {"min, with ties", [](Inputs x) { return min(x[0], {-1}); }},
      {"prod", [](Inputs x) { return prod(x[0], {-1}); }},
      {"prod of everything", [](Inputs x) { return prod(x[0]); }},
      {"prod with a zero", [](Inputs x) { return prod(x[0], {-1}); }},
      {"prod with two zeros", [](Inputs x) { return prod(x[0], {-1}); }},
      {"standard deviation", [](Inputs x) { return standard_deviation(x[0], {0, 2}); }},
      {"standard deviation of a sample", [](Inputs x) { return standard_deviation(x[0], {-1}, keep_axes, 1); }},
      {"norm of order 1", [](Inputs x) { return norm(x[0], {-1}, Keep::no, 1); }},
      {"norm of order infinity", [](Inputs x) { return norm(x[0], {-1}, Keep::no, infinity); }},
      {"cumsum", [](Inputs x) { return cumsum(x[0], 0); }},
      {"pad", [](Inputs x) { return pad(x[0], {{0, 1}, {1, 2}}, 3); }},
      {"flip", [](Inputs x) { return flip(x[0], {0, 1}); }},
      {"roll", [](Inputs x) { return roll(x[0], -4, 1); }},
      {"tile", [](Inputs x) { return tile(x[0], {2, 1, 2}); }},
      {"repeat_interleave", [](Inputs x) { return repeat_interleave(x[0], 2, 1); }},
      {"sort", [](Inputs x) { return sort(x[0]).values; }},
      {"sort, stable and descending", [](Inputs x) { return sort(x[0], 0, Order::descending).values; }},
      {"top_k", [](Inputs x) { return top_k(x[0], 2, 0).values; }},
      {"einsum bhqd,bhkd->bhqk", [](Inputs x) { return einsum_of("bhqd,bhkd->bhqk", x); }},
      {"einsum ...ij,jk", [](Inputs x) { return einsum_of("...ij,jk", x); }},
      {"einsum bi,ijk,bj->bk", [](Inputs x) { return einsum_of("bi,ijk,bj->bk", x); }},
      {"einsum ii->i", [](Inputs x) { return einsum_of("ii->i", x); }},
      {"einsum ...,...i->i...", [](Inputs x) { return einsum_of("...,...i->i...", x); }},
      {"rms_norm", [](Inputs x) { return rms_norm(x[0], x[1]); }},
      {"rms_norm without a weight", [](Inputs x) { return rms_norm(x[0], 0.1); }},
      {"nll_loss", [](Inputs x) { return nll_loss(x[0], x[1]); }},
      {"nll_loss, weighted", [](Inputs x) { return nll_loss(x[0], x[1], rows_of(mean_of, true)); }},
      {"nll_loss, weighted sum", [](Inputs x) { return nll_loss(x[0], x[1], rows_of(sum_of, true)); }},
      {"nll_loss of each row", [](Inputs x) { return nll_loss(x[0], x[1], rows_of(each, false, 1)); }},
      {"bce", [](Inputs x) { return binary_cross_entropy_with_logits(x[0], x[1]); }},
      {"bce, weighted", [](Inputs x) { return binary_cross_entropy_with_logits(x[0], x[1], binary(mean_of, tensor({1, 2, 0.5}), tensor({2, 1, 0.3}))); }},
      {"bce of each", [](Inputs x) { return binary_cross_entropy_with_logits(x[0], x[1], binary(each)); }},
      {"kl_divergence", [](Inputs x) { return kl_divergence(x[0], x[1]); }},
      {"kl_divergence of a batch", [](Inputs x) { return kl_divergence(x[0], x[1], {Reduction::batch_mean, false}); }},
      {"kl_divergence of logarithms", [](Inputs x) { return kl_divergence(x[0], x[1], {sum_of, true}); }},
  };
  // clang-format on
  return map;
}

Tensor read(const nlohmann::json& kept, DType dtype = float64) {
  return test::from_values(kept.at("values").get<std::vector<double>>(),
                           Shape(kept.at("shape").get<std::vector<Size>>()), dtype);
}

void expect_all(const Tensors& ours, const nlohmann::json& theirs, const std::string& what) {
  ASSERT_EQ(ours.size(), theirs.size()) << what;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const Tensor expected = theirs[i].is_null() ? zeros(ours[i].shape()) : read(theirs[i]);
    EXPECT_TENSOR_NEAR(ours[i].detach(), expected, 1e-10, 1e-12) << what << " of input " << i;
  }
}

void expect_the_same(const std::string& name, const nlohmann::json& kept) {
  Tensors x, wanted;
  for (std::size_t i = 0; i < kept.at("inputs").size(); ++i) {
    const bool ids = kept.at("ids")[i].get<bool>();
    x.push_back(ids ? read(kept.at("inputs")[i], int64) : variable(read(kept.at("inputs")[i])));
    if (!ids) wanted.push_back(x.back());
  }
  const Tensor y = functions().at(name)(x);
  EXPECT_TENSOR_NEAR(y.detach(), read(kept.at("output")), 1e-12, 1e-15) << name;

  GradOptions options;
  options.seeds = {read(kept.at("seed"))};
  options.create_graph = options.allow_unused = true;
  const Tensors first = grad(Tensors{y}, wanted, options);
  expect_all(first, kept.at("gradients"), name + ", gradient");
  Tensor squares = scalar(0);
  for (const Tensor& dx : first) squares = squares + sum(square(dx)) * 0.5;
  options = {};
  options.allow_unused = true;
  if (squares.requires_grad())
    expect_all(grad(Tensors{squares}, wanted, options), kept.at("second"), name + ", second order");
}

TEST(PyTorch, HasTheSameValuesAndGradients) {
  std::set<std::string> ours, theirs;
  for (const auto& [name, f] : functions()) ours.insert(name);
  for (const auto& [name, kept] : cases().items()) theirs.insert(name);
  ASSERT_EQ(ours, theirs);
  for (const auto& [name, kept] : cases().items()) expect_the_same(name, kept);
}

}  // namespace
}  // namespace regard

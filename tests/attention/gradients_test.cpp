// Gradients of attention: against difference quotients, for every choice of what requires one; and that
// nothing hidden reaches them.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/ops.hpp>

#include "attention/reference.hpp"
#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"

namespace regard::test {
namespace {

const char* const input_names[] = {"query", "key", "value", "bias"};

// Inputs 0..3 are query, key, value and a bias.
FunctionOfMany attention_with(const Mask& mask) {
  return [mask](const Tensors& x) { return attention(x[0], x[1], x[2], mask & Mask::bias(x[3])); };
}

Tensors inputs_of(const Sizes4& sizes, const Shape& bias, Rng& rng) {
  const Inputs x(sizes, rng);
  return {x.query, x.key, x.value, random_tensor(bias, rng)};
}

// A mask with rows that see nothing, rows that see everything, and rows in between.
Tensor uneven(const Sizes4& n, Rng& rng) {
  const Tensor some = random_mask(n.scores(), rng, 0.6);
  const Tensor row = expand_dims(arange(n.queries), {1});
  const Tensor none = equal(row, full({}, 0, int64)), every = equal(row, full({}, 1, int64));
  return logical_and(logical_or(some, every), logical_not(none));
}

TEST(AttentionGradients, AgreeWithDifferencesForEveryMask) {
  for (const MaskCase& c : mask_cases()) {
    SCOPED_TRACE(c.name);
    Rng rng(41);
    const Inputs x(c.sizes, rng);
    const Mask mask = c.mask(float64);
    const FunctionOfMany f = [&mask](const Tensors& t) { return attention(t[0], t[1], t[2], mask); };
    expect_gradients(f, {x.query, x.key, x.value});
  }
}

TEST(AttentionGradients, AgreeWithDifferencesForEverySubsetOfInputs) {
  Rng rng(42);
  const Sizes4 sizes{2, 2, 1, 3, 4, 2, 3};
  const Tensors inputs = inputs_of(sizes, {1, 2, 3, 4}, rng);
  const FunctionOfMany f = attention_with(Mask::keep(uneven(sizes, rng)));
  Tensors leaves;
  for (const Tensor& x : inputs) leaves.push_back(variable(x));
  const Tensor weight = random_tensor({2, 2, 3, 3}, rng);
  const Tensors all_at_once = grad({sum(weight * f(leaves))}, leaves);

  for (unsigned subset = 0; subset < 16; ++subset) {
    GradientOptions options;
    Tensors mixed = inputs, wanted;
    std::string chosen;
    for (std::size_t i = 0; i < 4; ++i) {
      if (subset & (1u << i)) {
        mixed[i] = variable(inputs[i]);
        wanted.push_back(mixed[i]);
        chosen += std::string(" ") + input_names[i];
      } else {
        options.constants.push_back(i);
      }
    }
    SCOPED_TRACE("gradient of" + chosen);
    const Tensor output = f(mixed);
    EXPECT_EQ(output.requires_grad(), subset != 0);
    if (subset == 0) continue;
    expect_gradients(f, inputs, options);
    // What else requires a gradient changes no bit of one's own.
    const Tensors alone = grad({sum(weight * output)}, wanted);
    for (std::size_t i = 0, k = 0; i < 4; ++i) {
      if (!(subset & (1u << i))) continue;
      EXPECT_SAME_BITS(alone[k], all_at_once[i]) << input_names[i];
      ++k;
    }
  }
}

TEST(AttentionGradients, HaveGradients) {
  Rng rng(43);
  const Sizes4 plain{1, 2, 2, 3, 3, 2, 2}, grouped{1, 2, 1, 3, 4, 2, 2};
  expect_second_order(attention_with({}), inputs_of(plain, {3, 3}, rng));
  expect_second_order(attention_with(Mask::causal()), inputs_of(plain, {1, 2, 3, 3}, rng));
  expect_second_order(attention_with(Mask::keep(uneven(plain, rng))), inputs_of(plain, {1, 2, 1, 3}, rng));
  expect_second_order(attention_with(Mask::keep(uneven(grouped, rng))), inputs_of(grouped, {3, 1}, rng));
}

TEST(AttentionGradients, AgreeWithDifferencesUnderDropout) {
  Rng rng(44);
  const Sizes4 sizes{1, 2, 2, 3, 4, 2, 3};
  const Inputs x(sizes, rng);
  // The generator starts anew at each call, so that the same weights are dropped.
  const FunctionOfMany f = [](const Tensors& t) {
    Rng draw(9);
    AttentionOptions options;
    options.dropout = 0.4;
    options.rng = &draw;
    return attention(t[0], t[1], t[2], Mask::causal(Align::bottom_right), options);
  };
  expect_gradients(f, {x.query, x.key, x.value});
  expect_second_order(f, {x.query, x.key, x.value});
}

TEST(AttentionGradients, AddUpOverAnInputUsedTwice) {
  Rng rng(45);
  const FunctionOfMany self = [](const Tensors& x) { return attention(x[0], x[0], x[0], Mask::causal()); };
  expect_gradients(self, {random_tensor({2, 4, 3}, rng)});
  expect_second_order(self, {random_tensor({1, 3, 2}, rng)});
}

TEST(AttentionGradients, OfABatchOfOneAddUpOverTheSequences) {
  Rng rng(46);
  const Tensor q = random_tensor({3, 2, 2, 2}, rng), k = random_tensor({1, 1, 3, 2}, rng);
  const Tensor v = random_tensor({1, 1, 3, 2}, rng);
  const FunctionOfMany f = [](const Tensors& x) {
    return attention(x[0], x[1], x[2], Mask::padding(tensor({3, 1, 2}, int64)));
  };
  expect_gradients(f, {q, k, v});
}

TEST(AttentionGradients, InFloat32AreThoseInFloat64) {
  for (const MaskCase& c : mask_cases()) {
    SCOPED_TRACE(c.name);
    Rng rng(47);
    const Inputs x(c.sizes, rng);
    const auto gradients = [&](DType dtype) {
      const Tensors leaves = {variable(x.query.to(dtype)), variable(x.key.to(dtype)),
                              variable(x.value.to(dtype))};
      return grad({sum(square(attention(leaves[0], leaves[1], leaves[2], c.mask(dtype))))}, leaves);
    };
    const Tensors narrow = gradients(float32), wide = gradients(float64);
    for (std::size_t i = 0; i < 3; ++i) EXPECT_TENSOR_NEAR(narrow[i].to(float64), wide[i], 1e-5, 1e-5);
  }
}

// ---- what is hidden ------------------------------------------------------------------------------------

// Output and gradients of query, key, value and bias, of a loss in which every output counts.
Tensors everything(const Tensors& inputs, const Mask& mask, AttentionTrace* trace) {
  Tensors leaves;
  for (const Tensor& x : inputs) leaves.push_back(variable(x));
  const Tensor output = attention(leaves[0], leaves[1], leaves[2], mask & Mask::bias(leaves[3]), {}, trace);
  Rng rng(3);
  Tensors results =
      grad({sum(random_tensor(output.shape(), rng, Domain::normal, output.dtype()) * output)}, leaves);
  results.push_back(output);
  return results;
}

Tensor with_value_at(const Tensor& x, Size place, double value) {
  std::vector<double> values = values_of(x);
  values[static_cast<std::size_t>(place)] = value;
  return from_values(values, x.shape(), x.dtype());
}

// Poisons, one after another, everything that the mask hides from everybody, and expects the same bits, with a trace
// (which goes by the matrix of weights) and without (which goes by blocks).
void expect_no_leak(const Sizes4& n, const Mask& mask, DType dtype) {
  Rng rng(48);
  const Inputs x(n, rng, dtype);
  const Tensor bias = random_tensor(n.scores(), rng, Domain::normal, dtype);
  const Tensors clean = {x.query, x.key, x.value, bias};
  AttentionTrace trace;
  const Tensors traced = everything(clean, mask, &trace), untraced = everything(clean, mask, nullptr);
  for (const Tensor& t : traced) ASSERT_TRUE(all(isfinite(t)));
  const double near = dtype == float64 ? 1e-12 : 1e-5;
  for (std::size_t i = 0; i < traced.size(); ++i) ASSERT_TENSOR_NEAR(untraced[i], traced[i], near, near);
  const ResolvedMask resolved = mask.resolve(n.batch, n.heads, n.queries, n.keys);
  const Tensor keep = broadcast_to(resolved.keep, n.scores());
  const Size share = n.heads / n.kv_heads;

  int poisoned = 0;
  const auto poison = [&](std::size_t input, Size place) {
    for (const double value : {nan, infinity, -infinity}) {
      Tensors bad = clean;
      bad[input] = with_value_at(clean[input], place, value);
      for (AttentionTrace* asked : {static_cast<AttentionTrace*>(nullptr), &trace}) {
        const Tensors got = everything(bad, mask, asked), &expected = asked ? traced : untraced;
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_SAME_BITS(got[i], expected[i])
              << value << " in element " << place << " of " << input_names[input];
      }
      ++poisoned;
    }
  };
  for (Size b = 0; b < n.batch; ++b) {
    for (Size h = 0; h < n.heads; ++h) {
      for (Size i = 0; i < n.queries; ++i) {
        bool blind = true;
        for (Size j = 0; j < n.keys; ++j) {
          const Size score = ((b * n.heads + h) * n.queries + i) * n.keys + j;
          if (keep.at({b, h, i, j}) == 0) {
            poison(3, score);
          } else {
            blind = false;
          }
        }
        if (blind) poison(0, ((b * n.heads + h) * n.queries + i) * n.key_width);
      }
    }
    for (Size g = 0; g < n.kv_heads; ++g) {
      for (Size j = 0; j < n.keys; ++j) {
        bool unseen = true;
        for (Size h = g * share; h < (g + 1) * share; ++h)
          for (Size i = 0; i < n.queries; ++i) unseen = unseen && keep.at({b, h, i, j}) == 0;
        if (!unseen) continue;
        poison(1, ((b * n.kv_heads + g) * n.keys + j) * n.key_width);
        poison(2, ((b * n.kv_heads + g) * n.keys + j) * n.value_width);
      }
    }
  }
  EXPECT_GT(poisoned, 0);
}

TEST(Hidden, NaNAndInfinityReachNothing) {
  Rng rng(49);
  const Sizes4 plain{2, 2, 2, 3, 4, 2, 2}, grouped{2, 4, 2, 3, 4, 2, 2};
  for (const DType dtype : {float32, float64}) {
    expect_no_leak(plain, Mask::padding(tensor({3, 0}, int64)), dtype);
    expect_no_leak(plain, Mask::causal(Align::top_left), dtype);
    expect_no_leak(plain, Mask::keep(uneven(plain, rng)), dtype);
    expect_no_leak(grouped, Mask::padding(tensor({2, 1}, int64)) & Mask::keep(uneven(grouped, rng)), dtype);
  }
}

// A value that some queries may see spoils those, and no others.
TEST(Hidden, NaNReachesOnlyTheQueriesThatSeeIt) {
  Rng rng(50);
  const Sizes4 n{1, 1, 1, 5, 5, 2, 2};
  const Inputs x(n, rng);
  const Tensors clean = {x.query, x.key, x.value, zeros({5, 5})};
  const Tensors expected = everything(clean, Mask::causal(), nullptr);
  for (const std::size_t input : {1u, 2u}) {
    Tensors bad = clean;
    bad[input] = with_value_at(clean[input], 3 * 2, nan);  // token 3
    const Tensor output = everything(bad, Mask::causal(), nullptr).back();
    EXPECT_SAME_BITS(slice(output, 2, {0, 3}), slice(expected.back(), 2, {0, 3}));
    EXPECT_FALSE(any(isfinite(slice(select(output, 3, 0), 2, {3}))));
  }
}

TEST(Hidden, AQueryThatSeesNothingGivesZerosAndZeroGradients) {
  Rng rng(51);
  const Sizes4 n{2, 2, 2, 4, 3, 2, 2};
  const Inputs x(n, rng);
  const Tensors inputs = {x.query, x.key, x.value, random_tensor(n.scores(), rng)};
  const Tensor blind = expand_dims(tensor({0, 1, 0, 1}, boolean), {1});  // queries 1 and 3
  AttentionTrace trace;
  for (AttentionTrace* asked : {static_cast<AttentionTrace*>(nullptr), &trace}) {
    const Tensors got = everything(inputs, Mask::hide(blind), asked);
    const Tensor &dquery = got[0], &dbias = got[3], &output = got[4];
    for (const Size i : {1, 3}) {
      EXPECT_SAME_BITS(select(output, 2, i), zeros({2, 2, 2}));
      EXPECT_SAME_BITS(select(dquery, 2, i), zeros({2, 2, 2}));
      EXPECT_SAME_BITS(select(dbias, 2, i), zeros({2, 2, 3}));
    }
    EXPECT_TRUE(all(not_equal(select(output, 2, 0), scalar(0))));
    const Tensors nothing_at_all = everything(inputs, Mask::hide(ones({1, 1}, boolean)), asked);
    for (const Tensor& t : nothing_at_all) EXPECT_SAME_BITS(t, zeros_like(t.detach()));
  }
}

TEST(Hidden, MinusInfinityInALearnedBiasGetsNoGradient) {
  Rng rng(52);
  const Inputs x({1, 1, 1, 2, 3, 2, 2}, rng);
  const Tensor bias = variable(tensor({{0.5, -infinity, 1}, {-infinity, -infinity, -infinity}}));
  const Tensor output = attention(x.query, x.key, x.value, Mask::bias(bias));
  const Tensor dbias = grad(sum(output), bias);
  EXPECT_TRUE(all(isfinite(dbias)));
  EXPECT_EQ(dbias.at({0, 1}), 0);
  EXPECT_NE(dbias.at({0, 0}), 0);
  EXPECT_SAME_BITS(select(dbias, 0, 1), zeros({3}));
}

}  // namespace
}  // namespace regard::test

// Attention with something else in softmax's place, and with capped scores: against plain loops, against
// difference quotients, and with the promises that softmax keeps.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "attention/reference.hpp"
#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"
#include "twins/normalise.hpp"

namespace regard::test {
namespace {

struct Variant {
  const char* name;
  Normaliser normaliser;
  Law law;
  ByLength by_length = ByLength::yes;
  double softcap = 0;

  AttentionOptions options() const {
    AttentionOptions o;
    o.normaliser = normaliser;
    o.by_length = by_length;
    if (softcap > 0) o.softcap = softcap;
    return o;
  }
  double change(double s) const { return softcap > 0 ? softcap * std::tanh(s / softcap) : s; }
};

Line by_itself(const Line& x, double (*f)(double)) {
  Line y = x;
  for (double& v : y) v = f(v);
  return y;
}

std::vector<Variant> variants() {
  const Law sigmoid_alone = [](const Line& x) {
    return by_itself(x, [](double v) { return 1 / (1 + std::exp(-v)); });
  };
  const Law relu_alone = [](const Line& x) { return by_itself(x, [](double v) { return v > 0 ? v : 0; }); };
  return {
      {"softmax, capped", Normaliser::softmax, softmax_line, ByLength::yes, 0.7},
      {"softmax1", Normaliser::softmax1, softmax1_line},
      {"sigmoid", Normaliser::sigmoid, sigmoid_line},
      {"sigmoid, not by length", Normaliser::sigmoid, sigmoid_alone, ByLength::no},
      {"relu", Normaliser::relu, relu_line},
      {"relu, not by length", Normaliser::relu, relu_alone, ByLength::no},
      {"sparsemax", Normaliser::sparsemax, sparsemax_line},
      {"entmax15", Normaliser::entmax15, entmax15_line},
      {"entmax15, capped", Normaliser::entmax15, entmax15_line, ByLength::yes, 1.5},
  };
}

Plain plain(const Tensor& x) {
  return Plain(x.shape(), values_of(x));
}
Tensor tensor_of(const Plain& x) {
  return from_values(x.values, x.shape);
}

TEST(Normalisers, AgreeWithPlainLoopsForEveryMaskInBothDtypes) {
  for (const Variant& v : variants())
    for (const MaskCase& c : mask_cases()) {
      SCOPED_TRACE(std::string(v.name) + ", " + c.name);
      Rng rng(71);
      const Inputs x(c.sizes, rng, float32);
      const Tensor q = x.query.to(float64), k = x.key.to(float64), value = x.value.to(float64);
      const auto change = [&v](double s) { return v.change(s); };
      const VariantTwin twin =
          variant_twin(plain(q), plain(k), plain(value), v.law, c.visible, c.bias, change);
      AttentionTrace trace;
      const Tensor output = attention(q, k, value, c.mask(float64), v.options(), &trace);
      EXPECT_TENSOR_NEAR(output, tensor_of(twin.output), 1e-12, 1e-12);
      EXPECT_TENSOR_NEAR(trace.weights, tensor_of(twin.weights), 1e-12, 1e-12);
      EXPECT_TENSOR_NEAR(where(trace.keep, trace.masked, scalar(0)),
                         where(trace.keep, tensor_of(twin.masked), scalar(0)), 1e-12, 1e-12);
      EXPECT_SAME_BITS(attention(q, k, value, c.mask(float64), v.options()), output);
      const Tensor narrow = attention(x.query, x.key, x.value, c.mask(float32), v.options());
      EXPECT_TENSOR_NEAR(narrow.to(float64), output, 1e-5, 1e-5);
    }
}

TEST(Normalisers, HaveTheGradientsThatDifferencesSayForEveryMask) {
  for (const Variant& v : variants())
    for (const MaskCase& c : mask_cases()) {
      SCOPED_TRACE(std::string(v.name) + ", " + c.name);
      Rng rng(72);
      const Inputs x(c.sizes, rng);
      const Mask mask = c.mask(float64);
      const AttentionOptions options = v.options();
      const FunctionOfMany f = [&](const Tensors& t) { return attention(t[0], t[1], t[2], mask, options); };
      expect_gradients(f, {x.query, x.key, x.value});
      const auto gradients = [&](DType dtype) {
        const Tensors leaves = {variable(x.query.to(dtype)), variable(x.key.to(dtype)),
                                variable(x.value.to(dtype))};
        return grad({sum(square(attention(leaves[0], leaves[1], leaves[2], c.mask(dtype), options)))},
                    leaves);
      };
      const Tensors narrow = gradients(float32), wide = gradients(float64);
      for (std::size_t i = 0; i < 3; ++i) EXPECT_TENSOR_NEAR(narrow[i].to(float64), wide[i], 1e-5, 1e-5);
    }
}

TEST(Normalisers, HaveGradientsOfHigherOrder) {
  for (const Variant& v : variants()) {
    SCOPED_TRACE(v.name);
    Rng rng(73);
    const AttentionOptions options = v.options();
    for (const Size kv_heads : {2, 1}) {
      const Sizes4 sizes{1, 2, kv_heads, 3, 4, 2, 2};
      const Inputs x(sizes, rng);
      const Mask mask = Mask::keep(random_mask(sizes.scores(), rng, 0.7));
      const FunctionOfMany f = [&](const Tensors& t) {
        return attention(t[0], t[1], t[2], mask & Mask::bias(t[3]), options);
      };
      expect_second_order(f, {x.query, x.key, x.value, random_tensor({1, 2, 3, 4}, rng)});
    }
  }
}

TEST(Normalisers, LetNothingThroughThatIsHidden) {
  const Sizes4 n{2, 2, 1, 4, 5, 3, 2};
  const Mask mask = Mask::padding(tensor({3, 0}, int64)) & Mask::causal(Align::top_left);
  for (const Variant& v : variants())
    for (const DType dtype : {float32, float64}) {
      SCOPED_TRACE(std::string(v.name) + ", " + name(dtype));
      Rng rng(74);
      const Inputs x(n, rng, dtype);
      const Tensor upstream = random_tensor({2, 2, 4, 2}, rng, Domain::normal, dtype);
      const Tensor bias = zeros({4, 5}, dtype);
      const auto everything = [&](const Tensor& key, const Tensor& value, const Tensor& added) {
        const Tensors leaves = {variable(x.query), variable(key), variable(value), variable(added)};
        AttentionTrace trace;
        const Tensor out =
            attention(leaves[0], leaves[1], leaves[2], mask & Mask::bias(leaves[3]), v.options(), &trace);
        Tensors all = grad({sum(upstream * out)}, leaves);
        all.push_back(out.detach());
        all.push_back(trace.weights);
        all.push_back(trace.gradients().masked);
        all.push_back(trace.gradients().scaled);
        return all;
      };
      const Tensors clean = everything(x.key, x.value, bias);
      for (const double poison : {nan, infinity, -infinity}) {
        const Tensor bad = scalar(poison, dtype);
        const Tensor hidden =
            greater_equal(expand_dims(arange(5), {0, 1, 3}), tensor({{{{3}}}, {{{0}}}}, int64));
        const Tensor later = greater(expand_dims(arange(5), {0}), expand_dims(arange(4), {1}));
        const Tensors got =
            everything(where(hidden, bad, x.key), where(hidden, bad, x.value), where(later, bad, bias));
        for (std::size_t i = 0; i < got.size(); ++i)
          ASSERT_SAME_BITS(got[i], clean[i]) << poison << ", result " << i;
      }
      // The second sequence sees nothing at all.
      for (const std::size_t i : {std::size_t{0}, std::size_t{4}, std::size_t{5}, std::size_t{6}})
        EXPECT_SAME_BITS(select(clean[i], 0, 1), zeros(select(clean[i], 0, 1).shape(), dtype)) << i;
      for (const Tensor& t : clean) EXPECT_TRUE(all(isfinite(t)));
    }
}

// What is behind the padding is as if it were not there: n counts what is visible.
TEST(Normalisers, PaddingChangesNothing) {
  for (const Variant& v : variants()) {
    SCOPED_TRACE(v.name);
    Rng rng(75);
    const Inputs x({1, 2, 2, 3, 6, 3, 2}, rng);
    const auto first = [](const Tensor& t) { return slice(t, 2, {0, 4}); };
    EXPECT_TENSOR_NEAR(attention(x.query, x.key, x.value, Mask::padding(tensor({4}, int64)), v.options()),
                       attention(x.query, first(x.key), first(x.value), {}, v.options()), 1e-14, 1e-14);
  }
}

TEST(Normalisers, TraceTheGradientsOfCappedScores) {
  Rng rng(76);
  const Inputs x({1, 2, 2, 3, 4, 3, 2}, rng);
  AttentionOptions options;
  options.softcap = 0.8;
  const Tensor key = variable(x.key), bias = variable(random_tensor({1, 2, 3, 4}, rng));
  AttentionTrace trace;
  const Tensor loss = sum(square(attention(x.query, key, x.value, Mask::bias(bias), options, &trace)));
  BackwardOptions again;
  again.retain_graph = true;
  backward(loss, again);
  const AttentionTrace::Gradients& d = trace.gradients();
  const Tensor slope = 1.0 - square(tanh(trace.scaled / 0.8));
  EXPECT_TENSOR_NEAR(d.masked, grad(loss, bias, GradOptions{}), 1e-13, 1e-14);
  EXPECT_TENSOR_NEAR(d.scaled, d.masked * slope, 1e-13, 1e-14);
  EXPECT_TENSOR_NEAR(d.raw, d.scaled * trace.scale, 1e-13, 1e-14);
  EXPECT_TENSOR_NEAR(trace.masked, 0.8 * tanh(trace.scaled / 0.8) + bias.detach(), 1e-13, 1e-14);
}

TEST(Normalisers, DropTheirWeights) {
  for (const Variant& v : variants()) {
    SCOPED_TRACE(v.name);
    Rng rng(77), draw(3), same(3);
    const Inputs x({1, 2, 2, 3, 4, 3, 2}, rng);
    AttentionOptions options = v.options();
    options.dropout = 0.5;
    options.rng = &draw;
    AttentionTrace trace;
    const Tensor output = attention(x.query, x.key, x.value, {}, options, &trace);
    EXPECT_SAME_BITS(trace.dropped, dropout(trace.weights, 0.5, same));
    EXPECT_TENSOR_NEAR(output, matmul(trace.dropped, x.value), 1e-13, 1e-14);
  }
}

TEST(Normalisers, MayGiveARowLessThanOne) {
  const Tensor low = full({1, 3}, -20);
  EXPECT_LT(sum(softmax1(low)).item(), 1e-8);
  EXPECT_NEAR(sum(softmax1(full({1, 3}, 800))).item(), 1, 1e-15);
  EXPECT_SAME_BITS(softmax1(full({2}, -infinity)), zeros({2}));
  // Beside a score of 0 that is left out, it is softmax.
  const Tensor x = tensor({1.0, -2.0, 0.5});
  EXPECT_TENSOR_NEAR(softmax1(x), slice(softmax(concatenate({x, zeros({1})})), 0, {0, 3}), 1e-15, 1e-15);
}

// Long lines, near ties and far ones: the sums are 1 and the twin's bisection agrees to 1e-12.
TEST(Normalisers, OfLongLinesAreExact) {
  for (const double spread : {1e-3, 1.0, 30.0}) {
    for (const Size n : {1, 2, 7, 1000}) {
      Rng rng(78);
      const Tensor x = normal({3, n}, rng, 0, spread) + 1e3;
      for (const bool sparse : {true, false}) {
        const Tensor y = sparse ? sparsemax(x) : entmax15(x);
        const Plain twin = along_twin(plain(x), nullptr, -1, sparse ? sparsemax_line : entmax15_line);
        EXPECT_TENSOR_NEAR(y, tensor_of(twin), 1e-12, 1e-12) << spread << " " << n;
        EXPECT_TENSOR_NEAR(sum(y, {-1}), ones({3}), 1e-12, 0) << spread << " " << n;
        const Tensor shuffled = slice(x, 1, Slice::reversed());
        EXPECT_SAME_BITS(sparse ? sparsemax(shuffled) : entmax15(shuffled), slice(y, 1, Slice::reversed()));
      }
    }
  }
  EXPECT_SAME_BITS(sparsemax(tensor({5.0, 5.0})), tensor({0.5, 0.5}));
  EXPECT_SAME_BITS(sparsemax(tensor({1.0, 0.0, -1.0})), tensor({1.0, 0.0, 0.0}));
  EXPECT_SAME_BITS(sparsemax(tensor({0.5, 0.0, -1.0})), tensor({0.75, 0.25, 0.0}));
}

TEST(Normalisers, RefuseACapThatIsNone) {
  const Tensor x = ones({2, 3});
  for (const double cap : {0.0, -1.0, infinity, nan}) {
    AttentionOptions options;
    options.softcap = cap;
    EXPECT_THROWS_WITH(attention(x, x, x, {}, options), ValueError,
                       "the softcap must be positive and finite, got");
  }
}

}  // namespace
}  // namespace regard::test

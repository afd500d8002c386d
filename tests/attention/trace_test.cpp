// The trace: what it shows is what was computed, its gradients are those of backward, and asking changes
// nothing.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/ops.hpp>

#include "attention/reference.hpp"
#include "support/close.hpp"
#include "support/tensors.hpp"

namespace regard::test {
namespace {

TEST(AttentionTrace, ShowsEveryStepForEveryMask) {
  for (const MaskCase& c : mask_cases()) {
    SCOPED_TRACE(c.name);
    Rng rng(61);
    const Inputs x(c.sizes, rng);
    const Reference expected = reference_attention(x, c.visible, c.bias);
    AttentionTrace trace;
    const Tensor output = attention(x.query, x.key, x.value, c.mask(float64), {}, &trace);
    EXPECT_TENSOR_NEAR(trace.raw, expected.raw, 1e-12, 1e-12);
    EXPECT_TENSOR_NEAR(trace.scaled, expected.scaled, 1e-12, 1e-12);
    EXPECT_TENSOR_NEAR(trace.masked, expected.masked, 1e-12, 1e-12);
    EXPECT_TENSOR_NEAR(trace.weights, expected.weights, 1e-12, 1e-12);
    EXPECT_TENSOR_NEAR(trace.logsumexp, expected.logsumexp, 1e-12, 1e-12);
    EXPECT_TENSOR_NEAR(trace.entropy, expected.entropy, 1e-12, 1e-12);
    EXPECT_SAME_BITS(trace.dropped, trace.weights);
    EXPECT_SAME_BITS(trace.output, output);
    EXPECT_EQ(trace.scale, 1 / std::sqrt(static_cast<double>(c.sizes.key_width)));
    EXPECT_EQ(trace.keep.shape(), c.sizes.scores());
    for (Size b = 0; b < c.sizes.batch; ++b)
      for (Size h = 0; h < c.sizes.heads; ++h)
        for (Size i = 0; i < c.sizes.queries; ++i)
          for (Size j = 0; j < c.sizes.keys; ++j)
            ASSERT_EQ(trace.keep.at({b, h, i, j}) != 0, c.visible(b, h, i, j));
  }
}

TEST(AttentionTrace, IsOfRank4WhateverTheInputs) {
  Rng rng(62);
  AttentionTrace trace;
  const Tensor x = random_tensor({5, 3}, rng);
  const Tensor leaf = variable(x);
  backward(sum(attention(leaf, leaf, leaf, Mask::causal(), {}, &trace)));
  EXPECT_EQ(trace.weights.shape(), (Shape{1, 1, 5, 5}));
  EXPECT_EQ(trace.output.shape(), (Shape{1, 1, 5, 3}));
  EXPECT_EQ(trace.entropy.shape(), (Shape{1, 1, 5}));
  EXPECT_EQ(trace.gradients().weights.shape(), (Shape{1, 1, 5, 5}));
  EXPECT_EQ(trace.gradients().output.shape(), (Shape{1, 1, 5, 3}));
  (void)attention(expand_dims(x, {0}), expand_dims(x, {0}), expand_dims(x, {0}), {}, {}, &trace);
  EXPECT_EQ(trace.weights.shape(), (Shape{1, 1, 5, 5}));
}

// ---- gradients -----------------------------------------------------------------------------------------

struct Traced {
  Tensors leaves;  ///< query, key, value, bias
  Tensor upstream, output;
  AttentionTrace trace;
};

Traced run(const Sizes4& n, const Mask& mask, double p = 0) {
  Rng rng(63);
  const Inputs x(n, rng);
  Traced r;
  r.leaves = {variable(x.query), variable(x.key), variable(x.value),
              variable(random_tensor(n.scores(), rng))};
  Rng draw(5);
  AttentionOptions options;
  options.dropout = p;
  options.rng = &draw;
  r.output =
      attention(r.leaves[0], r.leaves[1], r.leaves[2], mask & Mask::bias(r.leaves[3]), options, &r.trace);
  r.upstream = random_tensor(r.output.shape(), rng);
  return r;
}

// By the formulas: dP = dy·Vᵀ, then through dropout (a factor per weight), then dS = P·(dP - Σ P·dP).
void expect_gradients_by_formula(const Traced& r, const Tensor& value) {
  const AttentionTrace& t = r.trace;
  const AttentionTrace::Gradients& g = t.gradients();
  const Tensor zero = scalar(0);
  const Tensor ddropped = where(t.keep, matmul(r.upstream, transpose(value)), zero);
  const Tensor seen = greater(t.weights, zero);
  const Tensor factor = where(seen, t.dropped / where(seen, t.weights, scalar(1)), zero);
  const Tensor dweights = ddropped * factor;
  const Tensor dmasked = t.weights * (dweights - sum(t.weights * dweights, {-1}, keep_axes));
  EXPECT_SAME_BITS(g.output, r.upstream);
  EXPECT_TENSOR_NEAR(g.dropped, ddropped, 1e-12, 1e-12);
  EXPECT_TENSOR_NEAR(g.weights, dweights, 1e-12, 1e-12);
  EXPECT_TENSOR_NEAR(g.masked, dmasked, 1e-12, 1e-12);
  EXPECT_TENSOR_NEAR(g.scaled, dmasked, 1e-12, 1e-12);
  EXPECT_TENSOR_NEAR(g.raw, dmasked * t.scale, 1e-12, 1e-12);
}

TEST(AttentionTraceGradients, AreThoseOfTheFormulas) {
  Rng rng(64);
  const Sizes4 n{2, 2, 2, 4, 4, 3, 2};
  const Mask masks[] = {{},
                        Mask::causal(),
                        Mask::keep(random_mask(n.scores(), rng, 0.6)),
                        Mask::padding(tensor({2, 0}, int64))};
  for (const Mask& mask : masks) {
    for (const double p : {0.0, 0.5}) {
      SCOPED_TRACE(mask.describe() + ", dropout " + std::to_string(p));
      const Traced r = run(n, mask, p);
      backward(sum(r.upstream * r.output));
      expect_gradients_by_formula(r, r.leaves[2].detach());
    }
  }
}

TEST(AttentionTraceGradients, AreThoseOfTheFormulasForSharedKeyHeads) {
  const Sizes4 n{2, 4, 2, 3, 5, 3, 2};
  const Traced r = run(n, Mask::causal(Align::bottom_right), 0.3);
  backward(sum(r.upstream * r.output));
  expect_gradients_by_formula(r, take(r.leaves[2].detach(), tensor({0, 0, 1, 1}, int64), 1));
}

TEST(AttentionTraceGradients, OfTheMaskedScoresAreThoseOfABias) {
  const Traced r = run({2, 2, 2, 3, 4, 3, 2}, Mask::causal(Align::bottom_right));
  const Tensor dbias = grad(sum(r.upstream * r.output), r.leaves[3]);
  EXPECT_SAME_BITS(r.trace.gradients().masked, dbias);
}

TEST(AttentionTraceGradients, AreUndefinedBeforeBackwardAndWhereNothingIsNeeded) {
  const auto expect_undefined = [](const AttentionTrace& trace) {
    const AttentionTrace::Gradients& g = trace.gradients();
    for (const Tensor& t : {g.raw, g.scaled, g.masked, g.weights, g.dropped, g.output})
      EXPECT_FALSE(t.defined());
  };
  expect_undefined(AttentionTrace());
  const Traced r = run({1, 1, 1, 3, 3, 2, 2}, Mask::causal());
  expect_undefined(r.trace);

  // Only the value requires a gradient: the weights need none.
  Rng rng(65);
  const Inputs x({1, 1, 1, 3, 3, 2, 2}, rng);
  AttentionTrace trace;
  backward(sum(attention(x.query, x.key, variable(x.value), {}, {}, &trace)));
  EXPECT_FALSE(trace.gradients().weights.defined());
  EXPECT_FALSE(trace.gradients().masked.defined());
  EXPECT_TRUE(trace.gradients().output.defined());
  // Only a bias does: the scores have its gradient.
  backward(sum(square(attention(x.query, x.key, x.value, Mask::bias(variable(zeros({3, 3}))), {}, &trace))));
  EXPECT_TRUE(trace.gradients().raw.defined());
}

TEST(AttentionTraceGradients, AreOfTheNewestBackwardInEveryCopyOfTheTrace) {
  const Traced r = run({1, 2, 2, 3, 3, 2, 2}, Mask::causal());
  const AttentionTrace copy = r.trace;
  const Tensor loss = sum(r.upstream * r.output);
  BackwardOptions keep_graph;
  keep_graph.retain_graph = true;
  backward(loss, keep_graph);
  const Tensor once = copy.gradients().weights;
  EXPECT_TRUE(once.defined());
  backward(loss * 2.0, keep_graph);
  EXPECT_TENSOR_NEAR(copy.gradients().weights, once * 2.0, 1e-15, 0);
}

TEST(AttentionTraceGradients, BelongToOneCall) {
  Rng rng(66);
  const Inputs x({1, 1, 1, 3, 3, 2, 2}, rng);
  AttentionTrace trace;
  const Tensor first = attention(variable(x.query), x.key, x.value, {}, {}, &trace);
  const Tensor second = attention(variable(x.query), x.key, x.value, Mask::causal(), {}, &trace);
  backward(sum(square(first)));
  EXPECT_FALSE(trace.gradients().weights.defined());
  backward(sum(square(second)));
  EXPECT_TRUE(trace.gradients().weights.defined());
}

// ---- asking changes nothing ----------------------------------------------------------------------------

TEST(AttentionTrace, ChangesNoBitOfOutputOrGradients) {
  for (const DType dtype : {float32, float64}) {
    for (const MaskCase& c : mask_cases()) {
      SCOPED_TRACE(c.name);
      const auto results = [&](AttentionTrace* trace) {
        Rng rng(67), draw(2);
        const Inputs x(c.sizes, rng, dtype);
        const Tensors leaves = {variable(x.query), variable(x.key), variable(x.value)};
        AttentionOptions options;
        options.dropout = 0.2;
        options.rng = &draw;
        const Tensor output = attention(leaves[0], leaves[1], leaves[2], c.mask(dtype), options, trace);
        Tensors all_of_them = grad({sum(square(output))}, leaves);
        all_of_them.push_back(output);
        return all_of_them;
      };
      AttentionTrace trace;
      const Tensors asked = results(&trace), unasked = results(nullptr);
      for (std::size_t i = 0; i < asked.size(); ++i) EXPECT_SAME_BITS(asked[i], unasked[i]);
    }
  }
}

TEST(AttentionTrace, ChangesNoBitOfSecondDerivatives) {
  const auto second = [](AttentionTrace* trace, const AttentionOptions& by) {
    Rng rng(68);
    const Inputs x({1, 2, 1, 3, 3, 2, 2}, rng);
    const Tensor q = variable(x.query), k = variable(x.key);
    GradOptions options;
    options.create_graph = true;
    const Tensor output = attention(q, k, x.value, Mask::causal(), by, trace);
    const Tensor dq = grad(sum(square(output)), q, options);
    return grad({sum(square(dq))}, {q, k});
  };
  AttentionTrace trace;
  AttentionOptions by_matrix;
  by_matrix.path = AttentionPath::dense;
  const Tensors asked = second(&trace, {}), unasked = second(nullptr, by_matrix), by_blocks = second(nullptr, {});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_SAME_BITS(asked[i], unasked[i]);
    EXPECT_TENSOR_NEAR(asked[i], by_blocks[i], 1e-12, 1e-12);
  }
}

TEST(AttentionTrace, WorksWithoutRecording) {
  Rng rng(69);
  const Inputs x(Sizes4{}, rng);
  AttentionTrace recorded, unrecorded;
  const Tensor leaf = variable(x.query);
  const Tensor output = attention(leaf, x.key, x.value, Mask::causal(), {}, &recorded);
  const NoGrad off;
  EXPECT_SAME_BITS(attention(leaf, x.key, x.value, Mask::causal(), {}, &unrecorded), output);
  EXPECT_SAME_BITS(unrecorded.weights, recorded.weights);
  EXPECT_SAME_BITS(unrecorded.entropy, recorded.entropy);
}

TEST(AttentionTrace, KeepsNoGraphAlive) {
  const Size before = live_nodes();
  AttentionTrace trace;
  {
    const Traced r = run({1, 2, 2, 3, 3, 2, 2}, Mask::causal(), 0.5);
    trace = r.trace;
    GradOptions options;
    options.create_graph = true;  // the gradients the hooks see have a graph of their own
    const Tensor dq = grad(sum(r.upstream * square(r.output)), r.leaves[0], options);
    EXPECT_GT(live_nodes(), before);
  }
  EXPECT_EQ(live_nodes(), before);
  EXPECT_TRUE(trace.gradients().weights.defined());
  EXPECT_FALSE(trace.weights.requires_grad());
}

TEST(AttentionTrace, EntropyRunsFromNoneToUniform) {
  AttentionTrace trace;
  const Tensor x = zeros({1, 4});
  (void)attention(zeros({3, 4}), zeros({3, 4}), ones({3, 4}), Mask::causal(), {}, &trace);
  EXPECT_EQ(trace.entropy.at({0, 0, 0}), 0);
  EXPECT_FALSE(std::signbit(trace.entropy.at({0, 0, 0})));
  EXPECT_NEAR(trace.entropy.at({0, 0, 2}), std::log(3.0), 1e-15);
  (void)attention(x, zeros({0, 4}), zeros({0, 4}), {}, {}, &trace);
  EXPECT_EQ(trace.entropy.at({0, 0, 0}), 0);
  EXPECT_EQ(trace.logsumexp.at({0, 0, 0}), -infinity);
}

TEST(AttentionTrace, ShowsRawScoresOfHiddenKeysToo) {
  AttentionTrace trace;
  const Tensor q = tensor({{1.0, 0.0}, {0.0, 2.0}}), k = tensor({{3.0, 1.0}, {5.0, 7.0}});
  (void)attention(q, k, k, Mask::causal(), {}, &trace);
  EXPECT_EQ(values_of(trace.raw), (std::vector<double>{3, 5, 2, 14}));
  EXPECT_EQ(trace.masked.at({0, 0, 0, 1}), -infinity);
}

}  // namespace
}  // namespace regard::test

// What is kept of what passes the probes of a model, and what takes its place.
#include <regard/study/interventions.hpp>

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <regard/error.hpp>
#include <regard/nn/transformer.hpp>
#include <regard/ops.hpp>
#include <regard/optim.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::study {
namespace {

using test::random_tensor;

nn::Encoder encoder(DType dtype = float64, nn::NormPlace place = nn::NormPlace::before) {
  nn::TransformerOptions options;
  options.heads = 4;
  options.place = place;
  options.dtype = dtype;
  Rng rng(1);
  return nn::Encoder(8, 2, rng, options);
}

Tensor some(const Shape& shape, std::uint64_t seed, DType dtype = float64) {
  Rng rng(seed);
  return random_tensor(shape, rng, test::Domain::normal, dtype);
}

Tensor head(const Tensor& x, Size index) {
  return slice(x, 1, {index, index + 1});
}

/// A loss that weighs all elements differently.
Tensor loss_of(const Tensor& y) {
  return sum(y * some(y.shape(), 99, y.dtype()));
}

// ---- the cache -----------------------------------------------------------------------------------------

TEST(ActivationCache, KeepsValuesAndGradientsByPattern) {
  for (const nn::NormPlace place : {nn::NormPlace::before, nn::NormPlace::after}) {
    const nn::Encoder model = encoder(float64, place);
    const Tensor x = some({2, 5, 8}, 2);
    const ActivationCache cache(model, "*.weights");
    const Tensor y = model(x, Mask::causal());
    ASSERT_EQ(cache.values().size(), 2u);
    EXPECT_EQ(cache.values()[0].first, "blocks.0.attention.weights");
    EXPECT_EQ(cache.values()[1].first, "blocks.1.attention.weights");
    EXPECT_TRUE(cache.gradients().empty());
    backward(loss_of(y));
    ASSERT_EQ(cache.gradients().size(), 2u);
    for (const auto& [path, value] : cache.values()) {
      EXPECT_EQ(value.shape(), (Shape{2, 4, 5, 5})) << path;
      EXPECT_FALSE(value.requires_grad()) << path;
      EXPECT_TENSOR_NEAR(sum(value, {-1}), ones({2, 4, 5}), 1e-14, 0) << path;
      EXPECT_EQ(cache.gradient(path).shape(), value.shape()) << path;
    }
  }
}

// The gradient of a value is what differences say when the value itself is moved.
TEST(ActivationCache, ItsGradientsAreThoseOfTheValues) {
  const nn::Encoder model = encoder();
  const Tensor x = variable(some({1, 3, 8}, 2));
  for (const std::string path : {"blocks.0.attention.weights", "blocks.0.attention.head_outputs",
                                 "blocks.1.attention.head_outputs", "blocks.0.residual", "stream"}) {
    const ActivationCache cache(model, path);
    backward(loss_of(model(x)));
    const Tensor at = cache.value(path), gradient = cache.gradient(path);
    const double h = 1e-5;
    const auto moved = [&](const Tensor& by) {
      const Attachment clamped = attach(model, path, clamp_to(at + by));
      return loss_of(model(x)).item();
    };
    for (std::uint64_t seed = 10; seed < 13; ++seed) {
      const Tensor along = some(at.shape(), seed);
      const double numeric = (moved(along * h) - moved(along * -h)) / (2 * h);
      EXPECT_NEAR(sum(gradient * along).item(), numeric, 1e-7 * (1 + std::abs(numeric))) << path;
    }
  }
}

TEST(ActivationCache, TheNewestValueHasTheGradient) {
  const nn::Encoder model = encoder();
  const std::string path = "blocks.1.residual";
  const ActivationCache cache(model, path);
  const Tensor older = model(some({1, 3, 8}, 2)), newer = model(some({1, 4, 8}, 3));
  backward(loss_of(older));
  EXPECT_EQ(cache.value(path).shape(), (Shape{1, 4, 8}));
  EXPECT_THROWS_WITH(cache.gradient(path), ValueError,
                     "activation cache: no gradient for probe blocks.1.residual; there are: none");
  backward(loss_of(newer));
  const Tensor alone = cache.gradient(path);
  EXPECT_EQ(alone.shape(), (Shape{1, 4, 8}));

  // Both in one graph: each value has its own.
  const Tensor first = model(some({1, 3, 8}, 2)), second = model(some({1, 4, 8}, 3));
  backward(loss_of(first) + loss_of(second));
  EXPECT_SAME_BITS(cache.gradient(path), alone);
}

TEST(ActivationCache, ForgetsAndEnds) {
  const nn::Encoder model = encoder();
  const Tensor x = some({1, 3, 8}, 2);
  Tensor y;
  {
    ActivationCache cache(model);
    y = model(x);
    EXPECT_EQ(cache.values().size(), named_probes(model).size());
    cache.clear();
    EXPECT_TRUE(cache.values().empty());
    y = model(x);
    EXPECT_EQ(cache.values().size(), named_probes(model).size());
  }
  backward(loss_of(y));  // the cache has gone, its hooks find nothing
  EXPECT_FALSE(model.blocks[0].attention.weights.watched());
}

TEST(ActivationCache, MovesWithWhatItKeeps) {
  const nn::Encoder model = encoder();
  ActivationCache first(model, "stream");
  ActivationCache cache = std::move(first);
  (void)model(some({1, 3, 8}, 2));
  EXPECT_EQ(cache.values().size(), 1u);
}

TEST(ActivationCache, ChangesNoBit) {
  for (const DType dtype : {float64, float32}) {
    const nn::Encoder model = encoder(dtype);
    const Tensor x = some({2, 5, 8}, 2, dtype);
    const auto run = [&] {
      zero_grad(model);
      const Tensor y = model(x, Mask::causal());
      backward(loss_of(y));
      Tensors all = {y};
      for (const Parameter& p : parameters(model)) all.push_back(p.gradient());
      return all;
    };
    const Tensors before = run();
    Tensors watched;
    {
      const ActivationCache cache(model);
      watched = run();
    }
    const Tensors after = run();
    for (std::size_t i = 0; i < before.size(); ++i) {
      EXPECT_SAME_BITS(watched[i], before[i]) << i;
      EXPECT_SAME_BITS(after[i], before[i]) << i;
    }
  }
}

TEST(ActivationCache, RefusesAPatternThatMeansNothing) {
  const nn::Encoder model = encoder();
  EXPECT_THROWS_WITH(ActivationCache(model, "*.weight"), ValueError,
                     "activation cache: no probe is called \"*.weight\"; there are: stream, blocks.0.");
  const ActivationCache cache(model, "stream");
  EXPECT_THROWS_WITH(cache.value("stream"), ValueError,
                     "activation cache: no value for probe stream; there are: none");
  (void)model(some({1, 3, 8}, 2));
  EXPECT_THROWS_WITH(cache.value("strean"), ValueError, "there are: stream");
}

// ---- ablation ------------------------------------------------------------------------------------------

// Without its outputs a head brings nothing to W_O; without its weights it brings nothing either.
TEST(ZeroAblation, OfWeightsAndOfOutputsIsTheSameAndThatOfTheMatrix) {
  for (const DType dtype : {float64, float32}) {
    const nn::Encoder model = encoder(dtype);
    const Tensor x = some({2, 5, 8}, 2, dtype);
    const Tensor whole = model(x).detach();
    Tensor by_weights, by_outputs;
    {
      const Attachment without = attach(model, "blocks.0.attention.weights", zero_ablation({1, 3}));
      by_weights = model(x).detach();
    }
    {
      const Attachment without = attach(model, "blocks.0.attention.head_outputs", zero_ablation({1, 3}));
      by_outputs = model(x).detach();
    }
    EXPECT_SAME_BITS(model(x), whole);
    Parameter w_o = model.blocks[0].attention.output.weight;  // rows 2·head and 2·head + 1 belong to a head
    const Tensor rows = tensor({{1}, {1}, {0}, {0}, {1}, {1}, {0}, {0}}, dtype);
    w_o.assign(w_o.value() * rows);
    const double within = dtype == float64 ? 1e-13 : 1e-5;
    EXPECT_TENSOR_NEAR(by_weights, model(x).detach(), within, within);
    EXPECT_TENSOR_NEAR(by_outputs, model(x).detach(), within, within);
    EXPECT_GT(max(abs(whole - by_outputs)).item(), 1e-3);
  }
}

TEST(ZeroAblation, LeavesOtherHeadsTheirBitsAndCutsGradients) {
  const nn::Encoder model = encoder();
  const Tensor x = some({2, 5, 8}, 2);
  const ActivationCache as_they_are(model, "blocks.0.attention.head_outputs");
  const Attachment without = attach(model, "blocks.0.attention.head_outputs", zero_ablation({2}));
  const ActivationCache gone_on(model, "blocks.0.attention.head_outputs");
  backward(loss_of(model(x)));
  const Tensor before = as_they_are.values()[0].second, after = gone_on.values()[0].second;
  const Tensor gradient = as_they_are.gradients()[0].second;
  for (Size h = 0; h < 4; ++h) {
    EXPECT_SAME_BITS(head(after, h), h == 2 ? zeros({2, 1, 5, 2}) : head(before, h)) << h;
    EXPECT_EQ(max(abs(head(gradient, h))).item() == 0, h == 2) << h;
  }
  // The value's columns of that head learn nothing.
  const Tensor learned = model.blocks[0].attention.value.weight.gradient();
  EXPECT_SAME_BITS(slice(learned, 1, {4, 6}), zeros({8, 2}));
}

TEST(ZeroAblation, OfTheWholeValueFitsAnyShape) {
  const nn::Encoder model = encoder();
  const Attachment without = attach(model, "blocks.1.residual", zero_ablation());
  const Tensor y = model(some({3, 8}, 2));  // a norm of zeros is its beta
  EXPECT_SAME_BITS(y.detach(), zeros({3, 8}));
}

TEST(MeanAblation, PutsTheMeanOfAReferenceBatch) {
  const nn::Encoder model = encoder();
  const Tensor reference = some({6, 5, 8}, 3), x = some({2, 5, 8}, 2);
  const std::string path = "blocks.0.attention.weights";
  NamedTensors usual;
  {
    const ActivationCache cache(model, "*.weights");
    (void)model(reference, Mask::causal());
    usual = cache.values();
  }
  const Attachment averaged = attach(model, path, mean_ablation(usual, {0}));
  const ActivationCache cache(model, path);
  (void)model(x, Mask::causal());
  const Tensor got = cache.value(path);
  // By hand, element by element.
  const Tensor given = usual[0].second;
  for (Size q = 0; q < 5; ++q)
    for (Size k = 0; k < 5; ++k) {
      double expected = 0;
      for (Size example = 0; example < 6; ++example) expected += given.at({example, 0, q, k}) / 6;
      for (Size b = 0; b < 2; ++b) EXPECT_NEAR(got.at({b, 0, q, k}), expected, 1e-15);
    }
  EXPECT_TENSOR_NEAR(sum(got, {-1}), ones({2, 4, 5}), 1e-14, 0);
  EXPECT_GT(max(abs(head(got, 1) - mean(head(given, 1), {0}, keep_axes))).item(), 1e-3);
}

TEST(ResampleAblation, TakesAnotherExampleOfTheBatch) {
  const nn::Encoder model = encoder();
  const std::string path = "blocks.1.attention.head_outputs";
  const Tensor x = some({5, 3, 8}, 2);
  const ActivationCache before(model, path);
  const Attachment resampled = attach(model, path, resample_ablation(Rng(7), {1, 2}));
  const ActivationCache after(model, path);
  std::set<std::vector<Size>> orders;
  for (int pass = 0; pass < 20; ++pass) {
    (void)model(x);
    const Tensor given = before.value(path), got = after.value(path);
    EXPECT_SAME_BITS(head(got, 0), head(given, 0));
    EXPECT_SAME_BITS(head(got, 3), head(given, 3));
    std::vector<Size> from;
    for (Size b = 0; b < 5; ++b)
      for (Size other = 0; other < 5; ++other)
        if (max(abs(slice(slice(got, 0, {b, b + 1}), 1, {1, 3}) -
                    slice(slice(given, 0, {other, other + 1}), 1, {1, 3})))
                .item() == 0) {
          EXPECT_NE(other, b);
          from.push_back(other);
        }
    ASSERT_EQ(from.size(), 5u) << "each is one of the others, with both heads";
    orders.insert(from);
  }
  EXPECT_GT(orders.size(), 10u) << "drawn anew at each pass";
}

TEST(ResampleAblation, RepeatsWithItsRngAndDrawsFromAReference) {
  const nn::Encoder model = encoder();
  const std::string path = "blocks.0.attention.weights";
  const Tensor x = some({1, 3, 8}, 2);
  NamedTensors reference;
  {
    const ActivationCache cache(model, path);
    (void)model(some({4, 3, 8}, 3));
    reference = cache.values();
  }
  const auto outputs = [&] {
    const Attachment resampled = attach(model, path, resample_ablation(reference, Rng(5), {3}));
    const ActivationCache cache(model, path);
    Tensors all;
    for (int pass = 0; pass < 8; ++pass) {
      (void)model(x);
      all.push_back(cache.value(path));
    }
    return concatenate(all);
  };
  const Tensor first = outputs();
  EXPECT_SAME_BITS(first, outputs());
  std::set<Size> drawn;
  for (Size pass = 0; pass < 8; ++pass)
    for (Size example = 0; example < 4; ++example)
      if (max(abs(head(slice(first, 0, {pass, pass + 1}), 3) -
                  head(slice(reference[0].second, 0, {example, example + 1}), 3)))
              .item() == 0)
        drawn.insert(example);
  EXPECT_GE(drawn.size(), 2u);
}

TEST(Ablation, RefusesWhatDoesNotFit) {
  const nn::Encoder model = encoder();
  const Tensor x = some({1, 3, 8}, 2);
  const std::string path = "blocks.0.attention.weights";
  const auto with = [&](const std::string& pattern, const Intervention& what) {
    const Attachment attached = attach(model, pattern, what);
    return model(x);
  };
  EXPECT_THROWS_WITH(with(path, zero_ablation({4})), ValueError,
                     "probe blocks.0.attention.weights: there is no head 4; they are 0 to 3");
  EXPECT_THROWS_WITH(with(path, zero_ablation({-1})), ValueError, "there is no head -1");
  EXPECT_THROWS_WITH(with("blocks.1.residual", zero_ablation({0})), ShapeError,
                     "probe blocks.1.residual: heads were named, but its values [1, 3, 8] are not");
  EXPECT_THROWS_WITH(with("blocks.*.weight", zero_ablation()), ValueError,
                     "attach: no probe is called \"blocks.*.weight\"");
  EXPECT_THROWS_WITH(with(path, resample_ablation(Rng(1))), ValueError,
                     "resample ablation of probe blocks.0.attention.weights: a batch of one");
  EXPECT_THROWS_WITH(with(path, mean_ablation({{"other", zeros({2, 4, 3, 3})}})), ValueError,
                     "no value for probe blocks.0.attention.weights; there are: other");
  EXPECT_THROWS_WITH(with(path, mean_ablation({{path, zeros({2, 4, 5, 5})}}, {1})), ShapeError,
                     "probe blocks.0.attention.weights: the replacement has shape [1, 4, 5, 5], expected "
                     "[1, 4, 3, 3]");
  EXPECT_THROWS_WITH(mean_ablation({{path, zeros({5, 5})}}), ShapeError,
                     "mean ablation of probe blocks.0.attention.weights: expected values [examples, .., ..]");
  EXPECT_THROWS_WITH(mean_ablation({{path, zeros({0, 4, 5, 5})}}), ShapeError, "got [0, 4, 5, 5]");
  EXPECT_THROWS_WITH(with(path, resample_ablation({{path, zeros({5})}}, Rng(1))), ShapeError, "got [5]");
  EXPECT_THROWS_WITH(with(path, resample_ablation(NamedTensors(), Rng(1))), ValueError, "there are: none");
  EXPECT_THROWS_WITH(with(path, resample_ablation({{path, zeros({2, 4, 5, 5})}}, Rng(1))), ShapeError,
                     "the replacement has shape [1, 4, 5, 5]");
  EXPECT_THROWS_WITH(with(path, clamp_to(zeros({3, 3}, float32), {1})), DTypeError,
                     "probe blocks.0.attention.weights: the replacement is float32");
  EXPECT_THROWS_WITH(with(path, clamp_to(zeros({2, 4, 3, 3}))), ShapeError,
                     "the replacement has shape [2, 4, 3, 3], expected [1, 4, 3, 3]");
  EXPECT_EQ(model(x).shape(), x.shape()) << "nothing has stayed attached";
}

// ---- patterns that are given ---------------------------------------------------------------------------

TEST(ClampTo, GivesAHeadAPatternWhichTheMaskStillCovers) {
  const nn::Encoder model = encoder();
  const std::string path = "blocks.0.attention.weights";
  const Tensor previous =
      tensor({{1, 0, 0, 0}, {1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}});  // each looks at the token before it
  const Tensor x = some({2, 4, 8}, 2);
  const ActivationCache outputs(model, "blocks.0.attention.head_outputs");
  const Attachment clamped = attach(model, path, clamp_to(previous, {1}));
  const ActivationCache weights(model, path);
  (void)model(x, Mask::causal());
  for (Size b = 0; b < 2; ++b)
    EXPECT_SAME_BITS(squeeze(head(slice(weights.value(path), 0, {b, b + 1}), 1), {0, 1}), previous);
  const auto& attention = model.blocks[0].attention;
  const Tensor values = nn::split_heads(attention.value(model.blocks[0].attention_norm(x)), 4);
  EXPECT_TENSOR_NEAR(head(outputs.values()[0].second, 1), matmul(previous, head(values, 1)).detach(), 1e-14,
                     1e-15);

  const Attachment ahead = attach(model, path, clamp_to(flip(eye(4), {0}), {2}));
  (void)model(x, Mask::causal());
  EXPECT_SAME_BITS(slice(head(outputs.values()[0].second, 2), 2, {0, 2}), zeros({2, 1, 2, 2}))
      << "what the mask hides is not looked at";
}

TEST(ClampTo, APatternCanLearn) {
  const nn::Encoder model = encoder();
  const Tensor pattern = variable(full({3, 3}, 1.0 / 3));
  const Attachment clamped = attach(model, "blocks.0.attention.weights", clamp_to(pattern, {0}));
  const Tensor gradient = grad(loss_of(model(some({2, 3, 8}, 2))), pattern);
  EXPECT_EQ(gradient.shape(), pattern.shape());
  EXPECT_GT(max(abs(gradient)).item(), 0);
}

// Between two steps of training a pattern is frozen to what it was, and later let go.
TEST(ClampTo, FreezesPatternsBetweenTwoStepsOfTraining) {
  for (const bool by_cache : {true, false}) {
    const nn::Encoder model = encoder();
    Adam optimizer(parameters(model), {});
    const Tensor x = some({2, 4, 8}, 2), target = some({2, 4, 8}, 3);
    ActivationCache cache(model, "*.weights");
    const auto step = [&] {
      optimizer.zero_grad();
      backward(mean(square(model(x) - target)));
      optimizer.step();
    };
    step();
    step();
    const NamedTensors then = cache.values();
    std::optional<ActivationCache> gone_on;
    const Tensor query_before = model.blocks[1].attention.query.weight.value();
    {
      // Held from the third step on, or clamped to what passed in the second.
      const Attachment frozen = attach(model, "*.weights", by_cache ? clamp_to(then) : hold());
      gone_on.emplace(model, "*.weights");
      step();
      const NamedTensors held = by_cache ? then : gone_on->values();
      step();
      step();
      for (std::size_t i = 0; i < 2; ++i) EXPECT_SAME_BITS(gone_on->values()[i].second, held[i].second);
      EXPECT_FALSE(model.blocks[1].attention.query.weight.has_gradient()) << "nothing comes past a pattern";
      EXPECT_TRUE(model.blocks[1].attention.value.weight.has_gradient());
    }
    step();
    step();
    EXPECT_TRUE(model.blocks[1].attention.query.weight.has_gradient());
    EXPECT_GT(max(abs(model.blocks[1].attention.query.weight.value() - query_before)).item(), 0);
    EXPECT_GT(max(abs(gone_on->values()[0].second - then[0].second)).item(), 0);
  }
}

TEST(Hold, RefusesAnotherBatch) {
  const nn::Encoder model = encoder();
  const Attachment frozen = attach(model, "*.weights", hold({0}));
  (void)model(some({2, 4, 8}, 2));
  EXPECT_THROWS_WITH(model(some({3, 4, 8}, 2)), ShapeError,
                     "probe blocks.0.attention.weights: the replacement has shape [2, 4, 4, 4], expected [3, "
                     "4, 4, 4]");
}

// A matrix is a Parameter: freeze() keeps it where it is, bit for bit, however much momentum it had.
TEST(Freeze, HoldsAMatrixBetweenTwoStepsOfTraining) {
  const nn::Encoder model = encoder();
  AdamOptions options;
  options.weight_decay = 0.1;
  Adam optimizer(parameters(model), options);
  const Tensor x = some({2, 4, 8}, 2), target = some({2, 4, 8}, 3);
  const auto step = [&] {
    optimizer.zero_grad();
    backward(mean(square(model(x) - target)));
    optimizer.step();
  };
  Parameter query = model.blocks[0].attention.query.weight;
  step();
  step();
  query.assign(eye(8));
  freeze(model, "blocks.0.attention.query.weight");
  const Tensor key = model.blocks[0].attention.key.weight.value();
  step();
  step();
  EXPECT_SAME_BITS(query.value(), eye(8));
  EXPECT_GT(max(abs(model.blocks[0].attention.key.weight.value() - key)).item(), 0);
  unfreeze(model, "blocks.0.attention.query.weight");
  step();
  EXPECT_GT(max(abs(query.value() - eye(8))).item(), 0);
}

// ---- decoding goes by the same probes -------------------------------------------------------------------

TEST(Ablation, HoldsForStepsThroughACacheAsWell) {
  const nn::Encoder model = encoder();
  const NoGrad off;
  const Tensor x = some({2, 6, 8}, 2);
  const Attachment without = attach(model, "*.head_outputs", zero_ablation({0, 3}));
  std::vector<nn::KeyValueCache> caches;
  Tensors parts;
  for (const Tensor& part : split(x, {3, 1, 2}, 1)) parts.push_back(model.step(part, caches));
  EXPECT_TENSOR_NEAR(concatenate(parts, 1), model(x, Mask::causal()), 1e-12, 1e-12);
}

}  // namespace
}  // namespace regard::study

// A captured step is the step: the same bits, whatever changes between two calls, or an error that says what
// changed.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include <regard/regard.hpp>

#include "memory/pool.hpp"
#include "support/count_heap.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

constexpr Size vocabulary = 11, width = 8, batch = 3, tokens = 6;

struct Model {
  explicit Model(DType dtype, std::uint64_t seed = 1) {
    Rng rng(seed);
    nn::EmbeddingOptions embed;
    embed.dtype = dtype;
    embedding.emplace(vocabulary, width, rng, embed);
    nn::MultiHeadAttentionOptions heads;
    heads.dtype = dtype;
    heads.dropout = 0.2;
    heads.rotary = true;
    heads.kv_heads = 1;
    attention.emplace(width, 2, rng, heads);
    nn::LayerNormOptions normed;
    normed.dtype = dtype;
    norm.emplace(width, normed);
    dropout.emplace(0.1, rng);
    nn::LinearOptions linear;
    linear.dtype = dtype;
    head.emplace(width, vocabulary, rng, linear);
  }

  Tensor operator()(const Tensor& ids, const Mask& mask) const {
    const Tensor x = (*embedding)(ids);
    return (*head)((*norm)(x + (*dropout)((*attention)(x, mask))));
  }
  template <class F>
  void visit(F&& f) {
    f("embedding", *embedding);
    f("attention", *attention);
    f("norm", *norm);
    f("dropout", *dropout);
    f("head", *head);
  }

  std::optional<nn::Embedding> embedding;
  std::optional<nn::MultiHeadAttention> attention;
  std::optional<nn::LayerNorm> norm;
  std::optional<nn::Dropout> dropout;
  std::optional<nn::Linear> head;
};

/// A model with its optimiser, and one step of training it.
struct Training {
  explicit Training(DType dtype) : model(dtype), adam(parameters(model)) {}

  Tensors step(const Tensors& in, const Mask& mask) {
    adam.zero_grad();
    const Tensor loss = cross_entropy(model(in[0], Mask::causal() & mask), in[1]);
    backward(loss);
    clip_gradients_by_norm(adam.parameters(), 0.5);
    adam.step();
    return {loss, sum(loss * 2.0)};
  }
  CapturedStep capture() {
    return regard::capture([this](const Tensors& in, const Mask& mask) { return step(in, mask); });
  }

  Model model;
  Adam adam;
};

Tensor ids(Rng& rng) {
  std::vector<Size> all;
  for (Size i = 0; i < batch * tokens; ++i) all.push_back(rng.below(vocabulary));
  return from_vector(all, {batch, tokens});
}
Tensor lengths(Rng& rng) {
  std::vector<Size> all;
  for (Size i = 0; i < batch; ++i) all.push_back(1 + rng.below(tokens));
  return from_vector(all, {batch});
}

void expect_same_bits(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.dtype(), b.dtype());
  if (a.dtype() == float32)
    EXPECT_EQ(a.detach().to_vector<float>(), b.detach().to_vector<float>()) << what;
  else
    EXPECT_EQ(a.detach().to_vector<double>(), b.detach().to_vector<double>()) << what;
}

void expect_same_parameters(Model& a, Model& b, const std::string& what) {
  const auto of_a = parameters(a), of_b = parameters(b);
  ASSERT_EQ(of_a.size(), of_b.size());
  for (std::size_t i = 0; i < of_a.size(); ++i) {
    expect_same_bits(of_a[i].value(), of_b[i].value(), what + ": " + of_a[i].name());
    ASSERT_EQ(of_a[i].has_gradient(), of_b[i].has_gradient());
    if (of_a[i].has_gradient())
      expect_same_bits(of_a[i].gradient(), of_b[i].gradient(), what + ": gradient of " + of_a[i].name());
  }
}

class Captured : public testing::TestWithParam<DType> {};
INSTANTIATE_TEST_SUITE_P(DTypes, Captured, testing::Values(float32, float64),
                         [](const auto& dtype) { return std::string(name(dtype.param)); });

TEST_P(Captured, ThousandStepsAreTheSameBits) {
  Training written(GetParam()), replayed(GetParam());
  CapturedStep step = replayed.capture();
  Rng rng(3);
  for (Size i = 0; i < 1000; ++i) {
    const Tensor x = ids(rng), y = ids(rng);
    const Mask mask = Mask::padding(lengths(rng));
    const double rate = cosine_rate(1e-2, i, {1000, 10, 1e-4});
    written.adam.set_learning_rate(rate);
    replayed.adam.set_learning_rate(rate);
    const Tensors expected = written.step({x, y}, mask);
    const Tensors& got = step.replay({x, y}, mask);
    ASSERT_EQ(got.size(), 2u);
    expect_same_bits(expected[0], got[0], "loss of step " + std::to_string(i));
    expect_same_bits(expected[1], got[1], "second output of step " + std::to_string(i));
    if (i % 100 < 3) expect_same_parameters(written.model, replayed.model, "step " + std::to_string(i));
    ASSERT_FALSE(HasFailure());
    ASSERT_EQ(step.captured(), i >= 1);
  }
  EXPECT_GT(step.kernels(), 20);
}

TEST_P(Captured, AReplayAsksNothingFromTheHeap) {
  if (!REGARD_COUNTS_HEAP) GTEST_SKIP() << "the heap of this build cannot be counted";
  Training training(GetParam());
  CapturedStep step = training.capture();
  Rng rng(3);
  const Tensor x = ids(rng), y = ids(rng);
  const Mask mask = Mask::padding(lengths(rng));
  for (int i = 0; i < 5; ++i) step.replay({x, y}, mask);
  const std::size_t before = heap_requests;
  for (int i = 0; i < 10; ++i) step.replay({x, y}, mask);
  EXPECT_EQ(heap_requests - before, 0u);
}

/// Runs a few steps as written and captured, `between` on both before each, and compares.
void expect_same_with(DType dtype, const std::function<void(Training&, Size)>& between) {
  Training written(dtype), replayed(dtype);
  CapturedStep step = replayed.capture();
  Rng rng(5);
  for (Size i = 0; i < 8; ++i) {
    between(written, i);
    between(replayed, i);
    const Tensor x = ids(rng), y = ids(rng);
    const Tensors expected = written.step({x, y}, {});
    expect_same_bits(expected[0], step.replay({x, y})[0], "loss of step " + std::to_string(i));
    expect_same_parameters(written.model, replayed.model, "step " + std::to_string(i));
  }
}

TEST_P(Captured, SeesParametersThatWereAssigned) {
  expect_same_with(GetParam(), [](Training& training, Size i) {
    if (i < 2) return;
    const Parameter& key = training.model.attention->key.weight;
    Rng rng(static_cast<std::uint64_t>(i));
    Parameter(key).assign(normal(key.shape(), rng, 0, 0.3, key.dtype()));
    // A transposed look, whose strides are others than the captured ones.
    Parameter output = training.model.attention->output.weight;
    output.assign(transpose(output.value()));
  });
}

TEST_P(Captured, SeesParametersThatWereSwapped) {
  expect_same_with(GetParam(), [](Training& training, Size i) {
    if (i < 2) return;
    Parameter a = training.model.attention->query.weight, b = training.model.attention->output.weight;
    const Tensor of_a = a.value(), of_b = b.value();
    a.assign(of_b);
    b.assign(of_a);
  });
}

TEST_P(Captured, SeesOptimiserStatesThatWereLoaded) {
  NamedTensors saved;
  expect_same_with(GetParam(), [&](Training& training, Size i) {
    if (i == 3) saved = training.adam.state();
    if (i == 5) training.adam.load_state(saved);
  });
}

TEST_P(Captured, LeavesAloneWhatSomebodyKeeps) {
  Training training(GetParam());
  CapturedStep step = training.capture();
  Rng rng(5);
  Tensors kept, copies;
  const auto keep = [&](const Tensor& x) {
    kept.push_back(x);
    copies.push_back(from_vector(x.to(float64).to_vector<double>(), x.shape()));
  };
  for (Size i = 0; i < 6; ++i) {
    const Tensor x = ids(rng), y = ids(rng);
    keep(step.replay({x, y})[0]);
    keep(training.model.head->weight.value());
    keep(training.model.head->bias.gradient());
    keep(slice(training.model.attention->query.weight.gradient(), 0, {0, 2}));
  }
  for (std::size_t i = 0; i < kept.size(); ++i)
    expect_same_bits(kept[i].to(float64), copies[i], std::to_string(i));
}

TEST_P(Captured, KeptTensorsChangeNothing) {
  Tensors kept;
  expect_same_with(GetParam(), [&](Training& training, Size i) {
    if (i == 0) return;
    kept.push_back(training.model.head->weight.value());
    kept.push_back(training.model.attention->query.weight.gradient());
    kept.push_back(slice(training.model.norm->gamma.gradient(), 0, {1, 3}));
  });
}

TEST_P(Captured, GradientsAddUpWhereTheStepDoesNotZeroThem) {
  Rng rng(1);
  Parameter a(normal({3}, rng, 0, 1, GetParam()), "a"), b(normal({3}, rng, 0, 1, GetParam()), "b");
  CapturedStep step = capture([&](const Tensors& in) {
    backward(sum(exp(a * in[0])));
    return Tensors{};
  });
  for (Size i = 0; i < 5; ++i) {
    const Tensor x = normal({3}, rng, 0, 1, GetParam());
    step.replay({x});
    b.assign(a.value());
    backward(sum(exp(b * x)));
    expect_same_bits(a.gradient(), b.gradient(), "after " + std::to_string(i));
    if (i == 3) {
      a.zero_grad();
      b.zero_grad();
    }
  }
}

TEST_P(Captured, SecondDerivativesAndConstantsMadeOnTheWay) {
  Rng rng(1);
  const Tensor start = normal({4}, rng, 0, 1, GetParam());
  Parameter a(start, "a"), b(start, "b");
  const auto penalty = [](Parameter& p, const Tensor& x) {
    p.zero_grad();
    const Tensor w = p;
    GradOptions differentiable;
    differentiable.create_graph = true;
    const Tensor y = sum(tanh(w * x) * (arange(4, w.dtype()) + ones({4}, w.dtype())));
    const Tensor slope = grad(y, w, differentiable);
    backward(sum(slope * slope));
    return sum(slope);
  };
  CapturedStep step = capture([&](const Tensors& in) { return Tensors{penalty(a, in[0])}; });
  for (Size i = 0; i < 5; ++i) {
    const Tensor x = normal({4}, rng, 0, 1, GetParam());
    expect_same_bits(penalty(b, x), step.replay({x})[0], "output");
    expect_same_bits(b.gradient(), a.gradient(), "gradient");
  }
}

// ---- what is refused -----------------------------------------------------------------------------------

/// A captured step that has run three times.
struct Ready {
  Training training{float64};
  CapturedStep step = training.capture();
  Rng rng{5};
  Tensor x = ids(rng), y = ids(rng);
  Ready() {
    for (int i = 0; i < 3; ++i) step.replay({x, y});
  }
};

TEST(CapturedStep, RefusesInputsOfAnotherShapeOrDtype) {
  Ready it;
  EXPECT_THROWS_WITH(it.step.replay({it.x}), ValueError, "1 inputs, and 2");
  EXPECT_THROWS_WITH(it.step.replay({slice(it.x, 0, {0, 2}), it.y}), ShapeError,
                     "input 0 is [2, 6], and was [3, 6]");
  EXPECT_THROWS_WITH(it.step.replay({it.x, it.y.to(float64)}), DTypeError,
                     "input 1 is float64, and was int64");
  it.step.replay({it.x, it.y});
}

TEST(CapturedStep, RefusesAnotherKindOfMask) {
  Ready it;
  EXPECT_THROWS_WITH(it.step.replay({it.x, it.y}, Mask::window(2)), ValueError,
                     "\"window(2)\", and was \"everything visible\"");
  it.step.replay({it.x, it.y});
}

TEST(CapturedStep, RefusesIdsOutOfRangeInEveryReplay) {
  Ready it;
  const Tensor wrong = full({batch, tokens}, 11, int64);
  EXPECT_THROWS_WITH(it.step.replay({wrong, it.y}), ValueError, "id 11");
  EXPECT_THROWS_WITH(it.step.replay({it.x, wrong}), ValueError, "11");
  it.step.replay({it.x, it.y});
}

TEST(CapturedStep, RefusesLengthsOutOfRangeInEveryReplay) {
  Training training(float64);
  CapturedStep step = training.capture();
  Rng rng(5);
  const Tensor x = ids(rng), y = ids(rng);
  for (int i = 0; i < 3; ++i) step.replay({x, y}, Mask::padding(lengths(rng)));
  EXPECT_THROWS_WITH(step.replay({x, y}, Mask::padding(tensor({3, 7, 1}, int64))), ValueError,
                     "sequence 1 is 7");
}

TEST(CapturedStep, RefusesHooksTapesFrozenParametersAndNoGrad) {
  Ready it;
  const auto run = [&] { it.step.replay({it.x, it.y}); };
  {
    const TapeRecorder tape;
    EXPECT_THROWS_WITH(run(), GraphError, "tape");
  }
  HookHandle hook = add_hook(it.training.model.head->weight, [](const Tensor&) { return Tensor(); });
  EXPECT_THROWS_WITH(run(), GraphError, "hook is attached to");
  hook.remove();
  run();
  it.training.model.head->weight.set_trainable(false);
  EXPECT_THROWS_WITH(run(), GraphError, "is frozen now");
  it.training.model.head->weight.set_trainable(true);
  run();
  const NoGrad off;
  EXPECT_THROWS_WITH(run(), GraphError, "recording is off");
}

/// The second call of a step is the one that is written down.
template <class Step>
void expect_refused(Step step, const std::string& fragment) {
  CapturedStep captured = capture([&](const Tensors& in) { return step(in); });
  const Tensor x = tensor({1.0, 2.0, 3.0});
  captured.replay({x});
  EXPECT_THROWS_WITH(captured.replay({x}), GraphError, fragment);
  EXPECT_FALSE(captured.captured());
  // The thread is as before.
  EXPECT_EQ(normal({2}, *std::make_unique<Rng>(1)).numel(), 2);
}

TEST(CapturedStep, RefusesWhatAReplayWouldNotDoAgain) {
  Rng rng(1);
  Parameter w(normal({3}, rng), "w");
  Adam adam({w});
  expect_refused([&](const Tensors& in) { return Tensors{in[0] * sum(in[0]).item()}; }, "item: ");
  expect_refused(
      [&](const Tensors& in) { return Tensors{from_vector((in[0] * 2.0).to_vector<double>(), {3})}; },
      "data: ");
  expect_refused([&](const Tensors& in) { return Tensors{in[0] + normal({3}, rng)}; }, "normal: ");
  expect_refused(
      [&](const Tensors&) {
        w.assign(ones({3}));
        return Tensors{};
      },
      "assign: ");
  expect_refused(
      [&](const Tensors&) {
        adam.set_learning_rate(0.1);
        return Tensors{};
      },
      "set_learning_rate: ");
  expect_refused([&](const Tensors&) { return Tensors{w.value()}; }, "Parameter's own value");
  Tensor state = zeros({3});
  expect_refused(
      [&](const Tensors& in) {
        state = state + in[0];
        return Tensors{state};
      },
      "an earlier call");
  AttentionTrace trace;
  expect_refused(
      [&](const Tensors& in) {
        const Tensor x = reshape(in[0], {3, 1});
        return Tensors{attention(x, x, x, {}, {}, &trace)};
      },
      "trace");
  expect_refused(
      [&](const Tensors& in) {
        w.zero_grad();
        const Tensor y = w * in[0];
        add_hook(y, [](const Tensor&) { return Tensor(); });
        backward(sum(y));
        return Tensors{};
      },
      "hook");
  Tensor kept;
  expect_refused(
      [&](const Tensors& in) {
        w.zero_grad();
        kept = w;
        backward(sum(w * in[0]));
        adam.step();
        return Tensors{sum(w * in[0])};
      },
      "replaces the numbers of w");
}

TEST(CapturedStep, AStepThatThrowsIsWrittenDownLater) {
  bool fails = false;
  CapturedStep step = capture([&](const Tensors& in) {
    if (fails) throw ValueError("no");
    return Tensors{in[0] * 2.0};
  });
  step.replay({ones({2})});
  fails = true;
  EXPECT_THROWS_WITH(step.replay({ones({2})}), ValueError, "no");
  fails = false;
  step.replay({ones({2})});
  EXPECT_TRUE(step.captured());
  EXPECT_EQ(step.replay({full({2}, 4)})[0].to_vector<double>(), (std::vector<double>{8, 8}));
}

TEST(CapturedStep, GradientsOutliveIt) {
  Parameter w(ones({1000}), "w");
  {
    CapturedStep step = capture([&](const Tensors& in) {
      w.zero_grad();
      backward(sum(w * in[0]));
      return Tensors{};
    });
    for (int i = 0; i < 4; ++i) step.replay({full({1000}, i)});
  }
  const Tensor other = full({1000}, 7);
  EXPECT_EQ(w.gradient().to_vector<double>(), std::vector<double>(1000, 3.0));
}

}  // namespace
}  // namespace regard::test

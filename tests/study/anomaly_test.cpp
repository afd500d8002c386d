// Anomaly mode on models that break at a known place, and on healthy ones that use infinities.
#include <regard/study/anomaly.hpp>

#include <cmath>
#include <limits>
#include <thread>

#include <gtest/gtest.h>

#include <regard/regard.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::study {
namespace {

using test::random_tensor;

constexpr double infinity = std::numeric_limits<double>::infinity(),
                 nan_value = std::numeric_limits<double>::quiet_NaN();

/// A block that can be made ill: what it does to its values at last is up to the test.
struct Block {
  explicit Block(Rng& rng) : attention(4, 2, rng), norm(4) {}
  Tensor operator()(const Tensor& x, const Mask& mask) const {
    const Within here(*this);
    const Tensor y = norm(x + attention(x, mask));
    return ill ? ill(y) : y;
  }
  template <class F>
  void visit(F&& f) {
    f("attention", attention);
    f("norm", norm);
  }
  nn::MultiHeadAttention attention;
  nn::LayerNorm norm;
  Function ill;
};

struct Model {
  explicit Model(std::uint64_t seed) : rng(seed), embedding(5, 4, rng), head(4, 5, rng) {
    for (int i = 0; i < 2; ++i) encoder.emplace_back(rng);
  }
  Tensor operator()(const Tensor& ids, const Mask& mask = Mask::causal()) const {
    Tensor x = embedding(ids);
    for (const Block& block : encoder) x = block(x, mask);
    return head(x);
  }
  template <class F>
  void visit(F&& f) {
    f("embedding", embedding);
    f("encoder", encoder);
    f("head", head);
  }
  Rng rng;
  nn::Embedding embedding;
  std::vector<Block> encoder;
  nn::Linear head;
};

const Tensor& ids() {
  static const Tensor known = tensor({{0, 1, 2, 3}, {4, 3, 1, 1}}, int64);
  return known;
}
Tensor loss_of(const Model& model) {
  return cross_entropy(model(ids()), ids());
}

/// What the first alarm says of running f.
template <class F>
Anomaly anomaly_of(const Model& model, const F& f, const AnomalyOptions& options = {}) {
  const AnomalyMode mode(model, options);
  try {
    f();
  } catch (const AnomalyError& error) {
    EXPECT_TRUE(mode.first());
    EXPECT_EQ(to_string(*mode.first()), error.what());
    return error.anomaly;
  }
  ADD_FAILURE() << "there was no alarm";
  return {};
}

TEST(AnomalyMode, NamesOperationAndModuleWhereNaNArose) {
  Model model(1);
  model.encoder[1].ill = [](const Tensor& y) { return log(y); };  // of negative numbers
  const Anomaly found = anomaly_of(model, [&] { backward(loss_of(model)); });
  EXPECT_EQ(found.op, "log");
  EXPECT_EQ(found.module, "encoder.1");
  EXPECT_EQ(found.phase, Phase::forward);
  EXPECT_EQ(found.kind, NonFiniteKind::nan);
  EXPECT_FALSE(found.came_in);
  EXPECT_EQ(found.rule, "");
  EXPECT_EQ(found.shape, (Shape{2, 4, 4}));
  EXPECT_GT(found.count, 1);
  const std::string text = to_string(found);
  EXPECT_EQ(text.find("anomaly: NaN arose in log, in encoder.1, forward: "), 0u) << text;
  EXPECT_NE(text.find(" of 32 elements, the first at [0, 0, "), std::string::npos) << text;
  EXPECT_NE(text.find("; input 0: float64 [2, 4, 4] from -"), std::string::npos) << text;
  EXPECT_EQ(module_path(), "") << "the scopes were left";
}

TEST(AnomalyMode, NamesTheParameterThatHeldNaN) {
  const Model model(2);
  Parameter weight = model.encoder[0].attention.query.weight;
  std::vector<double> numbers = weight.value().to_vector<double>();
  numbers[6] = nan_value;
  weight.assign(from_vector(numbers, {4, 4}));
  const Anomaly found = anomaly_of(model, [&] { (void)loss_of(model); });
  EXPECT_EQ(found.op, "matmul");
  EXPECT_EQ(found.module, "encoder.0.attention.query");
  EXPECT_TRUE(found.came_in);
  EXPECT_EQ(found.input, "input 1 (Parameter encoder.0.attention.query.weight)");
  EXPECT_EQ(found.place, (std::vector<Size>{1, 2}));
  EXPECT_EQ(found.count, 1);
  EXPECT_NE(to_string(found).find(
                "NaN came in with input 1 (Parameter encoder.0.attention.query.weight) [4, 4] of "
                "matmul, in encoder.0.attention.query, forward: 1 of 16 elements, the first at [1, 2]; "
                "nothing that was watched had computed it"),
            std::string::npos)
      << to_string(found);
}

// sqrt 0 is 0; its gradient is not.
TEST(AnomalyMode, NamesTheForwardCallOfABackward) {
  Model model(3);
  model.encoder[0].ill = [](const Tensor& y) { return sqrt(relu(y)); };
  const Anomaly found = anomaly_of(model, [&] { backward(loss_of(model)); });
  EXPECT_EQ(found.phase, Phase::backward);
  EXPECT_EQ(found.rule, "sqrt");
  EXPECT_EQ(found.module, "encoder.0");
  EXPECT_EQ(found.kind, NonFiniteKind::infinity);
  EXPECT_EQ(found.op, "divide");
  EXPECT_EQ(
      to_string(found).find("anomaly: an infinity arose in divide, in the backward of sqrt, in encoder.0: "),
      0u)
      << to_string(found);

  // Where infinities do not matter, what they become does: inf·0 in the backward of square.
  model.encoder[0].ill = [](const Tensor& y) {
    return y + sqrt(sum(square(y - y.detach()), {-1}, keep_axes));
  };
  AnomalyOptions options;
  options.alarm = Alarm::nan;
  const Anomaly later = anomaly_of(
      model, [&] { backward(loss_of(model)); }, options);
  EXPECT_EQ(later.kind, NonFiniteKind::nan);
  EXPECT_EQ(later.rule, "square");
  EXPECT_EQ(later.module, "encoder.0");
  EXPECT_FALSE(later.came_in);
}

TEST(AnomalyMode, OverflowIsAnInfinityThatArose) {
  Model model(4);
  model.encoder[1].ill = [](const Tensor& y) { return exp(y * 1e4); };
  const Anomaly found = anomaly_of(model, [&] { (void)loss_of(model); });
  EXPECT_EQ(found.kind, NonFiniteKind::infinity);
  EXPECT_EQ(found.op, "exp");
  EXPECT_EQ(found.module, "encoder.1");
  // Float32 ends earlier.
  const Tensor x = full({3}, 1e30, float32);
  EXPECT_EQ(anomaly_of(model, [&] { (void)(x * x); }).op, "multiply");
  EXPECT_EQ(anomaly_of(model, [&] { (void)full({3}, 1e60).to(float32); }).op, "to");
}

TEST(AnomalyMode, OutsideOfModulesItNamesWhatIsNear) {
  Model model(5);
  const Anomaly after_head = anomaly_of(model, [&] { (void)log(negate(square(model(ids())))); });
  EXPECT_EQ(after_head.module, "");
  EXPECT_EQ(after_head.near, "head");
  EXPECT_NE(to_string(after_head).find("log, outside of any module, after head, forward"), std::string::npos);

  const Parameter scale(tensor({-1.0}), "scale");
  const Anomaly of_parameter = anomaly_of(model, [&] { (void)log(scale * 2.0); });
  EXPECT_EQ(of_parameter.near, "Parameter scale");

  const Anomaly backward_of = anomaly_of(model, [&] { backward(sum(sqrt(relu(scale)))); });
  EXPECT_EQ(backward_of.near, "Parameter scale");
  EXPECT_EQ(backward_of.rule, "sqrt");
}

// ---- what a user writes ---------------------------------------------------------------------------------

TEST(AnomalyMode, LooksIntoCustomOperations) {
  Model model(6);
  const CustomOp value(
      "value", [](const Tensors& x) { return full(x[0].shape(), nan_value); },
      [](const RuleInputs& at) { return Tensors{at.dy}; });
  const CustomOp rule(
      "rule", [](const Tensors& x) { return x[0] * 1.0; },
      [](const RuleInputs& at) { return Tensors{full(at.dy.shape(), nan_value)}; });
  model.encoder[1].ill = [&](const Tensor& y) { return value({y}); };
  const Anomaly of_value = anomaly_of(model, [&] { (void)loss_of(model); });
  EXPECT_EQ(of_value.op, "value");
  EXPECT_EQ(of_value.module, "encoder.1");

  model.encoder[1].ill = [&](const Tensor& y) { return rule({y}); };
  const Anomaly of_rule = anomaly_of(model, [&] { backward(loss_of(model)); });
  EXPECT_EQ(of_rule.op, "rule");
  EXPECT_EQ(of_rule.rule, "rule");
  EXPECT_EQ(of_rule.module, "encoder.1");
  EXPECT_FALSE(of_rule.came_in);
}

TEST(AnomalyMode, NaNOfAHookCameIn) {
  Model model(7);
  const HookHandle hook =
      add_hook(model.head.bias, [](const Tensor& dx) { return full(dx.shape(), nan_value); });
  model.encoder[1].ill = [](const Tensor& y) {
    static_cast<void>(add_hook(y, [](const Tensor& dx) { return full(dx.shape(), nan_value); }));
    return y;
  };
  const Anomaly found = anomaly_of(model, [&] { backward(loss_of(model)); });
  EXPECT_TRUE(found.came_in);
  EXPECT_EQ(found.rule, "layer_norm");
  EXPECT_EQ(found.module, "encoder.1.norm");
}

TEST(AnomalyMode, NamesTheGradientThatBroughtNaNIntoAStep) {
  for (const bool adam : {false, true}) {
    const Model model(8);
    Adam first(parameters(model));
    Sgd second(parameters(model));
    Optimizer& optimizer = adam ? static_cast<Optimizer&>(first) : second;
    backward(loss_of(model));
    Parameter gamma = model.encoder[1].norm.gamma;
    gamma.set_gradient(tensor({0, 0, nan_value, 0}));
    const Anomaly found = anomaly_of(model, [&] { optimizer.step(); });
    EXPECT_EQ(found.phase, Phase::optimiser);
    EXPECT_TRUE(found.came_in);
    EXPECT_NE(found.input.find("(the gradient of encoder.1.norm.gamma)"), std::string::npos) << found.input;
    EXPECT_NE(to_string(found).find("in an optimiser's step"), std::string::npos) << to_string(found);
  }
}

// ---- no alarm ------------------------------------------------------------------------------------------

TEST(AnomalyMode, LegalInfinitiesAreNoAlarm) {
  const Model model(9);
  const AnomalyMode mode(model);
  const Tensor keep = tensor({{0, 0, 0, 0}, {1, 0, 1, 1}, {1, 1, 1, 1}, {0, 1, 0, 0}}, boolean);
  const Tensor bias = where(keep, scalar(0.5), scalar(-infinity));
  const Tensor lengths = tensor({0, 3}, int64);
  for (const Mask& mask : {Mask::keep(keep), Mask::bias(bias), Mask::padding(lengths), Mask::causal()}) {
    AttentionTrace trace;
    const Tensor x = variable(model.embedding(ids()).detach());
    const Tensor y = attention(x, x, x, mask, {}, &trace);
    backward(sum(square(y)));
    backward(cross_entropy(model(ids(), mask), ids()));
  }
  const Tensor x = variable(tensor({{1, 2, 3}, {4, 5, 6}}));
  const Tensor some = tensor({{1, 0, 1}, {0, 0, 0}}, boolean);
  backward(sum(where(some, log_softmax(x, some), scalar(0.0))));
  backward(sum(softmax(masked_fill(x, tensor({0, 1, 0}, boolean), -infinity))));
  (void)logsumexp(zeros({2, 0}), {1});
  (void)logsumexp(full({2, 2}, -infinity), {1});
  (void)cross_entropy(masked_fill(x, tensor({0, 1, 0}, boolean), -infinity), tensor({0, 2}, int64));
  EXPECT_FALSE(mode.first());
}

TEST(AnomalyMode, ALogSoftmaxWithoutAMaskIsNoMaskedOne) {
  const Model model(10);
  const Anomaly found = anomaly_of(model, [] { (void)log(softmax(tensor({0, 2000}))); });
  EXPECT_EQ(found.op, "log");
  EXPECT_EQ(found.kind, NonFiniteKind::infinity);
}

/// Losses and parameters of a training.
NamedTensors trained(const std::function<void(const Model&, const std::function<void()>&)>& run) {
  const Model model(11);
  Adam optimizer(parameters(model));
  Tensors losses;
  run(model, [&] {
    for (int step = 0; step < 5; ++step) {
      optimizer.zero_grad();
      const Tensor loss = loss_of(model);
      backward(loss);
      clip_gradients_by_norm(optimizer.parameters(), 1.0);
      optimizer.step();
      losses.push_back(loss.detach());
    }
  });
  NamedTensors all;
  for (const auto& [path, parameter] : named_parameters(model)) all.emplace_back(path, parameter.value());
  all.emplace_back("losses", stack(losses));
  return all;
}

TEST(AnomalyMode, ChangesNoBitOfAHealthyTraining) {
  const NamedTensors plain = trained([](const Model&, const std::function<void()>& train_it) { train_it(); });
  const NamedTensors watched = trained([](const Model& model, const std::function<void()>& train_it) {
    const AnomalyMode mode(model);
    train_it();
    EXPECT_FALSE(mode.first());
  });
  ASSERT_EQ(plain.size(), watched.size());
  for (std::size_t i = 0; i < plain.size(); ++i)
    EXPECT_SAME_BITS(plain[i].second, watched[i].second) << plain[i].first;
}

// ---- while it lives, and on its thread
// -----------------------------------------------------------------------

TEST(AnomalyMode, IsOffByDefaultAndEnds) {
  const Model model(12);
  EXPECT_TRUE(std::isnan(log(scalar(-1.0)).item()));
  {
    const AnomalyMode mode(model);
    EXPECT_THROW((void)log(scalar(-1.0)), AnomalyError);
  }
  EXPECT_TRUE(std::isnan(log(scalar(-1.0)).item()));
}

TEST(AnomalyMode, WatchesItsThreadAlone) {
  const AnomalyMode mode;
  double other = 0;
  std::thread([&other] { other = log(scalar(-1.0)).item(); }).join();
  EXPECT_TRUE(std::isnan(other));
  EXPECT_FALSE(mode.first());
}

TEST(AnomalyMode, EveryAlarmIsAnError) {
  const AnomalyMode mode;
  EXPECT_THROW((void)log(scalar(-1.0)), AnomalyError);
  EXPECT_THROWS_WITH(exp(scalar(1000.0)), AnomalyError,
                     "an infinity arose in exp, forward: 1 of 1 element, the first at "
                     "[] of the result []; input 0: float64 [] from 1000 to 1000");
  EXPECT_EQ(mode.first()->op, "log");
}

TEST(AnomalyMode, NotesTheFirstAndGoesOn) {
  AnomalyOptions options;
  options.on_alarm = OnAlarm::note;
  const AnomalyMode mode(options);
  const Tensor y = sqrt(log(scalar(-1.0)));
  EXPECT_TRUE(std::isnan(y.item()));
  ASSERT_TRUE(mode.first());
  EXPECT_EQ(mode.first()->op, "log");
}

TEST(AnomalyMode, ABackwardThatItStopsAddsNothing) {
  Model model(13);
  backward(loss_of(model));
  const Tensor before = model.head.weight.gradient();
  model.encoder[0].ill = [](const Tensor& y) { return sqrt(relu(y)); };
  const Tensor loss = loss_of(model);
  {
    const AnomalyMode mode(model);
    EXPECT_THROW(backward(loss), AnomalyError);
  }
  EXPECT_SAME_BITS(model.head.weight.gradient(), before);
}

TEST(AnomalyMode, TwoMayLiveAtOnce) {
  AnomalyOptions options;
  options.on_alarm = OnAlarm::note;
  options.alarm = Alarm::nan;
  const AnomalyMode outer(options);
  {
    options.alarm = Alarm::nan_or_infinity;
    const AnomalyMode inner(options);
    (void)exp(scalar(1000.0));
    EXPECT_TRUE(inner.first());
  }
  EXPECT_FALSE(outer.first());
}

}  // namespace
}  // namespace regard::study

#include <regard/optim.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>

#include <nlohmann/json.hpp>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/golden.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

using test::from_values;
using test::values_of;

Parameter parameter(const Tensor& value, const char* name = "w") {
  return Parameter(value, name);
}

SgdOptions sgd_options(double rate, double momentum = 0, double dampening = 0, double decay = 0) {
  SgdOptions options;
  options.learning_rate = rate;
  options.momentum = momentum;
  options.dampening = dampening;
  options.weight_decay = decay;
  return options;
}

AdamOptions adam_options(double rate, double decay = 0, double beta1 = 0.9, double beta2 = 0.999,
                         double epsilon = 1e-8) {
  AdamOptions options;
  options.learning_rate = rate;
  options.beta1 = beta1;
  options.beta2 = beta2;
  options.epsilon = epsilon;
  options.weight_decay = decay;
  return options;
}

// ---- against PyTorch -----------------------------------------------------------------------------------

// The gradient of tests/golden/optimisers.py.
Tensor gradient_at(const Parameter& p, int step) {
  std::vector<double> values = values_of(p.value());
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = 0.5 * values[i] + std::cos(step + static_cast<double>(i));
  return from_values(values, p.shape(), p.dtype());
}

using Make = std::function<std::unique_ptr<Optimizer>(std::vector<Parameter>)>;

template <class Kind, class Options>
Make make(const Options& options, const std::vector<ParameterGroup<Options>>& groups = {}) {
  return [=](std::vector<Parameter> p) { return std::make_unique<Kind>(std::move(p), options, groups); };
}

std::map<std::string, Make> optimisers() {
  return {
      {"sgd", make<Sgd>(sgd_options(0.1))},
      {"sgd/decay", make<Sgd>(sgd_options(0.1, 0, 0, 0.05))},
      {"sgd/momentum", make<Sgd>(sgd_options(0.05, 0.9))},
      {"sgd/momentum, dampening, decay", make<Sgd>(sgd_options(0.05, 0.8, 0.3, 0.02))},
      {"adam", make<Adam>(adam_options(0.01))},
      {"adam/decay", make<Adam>(adam_options(0.02, 0.1, 0.8, 0.95, 1e-6))},
      {"adamw", make<AdamW>(adam_options(0.01, 0.01))},
      {"adamw/decay", make<AdamW>(adam_options(0.02, 0.1, 0.8, 0.95, 1e-6))},
      {"adamw/groups", make<AdamW>(adam_options(0.01, 0.01), {{"second", adam_options(0.05, 0, 0.5, 0.9)}})}};
}

// Every seventh step the second parameter has no gradient, so that the two count different steps.
void follow(const std::string& name, const Make& make_optimizer, DType dtype, double tolerance) {
  const nlohmann::json kept = test::golden("optimisers.json").at("runs").at(name);
  Parameter first = parameter(from_values({-1, -0.6, -0.2, 0.2, 0.6, 1}, {3, 2}, dtype), "first");
  Parameter second = parameter(from_values({2, -3}, {2}, dtype), "second");
  const auto optimizer = make_optimizer({first, second});
  std::size_t compared = 0;
  for (int step = 1; step <= 100; ++step) {
    first.set_gradient(gradient_at(first, step));
    second.zero_grad();
    if (step % 7 != 0) second.set_gradient(gradient_at(second, step));
    optimizer->step();
    const auto at = kept.find(std::to_string(step));
    if (at == kept.end()) continue;
    ++compared;
    const auto expected = [&](const char* which, const Shape& shape) {
      return from_values(at->at(which).get<std::vector<double>>(), shape, dtype);
    };
    EXPECT_TENSOR_NEAR(first.value(), expected("first", {3, 2}), 0, tolerance) << name << ", step " << step;
    EXPECT_TENSOR_NEAR(second.value(), expected("second", {2}), 0, tolerance) << name << ", step " << step;
  }
  EXPECT_EQ(compared, kept.size());
}

TEST(Optimizer, FollowsPyTorchForAHundredSteps) {
  for (const auto& [name, make_optimizer] : optimisers()) follow(name, make_optimizer, float64, 1e-12);
}

TEST(Optimizer, InFloat32FollowsToItsPrecision) {
  for (const auto& [name, make_optimizer] : optimisers()) follow(name, make_optimizer, float32, 2e-5);
}

// ---- which parameters move -----------------------------------------------------------------------------

TEST(Optimizer, LeavesAloneWhatIsFrozenOrHasNoGradient) {
  Parameter moving = parameter(tensor({1, 2}), "a"), frozen = parameter(tensor({1, 2}), "b"),
            unused = parameter(tensor({1, 2}), "c");
  Adam optimizer({moving, frozen, unused}, adam_options(0.1, 0.1));
  moving.set_gradient(tensor({1, 1}));
  frozen.set_gradient(tensor({1, 1}));
  frozen.set_trainable(false);
  optimizer.step();
  EXPECT_NE(values_of(moving.value()), (std::vector<double>{1, 2}));
  EXPECT_SAME_BITS(frozen.value(), tensor({1, 2}));
  EXPECT_SAME_BITS(unused.value(), tensor({1, 2}));
}

TEST(Optimizer, StepsATiedParameterOnce) {
  Parameter w = parameter(tensor({1}));
  Sgd optimizer({w, w}, sgd_options(0.5));
  EXPECT_EQ(optimizer.parameters().size(), 1u);
  w.set_gradient(tensor({1}));
  optimizer.step();
  EXPECT_EQ(w.value().item(), 0.5);
}

TEST(Optimizer, OverwritesTheNumbersThatNobodySees) {
  Parameter w = parameter(tensor({3, 4}));
  Adam optimizer({w});
  w.set_gradient(tensor({1, 1}));
  const double* const before = w.value().data<double>();
  optimizer.step();
  EXPECT_EQ(w.value().data<double>(), before);
  const Tensor seen = w.value();
  optimizer.step();
  EXPECT_NE(w.value().data<double>(), before);
  EXPECT_EQ(seen.data<double>(), before);
}

TEST(Optimizer, TakesAnyLayoutOfValueAndGradient) {
  Rng rng(5);
  const Tensor start = test::random_tensor({3, 4}, rng), slope = test::random_tensor({3, 4}, rng);
  for (const auto& [name, make_optimizer] : optimisers()) {
    if (name == "adamw/groups") continue;
    Parameter plain = parameter(start);
    plain.set_gradient(slope);
    const auto reference = make_optimizer({plain});
    reference->step();
    reference->step();
    for (const test::Layout value_layout : test::all_layouts)
      for (const test::Layout gradient_layout : test::all_layouts) {
        Parameter laid_out = parameter(test::with_layout(start, value_layout));
        laid_out.set_gradient(test::with_layout(slope, gradient_layout));
        const auto optimizer = make_optimizer({laid_out});
        optimizer->step();
        optimizer->step();
        EXPECT_SAME_BITS(laid_out.value(), plain.value())
            << name << ' ' << value_layout << ' ' << gradient_layout;
      }
  }
}

TEST(Optimizer, AStretchedValueIsNotWrittenThrough) {
  Parameter w = parameter(test::stretched(tensor({1}), {3}));
  w.set_gradient(tensor({1, 2, 3}));
  Sgd({w}, sgd_options(1)).step();
  EXPECT_SAME_BITS(w.value(), tensor({0, -1, -2}));
}

TEST(Optimizer, TakesAGradientThatHasAGraph) {
  Parameter w = parameter(tensor({2}));
  const Size nodes = live_nodes();
  {
    BackwardOptions options;
    options.create_graph = true;
    backward(sum(square(Tensor(w))), options);
    ASSERT_TRUE(w.gradient().requires_grad());
    Adam optimizer({w}, adam_options(0.1));
    optimizer.step();
    EXPECT_NEAR(w.value().item(), 1.9, 1e-8);
    optimizer.zero_grad();
  }
  EXPECT_FALSE(w.value().requires_grad());
  EXPECT_EQ(live_nodes(), nodes);
}

TEST(Optimizer, TakesParametersOfSizeZero) {
  Parameter w = parameter(zeros({0, 3}));
  w.set_gradient(zeros({0, 3}));
  Adam optimizer({w});
  optimizer.step();
  EXPECT_EQ(w.shape(), (Shape{0, 3}));
}

// ---- groups and rates ----------------------------------------------------------------------------------

TEST(Optimizer, GivesEachParameterTheOptionsOfItsFirstGroup) {
  Parameter weight = parameter(tensor({1}), "layer.weight"), bias = parameter(tensor({1}), "layer.bias"),
            other = parameter(tensor({1}), "head.weight");
  Sgd optimizer({weight, bias, other}, sgd_options(1),
                {{"*.bias", sgd_options(0.5)}, {"layer", sgd_options(0.25)}});
  EXPECT_EQ(optimizer.learning_rate(weight), 0.25);
  EXPECT_EQ(optimizer.learning_rate(bias), 0.5);
  EXPECT_EQ(optimizer.learning_rate(other), 1);
  optimizer.set_learning_rate(0.1);
  EXPECT_EQ(optimizer.learning_rate(), 0.1);
  EXPECT_NEAR(optimizer.learning_rate(weight), 0.025, 1e-17);
  EXPECT_NEAR(optimizer.learning_rate(bias), 0.05, 1e-17);
  for (Parameter p : optimizer.parameters()) p.set_gradient(tensor({1}));
  optimizer.step();
  EXPECT_NEAR(weight.value().item(), 0.975, 1e-15);
  EXPECT_NEAR(bias.value().item(), 0.95, 1e-15);
  EXPECT_NEAR(other.value().item(), 0.9, 1e-15);
}

TEST(Optimizer, NamesTheParametersWhenAGroupMeansNone) {
  Parameter w = parameter(tensor({1}), "layer.weight");
  EXPECT_THROWS_WITH(Sgd({w}, {}, {{"*.bais", {}}}), ValueError, "\"*.bais\"; there are: layer.weight");
}

TEST(Optimizer, RefusesOptionsOutOfRange) {
  Parameter w = parameter(tensor({1}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROWS_WITH(Sgd({w}, sgd_options(-1)), ValueError,
                     "sgd: learning_rate must be finite and not negative");
  EXPECT_THROWS_WITH(Sgd({w}, sgd_options(nan)), ValueError, "learning_rate");
  EXPECT_THROWS_WITH(Sgd({w}, sgd_options(1, -0.5)), ValueError, "momentum");
  EXPECT_THROWS_WITH(Adam({w}, adam_options(1, 0, 1)), ValueError, "adam: beta1 must lie in [0, 1), got 1.0");
  EXPECT_THROWS_WITH(Adam({w}, adam_options(1, 0, 0.9, -0.1)), ValueError, "beta2");
  EXPECT_THROWS_WITH(AdamW({w}, adam_options(1, -0.1)), ValueError, "adamw: weight_decay");
  EXPECT_THROWS_WITH(Adam({w}, adam_options(1, 0, 0.9, 0.9, -1)), ValueError, "epsilon");
  EXPECT_THROWS_WITH(Sgd({w, Parameter()}), ValueError, "empty handle");
  Sgd optimizer({w});
  EXPECT_THROWS_WITH((optimizer.set_learning_rate(nan), 0), ValueError, "learning rate");
  EXPECT_THROWS_WITH(optimizer.learning_rate(parameter(tensor({1}), "stranger")), ValueError, "stranger");
  optimizer.set_learning_rate(0);
  Sgd grouped({w}, sgd_options(0), {{"w", sgd_options(1)}});
  EXPECT_THROWS_WITH((grouped.set_learning_rate(0.1), 0), ValueError, "ratio");
}

// ---- state ---------------------------------------------------------------------------------------------

TEST(Optimizer, GoesOnFromItsStateAsIfNotInterrupted) {
  for (const auto& [name, make_optimizer] : optimisers())
    for (int interrupted = 0; interrupted < 10; ++interrupted) {
      Parameter a = parameter(tensor({1, 2}), "first"), b = parameter(tensor({3}), "second");
      Parameter c = parameter(tensor({1, 2}), "first"), d = parameter(tensor({3}), "second");
      const auto whole = make_optimizer({a, b});
      auto parts = make_optimizer({c, d});
      for (int step = 1; step <= 10; ++step) {
        if (step == interrupted + 1) {
          const NamedTensors state = parts->state();
          parts = make_optimizer({c, d});
          parts->load_state(state);
        }
        for (Parameter* p : {&a, &b, &c, &d}) {
          p->zero_grad();
          if (p->name() == "first" || step > 4) p->set_gradient(gradient_at(*p, step));
        }
        whole->step();
        parts->step();
      }
      EXPECT_SAME_BITS(c.value(), a.value()) << name << ", interrupted after " << interrupted;
      EXPECT_SAME_BITS(d.value(), b.value()) << name << ", interrupted after " << interrupted;
    }
}

TEST(Optimizer, NamesItsState) {
  Parameter a = parameter(tensor({1, 2}), "layer.weight"), unused = parameter(tensor({1}), "layer.bias");
  Adam optimizer({a, unused});
  EXPECT_TRUE(optimizer.state().empty());
  a.set_gradient(tensor({1, 1}));
  optimizer.step();
  std::vector<std::string> names;
  for (const auto& named : optimizer.state()) names.push_back(named.first);
  EXPECT_EQ(names, (std::vector<std::string>{"layer.weight.step", "layer.weight.first_moment",
                                             "layer.weight.second_moment"}));
  EXPECT_EQ(optimizer.state()[0].second.item(), 1);
  EXPECT_TENSOR_NEAR(optimizer.state()[1].second, tensor({0.1, 0.1}), 1e-15, 0);
}

// What was taken as state stays as it was when the optimiser goes on.
TEST(Optimizer, ItsStateIsASnapshot) {
  Parameter a = parameter(tensor({1}));
  Adam optimizer({a});
  a.set_gradient(tensor({1}));
  optimizer.step();
  const NamedTensors state = optimizer.state();
  optimizer.step();
  EXPECT_TENSOR_NEAR(state[1].second, tensor({0.1}), 1e-15, 0);
}

TEST(Optimizer, RefusesAStateThatDoesNotFitAndKeepsItsOwn) {
  Parameter a = parameter(tensor({1, 2}), "a");
  Adam optimizer({a});
  a.set_gradient(tensor({1, 1}));
  optimizer.step();
  const NamedTensors good = optimizer.state();
  const auto with = [&](std::size_t i, const std::string& name, const Tensor& value) {
    NamedTensors state = good;
    state[i] = {name, value};
    return state;
  };
  EXPECT_THROWS_WITH((optimizer.load_state(with(0, "b.step", scalar(1, int64))), 0), ValueError,
                     "belongs to no");
  EXPECT_THROWS_WITH((optimizer.load_state(with(0, "a.step", scalar(0, int64))), 0), ValueError,
                     "at least 1");
  EXPECT_THROWS_WITH((optimizer.load_state(with(0, "a.step", scalar(1))), 0), ValueError,
                     "must be one int64");
  EXPECT_THROWS_WITH((optimizer.load_state({good[0], good[1]}), 0), ValueError, "a.second_moment is missing");
  EXPECT_THROWS_WITH((optimizer.load_state({good[0], good[0]}), 0), ValueError, "twice");
  EXPECT_THROWS_WITH((optimizer.load_state(with(1, "a.first_moment", zeros({3}))), 0), ShapeError,
                     "[3], expected [2]");
  EXPECT_THROWS_WITH((optimizer.load_state(with(1, "a.first_moment", zeros({2}, float32))), 0), DTypeError,
                     "float32");
  const NamedTensors kept = optimizer.state();
  ASSERT_EQ(kept.size(), good.size());
  for (std::size_t i = 0; i < good.size(); ++i) EXPECT_SAME_BITS(kept[i].second, good[i].second);
}

TEST(Optimizer, TellsParametersOfTheSameNameApart) {
  Parameter a = parameter(tensor({1})), b = parameter(tensor({2})), c = Parameter(tensor({3}));
  Adam optimizer({a, b, c});
  for (Parameter p : optimizer.parameters()) p.set_gradient(tensor({1}));
  optimizer.step();
  EXPECT_EQ(optimizer.state()[0].first, "w.step");
  EXPECT_EQ(optimizer.state()[3].first, "w#1.step");
  EXPECT_EQ(optimizer.state()[6].first, "parameter#2.step");
}

}  // namespace
}  // namespace regard

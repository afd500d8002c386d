#include <regard/optim.hpp>

#include <gtest/gtest.h>

#include <limits>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "optim/optimisers.hpp"
#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

using test::adam_options;
using test::sgd_options;
using test::values_of;

Parameter parameter(const Tensor& value, const char* name = "w") {
  return Parameter(value, name);
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

TEST(Optimizer, RefusesParametersAndRatesThatAreNone) {
  Parameter w = parameter(tensor({1}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROWS_WITH(Sgd({w, Parameter()}), ValueError, "empty handle");
  Sgd optimizer({w});
  EXPECT_THROWS_WITH((optimizer.set_learning_rate(nan), 0), ValueError, "learning rate");
  EXPECT_THROWS_WITH(optimizer.learning_rate(parameter(tensor({1}), "stranger")), ValueError, "stranger");
  optimizer.set_learning_rate(0);
  Sgd grouped({w}, sgd_options(0), {{"w", sgd_options(1)}});
  EXPECT_THROWS_WITH((grouped.set_learning_rate(0.1), 0), ValueError, "ratio");
}

// ---- state ---------------------------------------------------------------------------------------------

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

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include <regard/error.hpp>
#include <regard/ops.hpp>
#include <regard/optim.hpp>

#include "support/close.hpp"
#include "support/golden.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

AverageOptions options_of(Average kind, double decay) {
  AverageOptions options;
  options.kind = kind;
  options.decay = decay;
  return options;
}

// The walk of tests/golden/optimisers.py: element i is cos(t + i)·(1 + t / 10) after step t.
Tensor walk(int step, DType dtype) {
  std::vector<double> values;
  for (int i = 0; i < 3; ++i) values.push_back(std::cos(step + i) * (1 + step / 10.0));
  return test::from_values(values, {3}, dtype);
}

Tensor average_of(const AveragedParameters& averages) {
  return averages.state().at(1).second;
}

TEST(Average, FollowsPyTorchForAHundredSteps) {
  const nlohmann::json golden = test::golden("optimisers.json").at("averages");
  for (const DType dtype : {float64, float32})
    for (const auto& [name, options] : {std::pair("exponential", options_of(Average::exponential, 0.9)),
                                        std::pair("equal", options_of(Average::equal, 0))}) {
      Parameter p(zeros({3}, dtype), "p");
      AveragedParameters averages({p}, options);
      for (int step = 1; step <= 100; ++step) {
        p.assign(walk(step, dtype));
        averages.update();
      }
      EXPECT_TENSOR_NEAR(average_of(averages),
                         test::from_values(golden.at(name).get<std::vector<double>>(), {3}, dtype), 0,
                         dtype == float64 ? 1e-12 : 1e-5)
          << name;
    }
}

// With its correction the average is Σ decay^(n - t)·p_t / Σ decay^(n - t): no value weighs more than its age
// says.
TEST(Average, CorrectedWeighsByAgeAlone) {
  Parameter p(zeros({3}), "p");
  AveragedParameters averages({p}, options_of(Average::corrected, 0.9));
  for (int steps = 1; steps <= 20; ++steps) {
    p.assign(walk(steps, float64));
    averages.update();
    Tensor expected = zeros({3});
    double weights = 0;
    for (int step = 1; step <= steps; ++step) {
      expected = expected + walk(step, float64) * std::pow(0.9, steps - step);
      weights += std::pow(0.9, steps - step);
    }
    EXPECT_TENSOR_NEAR(average_of(averages), expected / weights, 1e-12, 1e-13);
  }
}

TEST(Average, OfOneUpdateIsTheValueItself) {
  for (const Average kind : {Average::exponential, Average::corrected, Average::equal}) {
    Parameter p(tensor({1, 2}), "p");
    AveragedParameters averages({p}, options_of(kind, 0.5));
    averages.update();
    EXPECT_SAME_BITS(average_of(averages), tensor({1, 2}));
  }
}

TEST(Average, IsInUseAsLongAsItIsHeld) {
  Parameter p(tensor({2}), "p");
  AveragedParameters averages({p}, options_of(Average::equal, 0));
  averages.update();
  p.assign(tensor({4}));
  averages.update();
  p.assign(tensor({10}));
  const Tensor before = p.value();
  {
    const auto in_use = averages.use();
    EXPECT_SAME_BITS(p.value(), tensor({3}));
    EXPECT_THROWS_WITH((averages.update(), 0), GraphError, "update: the averages are in use");
    EXPECT_THROWS_WITH(averages.use(), GraphError, "in use");
    EXPECT_THROWS_WITH(averages.state(), GraphError, "in use");
    EXPECT_THROWS_WITH((averages.load_state({}), 0), GraphError, "in use");
  }
  EXPECT_SAME_BITS(p.value(), before);
  averages.update();
  EXPECT_TENSOR_NEAR(average_of(averages), tensor({16.0 / 3}), 1e-15, 0);
}

TEST(Average, TakesEachParameterOnceAndNotItsLaterSteps) {
  Parameter p(tensor({2}), "p");
  AveragedParameters averages({p, p});
  averages.update();
  Sgd optimizer({p});
  p.set_gradient(tensor({1}));
  optimizer.step();  // overwrites what nobody else holds
  EXPECT_SAME_BITS(average_of(averages), tensor({2}));
  EXPECT_EQ(averages.state().size(), 2u);
}

TEST(Average, GoesOnFromItsStateAsIfNotInterrupted) {
  for (const Average kind : {Average::exponential, Average::corrected, Average::equal}) {
    Parameter p(zeros({3}), "p");
    AveragedParameters whole({p}, options_of(kind, 0.8)), parts({p}, options_of(kind, 0.8));
    for (int step = 1; step <= 9; ++step) {
      p.assign(walk(step, float64));
      whole.update();
      AveragedParameters next({p}, options_of(kind, 0.8));
      next.load_state(parts.state());
      next.update();
      parts.load_state(next.state());
    }
    EXPECT_SAME_BITS(average_of(parts), average_of(whole));
  }
}

TEST(Average, RefusesWhatDoesNotFitAndKeepsItsOwn) {
  Parameter p(tensor({1, 2}), "p");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROWS_WITH(AveragedParameters({p}, options_of(Average::exponential, 1)), ValueError,
                     "decay must lie in [0, 1)");
  EXPECT_THROWS_WITH(AveragedParameters({p}, options_of(Average::exponential, nan)), ValueError, "decay");
  EXPECT_THROWS_WITH(AveragedParameters({Parameter()}), ValueError, "empty handle");
  AveragedParameters averages({p});
  EXPECT_TRUE(averages.state().empty());
  EXPECT_THROWS_WITH(averages.use(), GraphError, "no update yet");
  averages.update();
  const NamedTensors good = averages.state();
  EXPECT_THROWS_WITH((averages.load_state({good[0]}), 0), ValueError, "p.average is missing");
  EXPECT_THROWS_WITH((averages.load_state({good[1]}), 0), ValueError, "updates is missing");
  EXPECT_THROWS_WITH((averages.load_state({good[0], {"p.average", zeros({3})}}), 0), ShapeError,
                     "[3], expected [2]");
  EXPECT_THROWS_WITH((averages.load_state({good[0], good[1], {"q.average", zeros({2})}}), 0), ValueError,
                     "q.average belongs to no parameter");
  EXPECT_SAME_BITS(average_of(averages), tensor({1, 2}));
}

}  // namespace
}  // namespace regard

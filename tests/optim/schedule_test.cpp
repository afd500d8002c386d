#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <vector>

#include <nlohmann/json.hpp>

#include <regard/error.hpp>
#include <regard/optim.hpp>

#include "support/golden.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

std::vector<double> rates(Size count, const std::function<double(Size)>& rate) {
  std::vector<double> all;
  for (Size step = 0; step < count; ++step) all.push_back(rate(step));
  return all;
}

// ---- against PyTorch -----------------------------------------------------------------------------------

void follow(const char* name, const std::function<double(Size)>& rate) {
  const auto expected = test::golden("optimisers.json").at("schedules").at(name).get<std::vector<double>>();
  ASSERT_EQ(expected.size(), 100u);
  for (std::size_t step = 0; step < expected.size(); ++step)
    EXPECT_NEAR(rate(static_cast<Size>(step)), expected[step], 1e-12 * expected[step])
        << name << ", step " << step;
}

TEST(Schedule, FollowsPyTorchForAHundredSteps) {
  follow("step", [](Size step) { return step_rate(0.5, step, {30, 0.3}); });
  follow("linear", [](Size step) { return linear_rate(0.5, step, {40, 0.25, 0.75}); });
  follow("cosine", [](Size step) { return cosine_rate(0.5, step, {99, 0, 0.01}); });
  follow("cosine/restarts", [](Size step) { return cosine_restarts_rate(0.5, step, {30, 1, 0.05}); });
  follow("cosine/longer restarts", [](Size step) { return cosine_restarts_rate(0.5, step, {7, 2, 0}); });
  OneCycleOptions options;
  options.total_steps = 100;
  follow("one cycle", [&](Size step) { return one_cycle_rate(0.5, step, options); });
  options = {100, 0.213, 10, 5, Anneal::linear};
  follow("one cycle/linear", [&](Size step) { return one_cycle_rate(0.5, step, options); });
}

TEST(Schedule, AllThatWereRecordedAreTested) {
  EXPECT_EQ(test::golden("optimisers.json").at("schedules").size(), 7u);
}

// ---- one by one ----------------------------------------------------------------------------------------

TEST(Schedule, ConstantStays) {
  EXPECT_EQ(rates(3, [](Size step) { return constant_rate(0.5, step); }),
            (std::vector<double>{0.5, 0.5, 0.5}));
}

// The first step is not wasted on a rate of 0.
TEST(Schedule, WarmUpStartsAboveZeroAndEndsAtTheBase) {
  EXPECT_EQ(rates(6, [](Size step) { return warmup_rate(1, step, 4); }),
            (std::vector<double>{0.25, 0.5, 0.75, 1, 1, 1}));
  EXPECT_EQ(warmup_rate(1, 0, 0), 1);
}

TEST(Schedule, CosineFallsToItsMinimum) {
  CosineOptions options;
  options.total_steps = 4;
  const std::vector<double> expected = {1, 0.853553390593274, 0.5, 0.146446609406726, 0, 0};
  const std::vector<double> found = rates(6, [&](Size step) { return cosine_rate(1, step, options); });
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-15) << "step " << i;
  options.minimum = 0.2;
  EXPECT_NEAR(cosine_rate(1, 2, options), 0.6, 1e-15);
  EXPECT_EQ(cosine_rate(1, 4, options), 0.2);
}

TEST(Schedule, CosineBeginsAfterTheWarmUp) {
  CosineOptions options;
  options.total_steps = 6;
  options.warmup_steps = 2;
  const std::vector<double> expected = {0.5, 1, 1, 0.853553390593274, 0.5, 0.146446609406726, 0};
  const std::vector<double> found = rates(7, [&](Size step) { return cosine_rate(1, step, options); });
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(found[i], expected[i], 1e-15) << "step " << i;
}

TEST(Schedule, StepsFallAtOnce) {
  EXPECT_EQ(rates(7,
                  [](Size step) {
                    return step_rate(8, step, {3, 0.5});
                  }),
            (std::vector<double>{8, 8, 8, 4, 4, 4, 2}));
}

TEST(Schedule, LinearArrivesAndStays) {
  EXPECT_EQ(rates(6,
                  [](Size step) {
                    return linear_rate(8, step, {4, 1, 0});
                  }),
            (std::vector<double>{8, 6, 4, 2, 0, 0}));
}

// Cycles of 2, 4 and 8 steps begin at 0, 2 and 6.
TEST(Schedule, CosineRestartsAtItsBase) {
  const auto rate = [](Size step) { return cosine_restarts_rate(1, step, {2, 2, 0}); };
  for (const Size start : {0, 2, 6, 14}) EXPECT_EQ(rate(start), 1) << start;
  EXPECT_NEAR(rate(1), 0.5, 1e-15);
  EXPECT_NEAR(rate(4), 0.5, 1e-15);
  EXPECT_NEAR(rate(10), 0.5, 1e-15);
  const Size far = std::numeric_limits<Size>::max();
  EXPECT_GE(cosine_restarts_rate(1, far, {far / 2, 3, 0}), 0);
  EXPECT_EQ(cosine_restarts_rate(1, far, {1, 1, 0}), 1);
}

TEST(Schedule, OneCycleRisesAndFallsAndStays) {
  const auto rate = [](Size step) { return one_cycle_rate(1, step, {10, 0.5, 4, 5, Anneal::linear}); };
  EXPECT_EQ(rate(0), 0.25);
  EXPECT_EQ(rate(4), 1);
  EXPECT_NEAR(rate(9), 0.05, 1e-15);
  EXPECT_EQ(rate(1000), rate(9));
}

TEST(Schedule, NothingIsDividedByZero) {
  for (const double rise : {0.0, 0.5, 1.0})
    for (const Size total : {1, 2, 3})
      for (Size step = 0; step < 5; ++step) {
        const double rate = one_cycle_rate(1, step, {total, rise, 25, 1e4, Anneal::cosine});
        EXPECT_TRUE(rate > 0 && rate <= 1) << rise << ' ' << total << ' ' << step << ": " << rate;
      }

  CosineOptions options;
  options.total_steps = 3;
  options.warmup_steps = 3;
  EXPECT_EQ(cosine_rate(1, 2, options), 1);
  EXPECT_EQ(cosine_rate(1, 3, options), 0);
  options.total_steps = options.warmup_steps = 0;
  EXPECT_EQ(cosine_rate(1, 0, options), 0);
}

TEST(Schedule, RefusesWhatMakesNoSense) {
  CosineOptions options;
  options.total_steps = 3;
  options.warmup_steps = 4;
  EXPECT_THROWS_WITH(cosine_rate(1, 0, options), ValueError, "total_steps must be at least 4, got 3");
  EXPECT_THROWS_WITH(constant_rate(1, -1), ValueError, "counted from 0");
  EXPECT_THROWS_WITH(warmup_rate(1, -1, 2), ValueError, "counted from 0");
  EXPECT_THROWS_WITH(warmup_rate(1, 0, -2), ValueError, "warmup_steps");
  EXPECT_THROWS_WITH(cosine_rate(1, -1, {}), ValueError, "counted from 0");
  EXPECT_THROWS_WITH(step_rate(1, -1, {}), ValueError, "step_rate: steps are counted from 0, got -1");
  EXPECT_THROWS_WITH(step_rate(1, 0, {0, 0.5}), ValueError, "every must be at least 1, got 0");
  EXPECT_THROWS_WITH(linear_rate(1, -1, {}), ValueError, "counted from 0");
  EXPECT_THROWS_WITH(linear_rate(1, 0, {0, 1, 0}), ValueError, "total_steps must be at least 1");
  EXPECT_THROWS_WITH(cosine_restarts_rate(1, -1, {}), ValueError, "counted from 0");
  EXPECT_THROWS_WITH(cosine_restarts_rate(1, 0, {0, 1, 0}), ValueError, "first_cycle must be at least 1");
  EXPECT_THROWS_WITH(cosine_restarts_rate(1, 0, {1, 0, 0}), ValueError, "growth must be at least 1");
  OneCycleOptions cycle;
  EXPECT_THROWS_WITH(one_cycle_rate(1, -1, cycle), ValueError, "counted from 0");
  cycle.rise = 1.5;
  EXPECT_THROWS_WITH(one_cycle_rate(1, 0, cycle), ValueError, "rise must lie in [0, 1], got 1.5");
  cycle.rise = 0.5;
  cycle.end_divisor = 0;
  EXPECT_THROWS_WITH(one_cycle_rate(1, 0, cycle), ValueError, "the divisors must be positive");
  cycle = {};
  cycle.total_steps = 0;
  EXPECT_THROWS_WITH(one_cycle_rate(1, 0, cycle), ValueError, "total_steps must be at least 1");
}

}  // namespace
}  // namespace regard

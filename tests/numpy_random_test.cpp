#include <regard/numpy_random.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include <nlohmann/json.hpp>

#include <regard/error.hpp>
#include <regard/ops.hpp>
#include <regard/random.hpp>

#include "support/golden.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

const nlohmann::json& recorded() {
  static const nlohmann::json document = test::golden("numpy_random.json");
  return document;
}

using Doubles = std::vector<double>;

TEST(NumpyRng, DrawsWhatNumpyDraws) {
  for (const nlohmann::json& golden : recorded()["draws"]) {
    SCOPED_TRACE("seed " + golden["seed"].dump());
    NumpyRng rng = Rng::numpy(golden["seed"].get<std::uint64_t>());
    const nlohmann::json& mixed = golden["mixed"];
    EXPECT_EQ(rng.randn({3}).to_vector<double>(), mixed[0].get<Doubles>());
    EXPECT_EQ(rng.rand({2}).to_vector<double>(), mixed[1].get<Doubles>());
    EXPECT_EQ(rng.normal(), mixed[2][0].get<double>());
    EXPECT_EQ(rng.randn({2, 2}).to_vector<double>(), mixed[3].get<Doubles>());
    EXPECT_EQ(rng.uniform(), mixed[4][0].get<double>());
    const nlohmann::json& ranges = recorded()["ranges"];
    for (const char* kind : {"integers", "integer_arrays"})
      for (std::size_t i = 0; i < ranges.size(); ++i) {
        const auto low = ranges[i][0].get<std::int64_t>(), high = ranges[i][1].get<std::int64_t>();
        const auto expected = golden[kind][i].get<std::vector<std::int64_t>>();
        for (const std::int64_t value : expected)
          EXPECT_EQ(rng.randint(low, high), value) << low << " .. " << high;
      }
  }
}

TEST(NumpyRng, ManyDrawsOfAnOddCountLeaveItWhereNumpyStands) {
  for (const nlohmann::json& golden : recorded()["draws"]) {
    SCOPED_TRACE("seed " + golden["seed"].dump());
    NumpyRng rng(golden["seed"].get<std::uint64_t>());
    const Doubles many = rng.randn({19, 79}).to_vector<double>();
    Doubles tenth;
    for (std::size_t i = 0; i < many.size(); i += 10) tenth.push_back(many[i]);
    EXPECT_EQ(tenth, golden["every_tenth_of_1501"].get<Doubles>());
    EXPECT_EQ(rng.rand({5}).to_vector<double>(), golden["uniform_after"].get<Doubles>());
  }
}

TEST(NumpyRng, IsTheMersenneTwisterOfTheStandard) {
  NumpyRng rng(5489);
  std::mt19937 standard;  // seeded with 5489
  for (int i = 0; i < 10000; ++i) ASSERT_EQ(rng.bits(), standard()) << "word " << i;
}

TEST(NumpyRng, MakesTheMatricesOfTheCourse) {
  NumpyRng nine = Rng::numpy(0);
  for (const char* name : {"W_Q", "W_K", "W_V"}) {
    const Doubles expected = test::course_numbers(std::string("lesson09_inputs/") + name).to_vector<double>();
    EXPECT_EQ(multiply(nine.randn({4, 4}), 0.5).to_vector<double>(), expected) << name;
  }
  NumpyRng ten = Rng::numpy(42);
  EXPECT_EQ(ten.randn({2, 5, 8}).to_vector<double>(),
            test::course_numbers("lesson10_inputs/X").to_vector<double>());
}

TEST(NumpyRng, ACopyContinuesFromTheSamePlace) {
  NumpyRng rng(3);
  (void)rng.normal();
  NumpyRng copy = rng;
  EXPECT_EQ(copy.normal(), rng.normal());  // the kept one
  EXPECT_EQ(copy.bits(), rng.bits());
}

TEST(NumpyRng, ShapesAndTypesOfWhatIsDrawn) {
  NumpyRng rng(1);
  EXPECT_EQ(rng.randn({2, 0}).shape(), Shape({2, 0}));
  EXPECT_EQ(rng.rand({}).shape(), Shape({}));
  EXPECT_EQ(rng.randn({2}).dtype(), DType::float64);
  EXPECT_EQ(NumpyRng(1).rand({2}).at({0}), NumpyRng(1).rand({}).item());
}

TEST(NumpyRng, RefusesWhatNumpyRefuses) {
  EXPECT_THROWS_WITH(NumpyRng(std::uint64_t{1} << 32), ValueError,
                     "expected a seed of 0 .. 4294967295, got 4294967296");
  NumpyRng rng(0);
  EXPECT_THROWS_WITH(rng.randint(3, 3), ValueError, "NumpyRng::randint: expected low < high, got 3 and 3");
  EXPECT_THROWS_WITH(rng.randint(1, 0), ValueError, "got 1 and 0");
  EXPECT_THROW((void)rng.randn({1LL << 40, 1LL << 40}), ShapeError);
}

}  // namespace
}  // namespace regard

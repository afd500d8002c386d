// regard computes what PyTorch computes: every case of tests/golden/pytorch.safetensors, in both float types.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "parity/parity.hpp"
#include "support/golden.hpp"
#include "support/throws.hpp"

namespace regard::parity {
namespace {

const File& file() {
  static const File known = read(test::golden_path("pytorch.safetensors"));
  return known;
}

const Case& case_of(const std::string& name) {
  for (const Case& c : file().cases)
    if (c.name == name) return c;
  throw ValueError("no case is called " + name);
}

void expect_agreement(const std::string& operation, DType dtype) {
  int seen = 0;
  for (const Case& c : file().cases) {
    if (c.operation != operation) continue;
    ++seen;
    const std::vector<Difference> found = differences(c, run(c.in(dtype)), dtype);
    EXPECT_GE(found.size(), 2u) << c.name;
    for (const Difference& d : found)
      EXPECT_LE(d.value, d.bound) << c.name << ", " << name(dtype) << ": " << d.name;
  }
  EXPECT_GE(seen, 2) << operation;
}

class Parity : public ::testing::TestWithParam<const char*> {};

TEST_P(Parity, InFloat64) {
  expect_agreement(GetParam(), float64);
}
TEST_P(Parity, InFloat32) {
  expect_agreement(GetParam(), float32);
}

INSTANTIATE_TEST_SUITE_P(Operations, Parity,
                         ::testing::Values("attention", "multi_head", "layer_norm", "cross_entropy",
                                           "embedding", "gelu", "transformer"),
                         [](const auto& test) { return std::string(test.param); });

TEST(ParityFile, IsAllLookedAt) {
  std::set<std::string> operations, names;
  for (const Case& c : file().cases) {
    operations.insert(c.operation);
    EXPECT_TRUE(names.insert(c.name).second) << c.name << " is there twice";
    EXPECT_TRUE(c.expected.count("output")) << c.name;
  }
  EXPECT_EQ(operations, (std::set<std::string>{"attention", "cross_entropy", "embedding", "gelu",
                                               "layer_norm", "multi_head", "transformer"}));
  EXPECT_EQ(file().torch, "2.13.0");
}

TEST(ParityFile, HoldsTenStepsOfEveryParameter) {
  for (const Case& c : file().cases) {
    if (c.operation != "transformer") continue;
    EXPECT_EQ(c.expected.at("output").shape(), Shape{10});
    EXPECT_LT(c.expected.at("output").at({9}), c.expected.at("output").at({0})) << "it does not learn";
    for (const auto& [name, x] : c.inputs) {
      if (name == "ids" || name == "targets") continue;
      EXPECT_EQ(c.expected.at("steps." + name).size(0), 10) << name;
    }
  }
}

// ---- the comparison itself can fail -----------------------------------------------------------------------

double worst(const std::vector<Difference>& found) {
  double most = 0;
  for (const Difference& d : found) most = std::max(most, d.value / d.bound);
  return most;
}

TEST(ParityComparison, SeesAnOptionLeftOut) {
  Case c = case_of("attention, narrow values, scale");
  EXPECT_LE(worst(differences(c, run(c), float64)), 1);
  c.options.erase("scale");
  EXPECT_GT(worst(differences(c, run(c), float64)), 1e6);
}

TEST(ParityComparison, SeesTheOtherFormOfGelu) {
  Case c = case_of("gelu, exact");
  c.options["form"] = "tanh";
  EXPECT_GT(worst(differences(c, run(c), float64)), 1e6);
}

TEST(ParityComparison, SeesOnePartInTenToTheEleventhOfAnOutput) {
  const Case c = case_of("layer norm, affine");
  TensorMap ours = run(c);
  ours["output"] = ours["output"] * (1 + 1e-11);
  const std::vector<Difference> found = differences(c, ours, float64);
  EXPECT_NEAR(worst(found), 10, 0.1);
  EXPECT_FALSE(found.back().ok());
}

TEST(ParityComparison, MissingOrNotANumberIsInfinitelyFar) {
  const Case c = case_of("layer norm, affine");
  TensorMap ours = run(c);
  ours.erase("output");
  EXPECT_TRUE(std::isinf(worst(differences(c, ours, float64))));
  ours["output"] = c.expected.at("output") * std::nan("");
  EXPECT_TRUE(std::isinf(worst(differences(c, ours, float64))));
  ours["output"] = reshape(c.expected.at("output"), {-1});
  EXPECT_TRUE(std::isinf(worst(differences(c, ours, float64))));
}

TEST(ParityFile, RefusesWhatIsNone) {
  EXPECT_THROWS_WITH(read(test::golden_path("from_python.safetensors")), IoError,
                     "no \"torch\" in the metadata");
  Case c = case_of("gelu, exact");
  c.operation = "gelo";
  EXPECT_THROWS_WITH(run(c), ValueError, "there is no operation called gelo");
}

}  // namespace
}  // namespace regard::parity

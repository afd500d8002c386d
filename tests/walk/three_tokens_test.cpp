// The worked case has the course's numbers, and the walk shows them where they belong.
#include "walk/three_tokens.hpp"

#include <gtest/gtest.h>

#include "support/close.hpp"
#include "support/golden.hpp"

namespace walk {
namespace {

using namespace regard;
using regard::test::course_numbers;

void expect_course(Visibility visibility, const std::string& run) {
  SCOPED_TRACE(run);
  const ThreeTokens tokens(visibility);
  study::TapeWalk walk = walk_over(tokens, "en");
  walk.goto_step(walk.size());
  const auto expect = [&](const std::string& name, const std::string& path, double tolerance) {
    SCOPED_TRACE(name);
    EXPECT_TENSOR_NEAR(walk.find(name), course_numbers(path), tolerance, tolerance);
  };
  for (const char* name : {"X", "W_Q", "W_K", "W_V"}) {
    expect(name, std::string("lesson09_inputs/") + name, 0);
    expect("d" + std::string(name), run + "/gradients/d" + name, 1e-12);
  }
  for (const char* name : {"Q", "K", "V"}) expect(name, run + "/" + name, 1e-14);
  expect("S", run + "/raw_scores", 1e-14);
  expect("Z", run + "/scaled_scores", 1e-14);
  expect("P", run + "/weights", 1e-14);
  expect("O", run + "/output", 1e-14);
  expect("dO", run + "/gradients/upstream", 0);
}

TEST(ThreeTokens, HasTheNumbersOfTheCourse) {
  expect_course(Visibility::causal, "lesson09_causal");
  expect_course(Visibility::full, "lesson09_full");
}

TEST(ThreeTokens, EveryStepSaysWhatItDidAndWhereTheGradientWent) {
  const ThreeTokens tokens(Visibility::causal);
  const study::TapeWalk walk = walk_over(tokens, "en");
  const char* const sentences[] = {
      "Q = X·W_Q: matmul [3, 4] × [4, 4] → [3, 4]",
      "K = X·W_K: matmul [3, 4] × [4, 4] → [3, 4]",
      "V = X·W_V: matmul [3, 4] × [4, 4] → [3, 4]",
      "Kᵀ: transpose [3, 4] → [4, 3]",
      "S = Q·Kᵀ: matmul [3, 4] × [4, 3] → [3, 3]",
      "Z = 0.5·S: multiply_scalar [3, 3] → [3, 3]",
      "P = softmax Z over M: softmax [3, 3] × [3, 3] → [3, 3]",
      "O = P·V: matmul [3, 3] × [3, 4] → [3, 4]",
      "E = U∘O: multiply [3, 4] × [3, 4] → [3, 4]",
      "L = Σ E: sum [3, 4] → []",
      "vjp of sum (step 10): dE = dL in every place [3, 4]",
      "vjp of multiply (step 9): dO = dE∘U [3, 4]",
      "vjp of matmul (step 8): dP = dO·Vᵀ [3, 3], dV = Pᵀ·dO [3, 4]",
      "vjp of softmax (step 7): dZ = P∘(dP - Σ P∘dP) [3, 3]",
      "vjp of multiply_scalar (step 6): dS = 0.5·dZ [3, 3]",
      "vjp of matmul (step 5): dQ = dS·K [3, 4], dKᵀ = Qᵀ·dS [4, 3]",
      "vjp of transpose (step 4): dK = dK [3, 4]",
      "vjp of matmul (step 3): dX = dV·W_Vᵀ [3, 4], dW_V = Xᵀ·dV [4, 4]",
      "vjp of matmul (step 2): dX += dK·W_Kᵀ [3, 4], dW_K = Xᵀ·dK [4, 4]; dX is the sum of 2 parts now",
      "vjp of matmul (step 1): dX += dQ·W_Qᵀ [3, 4], dW_Q = Xᵀ·dQ [4, 4]; dX is the sum of 3 parts now"};
  std::size_t place = 1;
  for (const char* sentence : sentences) EXPECT_EQ(walk.at(place++).sentence, sentence);
  EXPECT_EQ(walk.size(), place + 3) << "and four leaves";
  EXPECT_EQ(walk.at(walk.size()).sentence, "dX is complete: [3, 4]");
}

}  // namespace
}  // namespace walk

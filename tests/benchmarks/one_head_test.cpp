// The step that is written by hand and the library's do the same work: their losses agree step by step.
#include "models/one_head.hpp"

#include <gtest/gtest.h>

namespace {

using regard::Tensor;

template <class T>
void expect_same_losses(const hand_written::OneHeadSizes& n, double tolerance) {
  regard::Rng rng(1);
  const models::OneHead model(n, rng, regard::dtype_of<T>());
  std::vector<std::vector<T>> start;
  for (const regard::Parameter& parameter : model.parameters())
    start.push_back(parameter.value().to_vector<T>());
  hand_written::OneHead<T> by_hand(n, start);
  regard::AdamOptions options;
  options.learning_rate = 1e-2;
  regard::Adam adam(model.parameters(), options);
  hand_written::AdamSettings settings;
  settings.rate = 1e-2;
  double first = 0, last = 0;
  for (int step = 0; step < 100; ++step) {
    std::vector<regard::Size> ids, targets;
    for (regard::Size i = 0; i < n.batch * n.tokens; ++i) {
      ids.push_back(rng.below(n.vocabulary));
      targets.push_back((ids.back() + 1) % n.vocabulary);
    }
    adam.zero_grad();
    const Tensor loss = model(regard::from_vector(ids, {n.batch, n.tokens}),
                              regard::from_vector(targets, {n.batch, n.tokens}));
    regard::backward(loss);
    adam.step();
    last = by_hand.step(ids.data(), targets.data(), settings);
    if (step == 0) first = last;
    ASSERT_NEAR(loss.item(), last, tolerance) << "step " << step;
  }
  EXPECT_LT(last, first);
}

TEST(OneHead, OfALessonByHandLosesTheSame) {
  expect_same_losses<double>({2, 5, 8, 11}, 1e-10);
}
TEST(OneHead, OfTheDemosSizeByHandLosesTheSame) {
  expect_same_losses<double>({64, 12, 32, 40}, 1e-10);
}
TEST(OneHead, InFloat32Too) {
  expect_same_losses<float>({64, 12, 32, 40}, 1e-4);
}

}  // namespace

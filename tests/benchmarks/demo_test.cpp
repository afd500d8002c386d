// The demo's steps written by hand and the library's do the same work: their losses agree step by step.
#include "models/demo.hpp"

#include <gtest/gtest.h>

#include <regard/regard.hpp>

namespace {

using coreference::ModelKind;

template <class T>
void expect_same_losses(ModelKind kind, double tolerance) {
  const coreference::ModelSettings settings = models::demo_settings(kind, regard::dtype_of<T>());
  regard::Rng rng(1);
  const coreference::Model model(settings, rng);
  hand_written::Demo<T> hand(models::by_hand(kind), {}, models::numbers_of<T>(model));
  regard::AdamOptions options;
  options.learning_rate = 1e-2;
  regard::Adam adam(regard::parameters(model), options);
  hand_written::AdamSettings by;
  by.rate = 1e-2;
  const std::vector<coreference::Batch> batches = models::demo_batches(settings, 100);
  ASSERT_EQ(batches.size(), 100U);
  double first = 0, last = 0;
  for (std::size_t step = 0; step < batches.size(); ++step) {
    adam.zero_grad();
    const regard::Tensor loss = models::demo_loss(model, coreference::Inputs(batches[step], settings.dtype));
    regard::backward(loss);
    adam.step();
    const std::vector<double> clause = coreference::clause_weights(batches[step]);
    last = hand.step(models::by_hand(batches[step], clause), by);
    if (step == 0) first = last;
    ASSERT_NEAR(loss.item(), last, tolerance) << "step " << step;
  }
  EXPECT_LT(last, first);
}

TEST(Demo, OfAgreementByHandLosesTheSame) {
  expect_same_losses<double>(ModelKind::raw, 1e-10);
}
TEST(Demo, WithAClauseThatAsksByHandLosesTheSame) {
  expect_same_losses<double>(ModelKind::clause, 1e-10);
}
TEST(Demo, OfTwoLayersByHandLosesTheSame) {
  expect_same_losses<double>(ModelKind::two_layer, 1e-10);
}
TEST(Demo, InFloat32Too) {
  for (const ModelKind kind : {ModelKind::raw, ModelKind::clause, ModelKind::two_layer})
    expect_same_losses<float>(kind, 1e-3);
}

}  // namespace

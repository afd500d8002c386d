// The doctor, the anomaly mode and the leak audit on the library's own transformers: no false alarm.
#include <gtest/gtest.h>

#include <vector>

#include <regard/regard.hpp>
#include <regard/study/anomaly.hpp>
#include <regard/study/doctor.hpp>
#include <regard/study/leaks.hpp>

#include "support/tensors.hpp"

namespace regard::study {
namespace {

std::vector<nn::TransformerOptions> every_kind() {
  std::vector<nn::TransformerOptions> kinds;
  for (const nn::Activation activation :
       {nn::Activation::relu, nn::Activation::gelu, nn::Activation::gelu_tanh, nn::Activation::swiglu})
    for (const nn::NormKind norm : {nn::NormKind::layer, nn::NormKind::rms})
      for (const nn::NormPlace place : {nn::NormPlace::before, nn::NormPlace::after}) {
        nn::TransformerOptions options;
        options.heads = 2;
        options.kv_heads = activation == nn::Activation::gelu ? 1 : 2;
        options.rotary = activation == nn::Activation::swiglu;
        options.activation = activation;
        options.norm = norm;
        options.place = place;
        options.dropout = 0.1;
        kinds.push_back(options);
      }
  return kinds;
}

TEST(HealthyTransformers, AreOkToTheDoctorAndRaiseNoAlarm) {
  Rng rng(1);
  for (const nn::TransformerOptions& options : every_kind()) {
    const nn::Encoder encoder(8, 2, rng, options);
    const nn::Decoder decoder(8, 1, rng, options);
    const Tensor x = test::random_tensor({2, 5, 8}, rng), y = test::random_tensor({2, 4, 8}, rng);
    const Tensor weights = test::random_tensor({2, 4, 8}, rng);
    NamedParameters all = named_parameters(encoder);
    for (const auto& [path, parameter] : named_parameters(decoder))
      all.emplace_back("decoder." + path, parameter);
    const Mask padding = Mask::padding(tensor({5, 3}, int64));

    const AnomalyMode anomaly(all);
    const Diagnosis diagnosis =
        diagnose(all, [&] { return sum(weights * square(decoder(y, encoder(x, padding), padding))); });
    EXPECT_TRUE(diagnosis.ok()) << diagnosis;
    EXPECT_FALSE(anomaly.first());
    // Nothing but the biases of keys is invisible to the loss; where keys are turned by their positions, not
    // even they.
    for (const ParameterHealth& p : diagnosis.parameters)
      EXPECT_EQ(p.reason == Reason::cancels, !options.rotary && matches("*.key.bias", p.parameter))
          << p.parameter;
  }
}

TEST(HealthyTransformers, DoNotLookAhead) {
  Rng rng(2);
  for (const nn::TransformerOptions& options : every_kind()) {
    nn::Encoder encoder(8, 2, rng, options);
    evaluate(encoder);
    const LeakReport report = audit_leak([&](const Tensor& x) { return encoder(x, Mask::causal()); },
                                         test::random_tensor({2, 4, 8}, rng));
    EXPECT_TRUE(report.leaks().empty()) << report;
    EXPECT_TRUE(report.agree()) << report;
  }
}

TEST(HealthyTransformers, AreNamedWhereTheyAreIll) {
  Rng rng(3);
  nn::TransformerOptions options;
  options.activation = nn::Activation::relu;
  const nn::Encoder encoder(4, 2, rng, options);
  Parameter bias = encoder.blocks[1].feed_forward->hidden.bias;
  bias.assign(full(bias.shape(), -1000));
  const Tensor x = test::random_tensor({3, 4}, rng);
  const Diagnosis diagnosis = diagnose(encoder, [&] { return sum(x * square(encoder(x))); });
  const ParameterHealth& hidden = diagnosis.at("blocks.1.feed_forward.hidden.weight");
  EXPECT_EQ(hidden.reason, Reason::dead_relu) << diagnosis;
  EXPECT_EQ(hidden.module, "blocks.1.feed_forward");
  EXPECT_EQ(diagnosis.at("blocks.0.feed_forward.hidden.weight").health, Health::ok);
}

}  // namespace
}  // namespace regard::study

// The doctor on models with each illness, and on healthy ones.
#include <regard/study/doctor.hpp>

#include <cmath>
#include <limits>
#include <sstream>

#include <gtest/gtest.h>

#include <regard/regard.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::study {
namespace {

using test::random_tensor;

const Tensor& ids() {
  static const Tensor known = tensor({{0, 1, 2, 3}, {2, 3, 1, 1}}, int64);
  return known;
}

/// Embedding, attention, a perceptron and a head. What is between them is up to the test.
struct Model {
  explicit Model(std::uint64_t seed, DType dtype = float64)
      : rng(seed),
        embedding(6, 4, rng, with_dtype<nn::EmbeddingOptions>(dtype)),
        attention(4, 2, rng, with_bias(dtype)),
        norm(4, with_dtype<nn::LayerNormOptions>(dtype)),
        hidden(4, 8, rng, with_dtype<nn::LinearOptions>(dtype)),
        output(8, 4, rng, with_dtype<nn::LinearOptions>(dtype)),
        head(4, 6, rng, with_dtype<nn::LinearOptions>(dtype)) {}

  template <class Options>
  static Options with_dtype(DType dtype) {
    Options options;
    options.dtype = dtype;
    return options;
  }
  static nn::MultiHeadAttentionOptions with_bias(DType dtype) {
    auto options = with_dtype<nn::MultiHeadAttentionOptions>(dtype);
    options.bias = true;
    return options;
  }

  Tensor operator()(const Tensor& tokens) const {
    const Tensor x = embedding(tokens);
    const Tensor mixed = after_attention(x + attention(norm(x), mask));
    return head(mixed + output(relu(hidden(mixed))));
  }
  Tensor loss() const { return cross_entropy((*this)(ids()), ids()); }
  template <class F>
  void visit(F&& f) {
    f("embedding", embedding);
    f("attention", attention);
    f("norm", norm);
    f("hidden", hidden);
    f("output", output);
    f("head", head);
  }

  Rng rng;
  nn::Embedding embedding;
  nn::MultiHeadAttention attention;
  nn::LayerNorm norm;
  nn::Linear hidden, output, head;
  Mask mask = Mask::causal();
  Function after_attention = [](const Tensor& x) { return x; };
};

Diagnosis diagnosis_of(const Model& model) {
  return diagnose(model, [&model] { return model.loss(); });
}

std::string told(const ParameterHealth& p) {
  return std::string(name(p.health)) + ", " + name(p.reason) + ", " + p.op + ", " + p.module;
}

// ---- healthy -------------------------------------------------------------------------------------------

TEST(Doctor, AHealthyModelIsOk) {
  for (const DType dtype : {float64, float32}) {
    const Model model(1, dtype);
    const Diagnosis diagnosis = diagnosis_of(model);
    EXPECT_TRUE(diagnosis.ok()) << diagnosis;
    EXPECT_EQ(diagnosis.parameters.size(), named_parameters(model).size());
    // Rows that were not used are 0, which is as it should be.
    EXPECT_EQ(told(diagnosis.at("embedding.weight")), "ok, none, , ");
    EXPECT_EQ(diagnosis.at("embedding.weight").zeros, 8);
    EXPECT_EQ(diagnosis.at("hidden.weight").health, Health::ok);
  }
}

TEST(Doctor, WhatLayersLeaveOutOnPurposeIsNoIllness) {
  struct Reader {
    explicit Reader(Rng& rng)
        : embedding(6, 4, rng, padded()),
          positions(9, 4, rng),
          attention(4, 2, rng, dropping()),
          dropout(0.3, rng),
          head(4, 6, rng) {}
    static nn::EmbeddingOptions padded() {
      nn::EmbeddingOptions options;
      options.padding = 0;
      return options;
    }
    static nn::MultiHeadAttentionOptions dropping() {
      nn::MultiHeadAttentionOptions options;
      options.dropout = 0.3;
      options.rotary = true;
      return options;
    }
    nn::Embedding embedding;
    nn::LearnedPositions positions;
    nn::MultiHeadAttention attention;
    nn::Dropout dropout;
    nn::Linear head;
  };
  Rng rng(31);
  const Reader model(rng);
  NamedParameters all;
  for (const auto& part : {named_parameters(model.embedding), named_parameters(model.positions),
                           named_parameters(model.attention), named_parameters(model.head)})
    all.insert(all.end(), part.begin(), part.end());
  CrossEntropyOptions options;
  options.ignore_index = 0;
  const Diagnosis diagnosis = diagnose(all, [&] {
    const Tensor x = model.positions(model.embedding(ids()));
    const Mask mask = Mask::causal() & Mask::padding(tensor({4, 3}, int64));
    return cross_entropy(model.head(model.dropout(model.attention(x, mask))), ids(), options);
  });
  EXPECT_TRUE(diagnosis.ok()) << diagnosis;
  EXPECT_EQ(diagnosis.parameters[1].zeros, 20) << "five positions of nine were not used";
}

// A shift of all of a query's scores is none to the softmax: the gradient is rounding, or 0.
TEST(Doctor, TheBiasOfKeysIsNoIllness) {
  for (const DType dtype : {float64, float32})
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Model model(seed, dtype);
      const Diagnosis diagnosis = diagnosis_of(model);
      const ParameterHealth& bias = diagnosis.at("attention.key.bias");
      EXPECT_EQ(bias.reason, Reason::cancels) << diagnosis;
      EXPECT_EQ(bias.op, "add");
      EXPECT_EQ(bias.module, "attention.key");
      EXPECT_FALSE(bias.alarming());
      for (const ParameterHealth& p : diagnosis.parameters)
        EXPECT_TRUE(p.reason == Reason::none || p.parameter == bias.parameter)
            << p.parameter << ": " << told(p);
    }
}

TEST(Doctor, TiedAndFrozenParametersAreNoIllness) {
  Model model(2);
  model.head = nn::Linear(4, 6, model.rng);
  freeze(model, "norm");
  const Diagnosis diagnosis = diagnosis_of(model);
  EXPECT_TRUE(diagnosis.ok()) << diagnosis;
  EXPECT_EQ(told(diagnosis.at("norm.gamma")), "missing, not trainable, , ");

  const Diagnosis tied = diagnose(model, [&] {
    const Tensor x = model.norm(model.embedding(ids()));
    return cross_entropy(matmul(x, transpose(model.embedding.weight)), ids());
  });
  EXPECT_EQ(tied.at("embedding.weight").health, Health::ok);
  EXPECT_EQ(tied.at("embedding.weight").zeros, 0);
}

TEST(Doctor, LeavesGradientsAsTheyWere) {
  const Model model(3);
  backward(model.loss());
  const Tensor before = model.head.weight.gradient();
  zero_grad(model.norm);
  (void)diagnosis_of(model);
  EXPECT_SAME_BITS(model.head.weight.gradient(), before);
  EXPECT_FALSE(model.norm.gamma.has_gradient());
}

// ---- missing -------------------------------------------------------------------------------------------

TEST(Doctor, FindsADetach) {
  Model model(4);
  model.after_attention = [](const Tensor& x) { return tanh(tanh(x).detach()); };
  const Diagnosis diagnosis = diagnosis_of(model);
  for (const ParameterHealth& p : diagnosis.parameters) {
    const bool before = matches("embedding", p.parameter) || matches("attention", p.parameter) ||
                        matches("norm", p.parameter);
    EXPECT_EQ(told(p), before ? "missing, detached, tanh, " : "ok, none, , ") << p.parameter;
  }
  EXPECT_EQ(diagnosis.at("norm.gamma").detail, "after tanh");
  EXPECT_EQ(diagnosis.at("hidden.weight").health, Health::ok);

  const Diagnosis by_value = diagnose(model, [&] {
    return cross_entropy(matmul(model.embedding(ids()), model.head.weight.value()) + model.head.bias, ids());
  });
  EXPECT_EQ(told(by_value.at("head.weight")), "missing, detached, matmul, ");
  EXPECT_EQ(by_value.at("head.weight").detail, "value() was used");
  EXPECT_EQ(by_value.at("head.bias").health, Health::ok);
}

TEST(Doctor, FindsADetachedLoss) {
  const Model model(5);
  const Diagnosis diagnosis = diagnose(model, [&] { return model.loss().detach(); });
  EXPECT_EQ(diagnosis.at("head.weight").reason, Reason::detached);
  EXPECT_EQ(diagnosis.at("head.weight").detail, "the loss itself");
}

TEST(Doctor, FindsWhereRecordingWasOff) {
  Model model(6);
  const Diagnosis all = diagnose(model, [&] {
    const NoGrad off;
    return model.loss();
  });
  EXPECT_EQ(told(all.at("embedding.weight")), "missing, recording off, take, embedding");
  EXPECT_EQ(told(all.at("head.bias")), "missing, recording off, add, head");

  model.after_attention = [](const Tensor& x) {
    const NoGrad off;
    return sigmoid(x);
  };
  const Diagnosis part = diagnosis_of(model);
  EXPECT_EQ(told(part.at("attention.value.weight")), "missing, recording off, sigmoid, ");
  EXPECT_EQ(told(part.at("norm.beta")), "missing, recording off, sigmoid, ");
  EXPECT_FALSE(part.at("head.weight").alarming());
}

TEST(Doctor, FindsWhatIsNotUsedAndWhatIsNotReached) {
  const Model model(7);
  const Diagnosis diagnosis = diagnose(model, [&] {
    const Tensor x = model.embedding(ids());
    (void)model.output(relu(model.hidden(x)));  // is dropped
    return cross_entropy(model.head(x), ids());
  });
  EXPECT_EQ(told(diagnosis.at("norm.gamma")), "missing, unused, , ");
  EXPECT_EQ(told(diagnosis.at("attention.query.weight")), "missing, unused, , ");
  EXPECT_EQ(told(diagnosis.at("hidden.weight")), "missing, unreachable, add, output");
  EXPECT_EQ(told(diagnosis.at("output.bias")), "missing, unreachable, add, output");
  EXPECT_EQ(diagnosis.at("embedding.weight").health, Health::ok);
}

TEST(Doctor, FindsAnOperationWithoutGradient) {
  Model model(8);
  model.after_attention = [](const Tensor& x) { return x.detach() + greater(x, scalar(0.0)).to(float64); };
  EXPECT_EQ(told(diagnose(model,
                          [&] {
                            return sum(model.head(
                                greater(model.norm(model.embedding(ids())), scalar(0.0)).to(float64)));
                          })
                     .at("norm.beta")),
            "missing, not differentiable, greater, ");
  // A rule that leaves one input out.
  const CustomOp half(
      "half", [](const Tensors& x) { return x[0] * x[1]; },
      [](const RuleInputs& at) {
        return Tensors{at.dy * at.inputs[1], Tensor()};
      });
  const Diagnosis diagnosis = diagnose(model, [&] {
    const Tensor x = model.embedding(ids());
    return sum(half({model.norm(x), model.attention(x)}));
  });
  EXPECT_EQ(told(diagnosis.at("attention.output.weight")), "missing, not differentiable, half, ");
  EXPECT_EQ(diagnosis.at("norm.beta").health, Health::ok);
}

// ---- zero ----------------------------------------------------------------------------------------------

TEST(Doctor, FindsADeadRelu) {
  Model model(9);
  model.hidden.bias.assign(full({8}, -100));
  const Diagnosis diagnosis = diagnosis_of(model);
  for (const ParameterHealth& p : diagnosis.parameters) {
    // The output's weight is multiplied with nothing but 0.
    const bool ill = matches("hidden", p.parameter) || p.parameter == "output.weight";
    EXPECT_EQ(p.alarming(), ill) << p.parameter << ": " << told(p);
    EXPECT_EQ(told(p) == "zero, dead relu, relu, ", ill) << p.parameter << ": " << told(p);
  }
}

TEST(Doctor, FindsWhatAMaskHidesFromAllQueries) {
  Model model(10);
  model.mask = Mask::keep(zeros({4, 4}, boolean));
  const Diagnosis diagnosis = diagnosis_of(model);
  for (const char* path : {"attention.query.weight", "attention.key.weight", "attention.value.weight",
                           "attention.output.weight", "norm.gamma"})
    EXPECT_EQ(told(diagnosis.at(path)), "zero, masked, masked_mix, attention") << diagnosis;
  EXPECT_EQ(diagnosis.at("head.weight").health, Health::ok);
  EXPECT_EQ(diagnosis.at("embedding.weight").health, Health::ok);
}

TEST(Doctor, FindsATokenThatIsHiddenFromAllQueries) {
  Model model(11);
  const Parameter extra(normal({1, 4}, model.rng), "extra");
  NamedParameters all = named_parameters(model);
  all.emplace_back("extra", extra);
  const Diagnosis diagnosis = diagnose(all, [&] {
    const Tensor x = select(model.embedding(ids()), 0, 0);
    const Tensor memory = concatenate({x, extra});
    return sum(square(model.attention(x, memory, Mask::padding(tensor({4}, int64)))));
  });
  EXPECT_EQ(told(diagnosis.at("extra")), "zero, masked, masked_mix, attention") << diagnosis;
  EXPECT_EQ(diagnosis.at("attention.key.weight").health, Health::ok);
}

TEST(Doctor, FindsAFactorOfZero) {
  Model model(12);
  model.attention.output.weight.assign(zeros({4, 4}));
  const Diagnosis diagnosis = diagnosis_of(model);
  for (const char* path : {"attention.query.weight", "attention.value.bias", "norm.gamma"})
    EXPECT_EQ(told(diagnosis.at(path)), "zero, multiplied by zero, matmul, attention.output") << diagnosis;
  EXPECT_EQ(diagnosis.at("attention.output.weight").health, Health::ok) << diagnosis;

  const Diagnosis scaled = diagnose(model, [&] { return model.loss() * 0.0; });
  EXPECT_EQ(told(scaled.at("head.weight")), "zero, multiplied by zero, multiply_scalar, ");
}

TEST(Doctor, FindsASlopeOfZero) {
  const Model model(13);
  const Diagnosis one_key = diagnose(model, [&] {
    return sum(
        square(model.attention(slice(model.embedding(ids()), 1, {0, 1}))));  // one key: its weight is 1
  });
  EXPECT_EQ(told(one_key.at("attention.query.weight")), "zero, flat, softmax, attention") << one_key;
  EXPECT_EQ(one_key.at("attention.value.weight").health, Health::ok);
}

// ---- not finite ------------------------------------------------------------------------------------------

TEST(Doctor, FindsWhereAGradientCeasedToBeANumber) {
  Model model(14);
  model.after_attention = [](const Tensor& x) { return sqrt(relu(x)); };
  const Diagnosis diagnosis = diagnosis_of(model);
  EXPECT_EQ(told(diagnosis.at("attention.value.weight")), "not finite, arose backward, sqrt, ") << diagnosis;
  EXPECT_EQ(diagnosis.at("attention.value.weight").detail, "an infinity, by divide");
  EXPECT_EQ(diagnosis.at("head.weight").health, Health::ok);

  model.after_attention = [](const Tensor& x) { return log(x); };
  EXPECT_EQ(told(diagnosis_of(model).at("head.weight")), "not finite, arose forward, log, ");

  model.after_attention = [](const Tensor& x) { return x; };
  model.norm.beta.assign(full({4}, std::numeric_limits<double>::quiet_NaN()));
  const Diagnosis came_in = diagnosis_of(model);
  EXPECT_EQ(told(came_in.at("head.weight")), "not finite, arose forward, layer_norm, norm");
  EXPECT_EQ(came_in.at("head.weight").detail, "NaN came in");

  const CustomOp wrong(
      "wrong", [](const Tensors& x) { return x[0] * 1.0; },
      [](const RuleInputs& at) { return Tensors{full(at.dy.shape(), INFINITY)}; });
  const Model other(15);
  const Diagnosis of_rule = diagnose(other, [&] { return sum(wrong({other.norm(other.embedding(ids()))})); });
  EXPECT_EQ(told(of_rule.at("norm.beta")), "not finite, arose backward, wrong, ");
}

// ---- from a tape, and as text
// ----------------------------------------------------------------------------------

TEST(Doctor, ReadsATapeAfterABackward) {
  Model model(16);
  model.hidden.bias.assign(full({8}, -100));
  const NamedParameters named = named_parameters(model);
  TapeRecorder tape(TapeKeep::values), bare;
  const Tensor loss = model.loss();
  backward(loss);
  EXPECT_EQ(told(diagnose(named, tape, loss).at("hidden.weight")), "zero, dead relu, relu, ");
  EXPECT_THROWS_WITH(diagnose(named, bare, loss), ValueError, "make it with TapeKeep::values");
  const Tensor elsewhere = variable(scalar(1.0));
  EXPECT_THROWS_WITH(diagnose(named, tape, elsewhere), ValueError, "has not seen the loss");
}

TEST(Doctor, DerivativesOfDerivativesAreFollowed) {
  const Model model(17);
  const Diagnosis diagnosis = diagnose(model, [&] {
    const Tensor x = variable(model.embedding(ids()).detach());
    GradOptions options;
    options.create_graph = true;
    return sum(square(grad(sum(tanh(model.norm(x))), x, options)));
  });
  EXPECT_EQ(diagnosis.at("norm.gamma").health, Health::ok) << diagnosis;
}

TEST(Doctor, PrintsATable) {
  Model model(18);
  model.hidden.bias.assign(full({8}, -100));
  freeze(model, "norm");
  const Diagnosis diagnosis = diagnosis_of(model);
  const std::string text = to_string(diagnosis);
  EXPECT_EQ(text.find("parameter                shape    largest  zeros\nembedding.weight         [6, 4]  "),
            0u)
      << text;
  EXPECT_NE(text.find("  33 %  ok\n"), std::string::npos) << text;
  EXPECT_NE(text.find("norm.beta                [4]            -      -  missing: it is frozen\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("hidden.weight            [4, 8]   0.0e+00  100 %  zero: dead relu, no input is above "
                      "0, at relu (after add in hidden)\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(" need attention\n"), std::string::npos) << text;
  std::ostringstream out;
  out << diagnosis;
  EXPECT_EQ(out.str(), text);
  EXPECT_THROWS_WITH(diagnosis.at("tail"), ValueError,
                     "no Parameter is called \"tail\"; there are: embedding.weight, ");
}

}  // namespace
}  // namespace regard::study

#include <regard/nn/module.hpp>

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <regard/error.hpp>
#include <regard/ops.hpp>
#include <regard/optim.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

// Modules made for the tests, so that they need no more of the library than naming.
struct Scale {
  explicit Scale(const Tensor& start) : factor(start) {}
  Scale(Cloning& c, const Scale& from) : factor(c(from.factor)), absent(c(from.absent)) {}
  Scale(Scale&&) = default;
  Scale& operator=(Scale&&) = default;
  Tensor operator()(const Tensor& x) const { return x * factor; }
  template <class F>
  void visit(F&& f) {
    f("factor", factor);
    f("absent", absent);
  }
  Parameter factor;
  Parameter absent;
};

struct Noise {
  explicit Noise(std::uint64_t seed) : rng(seed) {}
  Noise(Cloning& c, const Noise& from) : mode(c(from.mode)), rng(c(from.rng)), seen(c(from.seen)) {}
  Noise(Noise&&) = default;
  Tensor operator()(const Tensor& x) { return seen(mode == Mode::train ? x + rng.uniform() : x); }
  template <class F>
  void visit(F&& f) {
    f("mode", mode);
    f("rng", rng);
    f("seen", seen);
  }
  Mode mode = Mode::train;
  Rng rng;
  Probe seen;
};

struct Model {
  Model() : head(tensor({5})), noise(7) {
    layers.emplace_back(tensor({1, 2}));
    layers.emplace_back(tensor({3, 4}));
    spare.emplace(tensor({6}));
    tied = layers[0].factor;
  }
  Model(Cloning& c, const Model& from)
      : layers(c(from.layers)),
        head(c(from.head)),
        spare(c(from.spare)),
        noise(c(from.noise)),
        tied(c(from.tied)),
        owned(c(from.owned)) {}
  Model(Model&&) = default;
  template <class F>
  void visit(F&& f) {
    f("layers", layers);
    f("head", head);
    f("spare", spare);
    f("noise", noise);
    f("tied", tied);
    f("owned", owned);
  }
  std::vector<Scale> layers;
  Scale head;
  std::optional<Scale> spare;
  Noise noise;
  Parameter tied;
  std::unique_ptr<Scale> owned;
};

std::vector<std::string> names(const NamedParameters& parameters) {
  std::vector<std::string> all;
  for (const auto& named : parameters) all.push_back(named.first);
  return all;
}
using Names = std::vector<std::string>;

// ---- patterns ------------------------------------------------------------------------------------------

TEST(Matches, WildcardsAndModules) {
  EXPECT_TRUE(matches("a.b", "a.b"));
  EXPECT_TRUE(matches("*", "a.b.c"));
  EXPECT_TRUE(matches("*.bias", "encoder.0.query.bias"));
  EXPECT_FALSE(matches("*.bias", "bias"));
  EXPECT_FALSE(matches("*.bias", "encoder.biased"));
  EXPECT_TRUE(matches("encoder", "encoder.0.query.bias"));
  EXPECT_TRUE(matches("encoder.?", "encoder.0.query.bias"));
  EXPECT_FALSE(matches("encoder", "encoders.0"));
  EXPECT_TRUE(matches("*.0.*.b?as", "encoder.0.query.bias"));
  EXPECT_FALSE(matches("", "a"));
  EXPECT_TRUE(matches("a*b*c", "axxbyybzc"));
  EXPECT_FALSE(matches("a*b*c", "axxbyybz"));
}

TEST(Matches, TakesNoExponentialTime) {
  const std::string text(3000, 'a');
  EXPECT_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", text));
}

TEST(Matching, ChoosesOrListsWhatThereIs) {
  const Model model;
  EXPECT_EQ(names(matching(named_parameters(model), "layers.1")), Names{"layers.1.factor"});
  EXPECT_THROWS_WITH(
      matching(named_parameters(model), "layer"), ValueError,
      "no parameter is called \"layer\"; there are: layers.0.factor, layers.1.factor, head.factor");
}

// ---- names ---------------------------------------------------------------------------------------------

TEST(NamedParameters, AreDottedPathsInTheOrderOfNaming) {
  const Model model;
  EXPECT_EQ(names(named_parameters(model)),
            (Names{"layers.0.factor", "layers.1.factor", "head.factor", "spare.factor"}));
}

TEST(NamedParameters, NameTheirParameters) {
  Model model;
  (void)named_parameters(model.layers[1]);
  EXPECT_EQ(model.layers[1].factor.name(), "factor");
  (void)named_parameters(model);
  EXPECT_EQ(model.layers[1].factor.name(), "layers.1.factor");
  (void)named_parameters(model.layers[1]);
  EXPECT_EQ(model.layers[1].factor.name(), "layers.1.factor");
  EXPECT_THROWS_WITH((model.head.factor.assign(tensor({1, 2})), 0), ShapeError, "parameter head.factor");

  Scale mine(tensor({1}));
  mine.factor.set_name("temperature");
  (void)named_parameters(mine);
  EXPECT_EQ(mine.factor.name(), "temperature");
}

TEST(Parameters, AreListedOnceAlsoOfSeveralModules) {
  const Model model;
  EXPECT_EQ(parameters(model).size(), 4u);
  EXPECT_EQ(parameters(model, model.head, Scale(tensor({1}))).size(), 5u);
  EXPECT_EQ(parameter_count(model), 6);
}

TEST(Parameters, ThatAreTiedAreSteppedOnce) {
  Model model;
  SgdOptions options;
  options.learning_rate = 1;
  Sgd optimizer(parameters(model), options);
  backward(sum(Tensor(model.layers[0].factor)) + sum(Tensor(model.tied)) * 2.0);
  EXPECT_SAME_BITS(model.tied.gradient(), tensor({3, 3}));
  optimizer.step();
  EXPECT_SAME_BITS(model.tied.value(), tensor({-2, -1}));
  zero_grad(model);
  EXPECT_FALSE(model.tied.has_gradient());
}

// ---- freezing ------------------------------------------------------------------------------------------

TEST(Freeze, StopsGradientsByPattern) {
  Model model;
  backward(sum(Tensor(model.head.factor)));
  freeze(model, "head");
  EXPECT_FALSE(model.head.factor.trainable());
  EXPECT_FALSE(model.head.factor.has_gradient());
  EXPECT_TRUE(model.layers[0].factor.trainable());
  backward(sum(model.layers[0](tensor({1, 1}))) + sum(model.head(tensor({1}))));
  EXPECT_FALSE(model.head.factor.has_gradient());
  EXPECT_TRUE(model.layers[0].factor.has_gradient());
  unfreeze(model, "*");
  EXPECT_TRUE(model.head.factor.trainable());
}

TEST(Freeze, ATiedParameterAnswersToEachOfItsPaths) {
  Model model;
  freeze(model, "tied");
  EXPECT_FALSE(model.layers[0].factor.trainable());
}

TEST(Freeze, ListsThePathsWhenThePatternMeansNone) {
  const Model model;
  EXPECT_THROWS_WITH((freeze(model, "heads*"), 0), ValueError,
                     "freeze: no parameter is called \"heads*\"; there are: ");
  EXPECT_THROWS_WITH((unfreeze(model, "x"), 0), ValueError, "unfreeze: ");
  EXPECT_EQ(parameter_count(std::vector<Scale>()), 0);
  EXPECT_THROWS_WITH((freeze(std::vector<Scale>(), "x"), 0), ValueError, "there are: none");
}

// ---- modes and random state ----------------------------------------------------------------------------

TEST(Mode, IsSetThroughout) {
  Model model;
  evaluate(model);
  EXPECT_EQ(model.noise.mode, Mode::evaluate);
  EXPECT_SAME_BITS(model.noise(tensor({1})), tensor({1}));
  train(model);
  EXPECT_EQ(model.noise.mode, Mode::train);
}

TEST(RandomState, IsPutBack) {
  Model model;
  (void)model.noise(tensor({1}));
  const NamedTensors states = random_state(model);
  ASSERT_EQ(states.size(), 1u);
  EXPECT_EQ(states[0].first, "noise.rng");
  const Tensor next = model.noise(tensor({1}));
  Model other;
  set_random_state(other, states);
  EXPECT_SAME_BITS(other.noise(tensor({1})), next);
}

TEST(RandomState, KeepsAllSixtyFourBits) {
  Noise noise(~std::uint64_t{0} - 1);
  noise.rng = noise.rng.split(~std::uint64_t{5});
  (void)noise.rng.bits();
  Noise other(1);
  set_random_state(other, random_state(noise));
  EXPECT_EQ(other.rng, noise.rng);
}

TEST(RandomState, RefusesWhatIsNone) {
  Model model;
  const Rng before = model.noise.rng;
  EXPECT_THROWS_WITH((set_random_state(model, {}), 0), ValueError, "no state for noise.rng; there are: none");
  EXPECT_THROWS_WITH((set_random_state(model, {{"noise.rng", tensor({1, 2, 3})}}), 0), ValueError,
                     "float64 [3]");
  EXPECT_EQ(model.noise.rng, before);
}

// ---- clone ---------------------------------------------------------------------------------------------

TEST(Clone, ModulesAreMovedNotCopied) {
  EXPECT_FALSE(std::is_copy_constructible_v<Scale>);
  EXPECT_FALSE(std::is_copy_constructible_v<Model>);
  EXPECT_TRUE(std::is_move_constructible_v<Model>);
}

TEST(Clone, HasNumbersOfItsOwn) {
  Model model;
  model.owned = std::make_unique<Scale>(tensor({9}));
  freeze(model, "head");
  evaluate(model);
  backward(sum(Tensor(model.layers[1].factor)));
  Model copy = clone(model);
  const NamedParameters original = named_parameters(model), copied = named_parameters(copy);
  ASSERT_EQ(names(copied), names(original));
  for (std::size_t i = 0; i < copied.size(); ++i) {
    EXPECT_FALSE(copied[i].second.same_as(original[i].second)) << copied[i].first;
    EXPECT_SAME_BITS(copied[i].second.value(), original[i].second.value());
    EXPECT_EQ(copied[i].second.trainable(), original[i].second.trainable());
    EXPECT_FALSE(copied[i].second.has_gradient());
  }
  EXPECT_TRUE(copy.tied.same_as(copy.layers[0].factor));
  EXPECT_EQ(copy.noise.mode, Mode::evaluate);
  EXPECT_EQ(copy.noise.rng, model.noise.rng);

  copy.layers[0].factor.assign(tensor({0, 0}));
  model.head.factor.assign(tensor({1}));
  EXPECT_SAME_BITS(model.layers[0].factor.value(), tensor({1, 2}));
  EXPECT_SAME_BITS(copy.head.factor.value(), tensor({5}));
}

TEST(Clone, KeepsNothingThatIsAttached) {
  Model model;
  int seen = 0;
  const Attachment watching = attach(model, "noise.seen", [&](const Tensor&) { ++seen; });
  Model copy = clone(model);
  (void)copy.noise(tensor({1}));
  EXPECT_EQ(seen, 0);
  (void)model.noise(tensor({1}));
  EXPECT_EQ(seen, 1);
}

struct Forgetful {
  explicit Forgetful(const Tensor& start) : a(start), b(start) {}
  Forgetful(Cloning& c, const Forgetful& from) : a(c(from.a)), b(from.b) {}
  Forgetful(Forgetful&&) = default;
  template <class F>
  void visit(F&& f) {
    f("a", a);
    f("b", b);
  }
  Parameter a, b;
};

TEST(Clone, NoticesAConstructorThatForgotAMember) {
  EXPECT_THROWS_WITH(clone(Forgetful(tensor({1}))), GraphError, "clone: b still shares its numbers");
}

// ---- probes --------------------------------------------------------------------------------------------

struct Squares {
  Tensor operator()(const Tensor& x) const { return square(middle(x * 2.0)); }
  template <class F>
  void visit(F&& f) {
    f("middle", middle);
    f("other", other);
  }
  Probe middle, other;
};

TEST(Probe, PassesItsValueOn) {
  const Squares module;
  EXPECT_EQ(named_probes(module), (Names{"middle", "other"}));
  EXPECT_FALSE(module.middle.watched());
  EXPECT_SAME_BITS(module(tensor({3})), tensor({36}));
}

TEST(Probe, ShowsItsValue) {
  const Squares module;
  std::vector<std::pair<std::string, double>> seen;
  {
    const Attachment watching = attach(module, "*", [&](const std::string& path, const Tensor& value) {
      seen.emplace_back(path, value.item());
    });
    EXPECT_TRUE(module.middle.watched());
    EXPECT_SAME_BITS(module(tensor({3})), tensor({36}));
  }
  EXPECT_FALSE(module.middle.watched());
  (void)module(tensor({4}));
  EXPECT_EQ(seen, (std::vector<std::pair<std::string, double>>{{"middle", 6}}));
}

TEST(Probe, IsFoundAfterItsModuleHasMoved) {
  std::vector<Squares> modules(1);
  int seen = 0;
  Attachment watching = attach(modules, "0.middle", [&](const Tensor&) { ++seen; });
  modules.resize(10);
  (void)modules[0](tensor({1}));
  EXPECT_EQ(seen, 1);
  watching.detach();
  (void)modules[0](tensor({1}));
  EXPECT_EQ(seen, 1);
}

TEST(Probe, ReplacesItsValueInOrder) {
  const Squares module;
  const Attachment first = attach(module, "middle", [](const Tensor& value) { return value + 1.0; });
  const Attachment second = attach(module, "middle", [](const Tensor& value) { return value * 10.0; });
  EXPECT_SAME_BITS(module(tensor({3})), tensor({4900}));
  const Tensor x = variable(tensor({3}));
  EXPECT_SAME_BITS(grad(module(x), x), tensor({2 * 70 * 20}));
}

TEST(Probe, RefusesAReplacementThatDoesNotFit) {
  const Squares module;
  {
    const Attachment wrong = attach(module, "middle", [](const Tensor&) { return tensor({1, 2}); });
    EXPECT_THROWS_WITH(module(tensor({3})), ShapeError,
                       "probe middle: the replacement has shape [2], expected [1]");
  }
  const Attachment wrong = attach(module, "middle", [](const Tensor& x) { return x.to(float32); });
  EXPECT_THROWS_WITH(module(tensor({3})), DTypeError, "probe middle: the replacement is float32");
}

TEST(Probe, ShowsAndReplacesItsGradient) {
  const Squares module;
  const Tensor x = variable(tensor({3}));
  double seen = 0;
  {
    const Attachment watching =
        attach_gradient(module, "middle", [&](const Tensor& dx) { seen = dx.item(); });
    EXPECT_SAME_BITS(grad(module(x), x), tensor({24}));
    EXPECT_EQ(seen, 12);
  }
  const Attachment cutting = attach_gradient(module, "middle", [](const Tensor& dx) { return dx * 0.0; });
  EXPECT_SAME_BITS(grad(module(x), x), tensor({0}));
  EXPECT_SAME_BITS(module(tensor({3})), tensor({36}));
}

TEST(Probe, AGradientHookEndsWithItsAttachment) {
  const Squares module;
  const Tensor x = variable(tensor({3}));
  Attachment cutting = attach_gradient(module, "middle", [](const Tensor& dx) { return dx * 0.0; });
  const Tensor y = module(x);
  cutting.detach();
  EXPECT_SAME_BITS(grad(y, x), tensor({24}));
}

TEST(Probe, WhatIsAttachedMayDetachItself) {
  const Squares module;
  int seen = 0;
  Attachment once;
  once = attach(module, "middle", [&](const Tensor&) {
    ++seen;
    once.detach();
  });
  (void)module(tensor({3}));
  (void)module(tensor({3}));
  EXPECT_EQ(seen, 1);
}

TEST(Probe, ListsThePathsWhenThePatternMeansNone) {
  const Squares module;
  EXPECT_THROWS_WITH(attach(module, "midle", [](const Tensor&) {}), ValueError,
                     "attach: no probe is called \"midle\"; there are: middle, other");
}

}  // namespace
}  // namespace regard

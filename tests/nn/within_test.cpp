// Which module computes: paths seen from inside, on a tape, and in a backward.
#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include <regard/regard.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"

namespace regard {
namespace {

using Names = std::vector<std::string>;

/// Writes down where it was called.
struct Inner {
  explicit Inner(Rng& rng) : linear(2, 2, rng) {}
  Tensor operator()(const Tensor& x) const {
    const Within here(*this);
    seen->push_back(module_path());
    const Tensor y = tanh(linear(x));
    seen->push_back(module_path());
    return y;
  }
  template <class F>
  void visit(F&& f) {
    f("linear", linear);
  }
  nn::Linear linear;
  std::shared_ptr<Names> seen = std::make_shared<Names>();
};

struct Outer {
  explicit Outer(Rng& rng) : first(rng), embedding(3, 2, rng), head(2, 3, rng) {
    blocks.emplace_back(rng);
    blocks.emplace_back(rng);
  }
  Tensor operator()(const Tensor& ids) const {  // opens no scope
    Tensor x = first(embedding(ids));
    for (const Inner& block : blocks) x = block(x);
    return exp(head(x));
  }
  template <class F>
  void visit(F&& f) {
    f("embedding", embedding);
    f("first", first);
    f("blocks", blocks);
    f("head", head);
  }
  Inner first;
  nn::Embedding embedding;
  std::vector<Inner> blocks;
  nn::Linear head;
};

TEST(Within, NamesTheInnermostModule) {
  Rng rng(1);
  const Outer model(rng);
  (void)named_parameters(model);
  EXPECT_EQ(module_path(), "");
  (void)model(tensor({0, 1}, int64));
  EXPECT_EQ(module_path(), "");
  EXPECT_EQ(*model.first.seen, (Names{"first", "first"}));
  EXPECT_EQ(*model.blocks[1].seen, (Names{"blocks.1", "blocks.1"}));
}

TEST(Within, WithoutNamesThereIsNoPath) {
  Rng rng(1);
  const Outer model(rng);
  (void)model(tensor({0, 1}, int64));
  EXPECT_EQ(*model.first.seen, (Names{"", ""}));
}

TEST(Within, ATapeTellsWhoseEachStepIs) {
  Rng rng(2);
  const Outer model(rng);
  (void)named_parameters(model);
  TapeRecorder tape;
  backward(sum(model(tensor({0, 1}, int64))));
  std::vector<std::pair<std::string, std::string>> forward, rules;
  for (const Step& step : tape.steps()) {
    if (step.phase == Phase::forward) {
      forward.emplace_back(step.op, step.module);
      EXPECT_TRUE(step.recording);
      EXPECT_TRUE(step.recorded) << step.op;
    }
    if (step.kind == StepKind::rule) rules.emplace_back(step.op, step.module);
    if (step.rule >= 0) {
      EXPECT_EQ(step.module, tape.steps()[static_cast<std::size_t>(step.rule)].module);
      EXPECT_FALSE(step.recording);
      EXPECT_FALSE(step.recorded);
    }
  }
  const std::vector<std::pair<std::string, std::string>> expected = {{"take", "embedding"},
                                                                     {"matmul", "first.linear"},
                                                                     {"add", "first.linear"},
                                                                     {"tanh", "first"},
                                                                     {"matmul", "blocks.0.linear"},
                                                                     {"add", "blocks.0.linear"},
                                                                     {"tanh", "blocks.0"},
                                                                     {"matmul", "blocks.1.linear"},
                                                                     {"add", "blocks.1.linear"},
                                                                     {"tanh", "blocks.1"},
                                                                     {"matmul", "head"},
                                                                     {"add", "head"},
                                                                     {"exp", ""},
                                                                     {"sum", ""}};
  EXPECT_EQ(forward, expected);
  EXPECT_EQ(rules, decltype(rules)(expected.rbegin(), expected.rend()));
}

// The head's weight is called after the embedding it is tied to; its bias tells.
TEST(Within, ATiedModuleIsKnownByWhatIsItsOwn) {
  Rng rng(3);
  Outer model(rng);
  model.embedding.weight = Parameter(transpose(model.head.weight.value()).contiguous());
  model.head.weight = model.embedding.weight;
  (void)named_parameters(model);
  EXPECT_EQ(model.head.weight.name(), "embedding.weight");
  const Within here(model.head);
  EXPECT_EQ(module_path(), "head");
}

struct Layers {
  explicit Layers(Rng& rng)
      : linear(4, 4, rng),
        embedding(3, 4, rng),
        norm(4),
        positions(5, 4, rng),
        heads(4, 2, rng),
        self(4, rng),
        cross(4, 2, rng) {}
  template <class F>
  void visit(F&& f) {
    f("linear", linear);
    f("embedding", embedding);
    f("norm", norm);
    f("positions", positions);
    f("heads", heads);
    f("self", self);
    f("cross", cross);
  }
  nn::Linear linear;
  nn::Embedding embedding;
  nn::LayerNorm norm;
  nn::LearnedPositions positions;
  nn::MultiHeadAttention heads;
  nn::SelfAttention self;
  nn::MultiHeadAttention cross;
};

TEST(Within, EveryLayerOpensItsScope) {
  Rng rng(4);
  const Layers layers(rng);
  (void)named_parameters(layers);
  TapeRecorder tape;
  const Tensor x = layers.positions(layers.embedding(tensor({{0, 1, 2}}, int64)));
  (void)layers.cross(layers.self(layers.heads(layers.norm(layers.linear(x)))), x, Mask::none());
  std::set<std::string> paths;
  for (const Step& step : tape.steps()) paths.insert(step.module);
  EXPECT_EQ(paths, (std::set<std::string>{"linear", "embedding", "norm", "positions", "heads", "heads.query",
                                          "heads.key", "heads.value", "heads.output", "self", "cross",
                                          "cross.query", "cross.key", "cross.value", "cross.output"}));
}

TEST(Within, EndsWhereAnErrorLeavesTheModule) {
  Rng rng(5);
  const nn::Linear layer(2, 2, rng);
  EXPECT_THROW((void)layer(zeros({3})), ShapeError);
  EXPECT_EQ(module_path(), "");
}

TEST(Within, ATapeTellsWhatWasNotRecorded) {
  const Parameter p(ones({2}), "p");
  TapeRecorder tape;
  {
    const NoGrad off;
    (void)exp(p.tensor());
  }
  (void)exp(p.tensor());
  (void)exp(p.value());
  (void)argmax(p.tensor());
  const std::vector<Step>& steps = tape.steps();
  const auto told = [&](std::size_t i) {
    return std::vector<bool>{steps[i].recording, steps[i].recorded, steps[i].inputs[0].requires_grad};
  };
  EXPECT_EQ(told(0), (std::vector<bool>{false, false, false}));
  EXPECT_EQ(told(1), (std::vector<bool>{true, true, true}));
  EXPECT_EQ(told(2), (std::vector<bool>{true, false, false}));
  EXPECT_EQ(told(3), (std::vector<bool>{true, false, true}));
}

}  // namespace
}  // namespace regard

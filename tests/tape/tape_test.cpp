#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <regard/regard.hpp>

#include "autograd/observer.hpp"
#include "support/tensors.hpp"

namespace regard {
namespace {

std::vector<std::string> names(const TapeRecorder& tape, StepKind kind) {
  std::vector<std::string> names;
  for (const Step& step : tape.steps())
    if (step.kind == kind) names.push_back(step.op);
  return names;
}

using Names = std::vector<std::string>;

// ---- links ---------------------------------------------------------------------------------------------

TEST(Tape, SaysWhoMadeWhat) {
  const Tensor a = tensor({{1, 2}, {3, 4}}), b = tensor({{1, 0}, {0, 1}});
  TapeRecorder tape;
  const Tensor c = matmul(a, b), d = exp(c);
  ASSERT_EQ(tape.steps().size(), 2u);
  const Step& product = tape.steps()[0];
  EXPECT_EQ(product.op, "matmul");
  EXPECT_EQ(product.kind, StepKind::kernel);
  EXPECT_EQ(product.phase, Phase::forward);
  EXPECT_EQ(product.attributes, "a·b");
  ASSERT_EQ(product.inputs.size(), 2u);
  EXPECT_EQ(product.inputs[0].source, -1);
  EXPECT_EQ(product.inputs[0].shape, (Shape{2, 2}));
  EXPECT_NE(product.inputs[0].id, product.inputs[1].id);
  const Step& exponential = tape.steps()[1];
  EXPECT_EQ(exponential.inputs[0].id, product.outputs[0].id);
  EXPECT_EQ(exponential.inputs[0].source, 0);
  EXPECT_EQ(tape.find(d).id, exponential.outputs[0].id);
  EXPECT_EQ(tape.find(d).source, 1);
  EXPECT_FALSE(product.outputs[0].tensor.defined()) << "nothing is kept unless asked";
  EXPECT_GE(exponential.start, product.start);
  EXPECT_GE(product.seconds, 0);
}

TEST(Tape, AViewIsAnotherValueOfTheSameStorage) {
  const Tensor a = ones({2, 3});
  TapeRecorder tape;
  const Tensor b = exp(a), c = transpose(b), d = exp(c.detach()), e = exp(b.detach());
  const Step &made = tape.steps()[0], &turned = tape.steps()[1], &last = tape.steps()[3];
  EXPECT_EQ(turned.kind, StepKind::view);
  EXPECT_EQ(turned.attributes, "axes=0,1");
  EXPECT_EQ(turned.inputs[0].id, made.outputs[0].id);
  EXPECT_NE(turned.outputs[0].id, made.outputs[0].id);
  EXPECT_EQ(turned.outputs[0].storage, made.outputs[0].storage);
  EXPECT_EQ(tape.find(c).source, 1);
  EXPECT_EQ(last.inputs[0].id, made.outputs[0].id) << "a detached handle is the same look";
}

// The address of freed numbers is used again; what was there before is no input of what comes.
TEST(Tape, MemoryThatIsUsedAgainIsAnotherValue) {
  TapeRecorder tape;
  const Tensor a = ones({64});
  { const Tensor gone = exp(a); }
  const Tensor b = zeros({64}), c = exp(b);
  const Step& step = tape.steps().back();
  EXPECT_EQ(step.inputs[0].source, -1);
  EXPECT_NE(step.inputs[0].storage, tape.steps()[0].outputs[0].storage);
}

TEST(Tape, WhatTheTapeNeverSawIsNotFound) {
  TapeRecorder tape;
  const Tensor a = ones({2});
  EXPECT_EQ(tape.find(a).id, -1);
  EXPECT_THROW((void)tape.find(Tensor()), GraphError);
}

TEST(Tape, AMissingInputKeepsItsPlace) {
  TapeRecorder tape;
  const Tensor y = softmax(ones({2, 2}));
  ASSERT_EQ(tape.steps()[0].inputs.size(), 2u);
  EXPECT_EQ(tape.steps()[0].inputs[1].id, -1);
  EXPECT_EQ(tape.steps()[0].attributes, "axis=1");
}

// ---- backward ------------------------------------------------------------------------------------------

TEST(Tape, ARuleNamesItsForwardItsPartsAndWhereTheyWent) {
  const Parameter w(tensor({{1, 2}, {3, 4}}), "w");
  TapeRecorder tape(TapeKeep::values);
  {
    const Tensor at = w;
    backward(sum(matmul(at, at)));
  }
  EXPECT_EQ(names(tape, StepKind::rule), (Names{"sum", "matmul"}));
  EXPECT_EQ(names(tape, StepKind::leaf), (Names{"w"}));
  const std::vector<Step>& steps = tape.steps();
  const Step *rule = nullptr, *leaf = nullptr;
  int place = -1;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (steps[i].kind == StepKind::leaf) leaf = &steps[i];
    if (steps[i].kind == StepKind::rule && steps[i].op == "matmul")
      rule = &steps[place = static_cast<int>(i)];
  }
  EXPECT_EQ(steps[static_cast<std::size_t>(rule->forward)].op, "matmul");
  EXPECT_EQ(rule->phase, Phase::backward);
  EXPECT_EQ(rule->inputs[1].id, steps[static_cast<std::size_t>(rule->forward)].outputs[0].id);
  ASSERT_EQ(rule->outputs.size(), 2u) << "a part for each of the two uses";
  EXPECT_EQ(rule->targets[0].id, rule->targets[1].id);
  EXPECT_EQ(rule->sums[0].id, rule->outputs[0].id) << "the first part is all there is so far";
  EXPECT_NE(rule->sums[1].id, rule->outputs[1].id);
  const Step& addition = steps[static_cast<std::size_t>(rule->sums[1].source)];
  EXPECT_EQ(addition.op, "add");
  EXPECT_EQ(addition.rule, place);
  EXPECT_EQ(addition.phase, Phase::backward);
  EXPECT_EQ(leaf->inputs[0].id, rule->sums[1].id);
  EXPECT_EQ(leaf->inputs[1].id, rule->targets[0].id);
  EXPECT_TRUE(all(equal(leaf->inputs[0].tensor, w.gradient())));
  EXPECT_TRUE(all(equal(rule->outputs[0].tensor + rule->outputs[1].tensor, w.gradient())));
}

// A view that changes nothing is the same look; each rule finds its own operation all the same.
TEST(Tape, ARuleFindsItsForwardBehindAViewThatChangesNothing) {
  const Tensor x = variable(ones({2, 2}));
  TapeRecorder tape;
  (void)grad(sum(reshape(exp(x), {2, 2})), x);
  for (const Step& step : tape.steps())
    if (step.kind == StepKind::rule) {
      EXPECT_EQ(tape.steps()[static_cast<std::size_t>(step.forward)].op, step.op);
    }
}

TEST(Tape, AForwardBeforeTheTapeIsOlderThanIt) {
  const Tensor x = variable(ones({2, 2})), y = sum(exp(x));
  TapeRecorder tape;
  (void)grad(y, x);
  EXPECT_EQ(names(tape, StepKind::rule), (Names{"sum", "exp"}));
  EXPECT_EQ(tape.steps()[0].forward, -1);
}

TEST(Tape, SecondOrderRulesPointAtTheFirstBackward) {
  const Tensor x = variable(tensor({0.5, 2}));
  TapeRecorder tape;
  GradOptions options;
  options.create_graph = true;
  const Tensor slope = grad(sum(exp(x) * x), x, options);
  const std::size_t first = tape.steps().size();
  (void)grad(sum(slope), x);
  bool of_backward = false;
  for (std::size_t i = first; i < tape.steps().size(); ++i) {
    const Step& step = tape.steps()[i];
    if (step.kind != StepKind::rule) continue;
    ASSERT_GE(step.forward, 0) << step.op;
    of_backward =
        of_backward || tape.steps()[static_cast<std::size_t>(step.forward)].phase == Phase::backward;
  }
  EXPECT_TRUE(of_backward);
}

TEST(Tape, HooksRunInsideTheBackward) {
  const Tensor x = variable(ones({2}));
  const Tensor y = exp(x);
  add_hook(y, [](const Tensor& dy) { return dy * 3.0; });
  TapeRecorder tape(TapeKeep::values);
  const Tensor dx = grad(sum(y), x);
  int at = 0;
  for (const Step& step : tape.steps()) {
    if (step.op == "multiply_scalar") {
      EXPECT_EQ(step.phase, Phase::backward);
      EXPECT_EQ(step.rule, -1) << "a hook runs between the rules";
    }
    if (step.kind == StepKind::rule && step.op == "exp") {
      EXPECT_EQ(step.inputs[0].tensor.at({0}), 3);
      ++at;
    }
  }
  EXPECT_EQ(at, 1);
}

TEST(Tape, ACustomOpAndABackwardInsideAHook) {
  const CustomOp cube(
      "cube", [](const Tensors& x) { return x[0] * x[0] * x[0]; },
      [](const RuleInputs& in) { return Tensors{in.dy * 3.0 * square(in.inputs[0])}; });
  const Tensor x = variable(tensor({2})), z = variable(tensor({1}));
  add_hook(x, [&](const Tensor&) {
    const EnableGrad recording;
    return grad(sum(exp(z)), z);
  });
  TapeRecorder tape;
  (void)grad(sum(cube({x})), x);
  EXPECT_EQ(names(tape, StepKind::custom), (Names{"cube"}));
  EXPECT_EQ(names(tape, StepKind::rule), (Names{"sum", "cube", "sum", "exp"}));
  for (const Step& step : tape.steps())
    if (step.kind == StepKind::rule && step.op == "cube") {
      EXPECT_EQ(tape.steps()[static_cast<std::size_t>(step.forward)].kind, StepKind::custom);
    }
}

TEST(Tape, PhasesAndTheOptimiser) {
  Parameter w(ones({2}), "w");
  Sgd optimizer({w}, {});
  TapeRecorder tape(TapeKeep::values);
  backward(sum(square(Tensor(w))));
  clip_gradients_by_norm({w}, 1e-3);
  optimizer.step();
  const Step& update = tape.steps().back();
  EXPECT_EQ(update.op, "sgd");
  EXPECT_EQ(update.phase, Phase::optimiser);
  EXPECT_EQ(update.inputs[0].tensor.at({0}), 1) << "the value before the step";
  EXPECT_EQ(tape.find(w.value()).id, update.outputs[0].id);
  bool clipped = false;
  for (const Step& step : tape.steps())
    clipped = clipped || (step.op == "sum_of_squares" && step.phase == Phase::optimiser);
  EXPECT_TRUE(clipped);
  (void)exp(w.value());
  EXPECT_EQ(tape.steps().back().phase, Phase::forward);
}

// A parameter that no graph and no tape holds is updated where it is: the tape's copy is of before.
TEST(Tape, WhatAKernelOverwritesIsKeptAsItWas) {
  Parameter w(ones({3}), "w");
  w.set_gradient(ones({3}));
  Sgd optimizer({w}, {});
  for (const TapeKeep keep : {TapeKeep::nothing, TapeKeep::values}) {
    const double before = w.value().at({0});
    TapeRecorder tape(keep);
    optimizer.step();
    const Step& step = tape.steps()[0];
    EXPECT_EQ(step.inputs[0].storage, step.outputs[0].storage);
    EXPECT_NE(step.inputs[0].id, step.outputs[0].id) << "overwritten numbers are another value";
    if (keep == TapeKeep::nothing) continue;
    EXPECT_EQ(step.inputs[0].tensor.at({0}), before);
    EXPECT_EQ(step.outputs[0].tensor.at({0}), w.value().at({0}));
    EXPECT_NE(w.value().at({0}), before);
  }
}

// ---- what recording leaves alone -----------------------------------------------------------------------

template <class F>
std::vector<Tensors> with_and_without(F run) {
  std::vector<Tensors> results = {run()};
  for (const TapeKeep keep : {TapeKeep::nothing, TapeKeep::values}) {
    TapeRecorder outer(keep), inner;
    results.push_back(run());
    EXPECT_FALSE(outer.steps().empty());
    EXPECT_EQ(outer.steps().size(), inner.steps().size());
  }
  return results;
}

TEST(Tape, NoNumberChangesByABit) {
  for (const DType dtype : {float32, float64}) {
    const auto train = [dtype] {
      Rng rng(3);
      const Tensor x = normal({6, 8}, rng, 0, 1, dtype);
      Parameter w(glorot_uniform({8, 8}, rng, dtype), "w"), bias(zeros({8}, dtype), "bias");
      Adam optimizer({w, bias}, {});
      Tensor loss;
      for (int step = 0; step < 5; ++step) {
        const Tensor h = matmul(x, w) + bias;
        loss = mean(square(attention(h, h, h + h, Mask::causal())));
        optimizer.zero_grad();
        backward(loss);
        optimizer.step();
      }
      return Tensors{w.value(), bias.value(), loss.detach(), w.gradient()};
    };
    const std::vector<Tensors> results = with_and_without(train);
    for (std::size_t i = 1; i < results.size(); ++i)
      for (std::size_t j = 0; j < results[0].size(); ++j)
        EXPECT_TRUE(all(equal(results[0][j], results[i][j]))) << name(dtype) << " " << i << " " << j;
  }
}

TEST(Tape, KeepsNoGraphAlive) {
  const Size before = live_nodes();
  TapeRecorder tape(TapeKeep::values);
  {
    const Tensor x = variable(ones({4}));
    GradOptions options;
    options.create_graph = true;
    (void)grad(sum(exp(x)), x, options);
  }
  EXPECT_EQ(live_nodes(), before);
}

TEST(Tape, KeepsNothingAliveUnlessAsked) {
  TapeRecorder nothing;
  Tensor x = ones({4});
  Tensor y = exp(x);
  EXPECT_TRUE(detail::is_sole_owner(y));
  TapeRecorder values(TapeKeep::values);
  y = exp(x);
  EXPECT_FALSE(detail::is_sole_owner(y));
}

// ---- many at once --------------------------------------------------------------------------------------

TEST(Observers, StackAndLeaveInAnyOrder) {
  auto a = std::make_unique<TapeRecorder>();
  const Tensor x = ones({2});
  (void)exp(x);
  auto b = std::make_unique<TapeRecorder>();
  (void)exp(x);
  auto c = std::make_unique<TapeRecorder>();
  (void)exp(x);
  EXPECT_EQ(a->steps().size(), 3u);
  EXPECT_EQ(b->steps().size(), 2u);
  EXPECT_EQ(c->steps().size(), 1u);
  a.reset();  // the oldest first
  (void)exp(x);
  c->stop();
  c->stop();
  (void)exp(x);
  EXPECT_EQ(b->steps().size(), 4u);
  EXPECT_EQ(c->steps().size(), 2u);
  b.reset();
  EXPECT_EQ(detail::context().observer, nullptr);
}

TEST(Observers, AnErrorOnTheWayLeavesNothingBehind) {
  const Tensor x = variable(ones({2}));
  const Tensor y = exp(x);
  const HookHandle hook = add_hook(x, [](const Tensor&) -> Tensor { throw std::runtime_error("hook"); });
  const CustomOp bad(
      "bad", [](const Tensors& in) { return in[0] * 2.0; },
      [](const RuleInputs&) -> Tensors { throw std::runtime_error("rule"); });
  TapeRecorder tape;
  {
    TapeRecorder inner;
    EXPECT_THROW((void)grad(sum(y), x), std::runtime_error);
    EXPECT_THROW((void)grad(sum(bad({variable(ones({2}))})), x), GraphError);
    const Tensor z = variable(ones({2}));
    EXPECT_THROW((void)grad(sum(bad({z})), z), std::runtime_error);
  }
  const std::size_t before = tape.steps().size();
  (void)exp(ones({2}));
  EXPECT_EQ(tape.steps().size(), before + 1);
  EXPECT_EQ(tape.steps().back().phase, Phase::forward);
  EXPECT_EQ(tape.steps().back().rule, -1) << "the rule that threw has ended";
  EXPECT_FALSE(detail::context().quiet);
}

TEST(Observers, ATapeBornInsideARuleIsNotConfusedByItsEnd) {
  std::unique_ptr<TapeRecorder> tape;
  const CustomOp born(
      "born", [](const Tensors& in) { return in[0] * 2.0; },
      [&](const RuleInputs& in) {
        tape = std::make_unique<TapeRecorder>();
        return Tensors{in.dy * 2.0};
      });
  const Tensor x = variable(ones({2}));
  (void)grad(sum(born({exp(x)})), x);
  EXPECT_EQ(names(*tape, StepKind::rule), (Names{"exp"}));
  EXPECT_EQ(names(*tape, StepKind::leaf), (Names{"a leaf"}));
  EXPECT_EQ(tape->steps()[0].op, "multiply_scalar");
  EXPECT_EQ(tape->steps()[0].rule, -1);
}

TEST(Observers, EachThreadHasItsOwn) {
  TapeRecorder here;
  std::size_t there = 0;
  std::thread([&there] {
    TapeRecorder tape;
    (void)exp(ones({2}));
    there = tape.steps().size();
  }).join();
  EXPECT_EQ(there, 1u);
  EXPECT_TRUE(here.steps().empty());
}

// An observer may compute; nobody is told.
struct Computing : detail::Observer {
  void after(const detail::Run& run) override { sum_of += sum(run.outputs[0].detach()).item(); }
  double sum_of = 0;
};
TEST(Observers, WhatOneRunsItselfIsNotSeen) {
  TapeRecorder tape;
  Computing computing;
  (void)exp(zeros({3}));
  EXPECT_EQ(computing.sum_of, 3);
  EXPECT_EQ(tape.steps().size(), 1u);
}

struct Refusing : detail::Observer {
  void after(const detail::Run&) override { throw std::runtime_error("refused"); }
};
TEST(Observers, OneThatThrowsStopsTheOperation) {
  {
    const Refusing refusing;
    EXPECT_THROW((void)exp(zeros({3})), std::runtime_error);
  }
  EXPECT_NO_THROW((void)exp(zeros({3})));
}

}  // namespace
}  // namespace regard

#include <regard/checkpoint.hpp>

#include <gtest/gtest.h>

#include <algorithm>

#include <regard/error.hpp>
#include <regard/nn/dropout.hpp>
#include <regard/nn/linear.hpp>
#include <regard/ops.hpp>
#include <regard/optim.hpp>

#include "study/temporary_folder.hpp"
#include "support/close.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

struct Model {
  explicit Model(Rng& rng) : hidden(3, 5, rng), dropout(0.3, rng), output(5, 2, rng) {}
  Tensor operator()(const Tensor& x) const { return output(dropout(tanh(hidden(x)))); }
  template <class F>
  void visit(F&& f) {
    f("hidden", hidden);
    f("dropout", dropout);
    f("output", output);
  }
  nn::Linear hidden;
  nn::Dropout dropout;
  nn::Linear output;
};

// A run that has everything: chance in the model and in the batches, moments, averages and a rate set by
// hand.
struct Training {
  explicit Training(std::uint64_t seed)
      : rng(seed), model(rng), optimizer(parameters(model)), averages(parameters(model)), batches(seed + 1) {}

  double step() {
    const Tensor x = normal({4, 3}, batches);
    const Tensor loss = mean(square(model(x) - slice(x, 1, {0, 2})));
    optimizer.zero_grad();
    backward(loss);
    optimizer.step();
    averages.update();
    optimizer.set_learning_rate(optimizer.learning_rate() * 0.9);
    return loss.item();
  }
  Checkpoint checkpoint() {
    return Checkpoint(
        {{"model", model}, {"optimizer", optimizer}, {"averages", averages}, {"batches", batches}});
  }
  // Everything, name by name.
  NamedTensors all() {
    const study::TemporaryFolder folder;
    checkpoint().save(folder / "all", 0);
    return load(folder / "all").tensors;
  }

  Rng rng;
  Model model;
  Adam optimizer;
  AveragedParameters averages;
  Rng batches;
};

void expect_same(const NamedTensors& found, const NamedTensors& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].first, expected[i].first);
    EXPECT_SAME_BITS(found[i].second, expected[i].second) << found[i].first;
  }
}

TEST(Checkpoint, ARunGoesOnAsIfNotInterrupted) {
  const study::TemporaryFolder folder;
  for (Size interrupted = 0; interrupted < 4; ++interrupted) {
    Training whole(1);
    std::vector<double> losses;
    for (Size step = 0; step < 6; ++step) {
      if (step == interrupted) whole.checkpoint().save(folder / "run", step, {{"note", "here"}});
      losses.push_back(whole.step());
    }
    Training resumed(99);
    resumed.step();
    Size step = resumed.checkpoint().load(folder / "run");
    EXPECT_EQ(step, interrupted);
    for (; step < 6; ++step) EXPECT_EQ(resumed.step(), losses[static_cast<std::size_t>(step)]);
    expect_same(resumed.all(), whole.all());
  }
  EXPECT_EQ(load(folder / "run").metadata.at("note"), "here");
}

TEST(Checkpoint, NamesWhatItSaves) {
  Training run(1);
  run.step();
  std::vector<std::string> names;
  for (const auto& entry : run.all()) names.push_back(entry.first);
  for (const char* expected :
       {"step", "model.hidden.weight", "model.dropout.rng", "optimizer.hidden.weight.step",
        "optimizer.output.bias.second_moment", "optimizer.learning_rate", "averages.updates",
        "averages.output.weight.average", "batches."})
    EXPECT_EQ(std::count(names.begin(), names.end(), expected), 1) << expected;
}

// Each part in turn is the one that does not fit: none of them changes, those before it neither.
TEST(Checkpoint, LoadsAllOrNothing) {
  const study::TemporaryFolder folder;
  Training run(1);
  for (int step = 0; step < 3; ++step) run.step();
  const NamedTensors good = run.all();
  Training other(7);
  for (int step = 0; step < 2; ++step) other.step();
  const NamedTensors before = other.all();

  const auto refuses = [&](const NamedTensors& state, auto error, const char* text) {
    save(folder / "bad", state);
    EXPECT_THROWS_WITH(other.checkpoint().load(folder / "bad"), decltype(error), text);
    expect_same(other.all(), before);
  };
  const auto with = [&](const char* name, const Tensor& value) {
    NamedTensors state = good;
    for (auto& entry : state)
      if (entry.first == name) entry.second = value;
    return state;
  };
  const auto without = [&](const char* name) { return detail::without_names_of({{name, {}}}, good); };
  refuses(with("model.output.bias", zeros({3})), ShapeError(""), "output.bias");
  refuses(with("model.dropout.rng", zeros({3})), ValueError(""), "dropout.rng must be int64 [3]");
  refuses(with("optimizer.output.bias.first_moment", zeros({2}, float32)), DTypeError(""), "output.bias");
  refuses(with("averages.updates", zeros({1})), ValueError(""), "updates must be one int64");
  refuses(with("batches.", zeros({3})), ValueError(""), "must be int64 [3]");
  refuses(with("step", zeros({})), IoError(""), "step");
  refuses(with("optimizer.learning_rate", full({}, -1)), ValueError(""), "learning rate");
  refuses(without("model.hidden.weight"), IoError(""), "Missing: hidden.weight");
  refuses(without("optimizer.learning_rate"), ValueError(""), "learning_rate is missing");
  refuses(without("averages.hidden.weight.average"), ValueError(""), "hidden.weight.average is missing");
  refuses(without("step"), IoError(""), "it has no step");
  NamedTensors more = good;
  more.emplace_back("teacher.weight", zeros({2}));
  refuses(more, IoError(""), "teacher.weight belongs to no part of this run");
  more.back().first = "model.extra";
  refuses(more, IoError(""), "Unexpected: extra");
  EXPECT_THROWS_WITH(other.checkpoint().load(folder / "nowhere"), IoError, "nowhere");
  expect_same(other.all(), before);
}

TEST(Checkpoint, RefusesNamesThatDoNotTellPartsApart) {
  Rng rng(1);
  for (const char* name : {"", "a.b", "step"})
    EXPECT_THROWS_WITH(Checkpoint({{name, rng}}), ValueError, "a part cannot be called");
  EXPECT_THROWS_WITH(Checkpoint({{"a", rng}, {"a", rng}}), ValueError, "cannot be called \"a\"");
  const study::TemporaryFolder folder;
  EXPECT_THROWS_WITH((Checkpoint({{"a", rng}}).save(folder / "x", -1), 0), ValueError, "got -1");
}

}  // namespace
}  // namespace regard

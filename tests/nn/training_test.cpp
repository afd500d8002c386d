// Layers, optimiser, schedule, clipping and files together: a small model that learns, stops and goes on.
#include <gtest/gtest.h>

#include <thread>
#include <utility>
#include <vector>

#include <regard/regard.hpp>

#include "study/temporary_folder.hpp"
#include "support/close.hpp"
#include "support/tensors.hpp"

namespace regard {
namespace {

constexpr Size vocabulary = 5, tokens = 4, width = 8;

nn::MultiHeadAttentionOptions attention_options() {
  nn::MultiHeadAttentionOptions options;
  options.dropout = 0.1;
  options.rotary = true;
  return options;
}

struct Model {
  explicit Model(Rng rng)
      : embedding(vocabulary, width, rng),
        attention(width, 2, rng, attention_options()),
        norm(width),
        dropout(0.1, rng),
        head(width, vocabulary, rng) {}
  Model(Cloning& c, const Model& from)
      : embedding(c(from.embedding)),
        attention(c(from.attention)),
        norm(c(from.norm)),
        dropout(c(from.dropout)),
        head(c(from.head)) {}

  Tensor operator()(const Tensor& ids) const {
    const Tensor x = embedding(ids);
    return head(norm(x + dropout(attention(x, Mask::causal()))));
  }
  template <class F>
  void visit(F&& f) {
    f("embedding", embedding);
    f("attention", attention);
    f("norm", norm);
    f("dropout", dropout);
    f("head", head);
  }

  nn::Embedding embedding;
  nn::MultiHeadAttention attention;
  nn::LayerNorm norm;
  nn::Dropout dropout;
  nn::Linear head;
};

struct Training {
  Training() : model(Rng(1)), optimizer(make_optimizer(model)), batches(2) {}
  explicit Training(Model&& its_model)
      : model(std::move(its_model)), optimizer(make_optimizer(model)), batches(2) {}

  static AdamW make_optimizer(const Model& model) {
    AdamWOptions options;
    options.learning_rate = 0.02;
    AdamWOptions without_decay = options;
    without_decay.weight_decay = 0;
    return AdamW(parameters(model), options, {{"*.bias", without_decay}, {"norm", without_decay}});
  }

  // At each token the model must say what the first one was.
  double step(Size number) {
    const Tensor ids = test::random_ids({16, tokens}, batches, vocabulary);
    const Tensor targets = broadcast_to(slice(ids, 1, {0, 1}), {16, tokens});
    const Tensor loss = cross_entropy(model(ids), targets);
    optimizer.zero_grad();
    backward(loss);
    clip_gradients_by_norm(optimizer.parameters(), 1);
    optimizer.set_learning_rate(cosine_rate(0.02, number, schedule));
    optimizer.step();
    return loss.item();
  }

  NamedTensors state() const {
    NamedTensors all = with_prefix("model", values(named_parameters(model)));
    for (const auto& part :
         {with_prefix("optimizer", optimizer.state()), with_prefix("random", random_state(model)),
          with_prefix("batches", random_state(std::vector<Rng>{batches}))})
      all.insert(all.end(), part.begin(), part.end());
    return all;
  }
  void load_state(const NamedTensors& all) {
    assign(named_parameters(model), without_prefix("model", all));
    optimizer.load_state(without_prefix("optimizer", all));
    set_random_state(model, without_prefix("random", all));
    std::vector<Rng> found{batches};
    set_random_state(found, without_prefix("batches", all));
    batches = found[0];
  }

  Model model;
  AdamW optimizer;
  Rng batches;
  CosineOptions schedule = [] {
    CosineOptions options;
    options.total_steps = 150;
    options.warmup_steps = 5;
    return options;
  }();
};

TEST(Training, LearnsWhichTokenCameFirst) {
  Training run;
  const double before = run.step(0);
  for (Size number = 1; number < 150; ++number) run.step(number);
  evaluate(run.model);
  const double after = run.step(150);
  EXPECT_GT(before, 1.2);
  EXPECT_LT(after, 0.1);
}

TEST(Training, LeavesNoNodesBehind) {
  const Size before = live_nodes();
  {
    Training run;
    const Size leaves = live_nodes();
    for (Size number = 0; number < 3; ++number) run.step(number);
    EXPECT_EQ(live_nodes(), leaves);
  }
  EXPECT_EQ(live_nodes(), before);
}

// Parameters, moments, step counts and random numbers from one file: each later loss, and every number, is
// that of the run that was not interrupted.
TEST(Training, B49_GoesOnFromAFileAsIfNotInterrupted) {
  const study::TemporaryFolder folder;
  constexpr Size steps = 6;
  for (Size interrupted = 1; interrupted < steps; ++interrupted) {
    Training whole;
    std::vector<double> losses;
    for (Size number = 0; number < steps; ++number) {
      if (number == interrupted) save(folder / "state", whole.state());
      losses.push_back(whole.step(number));
    }
    Training resumed{Model(Rng(99))};
    resumed.load_state(load(folder / "state").tensors);
    for (Size number = interrupted; number < steps; ++number)
      EXPECT_EQ(resumed.step(number), losses[static_cast<std::size_t>(number)]) << "step " << number;
    const NamedTensors expected = whole.state(), found = resumed.state();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_EQ(found[i].first, expected[i].first);
      EXPECT_SAME_BITS(found[i].second, expected[i].second) << found[i].first;
    }
  }
}

// A model belongs to the thread that made it, and what a thread computes depends on no other.
TEST(Training, ThreadsTrainModelsOfTheirOwn) {
  const auto train_five_steps = [] {
    Training run;
    double loss = 0;
    for (Size number = 0; number < 5; ++number) loss = run.step(number);
    return loss;
  };
  const double expected = train_five_steps();
  std::vector<double> losses(3);
  std::vector<std::thread> threads;
  for (double& loss : losses) threads.emplace_back([&loss, &train_five_steps] { loss = train_five_steps(); });
  for (std::thread& thread : threads) thread.join();
  for (const double loss : losses) EXPECT_EQ(loss, expected);
}

// A clone goes its own way, and the same way as the original would have gone.
TEST(Training, ACloneTrainsAsTheOriginal) {
  Training original;
  Training copy(clone(original.model));
  for (Size number = 0; number < 3; ++number) {
    const double loss = original.step(number);
    EXPECT_EQ(copy.step(number), loss);
  }
}

}  // namespace
}  // namespace regard

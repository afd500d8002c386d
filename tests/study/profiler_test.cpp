#include <regard/study/profiler.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <sstream>
#include <thread>

#include <regard/regard.hpp>
#include <regard/study/anomaly.hpp>

namespace regard::study {
namespace {

Cost cost_of(const CostLedger& ledger, const std::string& op, Phase phase = Phase::forward) {
  for (const Cost& cost : ledger.costs)
    if (cost.op == op && cost.phase == phase) return cost;
  return {};
}

template <class F>
CostLedger ledger_of(const F& run) {
  Profiler profiler;
  run();
  return profiler.ledger();
}

TEST(Profiler, CountsCallsPerOperationAndPhase) {
  Rng rng(1);
  const Parameter w(normal({3, 4}, rng));
  Adam adam({w});
  const Tensor x = normal({2, 3}, rng);
  const CostLedger ledger = ledger_of([&] {
    for (int step = 0; step < 5; ++step) {
      backward(sum(tanh(matmul(x, w))));
      adam.step();
      adam.zero_grad();
    }
  });
  EXPECT_EQ(cost_of(ledger, "matmul").calls, 5);
  EXPECT_EQ(cost_of(ledger, "tanh").calls, 5);
  EXPECT_EQ(cost_of(ledger, "matmul", Phase::backward).calls, 5) << "x is a constant: one product, not two";
  Size optimiser = 0;
  for (const Cost& cost : ledger.costs) {
    EXPECT_GT(cost.seconds, 0) << cost.op;
    if (cost.phase == Phase::optimiser) optimiser += cost.calls;
  }
  EXPECT_GE(optimiser, 5);
  for (const double between : ledger.between) EXPECT_GT(between, 0);
}

TEST(Profiler, CountsTheWorkOfProductsWhicheverIsTransposed) {
  Rng rng(2);
  const Tensor a = variable(normal({5, 2, 3}, rng)), b = variable(normal({3, 4}, rng));
  const double once = 2. * 5 * 2 * 3 * 4;
  const CostLedger ledger = ledger_of([&] { backward(sum(matmul(a, b))); });
  EXPECT_EQ(cost_of(ledger, "matmul").flops, once);
  EXPECT_EQ(cost_of(ledger, "matmul", Phase::backward).flops, 2 * once) << "da = dy·bᵀ, db = aᵀ·dy";
  EXPECT_EQ(cost_of(ledger, "matmul", Phase::backward).calls, 2);

  // Dense attention whose keys are padded: scores and mix, and two products each in the backward.
  const Tensor q = variable(normal({2, 7, 4}, rng)), k = variable(normal({2, 6, 4}, rng)),
               v = variable(normal({2, 6, 5}, rng));
  const Tensor keep = less(arange(6), reshape(tensor({4, 6}, int64), {2, 1, 1}));
  AttentionOptions dense;
  dense.path = AttentionPath::dense;
  const CostLedger masked = ledger_of([&] { backward(sum(attention(q, k, v, Mask::keep(keep), dense))); });
  double products = 0;
  for (const Cost& cost : masked.costs) products += cost.flops;
  EXPECT_EQ(products, 3 * 2. * 2 * 7 * 6 * (4 + 5));
}

TEST(Profiler, CountsTheWorkOfAttentionInBlocks) {
  Rng rng(6);
  const Tensor q = variable(normal({1, 2, 2048, 4}, rng)), k = variable(normal({1, 2, 2048, 4}, rng)),
               v = variable(normal({1, 2, 2048, 3}, rng));
  const CostLedger ledger = ledger_of([&] { backward(sum(attention(q, k, v, Mask::causal()))); });
  const double pairs = 2. * 2048 * 2048;
  EXPECT_EQ(cost_of(ledger, "blocked_attention").flops, 2 * pairs * (4 + 3));
  EXPECT_EQ(cost_of(ledger, "blocked_attention_backward", Phase::backward).flops,
            2 * pairs * (3 * 4 + 2 * 3));
}

TEST(Profiler, CountsBytesOnce) {
  Rng rng(3);
  const Tensor x = normal({8, 4}, rng, 0, 1, float32), bias = normal({4}, rng, 0, 1, float32);
  EXPECT_EQ(cost_of(ledger_of([&] { (void)(x + bias); }), "add").bytes, 4. * (32 + 4 + 32));
  const Tensor repeated = broadcast_to(bias, {8, 4});
  EXPECT_EQ(cost_of(ledger_of([&] { (void)exp(repeated); }), "exp").bytes, 4. * (4 + 32));
  const Tensor table = normal({1000, 4}, rng), ids = tensor({1, 5, 1}, int64);
  EXPECT_EQ(cost_of(ledger_of([&] { (void)take(table, ids); }), "take").bytes, 3 * 8. + 2 * 3 * 4 * 8.)
      << "three rows read, not the table";
}

TEST(Profiler, AddsUpToTheTimeThatPassed) {
  using Clock = std::chrono::steady_clock;
  const Tensor x = ones({200, 200});
  const Clock::time_point start = Clock::now();
  Profiler profiler;
  for (int i = 0; i < 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    (void)matmul(x, x);
  }
  const CostLedger ledger = profiler.ledger();
  const double passed = std::chrono::duration<double>(Clock::now() - start).count();
  EXPECT_GE(ledger.between[0], 0.015) << "what the program does itself lies between operations";
  EXPECT_LE(ledger.seconds(), passed);
}

TEST(Profiler, HearsNothingMoreOnceStoppedAndNeverOfOtherThreads) {
  Profiler profiler;
  std::thread([] { (void)exp(ones({2})); }).join();
  EXPECT_TRUE(profiler.ledger().costs.empty());
  (void)exp(ones({2}));
  profiler.stop();
  (void)exp(ones({2}));
  EXPECT_EQ(cost_of(profiler.ledger(), "exp").calls, 1);
}

TEST(Profiler, ChangesNoBit) {
  const auto losses = [] {
    Rng rng(4);
    nn::TransformerOptions options;
    options.heads = 2;
    const nn::Encoder model(8, 2, rng, options);
    AdamOptions fast;
    fast.learning_rate = 0.1;
    Adam adam(parameters(model), fast);
    const Tensor x = normal({3, 5, 8}, rng);
    std::vector<double> values;
    for (int step = 0; step < 10; ++step) {
      adam.zero_grad();
      const Tensor loss = mean(square(model(x, Mask::causal()) - 1));
      backward(loss);
      adam.step();
      values.push_back(loss.item());
    }
    return values;
  };
  const std::vector<double> plain = losses();
  const Profiler outer, inner;
  EXPECT_EQ(losses(), plain);
  EXPECT_GT(cost_of(outer.ledger(), "matmul").calls, 0);
  EXPECT_EQ(cost_of(outer.ledger(), "matmul").calls, cost_of(inner.ledger(), "matmul").calls);
}

TEST(Profiler, SurvivesAnOperationThatThrows) {
  const Tensor x = tensor({1, -2, 3});
  Profiler profiler;
  {
    const AnomalyMode anomaly;
    EXPECT_THROW((void)log(x), AnomalyError);
  }
  (void)exp(x);
  EXPECT_EQ(cost_of(profiler.ledger(), "exp").calls, 1);
  EXPECT_EQ(cost_of(profiler.ledger(), "log").calls, 0) << "it did not end";
}

TEST(Profiler, IsRefusedByACapturedStepBeforeItCouldMissAnything) {
  CapturedStep step = capture([](const Tensors& in) { return Tensors{exp(in[0])}; });
  const Tensor x = ones({2});
  for (int i = 0; i < 3; ++i) step.replay({x});
  const Profiler profiler;
  EXPECT_THROW(step.replay({x}), GraphError);
}

CostLedger sample() {
  CostLedger ledger;
  ledger.costs = {{"matmul", Phase::backward, 20, 0.5, 4e9, 2e6},
                  {"exp", Phase::forward, 1000, 0.25, 0, 1e9},
                  {"add", Phase::forward, 4, 1e-6, 0, 48}};
  ledger.between[0] = 0.25;
  return ledger;
}

TEST(CostLedger, IsATable) {
  std::ostringstream out;
  out << sample();
  EXPECT_EQ(
      out.str(),
      "operation       phase     calls     time   share  per call  GFLOP/s    moved  GB/s\n"
      "matmul          backward     20   500 ms  50.0 %   25.0 ms     8.00  2.00 MB  0.00\n"
      "exp             forward    1000   250 ms  25.0 %    250 µs           1.00 GB  4.00\n"
      "add             forward       4  1.00 µs   0.0 %    250 ns              48 B  0.05\n"
      "(between them)  forward           250 ms  25.0 %\n"
      "all                        1024   1.00 s                       5.33  1.00 GB  1.34\n"
      "Between them: building the graph, memory, checks, and what the program does itself. Moved: inputs "
      "and outputs,\neach number once. GFLOP/s: products of matrices only.\n");
}

TEST(CostLedger, IsShortenedAndSpeaksVietnamese) {
  const std::string text = to_string(sample(), "vi", 1);
  EXPECT_NE(text.find("phép toán"), std::string::npos) << text;
  EXPECT_NE(text.find("(2 phép khác)"), std::string::npos) << text;
  EXPECT_NE(text.find("1004"), std::string::npos) << text;
  EXPECT_EQ(text.find("exp"), std::string::npos) << text;
}

TEST(CostLedger, AddsUpThreads) {
  CostLedger sum = sample();
  CostLedger other;
  other.costs = {{"exp", Phase::forward, 1, 1.0, 0, 8}, {"exp", Phase::backward, 1, 0.1, 0, 8}};
  other.between[1] = 2;
  sum += other;
  ASSERT_EQ(sum.costs.size(), 4U);
  EXPECT_EQ(sum.costs[0].op, "exp") << "the dearest first";
  EXPECT_EQ(sum.costs[0].calls, 1001);
  EXPECT_DOUBLE_EQ(sum.costs[0].seconds, 1.25);
  EXPECT_DOUBLE_EQ(sum.seconds(), 1.000001 + 1.1 + 2);
  EXPECT_EQ(CostLedger().seconds(), 0);
  EXPECT_NE(to_string(CostLedger()).find("all"), std::string::npos) << "an empty one is no error";
}

}  // namespace
}  // namespace regard::study

// Steps of training in turns with the same step by hand: eager and replayed. Each iteration runs both; the
// time is the library's, the counters are its ratio to that by hand (of the medians, and of the fastest), and
// how often a step asks the heap for memory.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include <regard/regard.hpp>

#include "models/demo.hpp"
#include "models/one_head.hpp"
#include "support/count_heap.hpp"

namespace {

using regard::Tensor;
using regard::Tensors;
using Step = std::function<void()>;

double seconds(const Step& step) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  step();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> times) {
  const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
  std::nth_element(times.begin(), middle, times.end());
  return *middle;
}

std::size_t requests = 0;  ///< of steps, from the heap

/// What the step asks from the heap counts.
template <class Step>
void counted(const Step& step) {
  const std::size_t before = regard::test::heap_requests;
  step();
  requests += regard::test::heap_requests - before;
}

void in_turns(benchmark::State& state, const Step& ours, const Step& by_hand) {
  for (int i = 0; i < 5; ++i) ours(), by_hand();  // the first of a captured step write it down
  std::vector<double> own, hand;
  requests = 0;
  for (auto _ : state) {
    own.push_back(seconds(ours));
    hand.push_back(seconds(by_hand));
    state.SetIterationTime(own.back());
  }
  if (REGARD_COUNTS_HEAP)
    state.counters["heap_requests"] = static_cast<double>(requests) / static_cast<double>(own.size());
  state.counters["over_hand"] = median(own) / median(hand);
  state.counters["fastest_over_hand"] =
      *std::min_element(own.begin(), own.end()) / *std::min_element(hand.begin(), hand.end());
}

enum class Run { eager, replayed };

template <class T>
void one_head(benchmark::State& state, const hand_written::OneHeadSizes& n, Run run) {
  regard::set_blas_threads(1);
  regard::Rng rng(1);
  const models::OneHead model(n, rng, regard::dtype_of<T>());
  std::vector<std::vector<T>> start;
  for (const regard::Parameter& each : model.parameters()) start.push_back(each.value().to_vector<T>());
  hand_written::OneHead<T> hand(n, start);
  regard::Adam adam(model.parameters());
  const Tensor ids =
      regard::uniform({n.batch, n.tokens}, rng, 0, static_cast<double>(n.vocabulary)).to(regard::int64);
  const std::vector<regard::Size> plain = ids.to_vector<regard::Size>();
  const auto step = [&](const Tensor& in) {
    adam.zero_grad();
    const Tensor loss = model(in, in);
    regard::backward(loss);
    adam.step();
    return loss;
  };
  const Tensors bound = {ids};
  regard::CapturedStep captured = regard::capture([&](const Tensors& in) { return Tensors{step(in[0])}; });
  const Step by_hand = [&] { hand.step(plain.data(), plain.data(), {}); };
  if (run == Run::eager)
    in_turns(
        state, [&] { counted([&] { step(ids); }); }, by_hand);
  else
    in_turns(
        state, [&] { counted([&] { captured.replay(bound); }); }, by_hand);
}

/// One batch again and again. Eager steps make tensors of it each time, as a training does.
template <class T>
void demo(benchmark::State& state, coreference::ModelKind kind, Run run) {
  regard::set_blas_threads(1);
  const coreference::ModelSettings settings = models::demo_settings(kind, regard::dtype_of<T>());
  regard::Rng rng(1);
  const coreference::Model model(settings, rng);
  hand_written::Demo<T> hand(models::by_hand(kind), {}, models::numbers_of<T>(model));
  regard::Adam adam(regard::parameters(model));
  const coreference::Batch batch = models::demo_batches(settings, 1).at(0);
  const std::vector<double> clause = coreference::clause_weights(batch);
  const coreference::Inputs inputs(batch, settings.dtype);
  const auto step = [&](const coreference::Inputs& in) {
    adam.zero_grad();
    const Tensor loss = models::demo_loss(model, in);
    regard::backward(loss);
    adam.step();
    return loss;
  };
  regard::CapturedStep captured = regard::capture([&](const Tensors&) { return Tensors{step(inputs)}; });
  const Step by_hand = [&] { hand.step(models::by_hand(batch, clause), {}); };
  const auto eager = [&] {
    const coreference::Inputs in(batch, settings.dtype);
    counted([&] { step(in); });
  };
  if (run == Run::eager)
    in_turns(state, eager, by_hand);
  else
    in_turns(
        state, [&] { counted([&] { captured.replay(Tensors{}); }); }, by_hand);
}

template <class T>
void add(const std::string& dtype) {
  const auto named = [&](const std::string& name, const auto& body) {
    for (const auto& [how, run] : {std::pair{"eager", Run::eager}, std::pair{"replayed", Run::replayed}})
      benchmark::RegisterBenchmark((name + "/" + dtype + "/" + how).c_str(),
                                   [body, run = run](benchmark::State& state) { body(state, run); })
          ->UseManualTime()
          ->Unit(benchmark::kMicrosecond);
  };
  named("one_head_lesson", [](benchmark::State& state, Run run) { one_head<T>(state, {2, 5, 8, 11}, run); });
  named("one_head_batch_64", [](benchmark::State& state, Run run) {
    one_head<T>(state, {64, 12, 32, 40}, run);
  });
  const std::pair<const char*, coreference::ModelKind> kinds[] = {
      {"agreement_raw", coreference::ModelKind::raw},
      {"twist_clause", coreference::ModelKind::clause},
      {"twist_two_layer", coreference::ModelKind::two_layer}};
  for (const auto& [name, kind] : kinds)
    named(name, [kind = kind](benchmark::State& state, Run run) { demo<T>(state, kind, run); });
}

}  // namespace

int main(int argc, char** argv) {
  add<float>("float32");
  add<double>("float64");
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
}

// Chains of operations on single numbers, forward and backward: what an operation costs beside its
// arithmetic.
#include <benchmark/benchmark.h>

#include <regard/regard.hpp>

namespace {

using regard::Tensor;
using regard::Tensors;

/// w: a leaf that each operation uses too, or nothing.
template <class Next>
void chain(benchmark::State& state, regard::DType dtype, const Next& next, const Tensor& w = {}) {
  const Tensor x = regard::variable(regard::full({}, 1.0, dtype));
  const auto run = [&] {
    Tensor y = x;
    for (std::int64_t i = 0; i < state.range(0); ++i) y = next(y);
    static_cast<void>(regard::grad(Tensors{y}, w.defined() ? Tensors{x, w} : Tensors{x}));
  };
  run();  // memory is there
  for (auto _ : state) run();
  state.counters["per_op"] =
      benchmark::Counter(static_cast<double>(state.range(0)),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

void negative(benchmark::State& state, regard::DType dtype) {
  chain(state, dtype, [](const Tensor& y) { return -y; });
}
void tanh(benchmark::State& state, regard::DType dtype) {
  chain(state, dtype, [](const Tensor& y) { return regard::tanh(y); });
}
void times_a_leaf(benchmark::State& state, regard::DType dtype) {
  const Tensor w = regard::variable(regard::full({}, 1.0, dtype));
  chain(
      state, dtype, [&](const Tensor& y) { return y * w; }, w);
}

BENCHMARK_CAPTURE(negative, float32, regard::float32)->RangeMultiplier(10)->Range(1000, 10'000'000);
BENCHMARK_CAPTURE(negative, float64, regard::float64)->RangeMultiplier(10)->Range(1000, 10'000'000);
BENCHMARK_CAPTURE(tanh, float64, regard::float64)->RangeMultiplier(10)->Range(1000, 10'000'000);
BENCHMARK_CAPTURE(times_a_leaf, float32, regard::float32)->RangeMultiplier(10)->Range(1000, 10'000'000);
BENCHMARK_CAPTURE(times_a_leaf, float64, regard::float64)->RangeMultiplier(10)->Range(1000, 10'000'000);

}  // namespace

BENCHMARK_MAIN();

// One whole default run of each of the demo's models, on one core: data, training, the frames of the film,
// and the evaluation on all sets of sentences. A run is to take less than two seconds.
#include <benchmark/benchmark.h>

#include <regard/blas.hpp>

#include "coreference/training.hpp"

namespace {

using namespace coreference;  // NOLINT: a program

void train(benchmark::State& state, Task task, ModelKind model, regard::DType dtype) {
  regard::set_blas_threads(1);
  ModelSettings settings;
  settings.task = task;
  settings.model = model;
  settings.dtype = dtype;
  double accuracy = 0;
  for (auto _ : state) accuracy = TrainingRun(settings, TrainSettings()).train().validation.metrics.accuracy;
  state.counters["accuracy"] = accuracy;
}

BENCHMARK_CAPTURE(train, agreement_raw, Task::agreement, ModelKind::raw, regard::float64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(train, twist_clause, Task::twist, ModelKind::clause, regard::float64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(train, twist_two_layer, Task::twist, ModelKind::two_layer, regard::float64)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(train, twist_two_layer_float32, Task::twist, ModelKind::two_layer, regard::float32)
    ->Unit(benchmark::kMillisecond);

}  // namespace

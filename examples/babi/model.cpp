#include "babi/model.hpp"

#include <cmath>

#include <regard/error.hpp>
#include <regard/nn/module.hpp>
#include <regard/ops.hpp>

namespace babi {
namespace {

using regard::Mask;
using regard::Parameter;
using regard::Rng;
using regard::Tensor;

// Small: sentences are sums of some seven words, and the linear start has no softmax to hold large scores
// down.
constexpr double deviation = 0.1;
// How far a query sentence of the model `window` sees: the sentence before and the one after.
constexpr std::int64_t window_radius = 1;

Parameter table(std::int64_t rows, std::int64_t columns, const ModelSettings& settings, Rng& rng) {
  return Parameter(regard::normal({rows, columns}, rng, 0, deviation, settings.dtype));
}

// The identity: at first a sentence is found by what it has in common with the question, and read as it is.
Parameter near_identity(const ModelSettings& settings, Rng& rng) {
  const double noise = deviation / std::sqrt(static_cast<double>(settings.width));
  return Parameter(regard::eye(settings.width, settings.dtype) +
                   regard::normal({settings.width, settings.width}, rng, 0, noise, settings.dtype));
}

// k/d for k = 1..d, [1, width]: how the second half of a bag counts for the k-th number. See
// position_weighted_bag.
Tensor ramp(const ModelSettings& settings) {
  const auto width = static_cast<double>(settings.width);
  return regard::reshape((regard::arange(settings.width, regard::float64) + 1.0) / width, {1, settings.width})
      .to(settings.dtype);
}

// bags [.., 2·words] -> [.., width]
Tensor embed(const Tensor& bags, const Tensor& words, const ModelSettings& settings) {
  return regard::matmul(bags, regard::concatenate({words, words * ramp(settings)}));
}

}  // namespace

Hop::Hop(const ModelSettings& settings, Rng& rng)
    : query(near_identity(settings, rng)),
      key(near_identity(settings, rng)),
      value(near_identity(settings, rng)) {}

Tensor Hop::operator()(const Tensor& asking, const Tensor& asked, const Tensor& giving, const Mask& mask,
                       Weighting weighting, regard::AttentionTrace* trace) const {
  const Tensor q = regard::matmul(asking, query), k = regard::matmul(asked, key),
               v = regard::matmul(giving, value);
  if (weighting == Weighting::softmax) return regard::attention(q, k, v, mask, {}, trace);
  Tensor weights = regard::matmul(q, regard::transpose(k)) / std::sqrt(static_cast<double>(q.size(-1)));
  const Tensor visible = mask.resolve(q.size(0), 1, q.size(1), k.size(1)).keep;  // undefined: everything is
  if (visible.defined())
    weights = regard::masked_fill(weights, regard::logical_not(regard::squeeze(visible, {1})), 0);
  if (trace) {
    *trace = {};
    trace->weights = regard::expand_dims(weights.detach(), {1});
  }
  return regard::matmul(weights, v);
}

Model::Model(const ModelSettings& made_of, Rng& rng) : settings(made_of) {
  const bool window = settings.model == ModelKind::window;
  question_words = table(settings.words, settings.width, settings, rng);
  key_words = table(settings.words, settings.width, settings, rng);
  value_words = table(settings.words, settings.width, settings, rng);
  key_ages = table(settings.ages, settings.width, settings, rng);
  value_ages = table(settings.ages, settings.width, settings, rng);
  for (std::int64_t i = 0; i < (window ? 2 : settings.hops); ++i) layers.emplace_back(settings, rng);
  weight = table(settings.width, settings.answers, settings, rng);
  bias = Parameter(regard::zeros({settings.answers}, settings.dtype));
}

Tensor Model::operator()(const Batch& batch, Weighting weighting, Traces* traces) const {
  if (traces) *traces = Traces(layers.size());
  const auto trace = [traces](std::size_t layer) { return traces ? &(*traces)[layer] : nullptr; };
  const Mask stories = Mask::padding(batch.lengths);
  const Tensor keys = embed(batch.sentences, key_words, settings) + regard::take(key_ages, batch.ages);
  const Tensor values = embed(batch.sentences, value_words, settings) + regard::take(value_ages, batch.ages);
  Tensor state = embed(batch.question, question_words, settings);  // [batch, 1, width]
  if (settings.model == ModelKind::window) {
    const Mask neighbours = stories & Mask::window(window_radius);
    const Tensor seen = keys + layers[0](keys, keys, keys, neighbours, weighting, trace(0));
    state = layers[1](state, seen, values, stories, weighting, trace(1));
  } else {
    for (std::size_t i = 0; i < layers.size(); ++i)
      state = state + layers[i](state, keys, values, stories, weighting, trace(i));
  }
  return regard::matmul(regard::squeeze(state, {1}), weight) + bias;
}

void orient(Model& model, const Batch& batch) {
  const regard::NoGrad no_grad;
  Traces traces;
  (void)model(batch, Weighting::linear, &traces);
  for (std::size_t i = 0; i < traces.size(); ++i) {
    const Tensor& weights = traces[i].weights;
    const Tensor peaks =
        regard::gather(weights, regard::argmax(regard::abs(weights), -1, regard::keep_axes), -1);
    if (regard::sum(regard::sign(peaks)).item() >= 0) continue;
    Hop& hop = model.layers[i];
    hop.query.assign(-hop.query.value());
    hop.value.assign(-hop.value.value());
  }
}

Numbers numbers_of(const Model& model) {
  Numbers numbers;
  for (const Parameter& parameter : regard::parameters(model))
    numbers.push_back(parameter.value().to(regard::float64).to_vector<double>());
  return numbers;
}

void assign(Model& model, const Numbers& numbers) {
  std::vector<Parameter> parameters = regard::parameters(model);
  if (parameters.size() != numbers.size())
    throw regard::ShapeError("assign: expected the numbers of " + std::to_string(parameters.size()) +
                             " parameters, got those of " + std::to_string(numbers.size()));
  for (std::size_t i = 0; i < numbers.size(); ++i)
    parameters[i].assign(regard::from_vector(numbers[i], parameters[i].shape()).to(parameters[i].dtype()));
}

}  // namespace babi

#include "coreference/model.hpp"

#include <algorithm>

#include <regard/nn/positions.hpp>

namespace coreference {
namespace {

using regard::Mask;
using regard::Parameter;
using regard::Rng;
using regard::Tensor;

// A noun and its verb or predicate lie at most this far apart; the local layer of the two-layer model sees no
// further, so that no token can carry a referent number from one noun to another.
constexpr std::int64_t window = 3;
// Distances beyond this share one bias.
constexpr std::int64_t farthest = 24;
constexpr double embedding_deviation = 0.2;  // small: attention starts nearly uniform

Parameter matrix(std::int64_t rows, std::int64_t columns, const ModelSettings& settings, Rng& rng) {
  return Parameter(regard::glorot_uniform({rows, columns}, rng, settings.dtype));
}

Parameter table(std::int64_t rows, const ModelSettings& settings, Rng& rng) {
  return Parameter(regard::normal({rows, settings.width}, rng, 0, embedding_deviation, settings.dtype));
}

/// [batch, rows, heads · width] -> [batch, heads, rows, width]; one head needs no axis of its own.
Tensor split_heads(const Tensor& x, std::int64_t heads) {
  if (heads == 1) return x;
  return regard::permute(regard::reshape(x, {x.size(0), x.size(1), heads, x.size(2) / heads}), {0, 2, 1, 3});
}

/// The inverse.
Tensor merge_heads(const Tensor& x) {
  if (x.rank() == 3) return x;
  return regard::reshape(regard::permute(x, {0, 2, 1, 3}), {x.size(0), x.size(2), x.size(1) * x.size(3)});
}

/// int64 [queries, keys]: which bias a query has for a key, by how far behind it stands.
Tensor distance_ids(std::int64_t queries, std::int64_t keys) {
  std::vector<std::int64_t> ids;
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t j = 0; j < keys; ++j) ids.push_back(std::clamp(i - j, -farthest, farthest) + farthest);
  return regard::from_vector(ids, {queries, keys});
}

/// Row `rows[b]` of the [batch · length] rows of x [batch, length, width]. -> [batch, width]
Tensor read(const Tensor& x, const Tensor& rows) {
  return regard::take(regard::reshape(x, {x.size(0) * x.size(1), x.size(2)}), rows);
}

std::vector<std::int64_t> rows_of(const std::vector<std::int64_t>& positions, std::int64_t length) {
  std::vector<std::int64_t> rows(positions.size());
  for (std::size_t b = 0; b < rows.size(); ++b)
    rows[b] = static_cast<std::int64_t>(b) * length + positions[b];
  return rows;
}

bool all_present(const std::vector<std::int64_t>& positions) {
  return std::find(positions.begin(), positions.end(), no_position) == positions.end();
}

}  // namespace

Inputs::Inputs(const Batch& from, regard::DType dtype)
    : batch(from.size),
      length(from.length),
      tokens(regard::from_vector(from.tokens, {batch, length})),
      referents(regard::from_vector(from.referents, {batch, length})),
      lengths(regard::from_vector(from.lengths, {batch})),
      pronoun_rows(regard::from_vector(rows_of(from.pronoun, length), {batch})),
      clause(regard::from_vector(clause_weights(from), {batch, 1, length}).to(dtype)),
      targets(regard::from_vector(from.target, {batch})) {
  if (all_present(from.antecedent))
    antecedent_rows = regard::from_vector(rows_of(from.antecedent, length), {batch});
  std::vector<std::int64_t> end(from.pronoun);
  for (std::size_t b = 0; b < end.size(); ++b) end[b] = std::max(end[b], from.predicate[b]);
  clause_end = regard::from_vector(end, {batch});
  if (!from.reverse_target.empty()) reverse_targets = regard::from_vector(from.reverse_target, {batch});
}

Head::Head(const ModelSettings& settings, std::int64_t width_of_values, Rng& rng)
    : scores(settings.scores),
      positions(settings.positions),
      heads(settings.heads),
      head_width(settings.head_width),
      value_width(width_of_values) {
  const bool projected = scores == Scores::learned || scores == Scores::shared;
  if (projected) query = matrix(settings.width, heads * head_width, settings, rng);
  if (scores == Scores::learned) key = matrix(settings.width, heads * head_width, settings, rng);
  value = matrix(settings.width, heads * value_width, settings, rng);
  if (positions == Positions::relative)
    distance = Parameter(regard::zeros({heads, 2 * farthest + 1}, settings.dtype));
}

Tensor Head::operator()(const Tensor& asking, const Tensor& asked, const Tensor& giving, const Mask& mask,
                        regard::AttentionTrace* trace) const {
  Tensor q = asking, k = asked;
  if (query.defined()) {
    q = regard::matmul(asking, query);
    k = regard::matmul(asked, key.defined() ? key : query);
  }
  q = split_heads(q, heads);
  k = split_heads(k, heads);
  if (positions == Positions::rope) {
    const regard::nn::RotaryPositions rotate;
    q = rotate(q);
    k = rotate(k);
  }
  Mask all = mask;
  if (distance.defined()) {
    const Tensor bias =
        regard::take(distance, distance_ids(q.size(-2), k.size(-2)), 1);  // [heads, queries, keys]
    all = all & Mask::bias(regard::expand_dims(bias, {0}));
  }
  regard::AttentionOptions options;
  if (scores == Scores::uniform) options.scale = 0;
  const Tensor v = split_heads(regard::matmul(giving, value), heads);
  return merge_heads(regard::attention(q, k, v, all, options, trace));
}

Model::Model(const ModelSettings& made_of, Rng& rng) : settings(made_of) {
  const std::int64_t width = settings.width;
  word = table(Lexicon::of(settings.language).size(), settings, rng);
  referent = table(referent_numbers, settings, rng);
  if (settings.positions == Positions::learned) position = table(longest_sentence, settings, rng);
  if (settings.positions == Positions::sinusoidal)
    position = Parameter(regard::nn::sinusoidal_positions(longest_sentence, width, 0, settings.dtype));
  if (settings.model == ModelKind::two_layer) layers.emplace_back(settings, width / settings.heads, rng);
  layers.emplace_back(settings, width, rng);
  weight = matrix(settings.heads * width, referent_numbers, settings, rng);
  bias = Parameter(regard::zeros({referent_numbers}, settings.dtype));
}

Tensor Model::embed(const Inputs& inputs, const Tensor& numbers) const {
  const Tensor x = regard::take(word, inputs.tokens) + numbers;
  if (!position.defined()) return x;
  return x + regard::slice(position, 0, {0, inputs.length});
}

Mask Model::visible(const Inputs& inputs) const {
  const Mask mask = Mask::padding(inputs.lengths);
  if (settings.mask == MaskKind::none) return mask;
  if (settings.model != ModelKind::clause) return mask & Mask::causal();
  // A clause asks from its last word: what stands behind that is its future.
  const Tensor past = regard::less_equal(regard::arange(inputs.length),
                                         regard::reshape(inputs.clause_end, {inputs.batch, 1, 1, 1}));
  return mask & Mask::keep(past);
}

Answer Model::operator()(const Inputs& inputs, Traces* traces) const {
  if (traces) *traces = Traces(layers.size());
  const auto trace = [&](std::size_t layer) { return traces ? &(*traces)[layer] : nullptr; };
  const auto logits = [&](const Tensor& row) { return regard::matmul(row, weight) + bias; };
  const Tensor nothing = regard::zeros({1, settings.width}, settings.dtype);
  const Tensor numbers = regard::take(regard::concatenate({nothing, referent}), inputs.referents);
  const Tensor x = embed(inputs, numbers);
  const Mask mask = visible(inputs);

  Answer answer;
  if (settings.model == ModelKind::clause) {
    const Tensor out =
        layers[0](regard::matmul(inputs.clause, x), x, numbers, mask, trace(0));  // [batch, 1, ..]
    answer.logits = logits(regard::squeeze(out, {1}));
    return answer;
  }
  Tensor out;
  if (settings.model == ModelKind::two_layer) {
    const Tensor seen = x + layers[0](x, x, x, mask & Mask::window(window), trace(0));
    // x·xᵀ means the embeddings: what the first layer has learned would be a projection under another name.
    const Tensor& asking = settings.scores == Scores::embedding ? x : seen;
    out = layers[1](asking, asking, numbers, mask, trace(1));
  } else {
    out = layers[0](x, x, numbers, mask, trace(0));
  }
  answer.logits = logits(read(out, inputs.pronoun_rows));
  if (settings.task == Task::mutual && inputs.antecedent_rows.defined())
    answer.reverse_logits = logits(read(out, inputs.antecedent_rows));
  return answer;
}

}  // namespace coreference

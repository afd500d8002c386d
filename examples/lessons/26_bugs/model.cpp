// The model with its twelve places for a bug. Every one of them is a line that compiles, runs, and gives
// numbers of the right shape.
#include <cmath>

#include "lessons/26_bugs/lab.hpp"

namespace bugs {

using namespace regard;

namespace {

// Rows of a table, whose rule says `gradient[id] = dy` where it should say `+=`: of equal ids only the last
// one counts.
Tensor take_and_overwrite(const Tensor& table, const Tensor& ids) {
  const auto rule = [](const RuleInputs& at) {
    const std::vector<Size> id = at.inputs[1].to_vector<Size>();
    const Size rows = at.inputs[0].size(0);
    std::vector<double> last(id.size(), 0);
    std::vector<bool> seen(static_cast<std::size_t>(rows), false);
    for (std::size_t i = id.size(); i-- > 0;)
      if (!seen[static_cast<std::size_t>(id[i])]) {
        last[i] = 1;
        seen[static_cast<std::size_t>(id[i])] = true;
      }
    const Size count = at.inputs[1].numel(), columns = at.inputs[0].size(1);
    const Tensor dy = reshape(at.dy, {count, columns}) * from_vector(last, {count, 1});
    const Tensor to = one_hot(reshape(at.inputs[1], {count}), rows);  // [count, rows]
    return Tensors{matmul(transpose(to), dy), Tensor()};
  };
  const CustomOp op(
      "take", [](const Tensors& in) { return take(in[0], in[1]); }, rule);
  return op({table, ids});
}

// True where a query may see a key: up to its own place. Decoding has one query and many keys; it stands at
// the last of them, which makes the triangle end in the lower right corner.
Tensor visible(Size queries, Size keys, Bug bug) {
  const auto first = static_cast<double>(bug == Bug::upper_left_mask ? 0 : keys - queries);
  const Tensor query = expand_dims(arange(queries) + first, {-1}), key = arange(keys);
  return less_equal(key, query);  // [queries, keys]
}

}  // namespace

Model::Model(Bug planted, Rng rng) : dropout(0.1, rng), bug(planted) {
  const auto matrix = [&rng](const Shape& shape, double deviation) {
    return Parameter(normal(shape, rng, 0, deviation));
  };
  const double half = std::sqrt(0.5), level = 1 / std::sqrt(static_cast<double>(width));
  embedding = matrix({vocabulary, width}, half);
  positions = matrix({tokens, width}, half);
  w_q = matrix({width, width}, level);
  w_k = matrix({width, width}, level);
  w_v = matrix({width, width}, level);
  output = matrix({width, vocabulary}, level);
  (void)named_parameters(*this);  // gives them their names
  if (bug == Bug::value_frozen) freeze(*this, "w_v");
}

Tensor Model::embed(const Tensor& ids, Size first) const {
  const Tensor words =
      bug == Bug::gradient_overwritten ? take_and_overwrite(embedding, ids) : take(embedding, ids);
  return words + slice(positions, 0, {first, first + ids.size(-1)});
}

Tensor Model::weigh(const Tensor& query, const Tensor& key, Steps* steps) const {
  Tensor scores = matmul(query, bug == Bug::key_not_transposed ? key : transpose(key));
  if (bug != Bug::no_scale) scores = scores / std::sqrt(static_cast<double>(width));
  Tensor keep = visible(query.size(-2), key.size(-2), bug);
  if (bug == Bug::mask_flipped) keep = logical_not(keep);
  const int axis = bug == Bug::softmax_axis ? -2 : -1;
  const Tensor weights = bug == Bug::mask_after_softmax ? softmax(scores, axis) * keep.to(scores.dtype())
                                                        : softmax(scores, keep, axis);
  if (steps != nullptr) *steps = {scores, weights};
  if (bug == Bug::dropout_stays_on) return regard::dropout(weights, dropout.p, dropout.rng);
  return dropout(weights);
}

Tensor Model::mix(const Tensor& x, const Tensor& query, const Tensor& key, const Tensor& value,
                  Steps* steps) const {
  return matmul(x + matmul(weigh(query, key, steps), value), output);
}

Tensor Model::logits(const Tensor& x, Steps* steps) const {
  return mix(x, matmul(x, w_q), matmul(x, w_k), matmul(x, w_v), steps);
}

Tensor Model::operator()(const Tensor& ids) const {
  return logits(embed(ids));
}

Tensor Model::decode(const Tensor& ids) const {
  Tensors keys, values, all;
  for (Size i = 0; i < ids.size(-1); ++i) {
    const Tensor x = embed(slice(ids, -1, {i, i + 1}), i);
    keys.push_back(matmul(x, w_k));
    values.push_back(matmul(x, w_v));
    all.push_back(mix(x, matmul(x, w_q), concatenate(keys, -2), concatenate(values, -2), nullptr));
  }
  return concatenate(all, -2);
}

// ---- the data and the training -------------------------------------------------------------------------

Batch draw(Bug bug, Size sequences, Rng& rng) {
  constexpr double rule = 0.8;
  std::vector<Size> ids, next;
  double source = 0;
  for (Size s = 0; s < sequences; ++s) {
    std::vector<Size> x;
    for (Size i = 0; i <= tokens; ++i) {
      const Size expected = i < 2 ? -1 : (x[static_cast<std::size_t>(i - 2)] + 1) % vocabulary;
      x.push_back(i >= 2 && rng.uniform() < rule ? expected : rng.below(vocabulary));
      const double by_chance = (i < 2 ? 1 : 1 - rule) / static_cast<double>(vocabulary);
      if (i > 0) source -= std::log(x.back() == expected ? rule + by_chance : by_chance);
    }
    ids.insert(ids.end(), x.begin(), x.end() - 1);
    next.insert(next.end(), x.begin() + 1, x.end());
  }
  const Shape shape = {sequences, tokens};
  const std::vector<Size>& labels = bug == Bug::labels_shifted ? ids : next;
  return {from_vector(ids, shape), from_vector(labels, shape),
          source / static_cast<double>(sequences * tokens)};
}

double bring_gradients(Model& model, const Batch& batch) {
  if (model.bug != Bug::gradients_not_cleared) zero_grad(model);
  const Tensor loss = cross_entropy(model(batch.ids), batch.labels);
  backward(loss);
  return loss.item();
}

ControlRun train(Bug bug) {
  Model model(bug);
  Rng rng(11);
  const Batch unseen = draw(bug, 256, rng);
  const auto loss = [&] {
    const NoGrad no_grad;
    evaluate(model);
    const double value = cross_entropy(model(unseen.ids), unseen.labels).item();
    regard::train(model);
    return value;
  };
  AdamOptions options;
  options.learning_rate = 0.01 * (bug == Bug::learning_rate ? 100 : 1);
  Adam optimizer(parameters(model), options);
  const double before = loss();
  for (int step = 0; step < 600; ++step) {
    bring_gradients(model, draw(bug, 16, rng));
    optimizer.step();
  }
  return {before, loss(), unseen.source};
}

}  // namespace bugs

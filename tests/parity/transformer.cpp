// A pre-norm transformer (Xiong et al. 2020) of two blocks, as torch.nn.TransformerEncoderLayer builds it, in
// training.
#include <vector>

#include <regard/regard.hpp>

#include "parity/parity.hpp"

namespace regard::parity {
namespace {

struct Extents {
  Size vocabulary, tokens, width, heads, hidden;
  DType dtype;
};

nn::LinearOptions linear_options(DType dtype) {
  nn::LinearOptions options;
  options.dtype = dtype;
  return options;
}

nn::LayerNormOptions norm_options(DType dtype) {
  nn::LayerNormOptions options;
  options.dtype = dtype;
  return options;
}

nn::MultiHeadAttentionOptions attention_options(DType dtype) {
  nn::MultiHeadAttentionOptions options;
  options.bias = true;
  options.dtype = dtype;
  return options;
}

struct Block {
  Block(const Extents& n, Rng& rng)
      : attention_norm(n.width, norm_options(n.dtype)),
        attention(n.width, n.heads, rng, attention_options(n.dtype)),
        mlp_norm(n.width, norm_options(n.dtype)),
        hidden(n.width, n.hidden, rng, linear_options(n.dtype)),
        output(n.hidden, n.width, rng, linear_options(n.dtype)) {}

  Tensor operator()(const Tensor& x) const {
    const Tensor mixed = x + attention(attention_norm(x), Mask::causal());
    return mixed + output(gelu(hidden(mlp_norm(mixed))));
  }
  template <class F>
  void visit(F&& f) {
    f("attention_norm", attention_norm);
    f("attention", attention);
    f("mlp_norm", mlp_norm);
    f("hidden", hidden);
    f("output", output);
  }

  nn::LayerNorm attention_norm;
  nn::MultiHeadAttention attention;
  nn::LayerNorm mlp_norm;
  nn::Linear hidden, output;
};

nn::EmbeddingOptions embedding_options(DType dtype) {
  nn::EmbeddingOptions options;
  options.dtype = dtype;
  return options;
}

nn::LearnedPositionsOptions positions_options(DType dtype) {
  nn::LearnedPositionsOptions options;
  options.dtype = dtype;
  return options;
}

/// Logits by a layer of their own, or by the embedding's rows (tied).
struct Transformer {
  Transformer(const Extents& n, bool tied, Rng& rng)
      : embedding(n.vocabulary, n.width, rng, embedding_options(n.dtype)),
        positions(n.tokens, n.width, rng, positions_options(n.dtype)),
        norm(n.width, norm_options(n.dtype)) {
    for (int i = 0; i < 2; ++i) blocks.emplace_back(n, rng);
    if (!tied) head.emplace(n.width, n.vocabulary, rng, linear_options(n.dtype));
  }

  Tensor operator()(const Tensor& ids) const {
    Tensor x = positions(embedding(ids));
    for (const Block& block : blocks) x = block(x);
    x = norm(x);
    return head ? (*head)(x) : matmul(x, transpose(embedding.weight));
  }
  template <class F>
  void visit(F&& f) {
    f("embedding", embedding);
    f("positions", positions);
    f("blocks", blocks);
    f("norm", norm);
    f("head", head);
  }

  nn::Embedding embedding;
  nn::LearnedPositions positions;
  std::vector<Block> blocks;
  nn::LayerNorm norm;
  std::optional<nn::Linear> head;
};

}  // namespace

TensorMap run_transformer(const Case& c) {
  const Tensor& ids = c.input("ids");
  const Tensor &table = c.input("embedding.weight"), &first = c.input("blocks.0.hidden.weight");
  const Extents n{table.size(0),         ids.size(1),   table.size(1),
                  c.options.at("heads"), first.size(1), table.dtype()};
  Rng rng(1);
  const Transformer model(n, c.options.at("tied"), rng);
  const NamedParameters named = named_parameters(model);
  for (auto [path, parameter] : named) parameter.assign(c.input(path));
  // The softmax does not see a bias of the keys: its gradient is rounding, which Adam would make steps of.
  freeze(model, "*.key.bias");

  AdamOptions options;
  options.learning_rate = c.options.at("rate");
  options.epsilon = c.options.at("epsilon");
  Adam optimizer(parameters(model), options);
  Tensors losses;
  std::map<std::string, Tensors> steps;
  for (Size step = 0; step < c.expected.at("output").numel(); ++step) {
    optimizer.zero_grad();
    const Tensor loss = cross_entropy(model(ids), c.input("targets"));
    backward(loss);
    optimizer.step();
    losses.push_back(loss.detach());
    for (const auto& [path, parameter] : named) steps["steps." + path].push_back(parameter.value());
  }
  TensorMap results{{"output", stack(losses)}};
  for (const auto& [name, values] : steps) results[name] = stack(values);
  return results;
}

}  // namespace regard::parity

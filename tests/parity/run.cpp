// What each operation of the file is in regard.
#include <functional>

#include <regard/regard.hpp>

#include "parity/parity.hpp"

namespace regard::parity {
namespace {

/// The inputs of a case as leaves; what has a gradient in the file has one here.
class Leaves {
 public:
  explicit Leaves(const Case& c) : case_(c) {
    for (const auto& [name, x] : c.inputs)
      leaves_[name] = c.expected.count("gradients." + name) ? variable(x) : x;
  }
  const Tensor& operator[](const std::string& name) const {
    (void)case_.input(name);
    return leaves_.at(name);
  }
  Tensor if_any(const std::string& name) const {
    return case_.inputs.count(name) ? leaves_.at(name) : Tensor();
  }

  /// The output with every gradient that is expected of a leaf.
  TensorMap finish(const Tensor& output) const {
    TensorMap results{{"output", output.detach()}};
    for (const auto& [name, leaf] : leaves_) {
      if (!leaf.requires_grad()) continue;
      GradOptions options;
      options.seeds = {case_.input("seed")};
      options.retain_graph = true;
      results["gradients." + name] = grad(output, leaf, options);
    }
    return results;
  }

 private:
  const Case& case_;
  TensorMap leaves_;
};

Mask mask_of(const Leaves& x, bool causal) {
  Mask mask = causal ? Mask::causal(Align::top_left) : Mask::none();
  if (const Tensor keep = x.if_any("keep"); keep.defined()) mask = mask & Mask::keep(keep);
  if (const Tensor bias = x.if_any("bias"); bias.defined()) mask = mask & Mask::bias(bias);
  if (const Tensor lengths = x.if_any("lengths"); lengths.defined()) mask = mask & Mask::padding(lengths);
  return mask;
}

TensorMap run_attention(const Case& c) {
  const Leaves x(c);
  AttentionOptions options;
  if (const nlohmann::json scale = c.options.value("scale", nlohmann::json()); !scale.is_null())
    options.scale = scale;
  return x.finish(
      attention(x["query"], x["key"], x["value"], mask_of(x, c.options.value("causal", false)), options));
}

TensorMap run_multi_head(const Case& c) {
  const Leaves x(c);
  const Tensor memory = x.if_any("memory");
  nn::MultiHeadAttentionOptions options;
  options.bias = c.inputs.count("query.bias") > 0;
  options.memory_width = x["key.weight"].size(0);
  options.dtype = x["x"].dtype();
  Rng rng(1);
  const nn::MultiHeadAttention layer(x["x"].size(-1), c.options.at("heads"), rng, options);
  const NamedParameters parameters = named_parameters(layer);
  for (auto [path, parameter] : parameters) parameter.assign(c.input(path));

  const Mask mask = mask_of(x, c.options.at("causal"));
  const Tensor output = memory.defined() ? layer(x["x"], memory, mask) : layer(x["x"], mask);
  BackwardOptions walk;
  walk.seed = c.input("seed");
  walk.retain_graph = true;
  backward(output, walk);
  TensorMap results{{"output", output.detach()}};
  for (const auto& [path, parameter] : parameters) results["gradients." + path] = parameter.gradient();
  for (const char* name : {"x", "memory"}) {
    GradOptions options_of_grad;
    options_of_grad.seeds = {walk.seed};
    options_of_grad.retain_graph = true;
    if (c.inputs.count(name))
      results[std::string("gradients.") + name] = grad(output, x[name], options_of_grad);
  }
  return results;
}

/// PyTorch normalises over several last axes; here they are made one.
TensorMap run_layer_norm(const Case& c) {
  const Leaves x(c);
  const int axes = c.options.at("axes"), rank = x["x"].rank();
  Shape shape;
  for (int axis = 0; axis < rank - axes; ++axis) shape.push_back(x["x"].size(axis));
  shape.push_back(-1);
  const Tensor rows = reshape(x["x"], shape);
  const auto flat = [&](const char* name, const Tensor& without) {
    const Tensor given = x.if_any(name);
    return given.defined() ? reshape(given, {-1}) : without;
  };
  const Shape width{rows.size(-1)};
  const Tensor gamma = flat("gamma", ones(width, rows.dtype())),
               beta = flat("beta", zeros(width, rows.dtype()));
  return x.finish(reshape(layer_norm(rows, gamma, beta, c.options.at("epsilon")), x["x"].shape()));
}

TensorMap run_cross_entropy(const Case& c) {
  const Leaves x(c);
  const std::string reduction = c.options.at("reduction");
  CrossEntropyOptions options;
  options.reduction = reduction == "mean"  ? Reduction::mean
                      : reduction == "sum" ? Reduction::sum
                                           : Reduction::none;
  options.label_smoothing = c.options.at("smoothing");
  options.ignore_index = c.options.at("ignore");
  options.class_weights = x.if_any("weights");
  return x.finish(cross_entropy(x["logits"], x["targets"], options));
}

TensorMap run_embedding(const Case& c) {
  nn::EmbeddingOptions options;
  options.dtype = c.input("weight").dtype();
  if (c.options.contains("padding")) options.padding = c.options.at("padding").get<Size>();
  Rng rng(1);
  nn::Embedding layer(c.input("weight").size(0), c.input("weight").size(1), rng, options);
  layer.weight.assign(c.input("weight"));
  const Tensor output = layer(c.input("ids"));
  BackwardOptions walk;
  walk.seed = c.input("seed");
  backward(output, walk);
  return {{"output", output.detach()}, {"gradients.weight", layer.weight.gradient()}};
}

TensorMap run_gelu(const Case& c) {
  const Leaves x(c);
  return x.finish(gelu(x["x"], c.options.at("form") == "tanh" ? Gelu::tanh : Gelu::exact));
}

}  // namespace

TensorMap run(const Case& c) {
  static const std::map<std::string, std::function<TensorMap(const Case&)>> operations = {
      {"attention", run_attention},         {"multi_head", run_multi_head}, {"layer_norm", run_layer_norm},
      {"cross_entropy", run_cross_entropy}, {"embedding", run_embedding},   {"gelu", run_gelu},
      {"transformer", run_transformer},
  };
  const auto found = operations.find(c.operation);
  if (found == operations.end())
    throw ValueError("case \"" + c.name + "\": there is no operation called " + c.operation);
  return found->second(c);
}

}  // namespace regard::parity

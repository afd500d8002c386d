#include <regard/nn/transformer.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include <regard/error.hpp>
#include <regard/io/safetensors.hpp>
#include <regard/loss.hpp>
#include <regard/nn/embedding.hpp>
#include <regard/ops.hpp>
#include <regard/optim.hpp>

#include "study/temporary_folder.hpp"
#include "support/close.hpp"
#include "support/golden.hpp"
#include "support/modules.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::nn {
namespace {

// ---- against PyTorch -----------------------------------------------------------------------------------

constexpr Size width = 4, tokens = 3, keys = 4, batch = 2;

// The numbers of tests/golden/transformers.py.
Tensor number(const Shape& shape, Size k, double offset = 0) {
  std::vector<double> values;
  for (Size i = 0; i < numel(shape); ++i)
    values.push_back(offset + 0.4 * std::cos(0.7 * static_cast<double>(i) + static_cast<double>(k)));
  return from_vector(values, shape);
}

bool is_gamma(const std::string& name) {
  return name.size() > 5 && name.compare(name.size() - 5, 5, "gamma") == 0;
}

TransformerOptions options_of(const nlohmann::json& c) {
  TransformerOptions options;
  options.heads = 2;
  options.hidden = 5;
  options.place = c.at("before") ? NormPlace::before : NormPlace::after;
  const std::string activation = c.at("activation"), norm = c.at("norm");
  options.activation = activation == "gelu"   ? Activation::gelu
                       : activation == "relu" ? Activation::relu
                                              : Activation::swiglu;
  options.norm = norm == "layer" ? NormKind::layer : norm == "rms" ? NormKind::rms : NormKind::none;
  options.feed_forward = norm != "none";
  return options;
}

// What ours gives, its gradients, and the training.
class Beside {
 public:
  explicit Beside(const nlohmann::json& c) : case_(c) {
    Rng rng(1);
    if (c.at("decoder"))
      decoder_.emplace(width, c.at("layers").get<Size>(), rng, options_of(c));
    else
      encoder_.emplace(width, c.at("layers").get<Size>(), rng, options_of(c));
    named_ = decoder_ ? named_parameters(*decoder_) : named_parameters(*encoder_);
    const Size count = static_cast<Size>(named_.size());
    for (Size k = 0; k < count; ++k) {
      auto& [name, parameter] = named_[static_cast<std::size_t>(k)];
      parameter.assign(number(parameter.shape(), k, is_gamma(name) ? 1 : 0));
    }
    x_ = variable(number({batch, tokens, width}, count));
    memory_ = variable(number({batch, keys, width}, count + 1));
    target_ = number({batch, tokens, width}, count + 2);
    if (!c.at("lengths").is_null())
      padding_ = Mask::padding(from_vector(c.at("lengths").get<std::vector<Size>>(), {batch}));
  }

  void compare() {
    const std::string name = case_.at("norm");
    const Tensor output = model();
    EXPECT_TENSOR_NEAR(output, expected(case_.at("output"), output.shape()), 0, 1e-12);

    const nlohmann::json& gradients = case_.at("gradients");
    EXPECT_EQ(gradients.size(), named_.size() + (decoder_ ? 2 : 1));
    const Tensor loss = mean_squared_error(output, target_);
    BackwardOptions walk;
    walk.retain_graph = true;
    backward(loss, walk);
    for (const auto& [path, parameter] : named_)
      EXPECT_TENSOR_NEAR(parameter.gradient(), expected(gradients.at(path), parameter.shape()), 0, 1e-10)
          << path;
    GradOptions again;
    again.retain_graph = true;
    EXPECT_TENSOR_NEAR(grad(loss, x_, again), expected(gradients.at("x"), x_.shape()), 0, 1e-10);
    if (decoder_) {
      EXPECT_TENSOR_NEAR(grad(loss, memory_), expected(gradients.at("memory"), memory_.shape()), 0, 1e-10);
    }
  }

  void train() {
    // The softmax does not see a bias of the keys: its gradient is rounding, which Adam would make steps of.
    std::vector<Parameter> parameters;
    for (auto& [path, parameter] : named_) {
      if (path.find("key.bias") != std::string::npos) parameter.set_trainable(false);
      parameters.push_back(parameter);
    }
    AdamOptions options;
    options.learning_rate = 0.01;
    Adam optimizer(parameters, options);
    Tensor loss;
    for (int step = 0; step < 100; ++step) {
      optimizer.zero_grad();
      loss = mean_squared_error(model(), target_);
      backward(loss);
      optimizer.step();
    }
    EXPECT_NEAR(loss.item(), case_.at("loss").get<double>(), 1e-12 * loss.item());
    for (const auto& [path, parameter] : named_) {
      const Tensor theirs = expected(case_.at("trained").at(path), parameter.shape());
      EXPECT_TENSOR_NEAR(parameter.value(), theirs, 0, 1e-12 * std::fmax(1, max(abs(theirs)).item())) << path;
    }
  }

 private:
  Tensor model() const {
    if (decoder_) return (*decoder_)(x_, memory_, padding_);
    return (*encoder_)(x_, case_.at("causal") ? Mask::causal() & padding_ : padding_);
  }
  static Tensor expected(const nlohmann::json& values, const Shape& shape) {
    return from_vector(values.get<std::vector<double>>(), shape);
  }

  const nlohmann::json& case_;
  std::optional<Encoder> encoder_;
  std::optional<Decoder> decoder_;
  NamedParameters named_;
  Tensor x_, memory_, target_;
  Mask padding_;
};

TEST(Transformer, FollowsPyTorchInValuesGradientsAndAHundredSteps) {
  const nlohmann::json document = test::golden("transformers.json");
  EXPECT_EQ(document.at("cases").size(), 6u);
  for (const auto& [name, c] : document.at("cases").items()) {
    SCOPED_TRACE(name);
    Beside beside(c);
    beside.compare();
    beside.train();
  }
}

// ---- its parts -----------------------------------------------------------------------------------------

TransformerOptions small(NormPlace place = NormPlace::before, Activation activation = Activation::gelu) {
  TransformerOptions options;
  options.heads = 2;
  options.hidden = 3;
  options.place = place;
  options.activation = activation;
  return options;
}

TEST(Transformer, GradientsAgreeWithDifferences) {
  Rng rng(2);
  for (const NormPlace place : {NormPlace::before, NormPlace::after})
    for (const NormKind norm : {NormKind::layer, NormKind::rms, NormKind::none}) {
      TransformerOptions options = small(place, Activation::swiglu);
      options.norm = norm;
      const Decoder model(4, 1, rng, options);
      freeze(model, "*key.bias");  // the softmax does not see it
      test::expect_module_gradients(
          model, {test::random_tensor({2, 3, 4}, rng), test::random_tensor({2, 2, 4}, rng)},
          [&](const Tensors& x) { return model(x[0], x[1]); });
    }
}

TEST(Transformer, InFloat32IsTheSameToItsPrecision) {
  Rng a(3), b(3), inputs(4);
  TransformerOptions options = small();
  const Encoder wide(4, 2, a, options);
  options.dtype = float32;
  const Encoder narrow(4, 2, b, options);
  for (const auto& named : named_parameters(narrow)) EXPECT_EQ(named.second.dtype(), float32) << named.first;
  const Tensor x = test::random_tensor({2, 3, 4}, inputs);
  EXPECT_TENSOR_NEAR(narrow(x.to(float32)).to(float64), wide(x), 1e-5, 1e-5);
}

TEST(Transformer, WithoutBatchIsOneOfABatch) {
  Rng rng(5);
  const Encoder encoder(4, 2, rng, small());
  const Decoder decoder(4, 2, rng, small(NormPlace::after));
  const Tensor x = test::random_tensor({3, 4}, rng), memory = test::random_tensor({5, 4}, rng);
  EXPECT_TENSOR_NEAR(encoder(x), squeeze(encoder(expand_dims(x, {0})), {0}), 0, 1e-14);
  EXPECT_TENSOR_NEAR(decoder(x, memory), squeeze(decoder(expand_dims(x, {0}), expand_dims(memory, {0})), {0}),
                     0, 1e-14);
}

TEST(Transformer, ADecoderSeesNoLaterToken) {
  Rng rng(6);
  const Decoder model(4, 2, rng, small());
  const Tensor x = test::random_tensor({1, 5, 4}, rng), memory = test::random_tensor({1, 2, 4}, rng);
  const Tensor changed = concatenate({slice(x, 1, {0, 3}), test::random_tensor({1, 2, 4}, rng)}, 1);
  EXPECT_SAME_BITS(slice(model(changed, memory), 1, {0, 3}), slice(model(x, memory), 1, {0, 3}));
}

// ---- decoding ------------------------------------------------------------------------------------------

TEST(TransformerStep, StepsAreTheWholePass) {
  for (const DType dtype : {float64, float32})
    for (const NormPlace place : {NormPlace::before, NormPlace::after})
      for (const Size window : {Size{2}, Size{100}}) {
        TransformerOptions options = small(place);
        options.dtype = dtype;
        options.rotary = true;
        Rng rng(16);
        const Encoder model(4, 3, rng, options);
        const Tensor x = test::random_tensor({2, 7, 4}, rng, test::Domain::normal, dtype);
        const Tensor whole = model(x, Mask::causal() & Mask::window(window)).detach();
        for (const std::vector<Size>& lengths : {std::vector<Size>(7, 1), {4, 1, 2}, {7}}) {
          std::vector<KeyValueCache> caches(3, KeyValueCache(window));
          Tensors parts;
          for (const Tensor& part : split(x, lengths, 1)) parts.push_back(model.step(part, caches));
          const double within = dtype == float64 ? 1e-12 : 1e-5;
          EXPECT_TENSOR_NEAR(concatenate(parts, 1), whole, within, within);
          EXPECT_FALSE(parts[0].requires_grad());
          for (const KeyValueCache& cache : caches) EXPECT_EQ(cache.length(), 7);
        }
      }
}

TEST(TransformerStep, ADecoderLooksAtItsMemoryEachTime) {
  Rng rng(17);
  const Decoder model(4, 2, rng, small());
  const Tensor x = test::random_tensor({2, 5, 4}, rng), memory = test::random_tensor({2, 3, 4}, rng);
  const Mask seen = Mask::keep(tensor({{{{1, 1, 0}}}, {{{1, 1, 1}}}}, boolean));
  const Tensor whole = model(x, memory, seen).detach();
  std::vector<KeyValueCache> caches;  // it begins by itself
  Tensors parts;
  for (const Tensor& part : split(x, std::vector<Size>{2, 1, 1, 1}, 1))
    parts.push_back(model.step(part, caches, memory, seen));
  EXPECT_TENSOR_NEAR(concatenate(parts, 1), whole, 1e-12, 1e-12);
  EXPECT_EQ(caches.size(), 2u);

  const Tensor alone = slice(x, 0, {0, 1});  // [tokens, width], memory [keys, width]
  caches.clear();
  EXPECT_TENSOR_NEAR(
      model.step(squeeze(alone, {0}), caches, slice(squeeze(slice(memory, 0, {0, 1}), {0}), 0, {0, 2})),
      squeeze(slice(whole, 0, {0, 1}), {0}), 1e-12, 1e-12);
}

TEST(TransformerStep, AnErrorLeavesTheCaches) {
  Rng rng(18);
  const Decoder model(4, 2, rng, small());
  const Tensor x = test::random_tensor({1, 2, 4}, rng), memory = test::random_tensor({1, 3, 4}, rng);
  std::vector<KeyValueCache> caches;
  EXPECT_THROWS_WITH(model.step(x, caches), ValueError, "it has cross-attention and was given no memory");
  EXPECT_TRUE(caches.empty());
  (void)model.step(x, caches, memory);
  EXPECT_THROWS_WITH(model.step(x, caches, slice(memory, 2, {0, 3})), ShapeError, "memory");
  EXPECT_THROWS_WITH(model.step(variable(x), caches, memory), GraphError, "decode under NoGrad");
  EXPECT_THROWS_WITH(
      model.step(test::random_tensor({2, 1, 4}, rng), caches, test::random_tensor({2, 3, 4}, rng)),
      ShapeError, "key-value cache");
  {
    const Attachment breaking =
        attach(model, "blocks.1.cross_attention.weights",
               [](const Tensor&) -> Tensor { throw ValueError("broken on purpose"); });
    EXPECT_THROWS_WITH(model.step(x, caches, memory), ValueError, "on purpose");
  }
  for (const KeyValueCache& cache : caches) EXPECT_EQ(cache.length(), 2);
  caches.emplace_back();
  EXPECT_THROWS_WITH(model.step(x, caches, memory), ValueError,
                     "transformer: 2 blocks cannot take a step with 3 caches");
}

TEST(Transformer, NamesItsPartsAndProbes) {
  Rng rng(7);
  TransformerOptions options = small();
  options.memory_width = 6;
  const Decoder model(4, 1, rng, options);
  std::vector<std::string> names;
  for (const auto& named : named_parameters(model)) names.push_back(named.first);
  for (const char* expected :
       {"blocks.0.attention_norm.gamma", "blocks.0.attention.query.weight", "blocks.0.cross_norm.beta",
        "blocks.0.cross_attention.key.weight", "blocks.0.feed_forward_norm.gamma",
        "blocks.0.feed_forward.hidden.weight", "blocks.0.feed_forward.output.bias", "norm.gamma"})
    EXPECT_EQ(std::count(names.begin(), names.end(), expected), 1) << expected;
  EXPECT_EQ(model.blocks[0].cross_attention->key.weight.shape(), (Shape{6, 4}));
  EXPECT_EQ(model.blocks[0].attention.key.weight.shape(), (Shape{4, 4}));
  EXPECT_EQ(
      named_probes(model),
      (std::vector<std::string>{"stream", "blocks.0.attention.weights", "blocks.0.attention.head_outputs",
                                "blocks.0.cross_attention.weights", "blocks.0.cross_attention.head_outputs",
                                "blocks.0.feed_forward.activations", "blocks.0.residual"}));
}

// The stream behind each block, and a block that is left out by putting its input in the place of its result.
TEST(Transformer, ItsStreamCanBeWatchedAndChanged) {
  Rng rng(8);
  const Encoder model(4, 2, rng, small());
  const Tensor x = test::random_tensor({1, 3, 4}, rng);
  std::map<std::string, Tensor> seen;
  const auto keep = [&](const std::string& path, const Tensor& value) { seen[path] = value; };
  Tensor output;
  {
    const Attachment watching = attach(model, "*", keep);
    output = model(x);
  }
  EXPECT_SAME_BITS(seen.at("stream"), x);
  EXPECT_SAME_BITS(seen.at("blocks.0.residual"), model.blocks[0](x));
  EXPECT_SAME_BITS(seen.at("blocks.1.residual"), model.blocks[1](model.blocks[0](x)));
  EXPECT_SAME_BITS((*model.norm)(seen.at("blocks.1.residual")), output);
  EXPECT_EQ(seen.at("blocks.1.attention.weights").shape(), (Shape{1, 2, 3, 3}));
  EXPECT_SAME_BITS(model(x), output);

  const Attachment skipping =
      attach(model, "blocks.1.residual", [&](const Tensor&) { return seen.at("blocks.0.residual"); });
  EXPECT_SAME_BITS(model(x), (*model.norm)(seen.at("blocks.0.residual")));
}

TEST(Transformer, ACloneHasNumbersOfItsOwn) {
  Rng rng(9);
  Decoder model(4, 2, rng, small(NormPlace::before, Activation::swiglu));
  const Tensor x = test::random_tensor({1, 3, 4}, rng), memory = test::random_tensor({1, 2, 4}, rng);
  const Tensor before = model(x, memory);
  const Decoder copy = clone(model);
  for (auto [path, parameter] : named_parameters(model)) parameter.assign(zeros(parameter.shape()));
  EXPECT_SAME_BITS(copy(x, memory), before);
}

TEST(Transformer, DropoutIsOfTraining) {
  Rng rng(10);
  TransformerOptions options = small();
  options.dropout = 0.5;
  Encoder model(4, 2, rng, options);
  const Tensor x = test::random_tensor({1, 3, 4}, rng);
  EXPECT_NE(test::values_of(model(x)), test::values_of(model(x)));
  evaluate(model);
  EXPECT_SAME_BITS(model(x), model(x));
}

TEST(Transformer, RefusesWhatDoesNotFit) {
  Rng rng(11);
  const Encoder encoder(4, 1, rng, small());
  const Decoder decoder(4, 1, rng, small());
  const Tensor x = zeros({1, 3, 4});
  EXPECT_THROWS_WITH(decoder(x, zeros({1, 2, 5})), ShapeError, "expected memory");
  EXPECT_THROWS_WITH(encoder(zeros({1, 3, 5})), ShapeError, "expected x");
  EXPECT_THROWS_WITH(encoder.blocks[0](x, x, {}, {}), ValueError,
                     "was given a memory but has no cross-attention");
  EXPECT_THROWS_WITH(decoder.blocks[0](x), ValueError, "was given no memory");
  EXPECT_THROWS_WITH(Encoder(4, -1, rng), ValueError, "the number of layers must not be negative, got -1");
  EXPECT_THROWS_WITH(Encoder(0, 1, rng), ValueError, "the width must be positive");
  TransformerOptions odd = small();
  odd.heads = 3;
  EXPECT_THROWS_WITH(Encoder(4, 1, rng, odd), ValueError, "does not divide into 3 heads");
  odd = small();
  odd.hidden = -1;
  EXPECT_THROWS_WITH(Encoder(4, 1, rng, odd), ValueError, "must be positive, got -1");
  EXPECT_SAME_BITS(Encoder(4, 0, rng, small(NormPlace::after))(x), x);
}

// ---- tied weights --------------------------------------------------------------------------------------

struct LanguageModel {
  explicit LanguageModel(Rng& rng) : embedding(5, 4, rng), encoder(4, 1, rng, small()) {}
  LanguageModel(Cloning& c, const LanguageModel& from)
      : embedding(c(from.embedding)), encoder(c(from.encoder)) {}
  Tensor operator()(const Tensor& ids) const {
    return embedding.logits(encoder(embedding(ids), Mask::causal()));
  }
  template <class F>
  void visit(F&& f) {
    f("embedding", embedding);
    f("encoder", encoder);
  }
  Embedding embedding;
  Encoder encoder;
};

TEST(TiedWeights, AreOneParameterThatIsSavedAndSteppedOnce) {
  Rng rng(12);
  const LanguageModel model(rng);
  const Tensor ids = from_vector<Size>({0, 3, 1, 4}, {1, 4});
  EXPECT_EQ(model(ids).shape(), (Shape{1, 4, 5}));

  // The gradient is the sum of both uses.
  const auto loss = [&](const Tensor& in, const Tensor& out) {
    const Tensor x = model.encoder(take(in, ids), Mask::causal());
    return mean(square(matmul(x, transpose(out))));
  };
  backward(mean(square(model(ids))));
  const Tensor in = variable(model.embedding.weight.value()), out = variable(model.embedding.weight.value());
  const Tensors both = grad({loss(in, out)}, {in, out});
  EXPECT_TENSOR_NEAR(model.embedding.weight.gradient(), both[0] + both[1], 1e-12, 1e-14);

  const study::TemporaryFolder folder;
  save(folder / "model", named_parameters(model));
  Rng other_rng(13);
  const LanguageModel other(other_rng);
  load(folder / "model", named_parameters(other));
  EXPECT_SAME_BITS(other(ids), model(ids));

  const LanguageModel copy = clone(other);
  for (const LanguageModel* tied : {&other, &copy}) {
    Parameter weight = tied->embedding.weight;
    Sgd optimizer(parameters(*tied));
    weight.set_gradient(ones(weight.shape()));
    const Tensor before = weight.value();
    optimizer.step();
    EXPECT_TENSOR_NEAR(weight.value(), before - 1e-3, 0, 1e-15);
    const Tensor x = ones({1, 4});
    EXPECT_SAME_BITS(tied->embedding.logits(x), matmul(x, transpose(weight.value())));
  }
  EXPECT_THROWS_WITH(model.embedding.logits(zeros({2, 3})), ShapeError, "4");
}

// ---- attention that can be read off --------------------------------------------------------------------

TEST(Disentangled, AppendsWhatEachHeadFinds) {
  Rng rng(14);
  DisentangledOptions options;
  options.heads = 2;
  options.init = Init::normal;
  options.deviation = 0.5;
  const DisentangledTransformer model(3, rng, options);
  EXPECT_EQ(model.output_width(), 27);
  const Tensor x = test::random_tensor({2, 4, 3}, rng);
  const Tensor y = model(x);
  ASSERT_EQ(y.shape(), (Shape{2, 4, 27}));
  // By the formula, head by head.
  Tensor stream = x;
  for (const Parameter& scores : model.scores) {
    Tensors parts{stream};
    for (Size head = 0; head < 2; ++head) {
      const Tensor s = matmul(matmul(stream, select(scores, 0, head)), transpose(stream));
      parts.push_back(matmul(softmax(s, tril(ones({4, 4})).to(boolean)), stream));
    }
    stream = concatenate(parts, -1);
  }
  EXPECT_TENSOR_NEAR(y, stream, 1e-12, 1e-13);
  EXPECT_SAME_BITS(slice(y, -1, {0, 3}), x);  // the input stays where it was
  EXPECT_TENSOR_NEAR(model(select(x, 0, 1)), select(y, 0, 1), 0, 1e-14);
}

TEST(Disentangled, LooksAtAllAlikeAtFirst) {
  Rng rng(15);
  const DisentangledTransformer model(3, rng);
  std::map<std::string, Tensor> seen;
  const Attachment watching =
      attach(model, "*", [&](const std::string& path, const Tensor& value) { seen[path] = value; });
  const Tensor y = model(test::random_tensor({1, 2, 3}, rng));
  EXPECT_SAME_BITS(seen.at("weights.0"), tensor({{{{1, 0}, {0.5, 0.5}}}}));
  EXPECT_EQ(seen.at("residual.0").shape(), (Shape{1, 2, 6}));
  EXPECT_SAME_BITS(seen.at("residual.1"), y);
}

TEST(Disentangled, GradientsAgreeWithDifferences) {
  Rng rng(16);
  DisentangledOptions options;
  options.init = Init::normal;
  options.deviation = 0.4;
  const DisentangledTransformer model(2, rng, options);
  test::expect_module_gradients(model, {test::random_tensor({2, 3, 2}, rng)},
                                [&](const Tensors& x) { return model(x[0]); });
  const DisentangledTransformer copy = clone(model);
  const Tensor x = test::random_tensor({1, 3, 2}, rng);
  EXPECT_SAME_BITS(copy(x), model(x));
}

TEST(Disentangled, RefusesWhatDoesNotFit) {
  Rng rng(17);
  DisentangledOptions options;
  options.layers = 0;
  EXPECT_THROWS_WITH(DisentangledTransformer(3, rng, options), ValueError,
                     "the number of layers must be positive");
  options.layers = -2;
  EXPECT_THROWS_WITH(DisentangledTransformer(3, rng, options), ValueError, "got -2");
  options = {};
  options.heads = 0;
  EXPECT_THROWS_WITH(DisentangledTransformer(3, rng, options), ValueError, "the number of heads");
  EXPECT_THROWS_WITH(DisentangledTransformer(0, rng), ValueError, "the width");
  const DisentangledTransformer model(3, rng);
  EXPECT_THROWS_WITH(model(zeros({2, 4})), ShapeError, "disentangled transformer");
  EXPECT_THROWS_WITH(model(zeros({3})), ShapeError, "[batch, tokens, 3] or [tokens, 3], got [3]");
}

}  // namespace
}  // namespace regard::nn

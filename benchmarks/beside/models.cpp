#include "models/one_head.hpp"

#include <memory>

#include <regard/regard.hpp>

#include "beside/work.hpp"

namespace beside {
namespace {

using namespace regard;  // NOLINT: a program

Tensor random_ids(const Shape& shape, Size below, Rng& rng) {
  return uniform(shape, rng, 0, static_cast<double>(below)).to(int64);
}

/// One step of training: gradients, and Adam.
template <class Model, class Loss>
std::function<Tensors(const Tensors&)> step_of(const std::shared_ptr<Model>& model,
                                               const std::vector<Parameter>& parameters,
                                               const Loss& loss_of) {
  const auto adam = std::make_shared<Adam>(parameters);
  return [=](const Tensors& in) {
    adam->zero_grad();
    const Tensor loss = loss_of(*model, in);
    backward(loss);
    adam->step();
    return Tensors{loss};
  };
}

enum class Run { eager, replayed };

Work run_of(const std::function<Tensors(const Tensors&)>& step, const Tensors& in, Run run) {
  if (run == Run::eager) return {[=] { static_cast<void>(step(in)); }};
  const auto captured = std::make_shared<CapturedStep>(capture(step));
  return {[=] { captured->replay(in); }};
}

Work one_head(const hand_written::OneHeadSizes& n, DType dtype, Run run) {
  Rng rng(1);
  const auto model = std::make_shared<models::OneHead>(n, rng, dtype);
  const auto step = step_of(model, model->parameters(),
                            [](const models::OneHead& m, const Tensors& in) { return m(in[0], in[1]); });
  const Tensor ids = random_ids({n.batch, n.tokens}, n.vocabulary, rng);
  return run_of(step, {ids, ids}, run);
}

/// The same by hand, from the same start.
template <class T>
Work one_head_by_hand(const hand_written::OneHeadSizes& n) {
  Rng rng(1);
  std::vector<std::vector<T>> start;
  for (const Parameter& parameter : models::OneHead(n, rng, dtype_of<T>()).parameters())
    start.push_back(parameter.value().to_vector<T>());
  const auto hand = std::make_shared<hand_written::OneHead<T>>(n, start);
  const std::vector<Size> ids = random_ids({n.batch, n.tokens}, n.vocabulary, rng).to_vector<Size>();
  return {[=] { hand->step(ids.data(), ids.data(), {}); }};
}

nn::TransformerOptions block_options(DType dtype) {
  nn::TransformerOptions options;
  options.heads = 8;
  options.dtype = dtype;
  return options;
}

/// Forward and backward.
Work block(DType dtype) {
  Rng rng(1);
  const auto model = std::make_shared<nn::TransformerBlock>(256, rng, block_options(dtype));
  const Tensor x = variable(normal({16, 128, 256}, rng, 0, 1, dtype));
  return {[=] {
    zero_grad(parameters(*model));
    backward(sum((*model)(x, Mask::causal())));
  }};
}

struct LanguageModel {
  LanguageModel(Size width, Size vocabulary, Size tokens, Rng& rng, DType dtype)
      : embedding(vocabulary, width, rng, {nn::Init::normal, 0.02, dtype, {}}),
        positions(normal({tokens, width}, rng, 0, 0.02, dtype)),
        encoder(width, 4, rng, block_options(dtype)),
        readout(width, vocabulary, rng, {true, nn::Init::glorot_uniform, 0.1, dtype}) {}
  Tensor operator()(const Tensor& ids) const {
    return readout(encoder(embedding(ids) + positions, Mask::causal()));
  }
  template <class F>
  void visit(F&& f) {
    f("embedding", embedding);
    f("positions", positions);
    f("encoder", encoder);
    f("readout", readout);
  }
  nn::Embedding embedding;
  Parameter positions;
  nn::Encoder encoder;
  nn::Linear readout;
};

Work language_model(DType dtype, Run run) {
  Rng rng(1);
  const auto model = std::make_shared<LanguageModel>(512, 8000, 128, rng, dtype);
  const auto step = step_of(model, parameters(*model), [](const LanguageModel& m, const Tensors& in) {
    return cross_entropy(m(in[0]), in[1]);
  });
  const Tensor ids = random_ids({2, 128}, 8000, rng);
  return run_of(step, {ids, ids}, run);
}

/// Forward and backward of causal attention alone.
Work attention_of(const Shape& shape, DType dtype) {
  Rng rng(1);
  Tensors x;
  for (int i = 0; i < 3; ++i) x.push_back(variable(normal(shape, rng, 0, 1, dtype)));
  return {[=] { static_cast<void>(grad(Tensors{sum(attention(x[0], x[1], x[2], Mask::causal()))}, x)); }};
}

}  // namespace

void add_models(Works& works) {
  const std::pair<const char*, hand_written::OneHeadSizes> sizes[] = {{"lesson", {2, 5, 8, 11}},
                                                                      {"batch_64", {64, 12, 32, 40}}};
  for (const auto& [size, n] : sizes) {
    const std::string name = std::string("one_head_") + size;
    works[name] = [n = n](DType dtype) { return one_head(n, dtype, Run::eager); };
    works[name + "_replayed"] = [n = n](DType dtype) { return one_head(n, dtype, Run::replayed); };
    works[name + "_by_hand"] = [n = n](DType dtype) {
      return dtype == float32 ? one_head_by_hand<float>(n) : one_head_by_hand<double>(n);
    };
  }
  works["block"] = block;
  works["four_blocks"] = [](DType dtype) { return language_model(dtype, Run::eager); };
  works["four_blocks_replayed"] = [](DType dtype) { return language_model(dtype, Run::replayed); };
  const std::pair<const char*, Shape> shapes[] = {{"attention_5", {2, 1, 5, 8}},
                                                  {"attention_12", {64, 1, 12, 32}},
                                                  {"attention_128", {16, 8, 128, 32}},
                                                  {"attention_4096", {1, 4, 4096, 64}}};
  for (const auto& [name, shape] : shapes)
    works[name] = [shape = shape](DType dtype) { return attention_of(shape, dtype); };
}

}  // namespace beside

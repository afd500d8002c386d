#include "tiny_lm/model.hpp"

#include <cmath>
#include <string>

#include <regard/error.hpp>

namespace tiny_lm {
namespace {

void require_between(const char* what, std::int64_t value, std::int64_t low, std::int64_t high) {
  if (value < low || value > high)
    throw regard::ValueError(std::string(what) + ": expected " + std::to_string(low) + " to " +
                             std::to_string(high) + ", got " + std::to_string(value));
}

const ModelSettings& checked(const ModelSettings& settings) {
  check(settings);
  return settings;
}

regard::nn::EmbeddingOptions embedding_options(const ModelSettings& settings) {
  regard::nn::EmbeddingOptions options;
  options.dtype = settings.dtype;
  return options;
}

regard::nn::TransformerOptions transformer_options(const ModelSettings& settings) {
  regard::nn::TransformerOptions options;
  options.heads = settings.heads;
  options.rotary = true;
  options.feed_forward = !settings.attention_only;
  options.dropout = settings.dropout;
  options.dtype = settings.dtype;
  return options;
}

regard::nn::LinearOptions output_options(const ModelSettings& settings) {
  regard::nn::LinearOptions options;
  options.dtype = settings.dtype;
  return options;
}

}  // namespace

void check(const ModelSettings& settings) {
  require_between("width", settings.width, 1, 4096);
  require_between("heads", settings.heads, 1, 64);
  require_between("layers", settings.layers, 1, 64);
  require_between("context", settings.context, 1, 4096);
  if (settings.width % (2 * settings.heads) != 0)
    throw regard::ValueError(
        "width " + std::to_string(settings.width) + " with " + std::to_string(settings.heads) +
        " heads: positions turn pairs, so each head needs the same even number of columns; use a "
        "multiple of " +
        std::to_string(2 * settings.heads));
  if (!(settings.dropout >= 0 && settings.dropout < 1))
    throw regard::ValueError("dropout: expected 0 or more and less than 1, got " +
                             std::to_string(settings.dropout));
  if (!regard::is_float(settings.dtype))
    throw regard::ValueError(std::string("dtype: expected float32 or float64, got ") +
                             regard::name(settings.dtype));
}

TinyLm::TinyLm(std::int64_t alphabet, const ModelSettings& s, regard::Rng& rng)
    : settings(checked(s)),
      embedding(alphabet, s.width, rng, embedding_options(s)),
      transformer(s.width, s.layers, rng, transformer_options(s)),
      output(s.width, alphabet, rng, output_options(s)) {
  regard::evaluate(*this);
}

regard::Tensor TinyLm::operator()(const regard::Tensor& ids) const {
  const regard::Within here(*this);
  const regard::Mask seen = regard::Mask::causal() & regard::Mask::window(settings.context - 1);
  return output(transformer(embedding(ids), seen));
}

regard::Tensor TinyLm::step(const regard::Tensor& ids, std::vector<regard::nn::KeyValueCache>& caches) const {
  const regard::Within here(*this);
  const regard::NoGrad off;
  return output(transformer.step(embedding(ids), caches));
}

std::vector<regard::nn::KeyValueCache> TinyLm::caches() const {
  return std::vector<regard::nn::KeyValueCache>(static_cast<std::size_t>(settings.layers),
                                                regard::nn::KeyValueCache(settings.context - 1));
}

}  // namespace tiny_lm

#include <regard/nn/embedding.hpp>

#include <regard/ops.hpp>

#include "nn/layers.hpp"

namespace regard::nn {

Embedding::Embedding(Size vocabulary, Size width, Rng& rng, const EmbeddingOptions& options) {
  require_positive("embedding", "the vocabulary", vocabulary);
  require_positive("embedding", "the width", width);
  weight = Parameter(initial({vocabulary, width}, options.init, options.deviation, options.dtype, rng));
}

Tensor Embedding::operator()(const Tensor& ids) const {
  return take(weight, ids);
}

}  // namespace regard::nn

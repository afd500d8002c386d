#include <regard/nn/embedding.hpp>

#include <regard/ops.hpp>

#include "nn/layers.hpp"

namespace regard::nn {

Embedding::Embedding(Size vocabulary, Size width, Rng& rng, const EmbeddingOptions& options)
    : padding(options.padding) {
  require_positive("embedding", "the vocabulary", vocabulary);
  require_positive("embedding", "the width", width);
  Tensor table = initial({vocabulary, width}, options.init, options.deviation, options.dtype, rng);
  if (padding) {
    if (*padding < 0 || *padding >= vocabulary)
      throw ValueError("embedding: the padding id must be one of 0 to " + std::to_string(vocabulary - 1) +
                       ", got " + std::to_string(*padding));
    const Tensor is_padding = equal(arange(vocabulary), scalar(static_cast<double>(*padding), int64));
    table = masked_fill(table, expand_dims(is_padding, {1}), 0.0);
  }
  weight = Parameter(table);
}

Tensor Embedding::operator()(const Tensor& ids) const {
  const Within here(*this);
  const Tensor rows = take(weight, ids);
  if (!padding) return rows;
  const Tensor is_padding = equal(ids, scalar(static_cast<double>(*padding), int64));
  return where(expand_dims(is_padding, {-1}), rows.detach(), rows);
}

Tensor Embedding::logits(const Tensor& x) const {
  const Within here(*this);
  return matmul(x, transpose(weight));
}

}  // namespace regard::nn

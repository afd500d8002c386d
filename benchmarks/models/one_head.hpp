// The model of hand_written/one_head.hpp, as a user of the library writes it.
#pragma once

#include <regard/regard.hpp>

#include "hand_written/one_head.hpp"

namespace models {

struct OneHead {
  OneHead(const hand_written::OneHeadSizes& n, regard::Rng& rng, regard::DType dtype) {
    const auto table = [&](regard::Size rows, regard::Size columns) {
      return regard::Parameter(regard::normal({rows, columns}, rng, 0, 0.2, dtype));
    };
    words = table(n.vocabulary, n.width);
    positions = table(n.tokens, n.width);
    w_q = table(n.width, n.width);
    w_k = table(n.width, n.width);
    w_v = table(n.width, n.width);
    readout = table(n.width, n.vocabulary);
    bias = regard::Parameter(regard::zeros({n.vocabulary}, dtype));
  }

  /// ids, targets int64 [batch, tokens] -> the loss.
  regard::Tensor operator()(const regard::Tensor& ids, const regard::Tensor& targets) const {
    using namespace regard;
    const Tensor x = take(words, ids) + positions;
    const Tensor y = x + attention(matmul(x, w_q), matmul(x, w_k), matmul(x, w_v), Mask::causal());
    return cross_entropy(matmul(y, readout) + bias, targets);
  }
  std::vector<regard::Parameter> parameters() const {
    return {words, positions, w_q, w_k, w_v, readout, bias};
  }

  regard::Parameter words, positions, w_q, w_k, w_v, readout, bias;
};

}  // namespace models

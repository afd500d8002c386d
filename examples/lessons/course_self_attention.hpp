#pragma once
// The course's class SelfAttention, written again with regard's plain operations: the same five steps in the
// same order, and nothing of <regard/attention.hpp>. Since every operation knows its gradient, so does the
// class.

#include <cmath>
#include <optional>

#include <regard/regard.hpp>

namespace lessons {

/// exp(x - max) / Σ along the last axis. The maximum is subtracted so that exp cannot overflow.
inline regard::Tensor course_softmax(const regard::Tensor& x) {
  const regard::Tensor e = regard::exp(x - regard::max(x, {-1}, regard::keep_axes));
  return e / regard::sum(e, {-1}, regard::keep_axes);
}

/// 0 where a token may look, -1e9 above the diagonal: exp of that is 0.
inline regard::Tensor course_mask(regard::Size tokens, regard::DType dtype) {
  return regard::triu(regard::ones({tokens, tokens}, dtype), 1) * -1e9;
}

enum class Causal { yes, no };

struct CourseSelfAttention {
  /// Draws W_q, W_k and W_v in this order, as the course does.
  CourseSelfAttention(regard::Size d_model, regard::NumpyRng& rng)
      : W_q(rng.randn({d_model, d_model}) * 0.1),
        W_k(rng.randn({d_model, d_model}) * 0.1),
        W_v(rng.randn({d_model, d_model}) * 0.1) {}
  /// With weights from elsewhere.
  CourseSelfAttention(const regard::Tensor& q, const regard::Tensor& k, const regard::Tensor& v)
      : W_q(q), W_k(k), W_v(v) {}

  /// X [B, N, D] -> [B, N, D].
  regard::Tensor operator()(const regard::Tensor& X, Causal causal = Causal::yes) const {
    const regard::Tensor Q = regard::matmul(X, W_q);  // [B, N, D]
    const regard::Tensor K = regard::matmul(X, W_k);  // [B, N, D]
    const regard::Tensor V = regard::matmul(X, W_v);  // [B, N, D]

    const double d_k = static_cast<double>(X.size(-1));
    regard::Tensor scores = regard::matmul(Q, regard::transpose(K)) / std::sqrt(d_k);  // [B, N, N]
    if (causal == Causal::yes) scores = scores + course_mask(X.size(1), X.dtype());
    const regard::Tensor weights = course_softmax(scores);  // [B, N, N], rows add up to 1
    return regard::matmul(weights, V);                      // [B, N, D]
  }

  regard::Tensor W_q, W_k, W_v;  // [D, D] each
};

}  // namespace lessons

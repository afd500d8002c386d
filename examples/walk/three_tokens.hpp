#pragma once
// Self-attention over three tokens, every step by hand: "the cat sat", four numbers each, projections drawn
// as NumPy draws them after np.random.seed(0).

#include <memory>
#include <string>

#include <regard/regard.hpp>
#include <regard/study/tape_walk.hpp>

namespace walk {

enum class Visibility { causal, full };

/// What was computed, in order: Q, K, V = X·W; S = Q·Kᵀ; Z = S / 2; P = softmax Z, over what each token may
/// see; O = P·V; E = U∘O; and L = Σ E, so that the gradient of O is U.
struct ThreeTokens {
  explicit ThreeTokens(Visibility visibility);

  regard::Tensor x;
  regard::Parameter w_q, w_k, w_v;
  regard::Tensor upstream, keep;
  regard::Tensor q, k, v, k_turned, scores, scaled, weights, output, weighted, loss;
  std::unique_ptr<regard::TapeRecorder> tape;  ///< of all this and its backward
};

/// The walk over it, with these names.
regard::study::TapeWalk walk_over(const ThreeTokens& at, const std::string& language);

}  // namespace walk

#include "walk/three_tokens.hpp"

#include <regard/numpy_random.hpp>

namespace walk {

using namespace regard;

ThreeTokens::ThreeTokens(Visibility visibility) {
  NumpyRng rng(0);
  x = variable(tensor({{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}}));
  w_q = Parameter(0.5 * rng.randn({4, 4}), "W_Q");
  w_k = Parameter(0.5 * rng.randn({4, 4}), "W_K");
  w_v = Parameter(0.5 * rng.randn({4, 4}), "W_V");
  upstream = reshape(arange(1, 13, 1), {3, 4}) / scalar(12);
  const Tensor all_pairs = ones({3, 3});
  keep = equal(visibility == Visibility::causal ? tril(all_pairs) : all_pairs, scalar(1));

  tape = std::make_unique<TapeRecorder>(TapeKeep::values);
  q = matmul(x, w_q);
  k = matmul(x, w_k);
  v = matmul(x, w_v);
  k_turned = transpose(k);
  scores = matmul(q, k_turned);
  scaled = scores * 0.5;  // 1 / sqrt(4)
  weights = softmax(scaled, keep, -1);
  output = matmul(weights, v);
  weighted = upstream * output;
  loss = sum(weighted);
  backward(loss);
  tape->stop();
}

study::TapeWalk walk_over(const ThreeTokens& at, const std::string& language) {
  study::TapeWalk walk(*at.tape, language);
  const std::pair<const char*, const Tensor*> names[] = {
      {"X", &at.x},        {"Q", &at.q},        {"K", &at.k},    {"V", &at.v},       {"Kᵀ", &at.k_turned},
      {"S", &at.scores},   {"Z", &at.scaled},   {"M", &at.keep}, {"P", &at.weights}, {"O", &at.output},
      {"U", &at.upstream}, {"E", &at.weighted}, {"L", &at.loss}};
  for (const auto& [name, tensor] : names) walk.name(name, *tensor);
  return walk;
}

}  // namespace walk

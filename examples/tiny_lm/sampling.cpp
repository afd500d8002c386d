#include "tiny_lm/sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <regard/error.hpp>
#include <regard/ops.hpp>

namespace tiny_lm {
namespace {

/// Scores of what follows the last of the ids, [1, tokens, alphabet] -> [alphabet].
std::vector<double> last_scores(const regard::Tensor& scores) {
  const regard::Size tokens = scores.size(1);
  return regard::slice(scores, 1, {tokens - 1, tokens}).to(regard::float64).to_vector<double>();
}

regard::Tensor as_batch(const std::vector<std::int64_t>& ids) {
  return regard::from_vector(ids, {1, static_cast<regard::Size>(ids.size())});
}

}  // namespace

void check(const SamplingSettings& settings) {
  if (settings.characters < 0 || settings.characters > 1'000'000)
    throw regard::ValueError("sample: expected 0 to 1000000 characters, got " +
                             std::to_string(settings.characters));
  if (!std::isfinite(settings.temperature) || settings.temperature < 0)
    throw regard::ValueError("temperature: expected 0 or a positive number, got " +
                             std::to_string(settings.temperature));
  if (settings.top_k < 0)
    throw regard::ValueError("top-k: expected 0 or more, got " + std::to_string(settings.top_k));
}

std::int64_t choose(const std::vector<double>& scores, const SamplingSettings& settings, regard::Rng& rng) {
  for (const double score : scores)
    if (!std::isfinite(score)) throw regard::ValueError("sampling: the model's scores are not finite");
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  std::size_t kept =
      settings.top_k == 0 ? order.size() : std::min(order.size(), static_cast<std::size_t>(settings.top_k));
  if (settings.temperature == 0) kept = 1;

  std::vector<double> weights;
  for (std::size_t i = 0; i < kept; ++i)
    weights.push_back(kept == 1 ? 1 : std::exp((scores[order[i]] - scores[order[0]]) / settings.temperature));
  double left = rng.uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < kept; ++i)
    if ((left -= weights[i]) < 0) return static_cast<std::int64_t>(order[i]);
  return static_cast<std::int64_t>(order[0]);  // rounding has eaten the last one's share
}

std::u32string usual_prompt(const Alphabet& alphabet) {
  return alphabet.has('\n') ? U"\n" : alphabet.characters().substr(0, 1);
}

std::u32string sample(const TinyLm& model, const Alphabet& alphabet, std::u32string_view prompt,
                      const SamplingSettings& settings, regard::Rng rng, Decoding decoding) {
  check(settings);
  if (prompt.empty()) throw regard::ValueError("prompt: expected at least one character to go on from");
  const regard::NoGrad off;
  std::vector<std::int64_t> ids = alphabet.ids(prompt), fresh = ids;
  std::vector<regard::nn::KeyValueCache> caches = model.caches();
  std::u32string text;
  while (static_cast<std::int64_t>(text.size()) < settings.characters) {
    const regard::Tensor scores =
        decoding == Decoding::cached ? model.step(as_batch(fresh), caches) : model(as_batch(ids));
    fresh = {choose(last_scores(scores), settings, rng)};
    ids.push_back(fresh[0]);
    text += alphabet.character(fresh[0]);
  }
  return text;
}

}  // namespace tiny_lm

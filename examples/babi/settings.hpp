#pragma once
// What a training run on the bAbI stories is told.

#include <cstdint>
#include <string>
#include <string_view>

#include <regard/dtype.hpp>

namespace babi {

/// hops: the question reads the stories' sentences several times. window: each sentence first reads its
/// neighbours, then the question reads once.
enum class ModelKind { hops, window };

/// What a model is made of: everything needed to build it again from a file of its numbers.
struct ModelSettings {
  ModelKind model = ModelKind::window;
  std::int64_t hops = 3;  ///< of the model `hops`
  std::int64_t width = 32;
  std::int64_t words = 0;    ///< word ids, padding included
  std::int64_t answers = 0;  ///< classes
  std::int64_t ages = 0;     ///< sentences older than this share the last age's vector
  regard::DType dtype = regard::float32;
};

/// How it is trained.
struct TrainSettings {
  double learning_rate = 1e-2;  ///< falls to 0 along a cosine
  std::int64_t batch = 32;
  std::int64_t steps = 3000;
  /// Share of the steps before softmax is switched on (Sukhbaatar et al. 2015, section 4.1). Without it the
  /// models sit on what simple guesses reach: the last sentence, or the last pronoun of the right gender.
  double linear_start = 0.4;
  /// Chance of a gap before a sentence: the ages of the older ones grow by one (their "random noise").
  double age_gaps = 0.1;
  double clip_norm = 5;
  std::int64_t log_every = 100;  ///< steps between two frames of the film
  std::uint64_t seed = 1;        ///< of the weights, the order of the stories and the gaps
};

std::string_view name(ModelKind kind);
/// The value of that name. Throws std::invalid_argument, naming all there are.
ModelKind model_of(std::string_view name);

/// Throws std::invalid_argument, naming the setting, for one that is out of range.
void check(const ModelSettings& model);
void check(const TrainSettings& train);

}  // namespace babi

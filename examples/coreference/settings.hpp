#pragma once
// What a run of the demo is told: the task, the model and how it is trained.

#include <cstdint>
#include <string>

#include <regard/dtype.hpp>

#include "coreference/grammar.hpp"

namespace coreference {

/// Which rows ask. raw: the pronoun's own row. clause: the mean of the rows pronoun .. predicate. two_layer:
/// the pronoun's row after a first, local layer has brought its neighbours to it.
enum class ModelKind { raw, clause, two_layer };
/// Which keys a query may see, besides never the padding.
enum class MaskKind { none, causal };
/// What scores are made of. learned: W_Q and W_K. shared: one matrix for both. embedding: x·xᵀ. uniform:
/// nothing, every visible key weighs the same.
enum class Scores { learned, shared, embedding, uniform };
/// How a model knows the order. learned and sinusoidal: a vector added to each token. rope: rotations of
/// query and key. relative: a learned bias for each distance.
enum class Positions { learned, sinusoidal, rope, relative };
enum class OptimizerKind { adam, sgd };

/// What a model is made of: everything needed to build it again from a file of its numbers.
struct ModelSettings {
  Task task = Task::twist;
  Language language = Language::vietnamese;
  ModelKind model = ModelKind::two_layer;
  MaskKind mask = MaskKind::none;
  Scores scores = Scores::learned;
  Positions positions = Positions::learned;
  std::int64_t heads = 1;
  std::int64_t width = 16;
  std::int64_t head_width = 8;
  regard::DType dtype = regard::float64;
};

struct TrainSettings {
  bool freeze_embeddings = false;
  bool shuffle_labels = false;
  OptimizerKind optimizer = OptimizerKind::adam;
  double learning_rate = 1e-2;
  std::int64_t batch = 32;
  std::int64_t steps = 600;
  std::int64_t sentences = 2000;
  std::int64_t log_every = 10;
  std::uint64_t seed = 1;
};

std::string_view name(ModelKind kind);
std::string_view name(MaskKind kind);
std::string_view name(Scores scores);
std::string_view name(Positions positions);
std::string_view name(OptimizerKind kind);

/// The value of that name. Throws std::invalid_argument, naming all there are.
ModelKind model_of(std::string_view name);
MaskKind mask_of(std::string_view name);
Scores scores_of(std::string_view name);
Positions positions_of(std::string_view name);
OptimizerKind optimizer_of(std::string_view name);

/// The model that a task is shown with: the twist needs the predicate, so a second layer; the others do not.
ModelKind usual_model(Task task);

/// Throws std::invalid_argument, with the reason, for combinations that make no sense and sizes out of range.
void check(const ModelSettings& model, const TrainSettings& train);

}  // namespace coreference

#include "coreference/settings.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace coreference {
namespace {

template <class E>
using Name = std::pair<E, std::string_view>;

constexpr Name<ModelKind> models[] = {
    {ModelKind::raw, "raw"}, {ModelKind::clause, "clause"}, {ModelKind::two_layer, "two-layer"}};
constexpr Name<MaskKind> masks[] = {{MaskKind::none, "none"}, {MaskKind::causal, "causal"}};
constexpr Name<Scores> all_scores[] = {{Scores::learned, "learned"},
                                       {Scores::shared, "shared"},
                                       {Scores::embedding, "embedding"},
                                       {Scores::uniform, "uniform"}};
constexpr Name<Positions> all_positions[] = {{Positions::learned, "learned"},
                                             {Positions::sinusoidal, "sinusoidal"},
                                             {Positions::rope, "rope"},
                                             {Positions::relative, "relative"}};
constexpr Name<OptimizerKind> optimizers[] = {{OptimizerKind::adam, "adam"}, {OptimizerKind::sgd, "sgd"}};

template <class E, std::size_t count>
std::string_view name_in(const Name<E> (&names)[count], E value) {
  for (const auto& [known, text] : names)
    if (known == value) return text;
  return "?";
}

template <class E, std::size_t count>
E value_in(const Name<E> (&names)[count], std::string_view what, std::string_view wanted) {
  std::string known;
  for (const auto& [value, text] : names) {
    if (text == wanted) return value;
    known += (known.empty() ? "" : ", ") + std::string(text);
  }
  throw std::invalid_argument(std::string(what) + ": '" + std::string(wanted) + "' is not one of " + known);
}

void require(bool fine, const std::string& why) {
  if (!fine) throw std::invalid_argument(why);
}

void require_between(const char* what, std::int64_t value, std::int64_t low, std::int64_t high) {
  require(low <= value && value <= high, std::string(what) + ": expected " + std::to_string(low) + " to " +
                                             std::to_string(high) + ", got " + std::to_string(value));
}

}  // namespace

std::string_view name(ModelKind kind) {
  return name_in(models, kind);
}
std::string_view name(MaskKind kind) {
  return name_in(masks, kind);
}
std::string_view name(Scores scores) {
  return name_in(all_scores, scores);
}
std::string_view name(Positions positions) {
  return name_in(all_positions, positions);
}
std::string_view name(OptimizerKind kind) {
  return name_in(optimizers, kind);
}

ModelKind model_of(std::string_view name) {
  return value_in(models, "model", name);
}
MaskKind mask_of(std::string_view name) {
  return value_in(masks, "mask", name);
}
Scores scores_of(std::string_view name) {
  return value_in(all_scores, "scores", name);
}
Positions positions_of(std::string_view name) {
  return value_in(all_positions, "positions", name);
}
OptimizerKind optimizer_of(std::string_view name) {
  return value_in(optimizers, "optimizer", name);
}

ModelKind usual_model(Task task) {
  return task == Task::twist ? ModelKind::two_layer : ModelKind::raw;
}

void check(const ModelSettings& model, const TrainSettings& train) {
  require(
      model.task != Task::mutual || model.model != ModelKind::clause,
      "task mutual with model clause: the task reads one attention map in two rows, the pronoun's and its "
      "antecedent's; a clause query has a single row. Use --model raw");
  require(model.task != Task::mutual || model.model != ModelKind::two_layer,
          "task mutual with model two-layer: the task asks what one layer's scores can express; a second "
          "layer would "
          "answer for it. Use --model raw");
  require(model.task != Task::mutual || model.mask != MaskKind::causal,
          "task mutual with mask causal: the antecedent stands before the pronoun and would have to look "
          "into its "
          "future. Use --mask none");
  const bool no_projections = model.scores == Scores::embedding || model.scores == Scores::uniform;
  require(!no_projections || model.heads == 1,
          "scores " + std::string(name(model.scores)) +
              " with several heads: without W_Q and W_K all heads would be the same. Use --heads 1");
  require(
      !no_projections || model.positions == Positions::learned || model.positions == Positions::sinusoidal,
      "scores " + std::string(name(model.scores)) + " with positions " + std::string(name(model.positions)) +
          ": there are no projected queries and keys to act on. Use --positions learned or sinusoidal");
  require(
      model.positions != Positions::rope || model.head_width % 2 == 0,
      "positions rope rotates pairs: expected an even head width, got " + std::to_string(model.head_width));
  require(model.positions != Positions::relative || model.model != ModelKind::clause,
          "positions relative with model clause: a clause query spans several positions, so it has no "
          "distance to a "
          "key. Use --model raw or two-layer");
  require(model.positions != Positions::rope || model.model != ModelKind::clause,
          "positions rope with model clause: a clause query spans several positions, so there is no angle to "
          "rotate "
          "it by. Use --model raw or two-layer");
  require(regard::is_float(model.dtype),
          "dtype: expected float32 or float64, got " + std::string(regard::name(model.dtype)));
  require_between("heads", model.heads, 1, 64);
  require_between("width", model.width, 1, 4096);
  require_between("head width", model.head_width, 1, 4096);
  require(
      model.model != ModelKind::two_layer || model.width % std::max<std::int64_t>(model.heads, 1) == 0,
      "model two-layer adds the first layer's heads to the embeddings: expected heads to divide the width " +
          std::to_string(model.width) + ", got " + std::to_string(model.heads));
  require_between("batch", train.batch, 1, 100'000);
  require_between("steps", train.steps, 0, 100'000'000);
  require_between("sentences", train.sentences, 1, 10'000'000);
  require_between("log-every", train.log_every, 1, 100'000'000);
  require(std::isfinite(train.learning_rate) && train.learning_rate > 0,
          "learning rate: expected a positive number, got " + std::to_string(train.learning_rate));
}

}  // namespace coreference

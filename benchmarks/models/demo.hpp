// The demo's models with their default settings, and the same by hand, over the same batches.
#pragma once

#include "coreference/batch.hpp"
#include "coreference/model.hpp"
#include "coreference/splits.hpp"
#include "hand_written/demo.hpp"

#include <regard/loss.hpp>
#include <regard/nn/module.hpp>

namespace models {

/// The task that a kind of model is shown with, in the settings of train_coreference.
inline coreference::ModelSettings demo_settings(coreference::ModelKind kind, regard::DType dtype) {
  coreference::ModelSettings settings;
  settings.model = kind;
  settings.task =
      kind == coreference::ModelKind::raw ? coreference::Task::agreement : coreference::Task::twist;
  settings.dtype = dtype;
  return settings;
}

inline hand_written::DemoModel by_hand(coreference::ModelKind kind) {
  using hand_written::DemoModel;
  return kind == coreference::ModelKind::raw      ? DemoModel::raw
         : kind == coreference::ModelKind::clause ? DemoModel::clause
                                                  : DemoModel::two_layer;
}

/// Batches of 32 sentences, one after another.
inline std::vector<coreference::Batch> demo_batches(const coreference::ModelSettings& settings,
                                                    std::size_t count) {
  coreference::SplitOptions options;
  options.language = settings.language;
  options.task = settings.task;
  options.training = 32 * count;
  const std::vector<coreference::Sentence> sentences = make_splits(options).training;
  std::vector<coreference::Batch> batches;
  for (std::size_t first = 0; first + 32 <= sentences.size(); first += 32)
    batches.push_back(coreference::make_batch(
        std::vector<coreference::Sentence>(sentences.begin() + static_cast<std::ptrdiff_t>(first),
                                           sentences.begin() + static_cast<std::ptrdiff_t>(first) + 32)));
  return batches;
}

template <class T>
std::vector<std::vector<T>> numbers_of(const coreference::Model& model) {
  std::vector<std::vector<T>> numbers;
  for (const regard::Parameter& parameter : regard::parameters(model))
    numbers.push_back(parameter.value().to_vector<T>());
  return numbers;
}

inline regard::Tensor demo_loss(const coreference::Model& model, const coreference::Inputs& inputs) {
  return regard::cross_entropy(model(inputs).logits, inputs.targets);
}

/// `clause`: clause_weights(batch), which must live as long.
inline hand_written::DemoBatch by_hand(const coreference::Batch& batch, const std::vector<double>& clause) {
  return {batch.size,           batch.length,         batch.tokens.data(), batch.referents.data(),
          batch.lengths.data(), batch.pronoun.data(), batch.target.data(), clause.data()};
}

}  // namespace models

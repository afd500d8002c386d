#pragma once

#include <regard/export.hpp>
#include <regard/nn/init.hpp>
#include <regard/nn/module.hpp>

namespace REGARD_API regard {
namespace nn {

struct EmbeddingOptions {
  Init init = Init::normal;
  double deviation = 1;  ///< for Init::normal
  DType dtype = float64;
};

/// A row of numbers for each id. The gradient of a row adds up over all places where its id stands.
struct Embedding {
  /// ValueError unless both extents are positive.
  Embedding(Size vocabulary, Size width, Rng& rng, const EmbeddingOptions& options = {});
  Embedding(Cloning& c, const Embedding& from) : weight(c(from.weight)) {}
  Embedding(Embedding&&) = default;
  Embedding& operator=(Embedding&&) = default;

  /// ids [..] int64 -> [.., width]. DTypeError for other ids, ValueError for one outside 0..vocabulary-1.
  [[nodiscard]] Tensor operator()(const Tensor& ids) const;

  template <class F>
  void visit(F&& f) {
    f("weight", weight);
  }

  Parameter weight;  ///< [vocabulary, width]
};

}  // namespace nn
}  // namespace regard

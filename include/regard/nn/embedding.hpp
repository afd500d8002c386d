// A table of rows that are looked up by their index.
#pragma once

#include <optional>

#include <regard/export.hpp>
#include <regard/nn/init.hpp>
#include <regard/nn/module.hpp>

namespace REGARD_API regard {
namespace nn {

struct EmbeddingOptions {
  Init init = Init::normal;
  double deviation = 1;  ///< for Init::normal
  DType dtype = float64;
  std::optional<Size> padding;  ///< an id that stands for no token: its row starts at 0 and gets no gradient
};

/// A row of numbers for each id. The gradient of a row adds up over all places where its id stands; that of
/// the padding id is 0.
struct Embedding {
  /// ValueError unless both extents are positive, and for a padding id that is none.
  Embedding(Size vocabulary, Size width, Rng& rng, const EmbeddingOptions& options = {});
  Embedding(Cloning& c, const Embedding& from) : weight(c(from.weight)), padding(from.padding) {}
  Embedding(Embedding&&) = default;
  Embedding& operator=(Embedding&&) = default;

  /// ids [..] int64 -> [.., width]. DTypeError for other ids, ValueError for one outside 0..vocabulary-1.
  [[nodiscard]] Tensor operator()(const Tensor& ids) const;
  /// x [.., width] -> [.., vocabulary], x·weightᵀ: the rows once more as an output layer (Press & Wolf 2017),
  /// tied since there is one Parameter. The padding id's row gets a gradient from here. ShapeError.
  [[nodiscard]] Tensor logits(const Tensor& x) const;

  template <class F>
  void visit(F&& f) {
    f("weight", weight);
  }

  Parameter weight;  ///< [vocabulary, width]
  std::optional<Size> padding;
};

}  // namespace nn
}  // namespace regard

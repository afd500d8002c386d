// x·W + b.
#pragma once

#include <regard/export.hpp>
#include <regard/nn/init.hpp>
#include <regard/nn/module.hpp>

namespace REGARD_API regard {
namespace nn {

struct LinearOptions {
  bool bias = true;  ///< starts at zero
  Init init = Init::glorot_uniform;
  double deviation = 0.1;  ///< for Init::normal
  DType dtype = float64;
};

/// y = x·W + b.
struct Linear {
  /// ValueError unless both widths are positive.
  Linear(Size in, Size out, Rng& rng, const LinearOptions& options = {});
  Linear(Cloning& c, const Linear& from) : weight(c(from.weight)), bias(c(from.bias)) {}
  Linear(Linear&&) = default;
  Linear& operator=(Linear&&) = default;

  /// x [.., in] -> [.., out]. ShapeError that names the weight when the last axis is not `in`.
  [[nodiscard]] Tensor operator()(const Tensor& x) const;

  template <class F>
  void visit(F&& f) {
    f("weight", weight);
    f("bias", bias);
  }

  Parameter weight;  ///< [in, out]: the transpose of PyTorch's
  Parameter bias;    ///< [out]; not defined without bias
};

}  // namespace nn
}  // namespace regard

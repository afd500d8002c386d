// Dropout as a module, with a stream of random numbers of its own.
#pragma once

#include <regard/export.hpp>
#include <regard/nn/module.hpp>

namespace REGARD_API regard {
namespace nn {

/// Srivastava et al. 2014, inverted: in training each element is 0 with probability p, else divided by (1 -
/// p); in use the value passes as it is.
struct Dropout {
  /// Its random numbers are a stream of their own: one draw from `rng` names it. ValueError unless 0 <= p
  /// <= 1.
  Dropout(double p, Rng& rng);
  Dropout(Cloning& c, const Dropout& from) : p(from.p), mode(c(from.mode)), rng(c(from.rng)) {}
  Dropout(Dropout&&) = default;
  Dropout& operator=(Dropout&&) = default;

  [[nodiscard]] Tensor operator()(const Tensor& x) const;

  /// The probability in force: 0 when evaluating.
  [[nodiscard]] double probability() const { return mode == Mode::train ? p : 0; }

  template <class F>
  void visit(F&& f) {
    f("mode", mode);
    f("rng", rng);
  }

  double p;
  Mode mode = Mode::train;
  mutable Rng
      rng;  ///< moves on with every value in training: a model that is only called may be const all the same
};

}  // namespace nn
}  // namespace regard

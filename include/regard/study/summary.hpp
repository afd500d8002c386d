// What a model is made of, module by module: numbers to learn, memory, and work per token.
//
// ```cpp
// std::cout << summary(model, ids.numel(), [&] { return model(ids); });
// ```
#pragma once

#include <functional>
#include <iosfwd>
#include <limits>
#include <string>
#include <vector>

#include <regard/export.hpp>
#include <regard/named.hpp>
#include <regard/nn/module.hpp>

namespace REGARD_API regard {
namespace study {

/// A module with all that is in it.
struct ModuleSummary {
  std::string path;  ///< "blocks.0.attention"; "" is the model
  int depth = 0;     ///< of the model 0
  Size parameters = 0;
  Size frozen = 0;  ///< how many of them do not learn
  Size bytes = 0;   ///< that they take
  /// Of one token in the pass that was watched: a multiplication and an addition in a product of matrices are
  /// 2. Other operations (elementwise ones, norms, softmax, looking up rows) are not counted.
  double flops_per_token = 0;
};

/// A model, and all that is in it.
struct Summary {
  std::vector<ModuleSummary> modules;  ///< from the model inwards, each before what is in it
  Size tokens = 0;                     ///< of the pass that was watched; 0: there was none
};

/// Without work. A Parameter that is tied counts once, in the module that names it first.
template <class Module>
[[nodiscard]] Summary summary(const Module& model);
/// `pass` runs the model once, without gradients, on that many tokens. The work of a module whose operator()
/// does not say so (see Within; all of regard::nn do) is that of the one around it. ValueError for less than
/// 1 token.
template <class Module>
[[nodiscard]] Summary summary(const Module& model, Size tokens, const std::function<Tensor()>& pass);

/// A table, one line for each module down to that depth.
[[nodiscard]] std::string to_string(const Summary& summary, int depth = std::numeric_limits<int>::max());
std::ostream& operator<<(std::ostream& out, const Summary& summary);

namespace detail {
Summary summary(const NamedParameters& parameters);
Summary summary(const NamedParameters& parameters, Size tokens, const std::function<Tensor()>& pass);
}  // namespace detail

template <class Module>
Summary summary(const Module& model) {
  return detail::summary(named_parameters(model));
}
template <class Module>
Summary summary(const Module& model, Size tokens, const std::function<Tensor()>& pass) {
  return detail::summary(named_parameters(model), tokens, pass);
}

}  // namespace study
}  // namespace regard

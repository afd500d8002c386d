// What passes the probes of a model, kept with its gradients, and what can be put in its place:
//
// ```cpp
// study::ActivationCache cache(model, "*.weights");
// backward(loss(model(x)));
// cache.value("blocks.0.attention.weights"), cache.gradient("blocks.0.attention.weights");
//
// const std::string first = "blocks.0.attention.head_outputs";
// const Attachment without = attach(model, first, study::zero_ablation({0, 2}));
// const Attachment frozen = attach(model, "*.weights", study::clamp_to(cache.values()));
// ```
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <regard/export.hpp>
#include <regard/named.hpp>
#include <regard/nn/module.hpp>
#include <regard/nn/probe.hpp>
#include <regard/random.hpp>

namespace REGARD_API regard {
namespace study {

/// The newest value that passed each of the chosen probes while it lives, and the gradient that came back to
/// it. Values are constants: they keep no graph alive.
class ActivationCache {
 public:
  /// ValueError that lists the paths when the pattern (see matches()) means no probe.
  template <class Module>
  explicit ActivationCache(const Module& model, const std::string& pattern = "*")
      : ActivationCache(regard::detail::all_probes(model), pattern) {}

  /// By path, in the order in which they first passed. What is attached later to the same probe changes the
  /// value behind this one.
  [[nodiscard]] NamedTensors values() const;
  /// dL/dvalue of the newest backward through the newest value; left out where none has come by.
  [[nodiscard]] NamedTensors gradients() const;
  /// ValueError that lists what there is when nothing passed there, or no gradient came back.
  [[nodiscard]] Tensor value(const std::string& path) const;
  [[nodiscard]] Tensor gradient(const std::string& path) const;
  /// Forgets all of them, and goes on watching.
  void clear();

 private:
  struct Kept;
  ActivationCache(const std::vector<std::pair<std::string, Probe*>>& probes, const std::string& pattern);
  std::shared_ptr<Kept> kept_;
  Attachment watching_;
};

/// Something to attach(): what it returns takes the value's place.
using Intervention = std::function<Tensor(const std::string& path, const Tensor& value)>;

/// Heads of a value [batch, heads, ..], counted from 0; none named: the whole value, of any shape. The other
/// heads keep their bits and their gradients; to what was replaced flows none. Where a value passes, naming
/// heads is a ShapeError unless it has four axes, and a ValueError for one that is not there.
using Heads = std::vector<Size>;

/// 0.
[[nodiscard]] Intervention zero_ablation(Heads heads = {});
/// The mean over axis 0 of what the reference has for the path, [examples, ..]: values of an ActivationCache
/// say, or those of several put together. ValueError, when a value passes, for a path it lacks.
[[nodiscard]] Intervention mean_ablation(const NamedTensors& reference, Heads heads = {});
/// The value of another example of the same batch, each of the others as likely, drawn anew at each pass and
/// one for all heads. ValueError for a batch of one.
[[nodiscard]] Intervention resample_ablation(Rng rng, Heads heads = {});
/// The value of any example of the reference's.
[[nodiscard]] Intervention resample_ablation(const NamedTensors& reference, Rng rng, Heads heads = {});

/// This value, stretched as in broadcasting: a pattern [queries, keys] serves all sequences and heads. If it
/// requires a gradient it gets one. What attention's mask hides stays left out.
[[nodiscard]] Intervention clamp_to(const Tensor& value, Heads heads = {});
/// For each path the value of that name.
[[nodiscard]] Intervention clamp_to(const NamedTensors& values, Heads heads = {});
/// The value that passes first after this is attached, from then on.
[[nodiscard]] Intervention hold(Heads heads = {});

}  // namespace study
}  // namespace regard

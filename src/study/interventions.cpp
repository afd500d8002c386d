#include <regard/study/interventions.hpp>

#include <map>
#include <utility>

#include <regard/error.hpp>
#include <regard/ops.hpp>

namespace regard::study {
namespace {

const Tensor& find(const char* what, const NamedTensors& tensors, const std::string& path) {
  std::vector<std::string> names;
  for (const auto& [name, tensor] : tensors) {
    if (name == path) return tensor;
    names.push_back(name);
  }
  throw ValueError(std::string(what) + " for probe " + path + "; there are: " + detail::list_names(names));
}

bool stretches_to(const Shape& from, const Shape& to) {
  bool fits = from.rank() <= to.rank();
  for (int i = 1; fits && i <= from.rank(); ++i)
    fits = from[from.rank() - i] == 1 || from[from.rank() - i] == to[to.rank() - i];
  return fits;
}

/// [heads, 1, 1], true where a head is chosen.
Tensor chosen(const std::string& path, const Shape& shape, const Heads& heads) {
  if (shape.rank() != 4)
    throw ShapeError(
        "probe " + path + ": heads were named, but its values " + to_string(shape) +
        " are not [batch, heads, .., ..]; name none, or a probe such as weights or head_outputs");
  std::vector<bool> is_chosen(static_cast<std::size_t>(shape[1]));
  for (const Size head : heads) {
    if (head < 0 || head >= shape[1])
      throw ValueError("probe " + path + ": there is no head " + std::to_string(head) + "; they are 0 to " +
                       std::to_string(shape[1] - 1));
    is_chosen[static_cast<std::size_t>(head)] = true;
  }
  return from_vector(is_chosen, {shape[1], 1, 1});
}

/// What `replacement` makes of a value stands in the place of the chosen heads.
Intervention in_place_of(Heads heads, Intervention replacement) {
  return [heads = std::move(heads), replacement = std::move(replacement)](const std::string& path,
                                                                          const Tensor& value) {
    const Tensor put = replacement(path, value);
    if (!stretches_to(put.shape(), value.shape())) return put;  // the probe refuses it, by name
    const Tensor whole = broadcast_to(put, value.shape());
    return heads.empty() || put.dtype() != value.dtype()
               ? whole
               : where(chosen(path, value.shape(), heads), whole, value);
  };
}

const Tensor& with_examples(const char* what, const std::string& path, const Tensor& x) {
  if (x.rank() < 3 || x.size(0) == 0)
    throw ShapeError(std::string(what) + " of probe " + path + ": expected values [examples, .., ..], got " +
                     to_string(x.shape()));
  return x;
}

}  // namespace

// ---- what passes ---------------------------------------------------------------------------------------

struct ActivationCache::Kept {
  struct Entry {
    Tensor value;
    std::shared_ptr<Tensor> gradient;  ///< hooks know it; those of older values find theirs gone
  };
  std::vector<std::pair<std::string, Entry>> entries;

  Entry& at(const std::string& path) {
    for (auto& [name, entry] : entries)
      if (name == path) return entry;
    return entries.emplace_back(path, Entry()).second;
  }
};

ActivationCache::ActivationCache(const std::vector<std::pair<std::string, Probe*>>& probes,
                                 const std::string& pattern)
    : kept_(std::make_shared<Kept>()) {
  const auto keep = [kept = kept_](const std::string& path, const Tensor& value) {
    const auto gradient = std::make_shared<Tensor>();
    kept->at(path) = {value.detach(), gradient};
    if (!value.requires_grad()) return;
    add_hook(value, [place = std::weak_ptr<Tensor>(gradient)](const Tensor& dx) {
      if (const auto its = place.lock()) *its = dx.detach();
      return Tensor();
    });
  };
  watching_ = detail::attach("activation cache", probes, pattern, detail::make_interception(keep));
}

NamedTensors ActivationCache::values() const {
  NamedTensors values;
  for (const auto& [path, entry] : kept_->entries) values.emplace_back(path, entry.value);
  return values;
}

NamedTensors ActivationCache::gradients() const {
  NamedTensors gradients;
  for (const auto& [path, entry] : kept_->entries)
    if (entry.gradient->defined()) gradients.emplace_back(path, *entry.gradient);
  return gradients;
}

Tensor ActivationCache::value(const std::string& path) const {
  return find("activation cache: no value", values(), path);
}

Tensor ActivationCache::gradient(const std::string& path) const {
  return find("activation cache: no gradient", gradients(), path);
}

void ActivationCache::clear() {
  kept_->entries.clear();
}

// ---- what takes its place ------------------------------------------------------------------------------

Intervention zero_ablation(Heads heads) {
  return in_place_of(std::move(heads),
                     [](const std::string&, const Tensor& value) { return scalar(0, value.dtype()); });
}

Intervention mean_ablation(const NamedTensors& reference, Heads heads) {
  NamedTensors means;
  for (const auto& [path, x] : reference)
    means.emplace_back(path, mean(with_examples("mean ablation", path, x.detach()), {0}, keep_axes));
  return clamp_to(means, std::move(heads));
}

Intervention resample_ablation(Rng rng, Heads heads) {
  return in_place_of(std::move(heads), [rng](const std::string& path, const Tensor& value) mutable {
    const Size examples = with_examples("resample ablation", path, value).size(0);
    if (examples < 2)
      throw ValueError("resample ablation of probe " + path +
                       ": a batch of one has no other example; give it a reference");
    std::vector<Size> others;
    for (Size i = 0; i < examples; ++i) others.push_back((i + 1 + rng.below(examples - 1)) % examples);
    return take(value.detach(), from_vector(others, {examples}));
  });
}

Intervention resample_ablation(const NamedTensors& reference, Rng rng, Heads heads) {
  return in_place_of(
      std::move(heads), [reference, rng](const std::string& path, const Tensor& value) mutable {
        const Tensor& from =
            with_examples("resample ablation", path, find("resample ablation: no values", reference, path));
        std::vector<Size> drawn(static_cast<std::size_t>(value.rank() > 0 ? value.size(0) : 0));
        for (Size& example : drawn) example = rng.below(from.size(0));
        return take(from.detach(), from_vector(drawn, {static_cast<Size>(drawn.size())}));
      });
}

Intervention clamp_to(const Tensor& value, Heads heads) {
  return in_place_of(std::move(heads), [value](const std::string&, const Tensor&) { return value; });
}

Intervention clamp_to(const NamedTensors& values, Heads heads) {
  return in_place_of(std::move(heads), [values](const std::string& path, const Tensor&) {
    return find("intervention: no value", values, path);
  });
}

Intervention hold(Heads heads) {
  return in_place_of(std::move(heads), [held = std::map<std::string, Tensor>()](const std::string& path,
                                                                                const Tensor& value) mutable {
    return held.emplace(path, value.detach()).first->second;
  });
}

}  // namespace regard::study

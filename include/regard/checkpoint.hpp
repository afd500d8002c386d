// A whole run in one file: what has to be saved so that it goes on as if it had not been interrupted.
//
// ```cpp
// Checkpoint run({{"model", model}, {"optimizer", optimizer}, {"batches", rng}});
// run.save("run.safetensors", step);
// step = run.load("run.safetensors");  // when the program has been started again
// ```
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <type_traits>
#include <vector>

#include <regard/export.hpp>
#include <regard/io/safetensors.hpp>
#include <regard/nn/module.hpp>
#include <regard/optim/average.hpp>
#include <regard/optim/optimizer.hpp>

namespace REGARD_API regard {

namespace detail {
/// Those of `all` whose names are not among the others'.
NamedTensors without_names_of(const NamedTensors& others, NamedTensors all);
}  // namespace detail

/// Something that has a state. It is referred to, and must live as long as the Checkpoint.
struct CheckpointPart {
  /// A module's Parameters, tied ones once, and its Rngs; or a Rng alone.
  template <class Module, class = std::enable_if_t<detail::is_module<Module> || std::is_same_v<Module, Rng>>>
  CheckpointPart(std::string its_name, Module& module) : name(std::move(its_name)) {
    state = [&module] {
      NamedTensors all = values(named_parameters(module)), random = random_state(module);
      all.insert(all.end(), random.begin(), random.end());
      return all;
    };
    load = [&module](const NamedTensors& all) {
      set_random_state(module, all);
      assign(named_parameters(module), detail::without_names_of(random_state(module), all));
    };
  }
  /// Its state(), and its learning rate.
  CheckpointPart(std::string its_name, Optimizer& optimizer);
  CheckpointPart(std::string its_name, AveragedParameters& averages);

  std::string name;
  std::function<NamedTensors()> state;
  std::function<void(const NamedTensors&)> load;  ///< takes over what state() gave, or throws
};

/// The parts of a run that are saved together.
class Checkpoint {
 public:
  /// ValueError for a name that is empty, has a dot, is "step", or is given twice.
  explicit Checkpoint(std::vector<CheckpointPart> parts);

  /// Each part's state as "name.entry", and the number of the step, "step". As save(): there is always the
  /// old file or the whole new one.
  void save(const std::filesystem::path& path, Size step, const Metadata& metadata = {}) const;
  /// Puts all parts where save() found them, and gives the step. All or nothing: when something is missing,
  /// left over or does not fit (IoError, ValueError, ShapeError, DTypeError) no part has changed.
  Size load(const std::filesystem::path& path) const;

 private:
  std::vector<CheckpointPart> parts_;
};

}  // namespace regard

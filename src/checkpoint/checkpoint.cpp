#include <regard/checkpoint.hpp>

#include <algorithm>
#include <set>

#include <regard/error.hpp>

namespace regard {
NamedTensors detail::without_names_of(const NamedTensors& others, NamedTensors all) {
  for (const auto& other : others)
    all.erase(
        std::remove_if(all.begin(), all.end(), [&](const auto& entry) { return entry.first == other.first; }),
        all.end());
  return all;
}

CheckpointPart::CheckpointPart(std::string its_name, Optimizer& optimizer)
    : name(std::move(its_name)),
      state([&optimizer] {
        NamedTensors all = optimizer.state();
        all.emplace_back("learning_rate", scalar(optimizer.learning_rate()));
        return all;
      }),
      load([&optimizer](const NamedTensors& all) {
        optimizer.load_state(detail::without_names_of({{"learning_rate", {}}}, all));
        for (const auto& [entry, value] : all)
          if (entry == "learning_rate") return optimizer.set_learning_rate(value.item());
        throw ValueError("checkpoint: the optimiser's learning_rate is missing");
      }) {}

CheckpointPart::CheckpointPart(std::string its_name, AveragedParameters& averages)
    : name(std::move(its_name)),
      state([&averages] { return averages.state(); }),
      load([&averages](const NamedTensors& all) { averages.load_state(all); }) {}

Checkpoint::Checkpoint(std::vector<CheckpointPart> parts) : parts_(std::move(parts)) {
  std::set<std::string> names{"", "step"};
  for (const CheckpointPart& part : parts_)
    if (part.name.find('.') != std::string::npos || !names.insert(part.name).second)
      throw ValueError("checkpoint: a part cannot be called \"" + part.name +
                       "\"; each needs a name of its own, without dots, that is not \"step\"");
}

void Checkpoint::save(const std::filesystem::path& path, Size step, const Metadata& metadata) const {
  if (step < 0) throw ValueError("checkpoint: the step must not be negative, got " + std::to_string(step));
  NamedTensors all{{"step", from_vector<Size>({step}, {})}};
  for (const CheckpointPart& part : parts_)
    for (auto& entry : with_prefix(part.name, part.state())) all.push_back(std::move(entry));
  regard::save(path, all, metadata);
}

Size Checkpoint::load(const std::filesystem::path& path) const {
  const NamedTensors saved = regard::load(path).tensors;
  const std::string who = "checkpoint: " + path.string();
  Size step = -1;
  for (const auto& [entry, value] : saved) {
    if (entry == "step" && value.dtype() == int64 && value.numel() == 1) {
      step = value.to_vector<Size>().front();
      continue;
    }
    const std::string prefix = entry.substr(0, entry.find('.'));
    if (std::none_of(parts_.begin(), parts_.end(), [&](const auto& part) { return part.name == prefix; }))
      throw IoError(who + ": " + entry + " belongs to no part of this run; nothing was changed");
  }

  if (step < 0) throw IoError(who + ": it has no step, one int64 that is not negative");

  std::vector<NamedTensors> before;
  for (const CheckpointPart& part : parts_) before.push_back(part.state());
  try {
    for (const CheckpointPart& part : parts_) part.load(without_prefix(part.name, saved));
  } catch (...) {
    for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].load(before[i]);
    throw;
  }
  return step;
}

}  // namespace regard

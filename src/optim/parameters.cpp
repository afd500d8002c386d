#include "optim/parameters.hpp"

#include <set>

#include <regard/error.hpp>

#include "autograd/node.hpp"

namespace regard::detail {

std::vector<Parameter> each_once(const char* who, const std::vector<Parameter>& parameters) {
  std::vector<Parameter> once;
  for (const Parameter& parameter : parameters) {
    if (!parameter.defined())
      throw ValueError(std::string(who) + ": one of the parameters is an empty handle");
    add_once(once, parameter);
  }
  return once;
}

std::vector<std::string> unique_names(const std::vector<Parameter>& parameters) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const Parameter& parameter : parameters) {
    std::string name = parameter.name();
    if (name.empty() || !taken.insert(name).second) {
      name += (name.empty() ? "parameter" : "") + ("#" + std::to_string(names.size()));
      taken.insert(name);
    }
    names.push_back(std::move(name));
  }
  return names;
}

Entries::Entries(std::string who, const NamedTensors& state) : who_(std::move(who)) {
  for (const auto& [entry, value] : state)
    if (!left_.emplace(entry, value).second) throw ValueError(who_ + ": " + entry + " is there twice");
}

Tensor Entries::take(const std::string& name) {
  const auto found = left_.find(name);
  if (found == left_.end()) throw ValueError(who_ + ": " + name + " is missing");
  Tensor value = found->second.detach();
  left_.erase(found);
  return value;
}

Size Entries::take_count(const std::string& name) {
  const Tensor value = take(name);
  if (value.dtype() != int64 || value.numel() != 1 || !(value.item() >= 1))
    throw ValueError(who_ + ": " + name + " must be one int64, at least 1, got " +
                     regard::name(value.dtype()) + " " + to_string(value.shape()));
  return value.to_vector<Size>().front();
}

Tensor Entries::take_like(const std::string& name, const Parameter& parameter) {
  const Tensor value = take(name);
  require_fits(*Access::cell(parameter), value, ("the saved " + name).c_str());
  return value;
}

void Entries::require_none_left(const std::vector<std::string>& keys) const {
  if (!left_.empty())
    throw ValueError(who_ + ": " + left_.begin()->first +
                     " belongs to no parameter; there are: " + list_names(keys));
}

}  // namespace regard::detail

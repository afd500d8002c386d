// What keeps something for each of many parameters: their names, and reading it back from a file's entries.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <regard/named.hpp>

namespace regard::detail {

/// Whether it was not there yet.
template <class Vector>
bool add_once(Vector& parameters, const Parameter& parameter) {
  for (const Parameter& other : parameters)
    if (other.same_as(parameter)) return false;
  parameters.push_back(parameter);
  return true;
}

/// In the order given. ValueError for an empty handle.
std::vector<Parameter> each_once(const char* who, const std::vector<Parameter>& parameters);

/// The parameters' names; a name that is empty or already taken gets the parameter's number behind it.
std::vector<std::string> unique_names(const std::vector<Parameter>& parameters);

/// The entries of a state, each of which is to be taken once.
class Entries {
 public:
  /// ValueError when a name is there twice.
  Entries(std::string who, const NamedTensors& state);

  [[nodiscard]] bool has(const std::string& name) const { return left_.count(name) > 0; }
  /// A count, one int64 that is at least 1. ValueError.
  Size take_count(const std::string& name);
  /// In the parameter's shape and dtype. ValueError when it is missing, ShapeError, DTypeError.
  Tensor take_like(const std::string& name, const Parameter& parameter);
  /// ValueError when an entry is left, which names those that have any.
  void require_none_left(const std::vector<std::string>& keys) const;

 private:
  Tensor take(const std::string& name);

  std::string who_;
  std::map<std::string, Tensor> left_;
};

}  // namespace regard::detail

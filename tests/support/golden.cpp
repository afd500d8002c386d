#include "support/golden.hpp"

#include <fstream>
#include <map>
#include <stdexcept>
#include <vector>

#include <nlohmann/json.hpp>

namespace regard::test {
namespace {

void append(const nlohmann::json& list, std::vector<double>& values) {
  if (list.is_number()) return values.push_back(list.get<double>());
  for (const nlohmann::json& item : list) append(item, values);
}

}  // namespace

std::string golden_path(const std::string& name) {
  return REGARD_GOLDEN_FOLDER "/" + name;
}

const nlohmann::json& golden(const char* name) {
  static std::map<std::string, nlohmann::json> read;
  const auto found = read.find(name);
  if (found != read.end()) return found->second;
  std::ifstream file(golden_path(name));
  if (!file) throw std::runtime_error(std::string("cannot read tests/golden/") + name);
  return read[name] = nlohmann::json::parse(file);
}

Tensor course_numbers(const std::string& path) {
  static const nlohmann::json& numbers = golden("course_numbers.json");
  const nlohmann::json& found = numbers.at(nlohmann::json::json_pointer("/" + path));
  Shape shape;
  for (const nlohmann::json* list = &found; list->is_array(); list = &list->front())
    shape.push_back(static_cast<Size>(list->size()));
  std::vector<double> values;
  append(found, values);
  return from_vector<double>(values, shape);
}

}  // namespace regard::test

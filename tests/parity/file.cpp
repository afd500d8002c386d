#include "parity/parity.hpp"

#include <regard/error.hpp>
#include <regard/io/safetensors.hpp>

namespace regard::parity {
namespace {

bool starts_with(const std::string& text, const std::string& start) {
  return text.compare(0, start.size(), start) == 0;
}

const std::string& entry(const Metadata& metadata, const std::string& key,
                         const std::filesystem::path& path) {
  const auto found = metadata.find(key);
  if (found == metadata.end())
    throw IoError(path.string() + ": no \"" + key +
                  "\" in the metadata; tests/golden/pytorch.py writes such files");
  return found->second;
}

}  // namespace

Case Case::in(DType dtype) const {
  Case same = *this;
  for (auto& input : same.inputs)
    if (is_float(input.second.dtype())) input.second = input.second.to(dtype);
  return same;
}

const Tensor& Case::input(const std::string& wanted) const {
  const auto found = inputs.find(wanted);
  if (found == inputs.end()) throw ValueError("case \"" + name + "\": there is no input " + wanted);
  return found->second;
}

Tensor Case::input_if_any(const std::string& wanted) const {
  const auto found = inputs.find(wanted);
  return found == inputs.end() ? Tensor() : found->second;
}

File read(const std::filesystem::path& path) {
  const SavedTensors saved = load(path);
  File file;
  file.torch = entry(saved.metadata, "torch", path);
  const nlohmann::json listed = nlohmann::json::parse(entry(saved.metadata, "cases", path));
  for (std::size_t i = 0; i < listed.size(); ++i) {
    Case c;
    c.name = listed[i].at("name");
    c.operation = listed[i].at("op");
    c.options = listed[i].at("options");
    for (const auto& [name, x] : without_prefix(std::to_string(i), saved.tensors)) {
      const bool is_input = starts_with(name, "inputs.");
      (is_input ? c.inputs : c.expected)[is_input ? name.substr(7) : name] = x;
    }
    file.cases.push_back(std::move(c));
  }
  return file;
}

}  // namespace regard::parity

#include <regard/io/safetensors.hpp>

#include <algorithm>
#include <cstring>
#include <string_view>
#include <utility>

#include <regard/error.hpp>

#include "autograd/node.hpp"
#include "io/atomic_file.hpp"
#include "io/header.hpp"
#include "tensor/impl.hpp"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "files hold little-endian numbers, and are read and written as they lie in memory"
#endif

namespace regard {
namespace {

using detail::Header;
using detail::HeaderEntry;

constexpr std::size_t length_bytes = 8;
constexpr std::uint64_t longest_header = 100'000'000;  // the format's own limit

Tensor read_tensor(const HeaderEntry& entry, const char* data) {
  const std::size_t bytes = static_cast<std::size_t>(entry.end - entry.begin);
  if (entry.dtype == boolean && std::any_of(data, data + bytes, [](char c) { return c != 0 && c != 1; }))
    throw IoError('"' + entry.name + "\" is BOOL and has a byte that is neither 0 nor 1");
  Tensor x = detail::empty(entry.shape, entry.dtype);
  if (bytes) std::memcpy(detail::array(x).data, data, bytes);
  return x;
}

// " Missing: a, b."
std::string list_keys(const char* which, const std::vector<std::string>& names) {
  return names.empty() ? "" : std::string(" ") + which + ": " + detail::list_names(names) + ".";
}

LoadReport assign_all(const std::string& who, const NamedParameters& parameters, const NamedTensors& tensors,
                      Strict strict) {
  std::map<std::string, Tensor> left(tensors.begin(), tensors.end());
  LoadReport report;
  std::vector<std::pair<Parameter, Tensor>> matched;
  for (const auto& [name, parameter] : parameters) {
    const auto found = left.find(name);
    if (found == left.end()) {
      report.missing.push_back(name);
      continue;
    }
    detail::require_fits(*detail::Access::cell(parameter), found->second, "the saved value");
    matched.emplace_back(parameter, found->second);
    left.erase(found);
  }
  for (const auto& named : left) report.unexpected.push_back(named.first);
  if (strict == Strict::yes && !(report.missing.empty() && report.unexpected.empty()))
    throw IoError(who + ": the names are not those of the parameters." +
                  list_keys("Missing", report.missing) + list_keys("Unexpected", report.unexpected) +
                  " Nothing was changed; Strict::no loads what both have");
  for (auto& [parameter, tensor] : matched) parameter.assign(tensor);
  return report;
}

}  // namespace

SavedTensors detail::parse_file(std::string_view bytes) {
  std::uint64_t length = 0;
  if (bytes.size() < length_bytes)
    throw IoError("it has " + std::to_string(bytes.size()) + " bytes, too few for a safetensors file");
  std::memcpy(&length, bytes.data(), length_bytes);
  if (length > longest_header)
    throw IoError("its header would be " + std::to_string(length) + " bytes long; 100000000 is the most");
  if (length > bytes.size() - length_bytes)
    throw IoError("it is cut short: the header should have " + std::to_string(length) + " bytes, " +
                  std::to_string(bytes.size() - length_bytes) + " are there");
  const char* const data = bytes.data() + length_bytes + length;
  Header header = parse_header(bytes.substr(length_bytes, static_cast<std::size_t>(length)),
                               bytes.size() - length_bytes - length);
  SavedTensors saved;
  saved.metadata = std::move(header.metadata);
  for (const HeaderEntry& entry : header.entries)
    saved.tensors.emplace_back(entry.name, read_tensor(entry, data + entry.begin));
  return saved;
}

void save(const std::filesystem::path& path, const NamedTensors& tensors, const Metadata& metadata) {
  NamedTensors ordered;
  for (const auto& [name, tensor] : tensors) {
    if (!tensor.defined()) throw ValueError("save: " + name + " is an empty handle");
    ordered.emplace_back(name, tensor.detach().contiguous());
  }
  // Wide elements first, so that each tensor lies where a reader that maps the file may use it in place.
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return item_size(a.second.dtype()) > item_size(b.second.dtype());
  });
  Header header;
  header.metadata = metadata;
  std::uint64_t end = 0;
  for (const auto& [name, tensor] : ordered) {
    const std::uint64_t begin = end;
    end += static_cast<std::uint64_t>(tensor.numel() * item_size(tensor.dtype()));
    header.entries.push_back({name, tensor.dtype(), tensor.shape(), begin, end});
  }
  const std::string text = detail::write_header(header);
  const std::uint64_t length = text.size();
  std::string bytes(length_bytes, '\0');
  std::memcpy(bytes.data(), &length, length_bytes);
  bytes.reserve(length_bytes + text.size() + static_cast<std::size_t>(end));
  bytes += text;
  for (const auto& [name, tensor] : ordered)
    bytes.append(static_cast<const char*>(detail::array(tensor).data),
                 static_cast<std::size_t>(tensor.numel() * item_size(tensor.dtype())));
  write_file_atomically(path, bytes);
}

void save(const std::filesystem::path& path, const NamedParameters& parameters, const Metadata& metadata) {
  save(path, values(parameters), metadata);
}

SavedTensors load(const std::filesystem::path& path) {
  const std::string bytes = read_whole_file(path);
  try {
    return detail::parse_file(bytes);
  } catch (const IoError& error) {
    throw IoError("load: " + path.string() + ": " + error.what());
  }
}

LoadReport load(const std::filesystem::path& path, const NamedParameters& parameters, Strict strict) {
  return assign_all("load: " + path.string(), parameters, load(path).tensors, strict);
}

LoadReport assign(const NamedParameters& parameters, const NamedTensors& tensors, Strict strict) {
  return assign_all("assign", parameters, tensors, strict);
}

NamedTensors with_prefix(const std::string& prefix, const NamedTensors& tensors) {
  NamedTensors result;
  for (const auto& [name, tensor] : tensors) result.emplace_back(prefix + "." + name, tensor);
  return result;
}

NamedTensors without_prefix(const std::string& prefix, const NamedTensors& tensors) {
  const std::string start = prefix + ".";
  NamedTensors result;
  for (const auto& [name, tensor] : tensors)
    if (name.compare(0, start.size(), start) == 0) result.emplace_back(name.substr(start.size()), tensor);
  return result;
}

NamedTensors values(const NamedParameters& parameters) {
  NamedTensors result;
  for (const auto& [name, parameter] : parameters) result.emplace_back(name, parameter.value());
  return result;
}

}  // namespace regard

// Tensors with names in files, in the safetensors format: eight bytes with the length of a JSON header, the
// header, the numbers. PyTorch, NumPy, JAX and others read what save() writes, and load() reads theirs if
// they hold F64, F32, I64 or BOOL only.
//
// Files are not trusted: every figure in a header is checked before it is used, and a load that fails has
// changed nothing. A file is written beside its target and renamed over it, so that there is always the old
// one or the whole new one.
//
// ```cpp
// save("model.safetensors", named_parameters(model));
// load("model.safetensors", named_parameters(model));
// ```
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <regard/export.hpp>
#include <regard/named.hpp>

namespace REGARD_API regard {

using Metadata = std::map<std::string, std::string>;

/// Writes the tensors, wide elements first, and the metadata. ValueError for two tensors of one name, a name
/// that is
/// "__metadata__", an empty handle, or text that is not UTF-8; IoError when the file cannot be written, and
/// then what was there before is still there.
void save(const std::filesystem::path& path, const NamedTensors& tensors, const Metadata& metadata = {});
void save(const std::filesystem::path& path, const NamedParameters& parameters,
          const Metadata& metadata = {});

/// What a file holds.
struct SavedTensors {
  NamedTensors tensors;  ///< in the order of their places in the file
  Metadata metadata;
};

/// All that a file holds. IoError that names the file and what is wrong with it.
[[nodiscard]] SavedTensors load(const std::filesystem::path& path);

enum class Strict {
  yes,  ///< the file holds these parameters, and no others
  no,   ///< what both have is loaded
};

/// What did not match, where Strict::no lets that be.
struct LoadReport {
  std::vector<std::string> missing;     ///< parameters that the file does not have
  std::vector<std::string> unexpected;  ///< tensors of the file that are no parameter
};

/// Gives the parameters the numbers that the file has under their names. All or nothing: IoError when there
/// are missing or unexpected names (the text lists both) unless that is allowed, ShapeError or DTypeError
/// with the parameter and both when a tensor does not fit; nothing is ever stretched or converted.
LoadReport load(const std::filesystem::path& path, const NamedParameters& parameters,
                Strict strict = Strict::yes);
/// The same from tensors that are there already, for files that hold more than a model.
LoadReport assign(const NamedParameters& parameters, const NamedTensors& tensors,
                  Strict strict = Strict::yes);

/// The tensors with "prefix." in front of their names: a whole training state goes into one file, so that its
/// parts always belong to the same step.
[[nodiscard]] NamedTensors with_prefix(const std::string& prefix, const NamedTensors& tensors);
/// Those whose names begin with "prefix.", without it.
[[nodiscard]] NamedTensors without_prefix(const std::string& prefix, const NamedTensors& tensors);
/// The values of parameters.
[[nodiscard]] NamedTensors values(const NamedParameters& parameters);

}  // namespace regard

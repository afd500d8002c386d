#include "common/folder.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <system_error>

#include <regard/error.hpp>

namespace common {
namespace {

std::string reason() {
  return errno != 0 ? std::string(": ") + std::strerror(errno) : std::string();
}

}  // namespace

void prepare_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) throw regard::IoError("cannot create the folder " + folder.string() + ": " + error.message());
  const std::filesystem::path probe = folder / ".writable";
  errno = 0;
  if (!std::ofstream(probe))
    throw regard::IoError("cannot write into the folder " + folder.string() + reason());
  std::filesystem::remove(probe, error);
}

void write_text(const std::filesystem::path& path, std::string_view text) {
  const std::filesystem::path partial = path.string() + ".partial";
  std::error_code error;
  errno = 0;
  std::ofstream file(partial, std::ios::binary);
  file << text;
  file.close();
  const std::string why = file ? std::string() : reason();
  if (file) std::filesystem::rename(partial, path, error);
  if (file && !error) return;
  const std::string cause = error ? ": " + error.message() : why;
  std::filesystem::remove(partial, error);
  throw regard::IoError("cannot write " + path.string() + cause);
}

}  // namespace common

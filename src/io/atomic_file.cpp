#include "io/atomic_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include "regard/error.hpp"

namespace regard {
namespace {

[[noreturn]] void fail(const char* action, const std::filesystem::path& path, int reason) {
  throw IoError(
      fmt::format("cannot {} {}: {}", action, path.string(), std::generic_category().message(reason)));
}

// Owns a descriptor and, until it is renamed, the temporary file behind it.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::filesystem::path& target) : target_(target) {
    static std::atomic<unsigned> counter{0};
    path_ = target;
    path_ += fmt::format(".{}.{}.tmp", getpid(), counter++);
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail("write", target_, errno);
  }
  ~TemporaryFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
    if (!renamed_) ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  int descriptor() const { return descriptor_; }

  void move_into_place() {
    if (::fsync(descriptor_) != 0) fail("write", target_, errno);
    // A full disk or quota may be reported only here.
    const int closed = ::close(descriptor_);
    descriptor_ = -1;
    if (closed != 0) fail("write", target_, errno);
    if (std::rename(path_.c_str(), target_.c_str()) != 0) fail("write", target_, errno);
    renamed_ = true;
  }

 private:
  std::filesystem::path target_;
  std::filesystem::path path_;
  int descriptor_ = -1;
  bool renamed_ = false;
};

void write_all(int descriptor, std::string_view bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("write", path, errno);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

// The rename itself is on the disk only once its folder is. Not every file system allows this; the content
// is safe either way.
void flush_folder(const std::filesystem::path& path) {
  const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);
  ::close(descriptor);
}

void write_directly(const std::filesystem::path& path, std::string_view bytes) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) fail("write", path, errno);
  try {
    write_all(descriptor, bytes, path);
  } catch (...) {
    ::close(descriptor);
    throw;
  }
  if (::close(descriptor) != 0) fail("write", path, errno);
}

}  // namespace

void write_file_atomically(const std::filesystem::path& path, std::string_view bytes) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) fail("write", path, EISDIR);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    return write_directly(path, bytes);

  // Through a symbolic link the file it names is replaced, not the link.
  const std::filesystem::path target =
      std::filesystem::exists(status) ? std::filesystem::canonical(path) : path;
  TemporaryFile temporary(target);
  write_all(temporary.descriptor(), bytes, target);
  temporary.move_into_place();
  flush_folder(target);
}

std::string read_whole_file(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail("read", path, errno);
  std::string bytes;
  char buffer[1 << 16];
  for (;;) {
    const ssize_t count = ::read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int reason = errno;
      ::close(descriptor);
      fail("read", path, reason);
    }
    if (count == 0) break;
    bytes.append(buffer, static_cast<std::size_t>(count));
  }
  ::close(descriptor);
  return bytes;
}

}  // namespace regard

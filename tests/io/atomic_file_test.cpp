#include "io/atomic_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "regard/error.hpp"
#include "study/temporary_folder.hpp"

namespace regard {
namespace {

using study::TemporaryFolder;

std::size_t files_in(const std::filesystem::path& folder) {
  const std::filesystem::directory_iterator begin(folder);
  return static_cast<std::size_t>(std::distance(begin, std::filesystem::directory_iterator()));
}

std::string error_of_writing(const std::filesystem::path& path) {
  try {
    write_file_atomically(path, "x");
  } catch (const IoError& error) {
    return error.what();
  }
  return "";
}

TEST(AtomicFile, WritesAndReplacesWholeFiles) {
  const TemporaryFolder folder;
  const std::string bytes("a\0b\n\xff", 5);
  write_file_atomically(folder / "file", "a longer text that was there before");
  write_file_atomically(folder / "file", bytes);
  EXPECT_EQ(read_whole_file(folder / "file"), bytes);
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(AtomicFile, WritesAnEmptyFile) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "empty", "");
  EXPECT_EQ(read_whole_file(folder / "empty"), "");
}

TEST(AtomicFile, NamesThePathAndTheReasonWhenAFolderIsMissing) {
  const TemporaryFolder folder;
  const std::string text = error_of_writing(folder / "missing" / "file");
  EXPECT_NE(text.find((folder / "missing" / "file").string()), std::string::npos) << text;
  EXPECT_NE(text.find("No such file or directory"), std::string::npos) << text;
}

TEST(AtomicFile, RefusesAFolderAndAPathBelowAFile) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "x");
  EXPECT_NE(error_of_writing(folder.path()).find("Is a directory"), std::string::npos);
  EXPECT_NE(error_of_writing(folder / "file" / "below").find("Not a directory"), std::string::npos);
}

TEST(AtomicFile, WritesThroughASymbolicLinkAndKeepsIt) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "real", "old");
  std::filesystem::create_symlink(folder / "real", folder / "link");
  write_file_atomically(folder / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "link"));
  EXPECT_EQ(read_whole_file(folder / "real"), "new");
}

TEST(AtomicFile, B51_AFullDiskLeavesTheOldFileAndNoTemporary) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "old");
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit small{1024, before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  EXPECT_THROW(write_file_atomically(folder / "file", std::string(4096, 'x')), IoError);
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_EQ(read_whole_file(folder / "file"), "old");
  EXPECT_EQ(files_in(folder.path()), 1u);
}

TEST(AtomicFile, B51_WritesToADeviceDirectlyAndReportsItFull) {
  write_file_atomically("/dev/null", "x");
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  EXPECT_NE(error_of_writing("/dev/full").find("No space left"), std::string::npos);
}

TEST(AtomicFile, ReadingNamesThePathAndTheReason) {
  try {
    read_whole_file("/nowhere/file");
    FAIL() << "expected an error";
  } catch (const IoError& error) {
    EXPECT_STREQ(error.what(), "cannot read /nowhere/file: No such file or directory");
  }
}

}  // namespace
}  // namespace regard

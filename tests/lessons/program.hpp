#pragma once
// A lesson, run as a program: what it returns, prints and writes.

#include <gtest/gtest.h>

#include <sys/wait.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

#include "study/temporary_folder.hpp"

namespace regard::test {

struct Outcome {
  int exit_code;
  std::string out, err;  // standard output and error
};

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// LESSONS: the folder of the programs.
inline Outcome run(const std::string& lesson, const std::string& arguments = "") {
  const study::TemporaryFolder folder;
  const std::string command = std::string(LESSONS) + "/" + lesson + " " + arguments + " >" +
                              (folder / "out").string() + " 2>" + (folder / "err").string() + " </dev/null";
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(folder / "out"), text_of(folder / "err")};
}

/// What a lesson writes besides its pictures; it must succeed.
inline nlohmann::json record(const std::string& lesson, const std::string& arguments = "") {
  const study::TemporaryFolder folder;
  const Outcome got = run(lesson, "--out " + (folder / "made").string() + " " + arguments);
  EXPECT_EQ(got.exit_code, 0) << lesson << " " << arguments << "\n" << got.out << got.err;
  EXPECT_EQ(got.err, "");
  return nlohmann::json::parse(text_of(folder / ("made/" + lesson + ".json")));
}

}  // namespace regard::test

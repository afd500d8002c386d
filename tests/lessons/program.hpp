#pragma once
// A lesson, run as a program: what it returns, prints and writes.

#include <gtest/gtest.h>

#include <string>

#include <nlohmann/json.hpp>

#include "study/temporary_folder.hpp"
#include "support/program.hpp"

namespace regard::test {

/// LESSONS: the folder of the programs.
inline Outcome run(const std::string& lesson, const std::string& arguments = "") {
  return run_program(std::string(LESSONS) + "/" + lesson + " " + arguments);
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

// The lessons as programs: the course's numbers, flags, exit codes, streams and files.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include <regard/ops.hpp>

#include "lessons/program.hpp"
#include "study/temporary_folder.hpp"
#include "support/close.hpp"
#include "support/golden.hpp"

namespace regard::test {
namespace {

using nlohmann::json;
using study::TemporaryFolder;

void append(const json& list, std::vector<double>& values) {
  if (list.is_number()) return values.push_back(list.get<double>());
  for (const json& item : list) append(item, values);
}

Tensor numbers(const json& document, const std::string& name) {
  const json& found = document.at("numbers").at(name);
  Shape shape;
  for (const json* list = &found; list->is_array(); list = &list->front())
    shape.push_back(static_cast<Size>(list->size()));
  std::vector<double> values;
  append(found, values);
  return from_vector(values, shape);
}

void expect_course(const json& document, const std::string& name, const Tensor& expected, double tolerance) {
  SCOPED_TRACE(name);
  EXPECT_TENSOR_NEAR(numbers(document, name), expected, tolerance, tolerance);
}

TEST(Hand3, HasTheNumbersOfTheCourseInAllFourWays) {
  const std::pair<const char*, const char*> ways[] = {{"", "lesson09_causal"},
                                                      {"--no-mask", "lesson09_full"},
                                                      {"--identity", "lesson09_identity_causal"},
                                                      {"--identity --no-mask", "lesson09_identity_full"}};
  for (const auto& [flags, run_of_course] : ways) {
    SCOPED_TRACE(run_of_course);
    const json document = record("02_hand3", flags);
    for (const char* name : {"Q", "K", "V", "scaled_scores", "weights", "output"})
      expect_course(document, name, course_numbers(std::string(run_of_course) + "/" + name), 1e-12);
    expect_course(document, "X", course_numbers("lesson09_inputs/X"), 0);
  }
  const json document = record("02_hand3");
  expect_course(document, "raw_scores", course_numbers("lesson09_causal/raw_scores"), 1e-12);
  for (const char* name : {"W_Q", "W_K", "W_V"})
    expect_course(document, name, course_numbers(std::string("lesson09_inputs/") + name), 0);
}

TEST(Hand3Backward, HasTheGradientsOfTheCourse) {
  const json document = record("03_hand3_backward");
  expect_course(document, "dO", course_numbers("lesson09_causal/gradients/upstream"), 1e-15);
  for (const char* name : {"dX", "dW_Q", "dW_K", "dW_V"})
    expect_course(document, name, course_numbers(std::string("lesson09_causal/gradients/") + name), 1e-10);
}

TEST(IdentityW, HasTheNumbersOfTheCourse) {
  const json document = record("04_identity_w");
  expect_course(document, "scaled_scores", course_numbers("lesson09_identity_full/scaled_scores"), 1e-12);
  for (const std::string mask : {"full", "causal"}) {
    const std::string from = "lesson09_identity_" + mask + "/";
    expect_course(document, "weights_" + mask, course_numbers(from + "weights"), 1e-12);
    expect_course(document, "output_" + mask, course_numbers(from + "output"), 1e-12);
  }
}

TEST(MaskOnOff, HasTheNumbersOfTheCoursesFirstSequence) {
  const json document = record("05_mask_on_off");
  for (const auto& [key, run_of_course] :
       {std::pair<std::string, std::string>{"before", "lesson10_causal/"}, {"off", "lesson10_full/"}})
    for (const std::string name : {"weights", "output"})
      expect_course(document, name + "_" + key, select(course_numbers(run_of_course + name), 0, 0), 1e-12);
}

TEST(SeqLen, HasTheBoundsOfTheLiterature) {
  const json document = record("06_seq_len");
  for (const auto& [name, bound] : {std::pair<const char*, double>{"bound_5_10", 0.943},
                                    {"bound_5_20", 0.887},
                                    {"bound_5_50", 0.752},
                                    {"bound_5_1000", 0.129}})
    EXPECT_NEAR(document.at("numbers").at(name).get<double>(), bound, 5e-4) << name;
}

const char* const short_lessons[] = {"01_library",    "02_hand3",       "03_hand3_backward",
                                     "04_identity_w", "05_mask_on_off", "06_seq_len"};

TEST(EveryLesson, SaysTheSameInBothLanguages) {
  for (const std::string lesson : short_lessons) {
    SCOPED_TRACE(lesson);
    const json en = record(lesson), vi = record(lesson, "--language vi");
    EXPECT_EQ(en.at("numbers"), vi.at("numbers"));
    ASSERT_EQ(en.at("claims").size(), vi.at("claims").size());
    EXPECT_GE(en.at("claims").size(), 3u);
    for (std::size_t i = 0; i < en.at("claims").size(); ++i) {
      EXPECT_NE(en["claims"][i]["claim"], vi["claims"][i]["claim"]);
      EXPECT_EQ(en["claims"][i]["measured"], vi["claims"][i]["measured"]);
    }
  }
}

TEST(EveryLesson, PrintsPlainTextWhereThereIsNoTerminal) {
  for (const std::string lesson : short_lessons) {
    SCOPED_TRACE(lesson);
    const Outcome got = run(lesson, "--language vi");
    EXPECT_EQ(got.exit_code, 0);
    EXPECT_EQ(got.err, "");
    EXPECT_EQ(got.out.find('\x1b'), std::string::npos);
    EXPECT_EQ(got.out.find('\r'), std::string::npos);
    EXPECT_EQ(got.out.find(" \n"), std::string::npos);
    EXPECT_EQ(got.out.find("\n\n\n"), std::string::npos);
    EXPECT_NE(got.out.find("Hãy để ý: "), std::string::npos);
    EXPECT_NE(got.out.find("--out"), std::string::npos);  // what the pictures need is said
  }
}

TEST(EveryLesson, WritesItsPicturesIntoTheFolder) {
  for (const std::string lesson : short_lessons) {
    SCOPED_TRACE(lesson);
    const TemporaryFolder folder;
    const Outcome got = run(lesson, "--out " + (folder / "new/folder").string());
    ASSERT_EQ(got.exit_code, 0) << got.err;
    int pictures = 0;
    for (const auto& file : std::filesystem::directory_iterator(folder / "new/folder")) {
      const std::string name = file.path().filename().string();
      EXPECT_EQ(name.compare(0, lesson.size() + 1, lesson + "."), 0) << name;
      if (file.path().extension() != ".svg") continue;
      ++pictures;
      EXPECT_NE(got.out.find(name), std::string::npos) << name << " is not announced";
      EXPECT_EQ(text_of(file.path()).compare(0, 4, "<svg"), 0) << name;
    }
    EXPECT_GE(pictures, 1);
  }
}

TEST(Flags, HelpIsInTheLanguageAskedFor) {
  const Outcome en = run("02_hand3", "--help"), vi = run("02_hand3", "--help --language vi");
  for (const Outcome& got : {en, vi}) {
    EXPECT_EQ(got.exit_code, 0);
    EXPECT_EQ(got.err, "");
    for (const char* flag :
         {"--x", "--tokens", "--seed", "--identity", "--no-mask", "--language", "--out", "--quiet"})
      EXPECT_NE(got.out.find(flag), std::string::npos) << flag;
  }
  EXPECT_NE(en.out.find("every token sees all"), std::string::npos);
  EXPECT_NE(vi.out.find("token nào cũng thấy tất cả"), std::string::npos);
}

TEST(Flags, QuietPrintsClaimsOnly) {
  const Outcome got = run("01_library", "--quiet");
  EXPECT_EQ(got.exit_code, 0);
  std::istringstream lines(got.out);
  for (std::string line; std::getline(lines, line);)
    EXPECT_TRUE(line.empty() || line.compare(0, 2, "  ") == 0 ||
                line.find("claims hold") != std::string::npos)
        << line;
}

TEST(Flags, AFolderThatCannotBeMadeIsAnError) {
  const Outcome got = run("01_library", "--out /dev/null/folder");
  EXPECT_EQ(got.exit_code, 1);
  EXPECT_NE(got.err.find("/dev/null/folder"), std::string::npos) << got.err;
}

void expect_usage_error(const std::string& arguments, const std::string& fragment) {
  const Outcome got = run("02_hand3", arguments);
  EXPECT_EQ(got.exit_code, 2) << arguments << "\n" << got.err;
  EXPECT_NE(got.err.find(fragment), std::string::npos) << arguments << "\n" << got.err;
}

TEST(OwnEmbeddings, AreTakenFromAFile) {
  const TemporaryFolder folder;
  std::ofstream(folder / "x.txt") << "# mine\n1 0.5 -2\n\n0,1,0\n1e-1;2\t3\r\n5 5 5\n";
  const std::string file = "--x " + (folder / "x.txt").string();
  const json document = record("02_hand3", file + " --tokens con mèo ngồi mệt");
  expect_course(document, "X", tensor({{1, 0.5, -2}, {0, 1, 0}, {0.1, 2, 3}, {5, 5, 5}}), 0);
  EXPECT_EQ(numbers(document, "weights").shape(), Shape({4, 4}));
  EXPECT_EQ(numbers(document, "W_Q").shape(), Shape({3, 3}));
  const Outcome named = run("02_hand3", file + " --tokens con,mèo,ngồi,mệt");
  EXPECT_NE(named.out.find("\"con\""), std::string::npos);
  EXPECT_EQ(run("02_hand3", file).exit_code, 0);  // names are made up
  EXPECT_EQ(run("02_hand3", file + " --identity --no-mask").exit_code, 0);
  std::ofstream(folder / "one.txt") << "2\n";
  EXPECT_EQ(run("02_hand3", "--x " + (folder / "one.txt").string()).exit_code, 0);
}

TEST(OwnEmbeddings, ABadFileIsExplained) {
  const TemporaryFolder folder;
  const auto refused = [&](const std::string& text, const std::string& fragment) {
    std::ofstream(folder / "x.txt") << text;
    expect_usage_error("--x " + (folder / "x.txt").string(), fragment);
  };
  refused("1 2\nthree 4\n", "x.txt:2: \"three\" is not a number");
  refused("1 2\n3 4x\n", "\"4x\" is not a number");
  refused("1 2\n3\n", "x.txt:2: 1 numbers, but 2 in the rows before");
  refused("1 nan\n", "not a finite number");
  refused("1 inf\n", "not a finite number");
  refused("1 2e6\n", "at most 1e6");
  refused("", "no numbers in it");
  refused("# nothing\n\n", "no numbers in it");
  std::string many;
  for (int i = 0; i < 33; ++i) many += "1\n";
  refused(many, "x.txt:33: more than 32 rows");
  expect_usage_error("--x " + (folder / "absent.txt").string(), "cannot read");
  expect_usage_error("--x " + folder.path().string(), "cannot read");
}

TEST(OwnEmbeddings, WrongUsageIsExplained) {
  expect_usage_error("--tokens only two", "2 names for the 3 rows of x");
  expect_usage_error("--no-such-flag", "--no-such-flag");
  expect_usage_error("--seed -1", "--seed");
  expect_usage_error("--seed 4294967296", "--seed");
  expect_usage_error("--language fr", "--language");
}

}  // namespace
}  // namespace regard::test

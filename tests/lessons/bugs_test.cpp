// The planted-bugs lab as a program: its matrix, and what it keeps to itself while one guesses.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "lessons/program.hpp"

namespace regard::test {
namespace {

using nlohmann::json;

// Bug and the column of the check named for it: gradient check, leaks, row sums, score size, two evaluations,
// cached = full, another length, doctor, batch twice, control run, too good.
const std::map<std::string, std::size_t> named_check = {{"no-scale", 3},
                                                        {"softmax-axis", 2},
                                                        {"mask-after-softmax", 1},
                                                        {"mask-flipped", 1},
                                                        {"key-not-transposed", 6},
                                                        {"gradient-overwritten", 0},
                                                        {"gradients-not-cleared", 8},
                                                        {"dropout-on", 4},
                                                        {"w-v-frozen", 7},
                                                        {"upper-left-mask", 5},
                                                        {"learning-rate", 9},
                                                        {"labels-shifted", 10}};

TEST(Bugs, EveryBugIsFoundByItsCheckAndTheHealthyModelByNone) {
  const json numbers = record("26_bugs").at("numbers");
  ASSERT_EQ(numbers.size(), named_check.size() + 1);
  EXPECT_EQ(numbers.at("healthy"), json(std::vector<double>(11, 0)));
  for (const auto& [bug, check] : named_check) EXPECT_EQ(numbers.at(bug).at(check), 1) << bug;
}

// What a check cannot see it must not see: bugs of the training in a check of the model, and the other way
// round.
TEST(Bugs, ChecksAreSilentAboutWhatTheyDoNotLookAt) {
  const json numbers = record("26_bugs").at("numbers");
  for (const std::string bug : {"learning-rate", "labels-shifted", "upper-left-mask", "w-v-frozen",
                                "gradient-overwritten", "no-scale"}) {
    std::vector<double> only(11, 0);
    only[named_check.at(bug)] = 1;
    EXPECT_EQ(numbers.at(bug), json(only)) << bug;
  }
}

TEST(Bugs, OneBugIsShownFromNearby) {
  for (const auto& [bug, check] : named_check) {
    const Outcome got = run("26_bugs", "--language vi --bug " + bug);
    EXPECT_EQ(got.exit_code, 0) << bug << got.out << got.err;
    EXPECT_NE(got.out.find("  sai:"), std::string::npos) << bug;
    EXPECT_EQ(got.out.find(" \n"), std::string::npos) << bug;
  }
}

TEST(Bugs, GuessingTellsNoNames) {
  const json numbers = record("26_bugs", "--guess").at("numbers");
  for (const auto& [bug, check] : named_check) EXPECT_FALSE(numbers.contains(bug)) << bug;
  for (char patient = 'A'; patient <= 'L'; ++patient) EXPECT_TRUE(numbers.contains(std::string(1, patient)));
  const Outcome got = run("26_bugs", "--guess C");
  EXPECT_EQ(got.exit_code, 0);
  EXPECT_EQ(got.out.find("●"), std::string::npos);  // which would tell the check named for the bug
  for (const auto& [bug, check] : named_check)      // in the list of bugs, and nowhere else
    EXPECT_EQ(got.out.find(bug + " "), got.out.rfind(bug + " ")) << bug;
  EXPECT_NE(got.out.find("Patient C"), std::string::npos);
}

// The lines "  A  no-scale  score size" behind --reveal.
std::map<std::string, std::string> revealed() {
  std::istringstream lines(run("26_bugs", "--guess --reveal").out);
  std::map<std::string, std::string> bugs;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string patient, bug;
    words >> patient >> bug;
    if (patient.size() == 1 && named_check.count(bug) == 1) bugs[patient] = bug;
  }
  return bugs;
}

TEST(Bugs, WhatIsRevealedIsWhatTheMatrixShowed) {
  const std::map<std::string, std::string> bugs = revealed();
  ASSERT_EQ(bugs.size(), named_check.size());
  const json guessed = record("26_bugs", "--guess").at("numbers"), told = record("26_bugs").at("numbers");
  for (const auto& [patient, bug] : bugs) EXPECT_EQ(guessed.at(patient), told.at(bug)) << patient;
}

TEST(Bugs, AnswersAreJudgedOneByOne) {
  const std::map<std::string, std::string> bugs = revealed();
  ASSERT_EQ(bugs.size(), named_check.size());
  const std::string right = bugs.at("A"), wrong = bugs.at("C");
  const Outcome got = run("26_bugs", "--guess --answer A=" + right + " B=" + wrong);
  EXPECT_EQ(got.exit_code, 0) << got.err;
  const auto verdict = [&got](const std::string& answer) {
    const std::size_t from = got.out.find(answer) + answer.size();
    return got.out.substr(from, got.out.find('\n', from) - from);
  };
  EXPECT_NE(verdict("A=" + right).find("right"), std::string::npos) << got.out;
  EXPECT_NE(verdict("B=" + wrong).find("no"), std::string::npos) << got.out;
}

TEST(Bugs, WrongUsageIsExplained) {
  for (const auto& [arguments, fragment] : {std::pair<std::string, std::string>{"--bug typo", "typo"},
                                            {"--reveal", "--guess"},
                                            {"--answer A=no-scale", "--guess"},
                                            {"--guess Z", "\"Z\""},
                                            {"--guess --answer A=typo", "A=typo"},
                                            {"--guess --answer Q=no-scale", "\"Q\""},
                                            {"--guess --bug no-scale", "--guess"}}) {
    const Outcome got = run("26_bugs", arguments);
    EXPECT_EQ(got.exit_code, 2) << arguments;
    EXPECT_NE(got.err.find(fragment), std::string::npos) << arguments << "\n" << got.err;
  }
}

}  // namespace
}  // namespace regard::test

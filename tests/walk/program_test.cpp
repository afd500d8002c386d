// tape_walk and explain as programs: what they say, their exit codes, their files.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "study/temporary_folder.hpp"
#include "support/program.hpp"

namespace walk {
namespace {

using regard::study::TemporaryFolder;

using regard::test::Outcome;
using regard::test::text_of;

Outcome run(const std::string& program, const std::string& arguments, const std::string& input = "") {
  return regard::test::run_program(program + " " + arguments, input);
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(TapeWalkProgram, PrintsTheWholeWalkWithoutCommands) {
  const Outcome got = run(TAPE_WALK, "");
  EXPECT_EQ(got.exit_code, 0);
  EXPECT_EQ(got.err, "");
  for (const char* part : {"Q = X·W_Q: matmul [3, 4] × [4, 4] → [3, 4]", "softmax Z over M",
                           "dX is the sum of 3 parts now", "dW_K is complete: [4, 4]", "0.83041675"})
    EXPECT_TRUE(has(got.out, part)) << part << "\n" << got.out;
}

TEST(TapeWalkProgram, TakesAScriptAndStandardInput) {
  const Outcome script = run(TAPE_WALK, "--script 'step 3; step;print Q; nonsense'");
  const Outcome piped = run(TAPE_WALK, "", "step 3\n\nprint Q\nnonsense\nquit\nstep\n");
  EXPECT_EQ(script.exit_code, 0);
  EXPECT_EQ(piped.exit_code, 0);
  EXPECT_TRUE(has(script.out, "  4/")) << script.out;
  EXPECT_TRUE(has(script.out, "[3, 4]\n        [[ 0.83041675")) << script.out;
  EXPECT_TRUE(has(script.out, "no command here")) << script.out;
  EXPECT_EQ(script.out, piped.out) << "what comes after quit is not done";
}

TEST(TapeWalkProgram, SpeaksVietnamese) {
  const Outcome got = run(TAPE_WALK, "--language vi --script 'help;g 99;p dS'");
  EXPECT_EQ(got.exit_code, 0);
  EXPECT_TRUE(has(got.out, "đi tới một phép toán")) << got.out;
  EXPECT_TRUE(has(got.out, "cần một số nguyên")) << got.out;
  EXPECT_TRUE(has(got.out, "đến ở bước")) << got.out;
}

TEST(TapeWalkProgram, WritesThePage) {
  const TemporaryFolder folder;
  const Outcome got = run(TAPE_WALK, "--out " + (folder / "new").string());
  EXPECT_EQ(got.exit_code, 0) << got.err;
  const std::string page = text_of(folder / "new" / "tape.html");
  EXPECT_TRUE(has(page, "0.830416747087053")) << "unrounded";
  EXPECT_TRUE(has(page, "Content-Security-Policy"));
}

TEST(TapeWalkProgram, AndExplainShowWhatItCost) {
  const Outcome walked = run(TAPE_WALK, "--profile"), explained = run(EXPLAIN, "--profile --language vi");
  EXPECT_EQ(walked.out, run(TAPE_WALK, "").out);
  EXPECT_TRUE(has(walked.err, "softmax_backward")) << walked.err;
  EXPECT_EQ(explained.out, run(EXPLAIN, "--language vi").out);
  EXPECT_TRUE(has(explained.err, "phép toán")) << explained.err;
}

TEST(TapeWalkProgram, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(run(TAPE_WALK, "--language de").exit_code, 2);
  EXPECT_EQ(run(TAPE_WALK, "--mask some").exit_code, 2);
  EXPECT_EQ(run(TAPE_WALK, "--out /proc/nowhere").exit_code, 1);
}

TEST(ExplainProgram, ExplainsARowInTwoLanguages) {
  const Outcome english = run(EXPLAIN, "--query 1"), vietnamese = run(EXPLAIN, "--query 1 --language vi");
  EXPECT_EQ(english.exit_code, 0) << english.err;
  EXPECT_EQ(vietnamese.exit_code, 0) << vietnamese.err;
  EXPECT_TRUE(has(english.out, "raises the score of “the” most")) << english.out;
  EXPECT_TRUE(has(english.out, "hidden by the mask")) << english.out;
  EXPECT_TRUE(has(vietnamese.out, "nâng điểm số của “the” nhiều nhất")) << vietnamese.out;
  EXPECT_TRUE(has(run(EXPLAIN, "--query 0").out, "sees only")) << "causal: the first token sees itself";
}

TEST(ExplainProgram, WritesThePictureAndRefusesOtherRows) {
  const TemporaryFolder folder;
  EXPECT_EQ(run(EXPLAIN, "--out " + folder.path().string()).exit_code, 0);
  EXPECT_TRUE(has(text_of(folder / "explanation.svg"), "</svg>"));
  EXPECT_EQ(run(EXPLAIN, "--query 3").exit_code, 2);
  EXPECT_EQ(run(EXPLAIN, "--query -1").exit_code, 2);
  EXPECT_EQ(run(EXPLAIN, "--out /proc/nowhere").exit_code, 1);
}

}  // namespace
}  // namespace walk

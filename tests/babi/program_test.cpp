// train_babi as a program: exit codes, streams, files.

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <nlohmann/json.hpp>

#include <regard/study/frame.hpp>

#include "babi/synthetic.hpp"
#include "study/temporary_folder.hpp"
#include "support/program.hpp"

namespace babi {
namespace {

using nlohmann::json;
using regard::study::TemporaryFolder;

using regard::test::Outcome;
using regard::test::text_of;

Outcome run(const std::string& arguments) { return regard::test::run_program(std::string(TRAIN_BABI) + " " + arguments); }

void expect_failure(int exit_code, const std::string& arguments, const std::string& fragment) {
  const Outcome got = run(arguments);
  EXPECT_EQ(got.exit_code, exit_code) << arguments << "\n" << got.err;
  EXPECT_EQ(got.out, "") << arguments;
  EXPECT_NE(got.err.find(fragment), std::string::npos) << arguments << "\n" << got.err;
}

class Program : public ::testing::Test {
 protected:
  // Flags of a run that is over at once.
  std::string short_run(int seeds = 2) const {
    return "--data " + data_.path().string() + " --steps 20 --log-every 10 --seeds " + std::to_string(seeds) +
           " ";
  }

  test::DataFolder data_;
  TemporaryFolder folder_;
};

TEST_F(Program, HelpGoesToStandardOutput) {
  const Outcome got = run("--help");
  EXPECT_EQ(got.exit_code, 0);
  EXPECT_EQ(got.err, "");
  for (const char* flag :
       {"--data", "--task", "--size", "--model", "--hops", "--width", "--seed", "--seeds", "--threads",
        "--linear-start", "--age-gaps", "--out", "--save", "--load", "--json", "--quiet"})
    EXPECT_NE(got.out.find(flag), std::string::npos) << flag;
}

TEST_F(Program, WrongUsageExitsWith2AndSaysWhy) {
  const std::string data = "--data " + data_.path().string();
  expect_failure(2, "", "--data");
  expect_failure(2, data + " --no-such-flag", "--no-such-flag");
  expect_failure(2, data + " --task 12", "--task");
  expect_failure(2, data + " --size 5k", "1k, 10k");
  expect_failure(2, data + " --model deep", "hops, window");
  expect_failure(2, data + " --dtype int64", "float32");
  expect_failure(2, data + " --hops 0", "hops");
  expect_failure(2, data + " --width 0", "width");
  expect_failure(2, data + " --steps -1", "steps: expected 0");
  expect_failure(2, data + " --batch 0", "batch");
  expect_failure(2, data + " --seeds 0", "seeds");
  expect_failure(2, data + " --learning-rate nan", "learning-rate");
  expect_failure(2, data + " --linear-start 1.5", "linear-start");
  expect_failure(2, data + " --age-gaps 1", "age-gaps");
}

TEST_F(Program, MissingFilesAreNamed) {
  expect_failure(1, "--data /no/such/folder", "/no/such/folder: not found");
  expect_failure(1, "--data " + data_.training().string(), "is no folder");
  expect_failure(1, "--data " + data_.path().string() + " --task 13", "qa13_compound-coreference_train.txt");
  expect_failure(1, "--data " + data_.path().string() + " --size 10k", "en-10k");
  std::filesystem::remove(data_.test());
  expect_failure(1, "--data " + data_.path().string(), "qa11_basic-coreference_test.txt: not found");
}

TEST_F(Program, TakesTheFolderOfTheFilesThemselves) {
  const Outcome got = run(short_run() + "--json --data " + (data_.path() / "en").string());
  EXPECT_EQ(got.exit_code, 2) << "--data was given twice";
  EXPECT_EQ(run("--data " + (data_.path() / "en").string() + " --steps 1 --seeds 1 --json").exit_code, 0);
}

TEST_F(Program, TheLargeSetMayShareTheTestFileOfTheSmallOne) {
  std::filesystem::create_directories(data_.path() / "en-10k");
  std::filesystem::copy(data_.training(), data_.path() / "en-10k");
  for (const char* folder : {"", "en-10k"}) {
    const Outcome got =
        run("--data " + (data_.path() / folder).string() + " --size 10k --steps 1 --seeds 1 --json --quiet");
    ASSERT_EQ(got.exit_code, 0) << got.err;
    EXPECT_EQ(json::parse(got.out)["size"], "10k");
  }
}

TEST_F(Program, MalformedFilesAreRefusedWithLineAndColumn) {
  const std::string good = test::synthetic_file(60, 1);
  test::write(data_.training(), good + "1 Mary went to the garden.\n3 Where is Mary?\tgarden\t1\n");
  const auto line = std::count(good.begin(), good.end(), '\n') + 2;
  expect_failure(1, short_run() + "--out " + (folder_ / "out").string(),
                 data_.training().string() + ":" + std::to_string(line) + ":1: expected number 2");
  test::write(data_.training(), good.substr(0, good.size() - 1));
  expect_failure(1, short_run(), "cut short");
  test::write(data_.training(), good);
  test::write(data_.test(), "1 Zoe went to the garden.\n2 Where is Zoe?\tgarden\t1\n");
  expect_failure(1, short_run(), "zoe");
}

TEST_F(Program, JsonIsOneLineAndOneObject) {
  const Outcome got = run(short_run() + "--json --model window");
  EXPECT_EQ(got.exit_code, 0) << got.err;
  EXPECT_EQ(std::count(got.out.begin(), got.out.end(), '\n'), 1);
  const json summary = json::parse(got.out);
  for (const char* key :
       {"task", "size", "model", "seed", "runs", "accuracy_train", "accuracy_validation", "accuracy_test",
        "answer_mass", "edge_mass", "heuristics", "interrupted", "seconds"})
    EXPECT_TRUE(summary.contains(key)) << key;
  EXPECT_EQ(summary["task"], 11);
  EXPECT_EQ(summary["size"], "1k");
  EXPECT_EQ(summary["model"], "window");
  EXPECT_EQ(summary["interrupted"], false);
  EXPECT_TRUE(summary["edge_mass"].is_number());
  EXPECT_EQ(summary["heuristics"]["after_last_naming"], 1.0);
  ASSERT_EQ(summary["runs"].size(), 2u);
  EXPECT_EQ(summary["runs"][1]["seed"], 2);
  EXPECT_EQ(summary["runs"][1]["steps"], 20);
  EXPECT_TRUE(json::parse(run(short_run() + "--json --model hops").out)["edge_mass"]
                  .is_null());  // hops have no such edge
}

TEST_F(Program, ThreadsDoNotChangeTheNumbers) {
  const auto numbers = [this](const char* threads) {
    json summary = json::parse(run(short_run(3) + "--json --threads " + threads).out);
    summary.erase("seconds");
    for (json& one : summary["runs"]) one.erase("seconds");
    return summary;
  };
  EXPECT_EQ(numbers("1"), numbers("3"));
}

TEST_F(Program, ProgressGoesToStandardErrorAndTheReportShowsFiveStories) {
  const Outcome got = run(short_run());
  EXPECT_EQ(got.exit_code, 0);
  EXPECT_NE(got.err.find("40/40"), std::string::npos) << got.err;
  EXPECT_NE(got.out.find("location of the last sentence"), std::string::npos);
  std::size_t stories = 0;
  for (std::size_t at = got.out.find("of the test file"); at != std::string::npos;
       at = got.out.find("of the test file", at + 1))
    ++stories;
  EXPECT_EQ(stories, 5u);
  EXPECT_NE(got.out.find("question "), std::string::npos);
  EXPECT_NE(got.out.find(" > "), std::string::npos);
  EXPECT_EQ(run(short_run() + "--quiet").err, "");
}

TEST_F(Program, LeavesItsFiles) {
  const std::filesystem::path out = folder_ / "new" / "out";
  const Outcome got = run(short_run() + "--json --out " + out.string());
  ASSERT_EQ(got.exit_code, 0) << got.err;
  EXPECT_EQ(json::parse(text_of(out / "summary.json")), json::parse(got.out));
  EXPECT_EQ(regard::study::read_frames(out / "metrics.jsonl").size(), 3u);  // steps 0, 10 and 20
  EXPECT_NE(text_of(out / "curves.svg").find("</svg>"), std::string::npos);
  EXPECT_NE(text_of(out / "attention.svg").find("</svg>"), std::string::npos);
  EXPECT_EQ(text_of(out / "attention.png").substr(1, 3), "PNG");
  EXPECT_NE(text_of(out / "film.html").find("</html>"), std::string::npos);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(out), {}), 6) << "and nothing else";
}

TEST_F(Program, AFolderThatCannotBeWrittenIsFoundBeforeTheTraining) {
  test::write(folder_ / "file", "");
  expect_failure(1, short_run() + "--out " + (folder_ / "file" / "out").string(), "cannot create the folder");
}

TEST_F(Program, ALoadedModelGivesWhatTheSavedOneGave) {
  const std::string file = (folder_ / "model.safetensors").string();
  const json trained =
      json::parse(run(short_run() + "--json --model window --width 8 --seed 5 --save " + file).out);
  const std::string data = "--data " + data_.path().string();
  const Outcome got = run(data + " --json --load " + file);
  ASSERT_EQ(got.exit_code, 0) << got.err;
  const json loaded = json::parse(got.out);
  for (const char* key :
       {"task", "model", "accuracy_train", "accuracy_validation", "accuracy_test", "edge_mass"})
    EXPECT_EQ(loaded[key], trained[key]) << key;
  expect_failure(2, data + " --width 16 --load " + file, "holds a model with width 8");
  test::write(data_.training(),
              "1 Zoe went to the garden.\n2 Where is Zoe?\tgarden\t1\n1 Zoe went to the garden.\n2 Where is "
              "Zoe?\tgarden\t1\n");
  test::write(data_.test(), text_of(data_.training()));
  expect_failure(1, data + " --load " + file, "other words or answers");
  test::write(file, text_of(file).substr(0, 100));
  expect_failure(1, data + " --load " + file, file);
  expect_failure(1, data + " --load " + (folder_ / "none").string(), "none");
}

// Starts the program with standard output into a file, interrupts it once it has reported progress.
Outcome interrupted_run(const std::vector<std::string>& arguments, const TemporaryFolder& folder) {
  const std::string out = (folder / "out").string(), err = (folder / "err").string();
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    if (freopen(out.c_str(), "w", stdout) != nullptr && freopen(err.c_str(), "w", stderr) != nullptr)
      execv(TRAIN_BABI, argv.data());
    _exit(127);
  }
  for (int i = 0; i < 600 && text_of(err).find("steps/s") == std::string::npos; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  kill(child, SIGINT);
  int status = 0;
  waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, text_of(out), text_of(err)};
}

TEST_F(Program, AnInterruptStillWritesWhatThereIs) {
  const std::string out = (folder_ / "pictures").string();
  const Outcome got = interrupted_run({"train_babi", "--data", data_.path().string(), "--steps", "50000000",
                                       "--seeds", "2", "--json", "--out", out},
                                      folder_);
  EXPECT_EQ(got.exit_code, 130) << got.err;
  EXPECT_EQ(json::parse(got.out)["interrupted"], true);
  EXPECT_TRUE(std::filesystem::exists(out + "/film.html"));
}

}  // namespace
}  // namespace babi

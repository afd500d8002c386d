// train_coreference as a program: exit codes, streams, files.
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include <regard/study/frame.hpp>

#include "study/temporary_folder.hpp"
#include "support/program.hpp"

namespace {

using nlohmann::json;
using regard::study::TemporaryFolder;

using regard::test::Outcome;
using regard::test::text_of;

Outcome run(const std::string& arguments) { return regard::test::run_program(std::string(TRAIN_COREFERENCE) + " " + arguments); }

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

void expect_usage_error(const std::string& arguments, const std::string& fragment) {
  const Outcome got = run(arguments);
  EXPECT_EQ(got.exit_code, 2) << arguments << "\n" << got.err;
  EXPECT_EQ(got.out, "") << arguments;
  EXPECT_NE(got.err.find(fragment), std::string::npos) << arguments << "\n" << got.err;
}

TEST(Program, HelpGoesToStandardOutput) {
  const Outcome got = run("--help");
  EXPECT_EQ(got.exit_code, 0);
  EXPECT_EQ(got.err, "");
  for (const char* flag :
       {"--task",           "--language", "--model",     "--mask",       "--scores",    "--freeze-embeddings",
        "--shuffle-labels", "--heads",    "--width",     "--head-width", "--optimizer", "--learning-rate",
        "--batch",          "--steps",    "--sentences", "--seed",       "--seeds",     "--dtype",
        "--threads",        "--out",      "--save",      "--load",       "--sentence",  "--json",
        "--quiet"})
    EXPECT_NE(got.out.find(flag), std::string::npos) << flag;
}

TEST(Program, WrongUsageExitsWith2AndSaysWhy) {
  expect_usage_error("--no-such-flag", "--no-such-flag");
  expect_usage_error("--steps many", "many");
  expect_usage_error("--steps -1", "steps: expected 0");
  expect_usage_error("--heads 0", "heads");
  expect_usage_error("--batch 0", "batch");
  expect_usage_error("--width 0", "width");
  expect_usage_error("--learning-rate -1", "learning rate");
  expect_usage_error("--learning-rate nan", "learning rate");
  expect_usage_error("--seeds 0", "seeds");
  expect_usage_error("--task coreference", "agreement, twist or mutual");
  expect_usage_error("--model deep", "raw, clause, two-layer");
  expect_usage_error("--mask padding", "none, causal");
  expect_usage_error("--scores none", "learned, shared, embedding, uniform");
  expect_usage_error("--optimizer lion", "adam, sgd");
  expect_usage_error("--language fr", "vi");
  expect_usage_error("--dtype int64", "float32");
  expect_usage_error("--task mutual --model clause", "one attention map in two rows");
  expect_usage_error("--task mutual --model two-layer", "second layer");
  expect_usage_error("--task mutual --mask causal", "future");
  expect_usage_error("--scores embedding --heads 2", "all heads would be the same");
  expect_usage_error("--seeds 2 --save x", "--seeds trains several models");
}

TEST(Program, AnUnknownWordIsAnErrorThatListsTheLexicon) {
  expect_usage_error("--steps 0 --sentence 'con voi ngồi trên thảm vì nó mệt'", "voi");
  expect_usage_error("--steps 0 --sentence 'con voi ngồi trên thảm vì nó mệt'", "mèo chó chim");
  expect_usage_error("--steps 0 --sentence 'con mèo ngồi trên thảm'", "pronoun");
}

TEST(Program, JsonIsOneLineAndOneObject) {
  const Outcome got = run("--steps 20 --json");
  EXPECT_EQ(got.exit_code, 0);
  EXPECT_EQ(lines(got.out), 1u);
  const json run = json::parse(got.out);
  for (const char* key : {"task", "language", "model", "mask", "scores", "seed", "steps", "seconds",
                          "accuracy", "candidate_accuracy", "mass", "entropy", "heldout_accuracy",
                          "heldout_mass", "long1_accuracy", "long2_accuracy", "seed_sentences"})
    EXPECT_TRUE(run.contains(key)) << key;
  ASSERT_EQ(run["seed_sentences"].size(), 2u);
  EXPECT_EQ(run["seed_sentences"][0]["text"], "Con mèo ngồi trên thảm vì nó mệt");
  EXPECT_EQ(run["seed_sentences"][0]["antecedent"], "mèo");
  EXPECT_EQ(run["seed_sentences"][1]["antecedent"], "thảm");
  EXPECT_EQ(run["steps"], 20);
}

TEST(Program, TasksWithoutSeedSentencesHaveNone) {
  const json run = json::parse(::run("--task agreement --steps 5 --json --quiet").out);
  EXPECT_TRUE(run["seed_sentences"].is_array());
  EXPECT_EQ(run["seed_sentences"].size(), 0u);
}

TEST(Program, SeveralSeedsGiveRunsAndTheirMedian) {
  const std::string flags = "--steps 20 --json --quiet --seed 4 --seeds 3";
  const json one_thread = json::parse(run(flags + " --threads 1").out);
  ASSERT_EQ(one_thread["runs"].size(), 3u);
  std::vector<double> accuracies;
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(one_thread["runs"][i]["seed"], 4 + i);
    accuracies.push_back(one_thread["runs"][i]["accuracy"]);
  }
  std::sort(accuracies.begin(), accuracies.end());
  EXPECT_EQ(one_thread["median"]["accuracy"], accuracies[1]);

  json three_threads = json::parse(run(flags + " --threads 3").out);
  json alone = json::parse(run("--steps 20 --json --quiet --seed 5").out);
  for (std::size_t i = 0; i < 3; ++i) {
    json a = one_thread["runs"][i], b = three_threads["runs"][i];
    a.erase("seconds");
    b.erase("seconds");
    EXPECT_EQ(a, b) << "seed " << 4 + i;
  }
  json second = one_thread["runs"][1];
  second.erase("seconds");
  alone.erase("seconds");
  EXPECT_EQ(second, alone);
}

TEST(Program, QuietAndNotATerminalMeansPlainLines) {
  EXPECT_EQ(run("--steps 20 --quiet").err, "");
  const Outcome got = run("--steps 20");
  EXPECT_EQ(got.err.find('\x1b'), std::string::npos) << "escape sequences without a terminal";
  EXPECT_EQ(got.out.find('\x1b'), std::string::npos);
  EXPECT_NE(got.out.find("held out"), std::string::npos);
}

TEST(Program, WritesWhatItPromises) {
  const TemporaryFolder folder;
  const std::filesystem::path out = folder / "deep/er";
  ASSERT_EQ(run("--steps 25 --quiet --out " + out.string()).exit_code, 0);
  for (const char* file :
       {"metrics.jsonl", "summary.json", "curves.svg", "attention.svg", "attention.png", "film.html"})
    EXPECT_GT(std::filesystem::file_size(out / file), 500u) << file;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out)) files += entry.is_regular_file();
  EXPECT_EQ(files, 6u) << "something else was left behind";
  EXPECT_EQ(regard::study::read_frames(out / "metrics.jsonl").size(), 4u);  // steps 0, 10, 20, 25
  EXPECT_EQ(json::parse(text_of(out / "summary.json"))["steps"], 25);
}

// What --json prints, but for the time it took.
json without_seconds(const std::string& text) {
  json summary = json::parse(text);
  summary.erase("seconds");
  if (!summary.contains("runs")) return summary;
  summary["median"].erase("seconds");
  for (json& run : summary["runs"]) run.erase("seconds");
  return summary;
}

TEST(Program, AProfileGoesToStandardErrorAndChangesNothing) {
  for (const std::string seeds : {"1", "3"}) {
    const std::string arguments = "--json --quiet --steps 20 --seeds " + seeds;
    const Outcome plain = run(arguments), profiled = run(arguments + " --profile");
    EXPECT_EQ(plain.err, "");
    EXPECT_EQ(profiled.exit_code, 0);
    EXPECT_EQ(without_seconds(profiled.out), without_seconds(plain.out));
    for (const char* part : {"operation", "matmul", "backward", "GFLOP/s", "(between them)"})
      EXPECT_NE(profiled.err.find(part), std::string::npos) << part << "\n" << profiled.err;
    // One Adam step after another, of every run.
    std::istringstream lines(profiled.err);
    long calls = 0;
    for (std::string line; std::getline(lines, line);)
      if (std::string op, phase; line.rfind("adam ", 0) == 0)
        std::istringstream(line) >> op >> phase >> calls;
    EXPECT_EQ(calls % (20 * std::stol(seeds)), 0) << profiled.err;
    EXPECT_GT(calls, 0) << profiled.err;
  }
}

TEST(Program, AFolderThatCannotBeWrittenIsAFailureBeforeTraining) {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "in the way";
  const Outcome got = run("--steps 1000000 --quiet --out " + (folder / "file/below").string());
  EXPECT_EQ(got.exit_code, 1);
  EXPECT_NE(got.err.find("file/below"), std::string::npos) << got.err;
}

TEST(Program, ASavedModelAnswersForANewSentence) {
  const TemporaryFolder folder;
  const std::string model = (folder / "model.safetensors").string();
  ASSERT_EQ(run("--quiet --steps 300 --save " + model).exit_code, 0);

  const json loaded =
      json::parse(run("--json --quiet --load " + model + " --sentence 'Con chó nằm trên ghế vì nó ấm'").out);
  EXPECT_EQ(loaded["steps"], 0);
  EXPECT_EQ(loaded["sentence"]["answer"], "ghế");
  EXPECT_EQ(loaded["sentence"]["tokens"].size(), 8u);
  const Outcome shown = run("--quiet --load " + model + " --sentence 'con chó nằm trên ghế vì nó mệt'");
  EXPECT_NE(shown.out.find("\"nó\" is taken for \"chó\""), std::string::npos) << shown.out;

  const json further = json::parse(run("--json --quiet --steps 10 --load " + model).out);
  EXPECT_EQ(further["steps"], 10);
  expect_usage_error("--load " + model + " --heads 2", "--heads 2 does not fit");

  std::filesystem::resize_file(model, std::filesystem::file_size(model) - 1);
  const Outcome broken = run("--quiet --load " + model);
  EXPECT_EQ(broken.exit_code, 1);
  EXPECT_NE(broken.err.find("model.safetensors"), std::string::npos) << broken.err;
  EXPECT_EQ(run("--quiet --load " + (folder / "none").string()).exit_code, 1);
}

TEST(Program, AnInterruptWritesWhatThereIs) {
  const TemporaryFolder folder;
  const std::string out = (folder / "out").string();
  const Outcome got = run("--steps 10000000 --quiet --json --out " + out +
                          " & child=$!; sleep 2; kill -INT $child; wait $child");
  EXPECT_EQ(got.exit_code, 130) << got.err;
  const json summary = json::parse(text_of(folder / "out/summary.json"));
  EXPECT_TRUE(summary["interrupted"].get<bool>());
  EXPECT_GT(summary["steps"].get<int>(), 0);
  EXPECT_TRUE(std::filesystem::exists(folder / "out/film.html"));
}

}  // namespace

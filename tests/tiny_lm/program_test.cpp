// train_tiny_lm as a program: exit codes, streams, files.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include <regard/study/frame.hpp>

#include "study/temporary_folder.hpp"
#include "support/program.hpp"
#include "tiny_lm/text.hpp"

namespace {

using nlohmann::json;
using regard::study::TemporaryFolder;

using regard::test::Outcome;
using regard::test::text_of;

Outcome run(const std::string& arguments) { return regard::test::run_program(std::string(TRAIN_TINY_LM) + " " + arguments); }

void expect_error(int exit_code, const std::string& arguments, const std::string& fragment) {
  const Outcome got = run(arguments);
  EXPECT_EQ(got.exit_code, exit_code) << arguments << "\n" << got.err;
  EXPECT_EQ(got.out, "") << arguments;
  EXPECT_NE(got.err.find(fragment), std::string::npos) << arguments << "\n" << got.err;
}

/// Of a quick run; what takes time is left out.
std::string without_seconds(std::string text) {
  const std::size_t at = text.find(" steps in ");
  return at == std::string::npos ? text : text.erase(at, text.find(" s", at + 10) - at);
}

const std::string quick = "--quiet --width 8 --heads 2 --steps 10 --sample 40 ";

TEST(Program, HelpNamesEachFlag) {
  const Outcome got = run("--help");
  EXPECT_EQ(got.exit_code, 0);
  EXPECT_EQ(got.err, "");
  for (const char* flag : {"--text",        "--language",       "--width",     "--heads", "--layers",
                           "--context",     "--attention-only", "--dropout",   "--dtype", "--steps",
                           "--batch",       "--learning-rate",  "--log-every", "--seed",  "--sample",
                           "--temperature", "--top-k",          "--prompt",    "--out",   "--save",
                           "--load",        "--quiet"})
    EXPECT_NE(got.out.find(flag), std::string::npos) << flag;
}

TEST(Program, WrongUsageExitsWith2AndSaysWhy) {
  expect_error(2, "--no-such-flag", "--no-such-flag");
  expect_error(2, "--steps many", "many");
  expect_error(2, "--steps -1", "steps: expected 0");
  expect_error(2, "--width 50", "positions turn pairs");
  expect_error(2, "--heads 0", "heads");
  expect_error(2, "--layers 0", "layers");
  expect_error(2, "--context 0", "context");
  expect_error(2, "--dropout 1", "dropout: expected 0 or more");
  expect_error(2, "--temperature -1", "temperature");
  expect_error(2, "--top-k -2", "top-k");
  expect_error(2, "--sample -1", "sample");
  expect_error(2, "--language fr", "neither vi nor en");
  expect_error(2, "--dtype int64", "float32 or float64");
  expect_error(2, "--steps 1000000 --prompt '€'", "'€' (U+20AC) is not among the");
  expect_error(2, "--steps 1000000 --prompt $(printf '\\377')", "not UTF-8");
  expect_error(2, "--load x --save y", "--save belongs to training");
  expect_error(2, "--steps 1 --context 4000", "needs at least 4001");
}

TEST(Program, ABadFileIsAFailureThatNamesIt) {
  const TemporaryFolder folder;
  const std::string path = (folder / "text").string();
  const auto with = [&](const std::string& bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return "--steps 1000000 --text " + path;
  };
  expect_error(1, "--steps 1 --text " + (folder / "none").string(), "none: cannot be read");
  expect_error(1, "--steps 1 --text " + folder.path().string(), "is a folder");
  expect_error(1, with(""), "text: is empty");
  expect_error(1,
               with(std::string("\x7F"
                                "ELF\0\0",
                                6)),
               "is no text");
  expect_error(1, with("caf\xE9 noir"), "text: not UTF-8: byte 0x20 at offset 4");
  expect_error(2, with("too short"), "the text has 9 characters");
  std::ofstream(folder / "file") << "in the way";
  expect_error(1, "--steps 1000000 --out " + (folder / "file/below").string(), "file/below");
}

TEST(Program, ReportsEntropiesAndRepeatsItself) {
  for (const std::string language : {"vi", "en"}) {
    const Outcome got = run(quick + "--language " + language);
    EXPECT_EQ(got.exit_code, 0) << got.err;
    EXPECT_EQ(got.err, "");
    for (const char* word : {"(unigram)", "(bigram)", "still above the bigram entropy"})
      EXPECT_NE(got.out.find(word), std::string::npos) << word << "\n" << got.out;
    EXPECT_EQ(got.out.find('\x1b'), std::string::npos);
    EXPECT_EQ(without_seconds(run(quick + "--language " + language).out), without_seconds(got.out));
    EXPECT_NE(without_seconds(run(quick + "--seed 2 --language " + language).out), without_seconds(got.out));
  }
}

TEST(Program, NotATerminalMeansPlainLines) {
  const Outcome got = run("--width 8 --heads 2 --steps 10");
  EXPECT_EQ(got.err.find('\x1b'), std::string::npos) << got.err;
  EXPECT_NE(got.err.find("the bigram's"), std::string::npos) << got.err;
}

TEST(Program, LearnsAFileOfYourOwn) {
  const TemporaryFolder folder;
  const std::string path = (folder / "text").string();
  std::ofstream file(path);
  for (int i = 0; i < 40; ++i) file << "một hai ba bốn năm 😀.\r\n";
  file.close();
  const Outcome got =
      run("--quiet --width 16 --heads 2 --steps 150 --temperature 0 --sample 22 --text " + path);
  EXPECT_EQ(got.exit_code, 0) << got.err;
  EXPECT_NE(got.out.find("880 characters"), std::string::npos) << got.out;
  EXPECT_NE(got.out.find("\nmột hai ba bốn năm 😀.\n"), std::string::npos) << got.out;
}

TEST(Program, WritesWhatItPromises) {
  const TemporaryFolder folder;
  const std::filesystem::path out = folder / "deep/er";
  ASSERT_EQ(run(quick + "--log-every 5 --out " + out.string()).exit_code, 0);
  for (const char* file : {"metrics.jsonl", "curves.svg", "film.html", "attention-layer-1.svg",
                           "attention-layer-1.png", "attention-layer-2.svg", "attention-layer-2.png"})
    EXPECT_GT(std::filesystem::file_size(out / file), 500u) << file;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out)) files += entry.is_regular_file();
  EXPECT_EQ(files, 8u) << "something else was left behind";
  EXPECT_EQ(regard::study::read_frames(out / "metrics.jsonl").size(), 3u);  // steps 0, 5, 10
  const json summary = json::parse(text_of(out / "summary.json"));
  EXPECT_EQ(summary["steps"], 10);
  EXPECT_TRUE(summary["below_bigram_since"].is_null());
  EXPECT_EQ(summary["bigram_entropy"].get<double>(),
            tiny_lm::entropies(tiny_lm::bundled_text(tiny_lm::Language::vietnamese)).bigram);
}

TEST(Program, ASavedModelWritesAndLearnsOn) {
  const TemporaryFolder folder;
  const std::string model = (folder / "model.safetensors").string();
  const Outcome trained = run(quick + "--language en --dtype float64 --prompt 'The ' --save " + model);
  ASSERT_EQ(trained.exit_code, 0) << trained.err;
  const Outcome written = run("--load " + model + " --prompt 'The ' --sample 40");
  EXPECT_EQ(written.exit_code, 0) << written.err;
  EXPECT_EQ(written.out.substr(0, 4), "The ");
  EXPECT_EQ(trained.out.substr(trained.out.size() - written.out.size()), written.out);
  EXPECT_EQ(run("--load " + model + " --prompt 'The ' --sample 40 --seed 1").out, written.out);
  EXPECT_NE(run("--load " + model + " --prompt 'The ' --sample 40 --top-k 2").out, written.out);

  EXPECT_EQ(run("--quiet --language en --steps 5 --load " + model).exit_code, 0);
  expect_error(2, "--quiet --language vi --steps 5 --load " + model,
               "is not among the 46 that the model knows");
  expect_error(2, "--quiet --width 16 --load " + model, "--width 16 does not fit");
  std::filesystem::resize_file(model, std::filesystem::file_size(model) - 1);
  expect_error(1, "--load " + model, "model.safetensors");
  expect_error(1, "--load " + (folder / "none").string(), "none");
}

TEST(Program, AnInterruptWritesWhatThereIs) {
  const TemporaryFolder folder;
  const std::string out = (folder / "out").string();
  const Outcome got =
      run("--steps 10000000 --quiet --out " + out + " & child=$!; sleep 2; kill -INT $child; wait $child");
  EXPECT_EQ(got.exit_code, 130) << got.err;
  EXPECT_TRUE(json::parse(text_of(folder / "out/summary.json"))["interrupted"].get<bool>());
  EXPECT_NE(got.out.find("(interrupted)"), std::string::npos);
}

}  // namespace

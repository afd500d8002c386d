// What is known of tasks 11 and 13 holds for the files as this reader sees them. The files are not part of
// the project: REGARD_DATA names the folder that holds babi/, by default shared/data beside the source tree.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "babi/heuristics.hpp"
#include "babi/questions.hpp"

namespace babi {
namespace {

namespace fs = std::filesystem;

fs::path babi_folder() {
  const char* data = std::getenv("REGARD_DATA");
  return (data != nullptr ? fs::path(data) : fs::path(REGARD_SOURCE_DIR) / ".." / "shared" / "data") / "babi";
}

class BabiFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    // The data has a licence of its own and is not shipped; everything below checks facts about it.
    if (!fs::exists(babi_folder()))
      GTEST_SKIP() << "no bAbI files at " << babi_folder()
                   << "; set REGARD_DATA to the folder that holds babi/";
  }

  static std::vector<StoryQuestion> read(const std::string& file) {
    return read_questions((babi_folder() / file).string());
  }
};

constexpr const char* task_11 = "qa11_basic-coreference";
constexpr const char* task_13 = "qa13_compound-coreference";

TEST_F(BabiFiles, AllAreReadable) {
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(babi_folder())) {
    const std::string name = entry.path().filename().string();
    if (name.substr(0, 2) != "qa") continue;
    const std::size_t expected = entry.path().parent_path().filename() == "en-10k" ? 10000 : 1000;
    EXPECT_EQ(read_questions(entry.path().string()).size(), expected) << entry.path();
  }
}

TEST_F(BabiFiles, HeuristicsReachThePublishedFigures) {
  struct Figures {
    const char* task;
    double majority, last_location, after_last_naming;
  };
  for (const Figures& f : {Figures{task_11, 0.187, 0.751, 1.0}, Figures{task_13, 0.183, 0.944, 1.0}}) {
    const std::vector<StoryQuestion> test = read("en/" + std::string(f.task) + "_test.txt");
    const std::string most = majority_answer(test);
    EXPECT_DOUBLE_EQ(accuracy([&most](const StoryQuestion&) { return most; }, test), f.majority) << f.task;
    EXPECT_DOUBLE_EQ(accuracy(last_location, test), f.last_location) << f.task;
    EXPECT_DOUBLE_EQ(accuracy(after_last_naming, test), f.after_last_naming) << f.task;
  }
  EXPECT_DOUBLE_EQ(accuracy(last_fitting_pronoun, read("en/" + std::string(task_11) + "_test.txt")), 0.918);
}

TEST_F(BabiFiles, StoriesHaveTheKnownShape) {
  for (const char* task : {task_11, task_13}) {
    const std::vector<StoryQuestion> train = read("en/" + std::string(task) + "_train.txt");
    const std::vector<StoryQuestion> test = read("en/" + std::string(task) + "_test.txt");
    const Vocabulary vocabulary(train);
    EXPECT_EQ(vocabulary.answers(), 6) << task;
    EXPECT_EQ(encode(test, vocabulary).size(), 1000u);  // no word of the test is new
    for (const auto* set : {&train, &test})
      for (const StoryQuestion& q : *set) {
        EXPECT_GE(q.sentences.size(), 2u);
        EXPECT_LE(q.sentences.size(), 10u);
        EXPECT_EQ(q.sentences.size() % 2, 0u);  // naming sentence, pronoun sentence, naming sentence, ...
        // The pronoun sentence and, just before it, that of its antecedent.
        ASSERT_EQ(q.supporting.size(), 2u);
        EXPECT_EQ(q.supporting[1], q.supporting[0] + 1);
        EXPECT_EQ(q.supporting[0] % 2, 0u);
      }
    const ValidationSplit split = split_validation(train, 0.1, regard::Rng(1));
    EXPECT_EQ(split.validation.size(), 100u);
    EXPECT_EQ(split.training.size(), 900u);
  }
}

TEST_F(BabiFiles, VocabulariesHave26WordsAndPadding) {
  for (const char* task : {task_11, task_13})
    EXPECT_EQ(Vocabulary(read("en/" + std::string(task) + "_train.txt")).words(), 26 + 1) << task;
}

}  // namespace
}  // namespace babi

// Stories made here, in the format of bAbI's task 11: no file of the data set is needed to see that a model
// learns.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>

#include <regard/random.hpp>

#include "study/temporary_folder.hpp"

namespace babi::test {

inline void write(const std::filesystem::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
}

/// `questions` of them: stories of 2 to 10 sentences in which naming and pronoun sentences take turns, with a
/// question after every second one.
inline std::string synthetic_file(int questions, std::uint64_t seed) {
  constexpr std::array<const char*, 4> people{"Daniel", "John", "Mary", "Sandra"};  // two of each pronoun
  constexpr std::array<const char*, 4> places{"garden", "kitchen", "office", "bedroom"};
  regard::Rng rng(seed);
  const auto any = [&rng] { return static_cast<std::size_t>(rng.below(4)); };
  std::string text;
  for (int asked = 0; asked < questions;) {
    std::array<std::string, 4> place, facts;  // where each person was told to be last, and by which lines
    for (int line = 1; line < 15 && asked < questions; line += 3, ++asked) {
      const std::size_t who = any();
      text += fmt::format("{} {} went to the {}.\n", line, people[who], places[any()]);
      place[who] = places[any()];
      text += fmt::format("{} Then {} moved to the {}.\n", line + 1, who < 2 ? "he" : "she", place[who]);
      facts[who] = fmt::format("{} {}", line, line + 1);
      std::size_t about = any();
      while (place[about].empty()) about = any();
      text += fmt::format("{} Where is {}? \t{}\t{}\n", line + 2, people[about], place[about], facts[about]);
    }
  }
  return text;
}

/// A folder with en/ and both files of task 11, gone at its end.
class DataFolder {
 public:
  explicit DataFolder(int training_questions = 800) {
    std::filesystem::create_directories(path() / "en");
    write(training(), synthetic_file(training_questions, 1));
    write(test(), synthetic_file(200, 2));
  }

  const std::filesystem::path& path() const { return folder_.path(); }
  std::filesystem::path training() const { return path() / "en" / "qa11_basic-coreference_train.txt"; }
  std::filesystem::path test() const { return path() / "en" / "qa11_basic-coreference_test.txt"; }

 private:
  regard::study::TemporaryFolder folder_;
};

}  // namespace babi::test

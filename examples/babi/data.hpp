#pragma once
// The files of one task, split and numbered.

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "babi/questions.hpp"

namespace babi {

/// How many training questions the files have: 1,000 (folder en) or 10,000 (folder en-10k).
enum class DataSize { small, large };
/// "1k" or "10k".
std::string_view name(DataSize size);
/// Throws std::invalid_argument for another name.
DataSize size_of(std::string_view name);

struct Files {
  std::filesystem::path training, test;
};
/// The files of a task (11 or 13) in the folder en or en-10k of `folder`, or in `folder` itself; the large
/// set may share the test file of en. Throws
/// regard::IoError that names the folder or the file that was looked for.
Files find_files(const std::filesystem::path& folder, int task, DataSize size);

/// Questions in words, and the same in numbers.
struct Part {
  std::vector<StoryQuestion> text;
  std::vector<Question> questions;
};

/// Plain numbers: threads may read it at the same time.
struct Data {
  Vocabulary vocabulary;  // of the training file
  Part training;          // nine tenths of the training file
  Part validation;        // the stories of the rest
  Part test;
};
/// `seed` decides which stories are set aside. Throws regard::IoError for a malformed file, with line and
/// column, and regard::ValueError for a word or answer of the test that training does not have.
Data load_data(const Files& files, std::uint64_t seed);

}  // namespace babi

#include "babi/data.hpp"

#include <stdexcept>

#include <fmt/format.h>

#include <regard/error.hpp>
#include <regard/random.hpp>

namespace babi {
namespace {

namespace fs = std::filesystem;

constexpr double validation_share = 0.1;

std::string task_name(int task) {
  if (task == 11) return "qa11_basic-coreference";
  if (task == 13) return "qa13_compound-coreference";
  throw std::invalid_argument(fmt::format("task: expected 11 or 13, got {}", task));
}

Part part_of(std::vector<StoryQuestion> text, const Vocabulary& vocabulary) {
  std::vector<Question> questions = encode(text, vocabulary);
  return {std::move(text), std::move(questions)};
}

}  // namespace

std::string_view name(DataSize size) {
  return size == DataSize::small ? "1k" : "10k";
}

DataSize size_of(std::string_view name) {
  if (name == "1k") return DataSize::small;
  if (name == "10k") return DataSize::large;
  throw std::invalid_argument(fmt::format("size: '{}' is not one of 1k, 10k", name));
}

Files find_files(const fs::path& folder, int task, DataSize size) {
  const std::string training = task_name(task) + "_train.txt", test = task_name(task) + "_test.txt";
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    throw regard::IoError(
        fmt::format("{}: {}; expected the folder that holds en/ and en-10k/, or one that holds {}",
                    folder.string(), fs::exists(folder, ignored) ? "is no folder" : "not found", training));
  const fs::path usual = folder / (size == DataSize::small ? "en" : "en-10k");
  for (const fs::path& candidate : {usual, folder}) {
    if (!fs::exists(candidate / training, ignored)) continue;
    // The large set comes without a test file of its own in some copies: it is tested on that of the small
    // one.
    const fs::path small = (candidate / ".." / "en").lexically_normal();
    for (const fs::path& place : {candidate, size == DataSize::large ? small : candidate})
      if (fs::exists(place / test, ignored)) return {candidate / training, place / test};
    throw regard::IoError(fmt::format("{}: not found beside {}", (candidate / test).string(), training));
  }
  throw regard::IoError(fmt::format("no file {} in {} or {}", training, usual.string(), folder.string()));
}

Data load_data(const Files& files, std::uint64_t seed) {
  const std::vector<StoryQuestion> training = read_questions(files.training.string());
  ValidationSplit split = split_validation(training, validation_share, regard::Rng(seed));
  const Vocabulary vocabulary(training);
  std::vector<StoryQuestion> test = read_questions(files.test.string());
  try {
    return {vocabulary, part_of(std::move(split.training), vocabulary),
            part_of(std::move(split.validation), vocabulary), part_of(std::move(test), vocabulary)};
  } catch (const regard::ValueError& error) {
    throw regard::ValueError(files.test.string() + ": " + error.what());
  }
}

}  // namespace babi

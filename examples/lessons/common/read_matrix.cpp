#include "lessons/common/read_matrix.hpp"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "lessons/common/lesson.hpp"

namespace lessons {
namespace {

constexpr double largest_number = 1e6;
constexpr const char* separators = " \t,;\r";

double number(const std::string& word, const std::string& where) {
  char* end = nullptr;
  const double value = std::strtod(word.c_str(), &end);
  if (end != word.c_str() + word.size())
    throw UsageError(fmt::format("{}: \"{}\" is not a number", where, word));
  if (!(std::fabs(value) <= largest_number))
    throw UsageError(fmt::format("{}: {} is not a finite number of at most 1e6", where, word));
  return value;
}

std::vector<double> numbers(const std::string& line, const std::string& where) {
  std::vector<double> row;
  for (std::size_t begin = line.find_first_not_of(separators); begin != std::string::npos;) {
    const std::size_t end = std::min(line.find_first_of(separators, begin), line.size());
    row.push_back(number(line.substr(begin, end - begin), where));
    begin = line.find_first_not_of(separators, end);
  }
  return row;
}

}  // namespace

regard::Tensor read_matrix(const std::filesystem::path& path, regard::Size most) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path))
    throw UsageError(fmt::format("cannot read {}", path.string()));
  const auto limit = static_cast<std::size_t>(most);
  std::vector<double> values;
  std::size_t rows = 0, columns = 0;
  std::string line;
  for (std::size_t number_of_line = 1; std::getline(file, line); ++number_of_line) {
    const std::string where = fmt::format("{}:{}", path.string(), number_of_line);
    if (!line.empty() && line[0] == '#') continue;
    const std::vector<double> row = numbers(line, where);
    if (row.empty()) continue;
    if (rows > 0 && row.size() != columns)
      throw UsageError(fmt::format("{}: {} numbers, but {} in the rows before", where, row.size(), columns));
    columns = row.size();
    if (++rows > limit || columns > limit)
      throw UsageError(
          fmt::format("{}: more than {} {}", where, most, rows > limit ? "rows" : "numbers in a row"));
    values.insert(values.end(), row.begin(), row.end());
  }
  if (rows == 0) throw UsageError(fmt::format("{}: no numbers in it", path.string()));
  return regard::from_vector(values, {static_cast<regard::Size>(rows), static_cast<regard::Size>(columns)});
}

}  // namespace lessons

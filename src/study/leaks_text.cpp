// The report of a leak audit, for people.
#include <algorithm>
#include <ostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <regard/study/leaks.hpp>

namespace regard::study {
namespace {

struct Sign {
  const char* text;
  const char* meaning;
};
enum Meaning : std::size_t { nothing, both, values_only, gradient_only, nan_only };
constexpr Sign signs[] = {{"·", "does not depend"},
                          {"●", "depends"},
                          {"v", "changes with it, but its gradient is 0"},
                          {"g", "has a gradient, but does not change with it"},
                          {"n", "does not depend, but NaN gets through, as in 0·NaN"}};

std::vector<Meaning> meanings(const LeakReport& report) {
  const std::vector<bool> values = report.by_values.to_vector<bool>();
  std::vector<bool> gradients = values, nans(values.size());
  if (report.by_gradients.defined()) gradients = report.by_gradients.to_vector<bool>();
  if (report.by_nan.defined()) nans = report.by_nan.to_vector<bool>();
  std::vector<Meaning> found;
  for (std::size_t k = 0; k < values.size(); ++k)
    found.push_back(values[k] && gradients[k] ? both
                    : values[k]               ? values_only
                    : gradients[k]            ? gradient_only
                    : nans[k]                 ? nan_only
                                              : nothing);
  return found;
}

/// One row of digits for each digit of the largest number, the columns' numbers read downwards.
std::string numbers_above(Size columns, int margin) {
  const std::size_t digits = std::to_string(std::max<Size>(columns - 1, 0)).size();
  std::string text;
  for (std::size_t place = 0; place < digits; ++place) {
    text += std::string(static_cast<std::size_t>(margin), ' ');
    for (Size column = 0; column < columns; ++column) text += fmt::format("{:>{}}", column, digits)[place];
    text += "\n";
  }
  return text;
}

std::string described(const std::vector<Dependence>& list) {
  constexpr std::size_t most = 5;
  std::string text;
  for (std::size_t k = 0; k < list.size() && k < most; ++k) {
    const Dependence& d = list[k];
    text += fmt::format("{}{} on {}", k ? ", " : "", d.output, d.input);
    if (d.sequence != d.input_sequence)
      text += fmt::format(" (sequence {} on {})", d.sequence, d.input_sequence);
  }
  return text + (list.size() > most ? fmt::format(" and {} more", list.size() - most) : "");
}

std::string verdict(const LeakReport& report) {
  std::string text;
  if (!report.by_gradients.defined())
    text += "by values only: there are no gradients to compare with\n";
  else
    text += report.agree() ? "values and gradients agree\n" : "values and gradients disagree\n";
  if (!report.across.empty()) text += "sequences of the batch mix: output " + described(report.across) + "\n";
  if (report.by_values.size(1) != report.by_values.size(2)) return text;
  std::vector<Dependence> later;
  for (const Dependence& d : report.leaks())
    if (d.sequence == d.input_sequence) later.push_back(d);
  return text + (later.empty() ? "no output depends on a later input\n"
                               : "outputs that depend on a later input: " + described(later) + "\n");
}

}  // namespace

std::string to_string(const LeakReport& report) {
  const Size sequences = report.by_values.size(0), outputs = report.by_values.size(1),
             inputs = report.by_values.size(2);
  const std::vector<Meaning> cells = meanings(report);
  const auto block = [&](Size sequence) { return cells.begin() + sequence * outputs * inputs; };
  bool alike = true;
  for (Size sequence = 1; sequence < sequences; ++sequence)
    alike = alike && std::equal(block(0), block(1), block(sequence));

  const int margin = static_cast<int>(std::to_string(std::max<Size>(outputs - 1, 0)).size()) + 1;
  std::string text =
      fmt::format("leak audit, {} output{} (down) of {} input{}{}\n", outputs, outputs == 1 ? "" : "s",
                  inputs, inputs == 1 ? "" : "s",
                  sequences > 1 && alike ? fmt::format(", alike in {} sequences", sequences) : "");
  bool used[std::size(signs)] = {};
  for (Size sequence = 0; sequence < (alike ? std::min<Size>(sequences, 1) : sequences); ++sequence) {
    if (!alike) text += fmt::format("sequence {}\n", sequence);
    text += numbers_above(inputs, margin);
    auto cell = block(sequence);
    for (Size output = 0; output < outputs; ++output) {
      text += fmt::format("{:>{}} ", output, margin - 1);
      for (Size input = 0; input < inputs; ++input, ++cell) {
        text += signs[*cell].text;
        used[*cell] = true;
      }
      text += "\n";
    }
  }
  for (const Meaning meaning : {both, nothing, values_only, gradient_only, nan_only})
    if (used[meaning]) text += fmt::format("{} {}\n", signs[meaning].text, signs[meaning].meaning);
  return text + verdict(report);
}

std::ostream& operator<<(std::ostream& out, const LeakReport& report) {
  return out << to_string(report);
}

}  // namespace regard::study

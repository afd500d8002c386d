#include <stdexcept>

#include "coreference/grammar.hpp"
#include "coreference/vietnamese.hpp"
#include "regard/error.hpp"

namespace coreference {

std::string_view name(Task task) {
  switch (task) {
    case Task::agreement:
      return "agreement";
    case Task::twist:
      return "twist";
    case Task::mutual:
      return "mutual";
  }
  throw std::logic_error("name: not a task");
}

Task task_of(std::string_view task_name) {
  for (const Task task : {Task::agreement, Task::twist, Task::mutual})
    if (name(task) == task_name) return task;
  throw regard::ValueError("task: expected agreement, twist or mutual, got \"" + std::string(task_name) +
                           "\"");
}

std::string_view name(Kind kind) {
  switch (kind) {
    case Kind::twist_class:
      return "twist-class";
    case Kind::twist_role:
      return "twist-role";
    case Kind::agreement:
      return "agreement";
    case Kind::own:
      return "own";
  }
  throw std::logic_error("name: not a kind of sentence");
}

std::vector<std::string> Sentence::words() const {
  const Lexicon& lexicon = Lexicon::of(language);
  std::vector<std::string> shown;
  for (const std::int64_t id : tokens) shown.push_back(lexicon.display(id));
  return shown;
}

std::string Sentence::text() const {
  std::string text;
  bool begins = true;
  for (const std::string& word : words()) {
    const bool stop = word == ".";
    if (!text.empty() && !stop) text += ' ';
    text += begins ? capitalised(word) : word;
    begins = stop;
  }
  return text;
}

}  // namespace coreference

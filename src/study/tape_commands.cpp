#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <sstream>

#include <regard/error.hpp>

#include "regard/study/tape_walk.hpp"

namespace regard::study {
namespace {

struct Texts {
  const char *help, *beginning, *end, *number, *name, *unknown, *phases[3];
};

constexpr Texts english = {
    "step [n]    one operation on, or n; an empty line does the same\n"
    "back [n]    one operation back, or n\n"
    "goto n      to step n; 0 is before the first\n"
    "show        this step again, with the numbers that it read and gave\n"
    "print name  a value, or a gradient as far as it has come: print S, print dS, print %1\n"
    "list        all steps; > marks this one\n"
    "names       what can be printed here\n"
    "help        this\n"
    "quit        the end\n"
    "The first letter is enough (sh for show).\n",
    "This is the beginning: nothing has been computed yet.\n",
    "This is the end; back and goto lead back.\n",
    "{}: expected a whole number from {} to {}, got \"{}\"\n",
    "print what? For instance: print {}\n",
    "\"{}\" is no command here; there are step, back, goto, show, print, list, names, help and quit\n",
    {"forward", "backward", "optimiser"}};

constexpr Texts vietnamese = {
    "step [n]    đi tới một phép toán, hoặc n; dòng trống cũng vậy\n"
    "back [n]    lùi một phép toán, hoặc n\n"
    "goto n      đến bước n; 0 là trước bước đầu\n"
    "show        xem lại bước này, với các số nó đọc và cho ra\n"
    "print tên   một giá trị, hoặc gradient đã đến tới đây: print S, print dS, print %1\n"
    "list        mọi bước; > là bước này\n"
    "names       những gì in được ở đây\n"
    "help        bảng này\n"
    "quit        kết thúc\n"
    "Chữ đầu là đủ (sh cho show).\n",
    "Đây là điểm đầu: chưa tính gì.\n",
    "Đây là điểm cuối; back và goto đưa trở lại.\n",
    "{}: cần một số nguyên từ {} đến {}, nhận được \"{}\"\n",
    "print gì? Chẳng hạn: print {}\n",
    "\"{}\" không phải lệnh; có step, back, goto, show, print, list, names, help và quit\n",
    {"xuôi", "ngược", "tối ưu"}};

const Texts& texts(const TapeWalk& walk) {
  return walk.language().substr(0, 2) == "vi" ? vietnamese : english;
}

std::string headline(const TapeWalk& walk, std::size_t place) {
  const WalkStep step = walk.at(place);
  return fmt::format("{:>3}/{} {:<8}  {}\n", place, walk.size(),
                     texts(walk).phases[static_cast<int>(step.phase)], step.sentence);
}

std::string with_numbers(const WalkValue& value) {
  std::string text = fmt::format("      {} {}\n", value.name, to_string(value.tensor.shape()));
  std::istringstream lines(to_string(value.tensor));
  for (std::string line; std::getline(lines, line);) text += "        " + line + "\n";
  return text;
}

std::string where(const TapeWalk& walk) {
  return walk.place() == 0 ? texts(walk).beginning : headline(walk, walk.place());
}

// A whole number within the bounds; nothing else.
bool read_number(const std::string& word, std::size_t low, std::size_t high, std::size_t& number) {
  if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos || word.size() > 9)
    return false;
  number = static_cast<std::size_t>(std::strtoul(word.c_str(), nullptr, 10));
  return low <= number && number <= high;
}

std::string move(TapeWalk& walk, const std::string& command, const std::string& count,
                 bool (TapeWalk::*once)()) {
  constexpr std::size_t most = 999999999;
  std::size_t times = 1;
  if (!count.empty() && !read_number(count, 1, most, times))
    return fmt::format(fmt::runtime(texts(walk).number), command, 1, walk.size(), count);
  std::string text;
  while (times-- > 0) {
    if (!(walk.*once)()) return text + (walk.place() == 0 ? texts(walk).beginning : texts(walk).end);
    text += where(walk);
  }
  return text;
}

std::string list(const TapeWalk& walk) {
  std::string text;
  for (std::size_t place = 1; place <= walk.size(); ++place)
    text += (place == walk.place() ? "> " : "  ") + headline(walk, place);
  return text;
}

std::string names(const TapeWalk& walk) {
  std::string text;
  for (const WalkValue& value : walk.known())
    text += fmt::format("{} {}\n", value.name, to_string(value.tensor.shape()));
  return text;
}

}  // namespace

std::string show(const TapeWalk& walk) {
  std::string text = where(walk);
  if (walk.place() == 0) return text;
  const WalkStep step = walk.here();
  if (!step.words.empty()) text += "      " + step.words + "\n";
  for (const WalkValue& value : step.inputs) text += with_numbers(value);
  text += "   →\n";
  for (const WalkValue& value : step.outputs) text += with_numbers(value);
  return text;
}

WalkReply obey(TapeWalk& walk, const std::string& line) {
  std::istringstream words(line);
  std::string command, argument, rest;
  words >> command >> argument >> rest;
  const auto is = [&](const std::string& name, const char* shorter) {
    return command == name || command == shorter;
  };
  const Texts& text = texts(walk);
  const std::string given =
      command + (argument.empty() ? "" : " " + argument) + (rest.empty() ? "" : " " + rest);
  if (!rest.empty()) return {fmt::format(fmt::runtime(text.unknown), given)};
  if (command.empty() || is("step", "s")) return {move(walk, "step", argument, &TapeWalk::step)};
  if (is("back", "b")) return {move(walk, "back", argument, &TapeWalk::back)};
  if (is("goto", "g")) {
    std::size_t place = 0;
    if (!read_number(argument, 0, walk.size(), place))
      return {fmt::format(fmt::runtime(text.number), "goto", 0, walk.size(), argument)};
    walk.goto_step(place);
    return {where(walk)};
  }
  if (is("print", "p")) {
    const std::vector<WalkValue> known = walk.known();
    if (argument.empty())
      return {fmt::format(fmt::runtime(text.name), known.empty() ? "%1" : known.front().name)};
    try {
      return {with_numbers({argument, walk.find(argument)})};
    } catch (const ValueError& error) {
      return {std::string(error.what()) + "\n"};
    }
  }
  if (argument.empty()) {
    if (is("show", "sh")) return {show(walk)};
    if (is("list", "l")) return {list(walk)};
    if (is("names", "n")) return {names(walk)};
    if (is("help", "h") || command == "?") return {text.help};
    if (is("quit", "q") || command == "exit") return {"", true};
  }
  return {fmt::format(fmt::runtime(text.unknown), given)};
}

}  // namespace regard::study

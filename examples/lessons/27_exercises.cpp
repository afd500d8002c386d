// Marks what you wrote in 27_exercises/: not yet, right, or wrong, with the place and the amount.
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <regard/regard.hpp>

#include "lessons/27_exercises/hidden_tests/marks.hpp"
#include "lessons/27_exercises/hidden_tests/picture.hpp"
#include "lessons/common/lesson.hpp"

using namespace exercises;
using lessons::Lesson;
using lessons::Text;

namespace {

struct Task {
  std::string exercise;
  Text text;
};
const Task tasks[] = {
    {"softmax_vjp", {"dx from y = softmax(x) and dy", "dx từ y = softmax(x) và dy"}},
    {"matmul_vjp", {"da and db from a, b and dy of y = a·b", "da và db từ a, b và dy của y = a·b"}},
    {"masked_softmax", {"softmax over what a mask keeps", "softmax trên phần mặt nạ giữ lại"}},
    {"soft_cap",
     {"cap·tanh(x / cap) as a CustomOp with its gradient", "cap·tanh(x / cap) thành CustomOp, kèm gradient"}},
};

std::vector<std::string> indented(const std::string& text) {
  std::istringstream lines(text);
  std::vector<std::string> all;
  for (std::string line; std::getline(lines, line);)
    for (const std::string& part : lessons::wrapped(line, 80, "    ")) all.push_back(part);
  return all;
}

void report(Lesson& lesson, const std::vector<Mark>& marks) {
  int not_yet = 0;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const Mark& mark = marks[i];
    const Text& task = tasks[i].text;
    lesson.heading(fmt::format("{}. {}: {}", i + 1, mark.exercise, task.en),
                   fmt::format("{}. {}: {}", i + 1, mark.exercise, task.vi));
    const std::string tests = fmt::format("{} / {}", mark.passed, mark.tests);
    switch (mark.state) {
      case State::not_yet:
        ++not_yet;
        lesson.say(fmt::format("Not yet. Write it in 27_exercises/{}.cpp.", mark.exercise),
                   fmt::format("Chưa làm. Hãy viết trong 27_exercises/{}.cpp.", mark.exercise));
        break;
      case State::right:
        lesson.claim(mark.exercise + " is right", mark.exercise + " đúng", true, tests);
        break;
      case State::wrong:
        lesson.claim(mark.exercise + " is wrong: " + mark.test.en, mark.exercise + " sai: " + mark.test.vi,
                     false, tests);
        lesson.print({""});
        lesson.print(indented(mark.where));
        if (!mark.hint.en.empty()) lesson.look_for(mark.hint.en, mark.hint.vi);
    }
    lesson.keep(mark.exercise, mark.state == State::right ? 1 : mark.state == State::wrong ? -1 : 0);
  }
  if (not_yet > 0)
    lesson.say(
        fmt::format("{} of {} exercises are not written yet; 27_exercises/README.md says how it is done.",
                    not_yet, marks.size()),
        fmt::format("{} trong {} bài chưa làm; 27_exercises/README.md chỉ cách làm.", not_yet, marks.size()));
}

}  // namespace

int main(int argc, char** argv) {
  regard::set_blas_threads(1);
  Lesson lesson(
      argc, argv, {"Exercises", "Bài tập"},
      {"Four functions that you write, and tests that say whether they are right and, if not, where "
       "they go wrong.",
       "Bốn hàm do bạn viết, và các phép thử cho biết chúng đúng chưa, nếu chưa thì sai ở đâu."});
  std::string answers = "yours";
  lesson.flags()
      .add_option(
          "--answers", answers,
          lesson.pick("whose: yours, those of solutions/ (reference), or typical mistakes, to see what "
                      "is said of them (mistaken)",
                      "của ai: của bạn (yours), của solutions/ (reference), hay những lỗi hay gặp, để "
                      "xem chúng bị nhận xét ra sao (mistaken)"))
      ->check(CLI::IsMember({"yours", "reference", "mistaken"}))
      ->capture_default_str();
  return lesson.run([&] {
    const Answers whose = answers == "reference" ? reference() : answers == "mistaken" ? mistaken() : yours();
    report(lesson, mark(whose));
    lesson.picture("beside", picture(lesson, whose));
  });
}

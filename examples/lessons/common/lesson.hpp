#pragma once
// A lesson: a program that explains something in English or Vietnamese, shows its numbers, draws its
// pictures, and claims nothing that it does not check.
//
//   int main(int argc, char** argv) {
//     Lesson lesson(argc, argv, {"A softmax", "Softmax"}, {"Scores become shares.", "Điểm số thành tỉ lệ."});
//     return lesson.run([&] {
//       const Tensor weights = softmax(tensor({1, 2, 3}));
//       lesson.show("P", "softmax S", weights);
//       lesson.at_most("the shares add up to 1", "các tỉ lệ cộng lại bằng 1",
//                      std::fabs(sum(weights).item() - 1), 1e-15);
//     });
//   }

#include <filesystem>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <regard/mask.hpp>
#include <regard/study/frame.hpp>
#include <regard/tensor.hpp>

#include "common/profile.hpp"
#include "lessons/common/numbers.hpp"
#include "lessons/common/table.hpp"

namespace lessons {

/// The same in both languages.
struct Text {
  std::string en, vi;
};

/// What the user gave cannot be used: run() explains it and returns 2.
struct UsageError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Lesson {
 public:
  /// `about`: one or two sentences below the title, and in the help.
  Lesson(int argc, char** argv, const Text& title, const Text& about);
  ~Lesson();
  Lesson(const Lesson&) = delete;
  Lesson& operator=(const Lesson&) = delete;

  /// To add flags of the lesson's own; --help, --language, --out and --quiet are there.
  CLI::App& flags() { return app_; }

  /// Reads the flags, prints the title, calls `body`, and prints how many claims hold. Returns the exit code:
  /// 0 if all do, 1 if one does not or something is thrown, 2 for wrong usage.
  int run(const std::function<void()>& body);

  [[nodiscard]] bool vietnamese() const { return language_ == "vi"; }
  /// "en" or "vi", as the pictures' options take it.
  [[nodiscard]] const std::string& language() const { return language_; }
  /// The text of the chosen language.
  [[nodiscard]] std::string pick(const std::string& en, const std::string& vi) const {
    return vietnamese() ? vi : en;
  }

  // ---- what is read -------------------------------------------------------------------------------------

  void heading(const std::string& en, const std::string& vi);
  /// A paragraph.
  void say(const std::string& en, const std::string& vi);
  /// Set apart, the same in both languages.
  void formula(const std::string& text);
  /// What to look at in what follows.
  void look_for(const std::string& en, const std::string& vi);

  /// "name = formula   [3, 4]" and the numbers below, with labels at their sides; they are kept under that
  /// name. At most two axes longer than 1. `formula` may be empty.
  void show(const std::string& name, const std::string& formula, const regard::Tensor& values,
            const Labels& rows = {}, const Labels& columns = {}, int decimals = 4);
  /// Keeps numbers for the file of numbers, without printing them.
  void keep(const std::string& name, const regard::Tensor& values);
  void keep(const std::string& name, double value);
  void print(const Table& table);
  void print(const std::vector<std::string>& lines);
  /// What a mask hides, as signs.
  void print(const regard::Mask& mask, regard::Size queries, regard::Size keys);
  /// The matrix in the terminal, its cells coloured or shaded.
  void attention(const regard::study::AttentionPanel& panel);

  // ---- what is checked ----------------------------------------------------------------------------------

  /// Prints ✓ or ✗, the claim and what was measured. When `holds` is false, the program ends with 1.
  void claim(const std::string& en, const std::string& vi, bool holds, const std::string& measured);
  void claim(const std::string& en, const std::string& vi, bool holds, double measured);
  /// Claims measured <= bound (>= for at_least), and prints both; NaN holds for neither.
  void at_most(const std::string& en, const std::string& vi, double measured, double bound);
  void at_least(const std::string& en, const std::string& vi, double measured, double bound);

  // ---- what is written ----------------------------------------------------------------------------------

  /// Writes PROGRAM.name.svg into the folder of --out, and says so. Without --out the end says what there
  /// would be.
  void picture(const std::string& name, const std::string& svg);

 private:
  struct Record;  // claims and numbers, for the file

  void line(const std::string& text = "");
  std::string strong(const std::string& text) const;
  void write_record() const;
  int summary();

  int argc_;
  char** argv_;
  std::string name_, title_, about_, language_ = "en";
  CLI::App app_;
  std::filesystem::path out_;
  common::Profile profile_;
  bool quiet_ = false, colors_ = false, after_claim_ = false, after_picture_ = false;
  int width_ = 80;
  int claims_ = 0, failed_ = 0, pictures_ = 0;
  std::unique_ptr<Record> record_;
};

}  // namespace lessons

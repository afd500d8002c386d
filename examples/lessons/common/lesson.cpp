#include "lessons/common/lesson.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <iostream>
#include <sstream>
#include <string_view>

#include <nlohmann/json.hpp>

#include <regard/error.hpp>
#include <regard/ops.hpp>
#include <regard/study/terminal.hpp>

#include "common/exit_codes.hpp"
#include "common/flags.hpp"
#include "common/folder.hpp"

namespace lessons {

using nlohmann::ordered_json;
using regard::Tensor;
using regard::study::display_width;

struct Lesson::Record {
  ordered_json claims = ordered_json::array();
  ordered_json numbers = ordered_json::object();
};

namespace {

// The language must be known before the flags are read: their help is written in it.
std::string language_in(int argc, char** argv) {
  constexpr std::string_view flag = "--language";
  std::string language = "en";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == flag && i + 1 < argc) language = argv[i + 1];
    if (word.substr(0, flag.size() + 1) == "--language=") language = word.substr(flag.size() + 1);
  }
  return language == "vi" ? "vi" : "en";
}

ordered_json nested(const std::vector<double>& values, const regard::Shape& shape, int axis,
                    std::size_t& next) {
  if (axis == shape.rank()) return values[next++];
  ordered_json list = ordered_json::array();
  for (regard::Size i = 0; i < shape[axis]; ++i) list.push_back(nested(values, shape, axis + 1, next));
  return list;
}

std::string number_text(double value, int decimals) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  const std::string text = fmt::format("{:.{}f}", value, decimals);
  const bool zero = text.find_first_of("123456789") == std::string::npos;
  return zero && text[0] == '-' ? text.substr(1) : text;
}

std::string short_text(double value) {
  const double size = std::fabs(value);
  return size < 1e-3 ? fmt::format("{:.3g}", value) : fmt::format("{:.6g}", value);
}

std::string label(const Labels& labels, std::size_t i) {
  return i < labels.size() ? labels[i] : "";
}

// A matrix with its labels, every number in a column of the same width.
std::vector<std::string> grid(const Tensor& values, const Labels& rows, const Labels& columns, int decimals) {
  const std::vector<double> numbers = doubles(values);
  const auto width_of = static_cast<std::size_t>(values.size(1));
  int head = 0, cell = 0;
  for (const std::string& text : rows) head = std::max(head, display_width(text));
  for (const std::string& text : columns) cell = std::max(cell, display_width(text));
  for (const double value : numbers) cell = std::max(cell, display_width(number_text(value, decimals)));
  std::vector<std::string> lines;
  if (!columns.empty()) {
    std::string line = "  " + left_in("", head);
    for (std::size_t j = 0; j < width_of; ++j) line += "  " + right_in(label(columns, j), cell);
    lines.push_back(line);
  }
  for (std::size_t i = 0; i * width_of < numbers.size(); ++i) {
    std::string line = "  " + left_in(label(rows, i), head);
    for (std::size_t j = 0; j < width_of; ++j)
      line += "  " + right_in(number_text(numbers[i * width_of + j], decimals), cell);
    lines.push_back(line);
  }
  return lines;
}

}  // namespace

Lesson::Lesson(int argc, char** argv, const Text& title, const Text& about)
    : argc_(argc), argv_(argv), language_(language_in(argc, argv)), record_(std::make_unique<Record>()) {
  name_ = argc > 0 ? std::filesystem::path(argv[0]).filename().string() : "lesson";
  title_ = pick(title.en, title.vi);
  about_ = pick(about.en, about.vi);
  app_.name(name_);
  app_.description(title_ + "\n" + about_);
  common::set_style(app_);
  app_.footer(pick("Exit code: 0 every claim holds, 1 one does not, 2 wrong usage.",
                   "Mã thoát: 0 mọi khẳng định đều đúng, 1 có khẳng định sai, 2 dùng sai cách."));
  app_.set_help_flag("-h,--help", pick("show this help", "hiện phần trợ giúp này"));
  app_.add_option("--language", language_, pick("of the text: en or vi", "ngôn ngữ: en hoặc vi"))
      ->check(CLI::IsMember({"en", "vi"}))
      ->capture_default_str();
  app_.add_option("--out", out_,
                  pick("folder for pictures (SVG), and numbers and claims (JSON)",
                       "thư mục ghi hình (SVG), các con số và khẳng định (JSON)"));
  common::add_profile_flag(app_, profile_,
                           pick("what each operation cost, as a table on standard error",
                                "chi phí của từng phép toán, in thành bảng ra luồng lỗi chuẩn"));
  app_.add_flag("--quiet", quiet_, pick("print the claims only", "chỉ in các khẳng định"));
}

Lesson::~Lesson() = default;

int Lesson::run(const std::function<void()>& body) {
  if (const auto code = common::parse_flags(app_, argc_, argv_, [] {})) return *code;
  colors_ = regard::study::terminal_colors(stdout) != regard::study::TerminalColors::none;
  width_ = std::clamp(regard::study::terminal_width(stdout), 40, 100);
  try {
    if (!out_.empty()) common::prepare_folder(out_);
    if (!quiet_) {
      line(strong(title_));
      std::string rule;
      for (int i = 0; i < display_width(title_); ++i) rule += "═";
      line(rule);
      for (const std::string& text : wrapped(about_, width_)) line(text);
    }
    return common::run_profiled(
        profile_,
        [&] {
          body();
          if (!out_.empty()) write_record();
          return summary();
        },
        language_);
  } catch (const UsageError& error) {
    std::cout.flush();
    std::cerr << name_ << ": " << error.what() << "\n"
              << pick("Run with --help for more information.", "Chạy với --help để biết thêm.") << "\n";
    return common::usage_exit;
  } catch (const std::exception& error) {
    std::cout.flush();
    std::cerr << name_ << ": " << error.what() << "\n";
    return common::failure_exit;
  }
}

void Lesson::line(const std::string& text) {
  after_claim_ = after_picture_ = false;
  if (!quiet_) std::cout << text << "\n";
}

std::string Lesson::strong(const std::string& text) const {
  return colors_ ? "\x1b[1m" + text + "\x1b[0m" : text;
}

void Lesson::heading(const std::string& en, const std::string& vi) {
  line();
  line(strong("── " + pick(en, vi) + " ──"));
}

void Lesson::say(const std::string& en, const std::string& vi) {
  line();
  for (const std::string& text : wrapped(pick(en, vi), width_)) line(text);
}

void Lesson::formula(const std::string& text) {
  line();
  print(wrapped(text, width_, "    "));
}

void Lesson::look_for(const std::string& en, const std::string& vi) {
  line();
  const std::string first = pick("Look for: ", "Hãy để ý: ");
  for (const std::string& text : wrapped(pick(en, vi), width_, "→ " + first)) line(text);
}

void Lesson::show(const std::string& name, const std::string& formula, const Tensor& values,
                  const Labels& rows, const Labels& columns, int decimals) {
  keep(name, values);
  line();
  const std::string head = formula.empty() ? name : name + " = " + formula;
  if (values.rank() == 0) return line(head + " = " + number_text(values.item(), decimals));
  line(head + "   " + to_string(values.shape()));
  const Tensor table = values.rank() == 1 ? regard::reshape(values, {1, values.size(0)}) : matrix(values);
  print(grid(table, rows, columns, decimals));
}

void Lesson::keep(const std::string& name, const Tensor& values) {
  std::size_t next = 0;
  record_->numbers[name] = nested(doubles(values), values.shape(), 0, next);
}

void Lesson::keep(const std::string& name, double value) {
  record_->numbers[name] = value;
}

void Lesson::print(const Table& table) {
  line();
  for (const std::string& text : table.lines()) line("  " + text);
}

void Lesson::print(const std::vector<std::string>& lines) {
  for (const std::string& text : lines) line(text);
}

void Lesson::print(const regard::Mask& mask, regard::Size queries, regard::Size keys) {
  line();
  std::istringstream rows(mask.grid(1, 1, queries, keys));
  for (std::string row; std::getline(rows, row);) line("    " + row);
  line(pick("    █ hidden, · visible", "    █ bị che, · thấy được"));
}

void Lesson::attention(const regard::study::AttentionPanel& panel) {
  line();
  if (!panel.name.empty()) line(panel.name);
  regard::study::TerminalPicture picture = regard::study::terminal_picture(stdout);
  picture.unicode = true;  // as all of the text is
  picture.width -= 2;
  for (const std::string& row : regard::study::attention_grid(panel, picture))
    line("  " + without_trailing_spaces(row));
}

void Lesson::claim(const std::string& en, const std::string& vi, bool holds, const std::string& measured) {
  ++claims_;
  failed_ += holds ? 0 : 1;
  const std::string text = pick(en, vi);
  record_->claims.push_back({{"claim", text}, {"holds", holds}, {"measured", measured}});
  if (!after_claim_) line();
  const std::string sign = holds ? "✓ " : "✗ ";
  std::vector<std::string> lines = wrapped(fmt::format("{} ({})", text, measured), width_ - 2, "  " + sign);
  if (colors_) {
    const std::string painted = (holds ? "\x1b[32m" : "\x1b[31m") + sign + "\x1b[0m";
    lines[0].replace(2, sign.size(), painted);
  }
  for (const std::string& claimed : lines) std::cout << claimed << "\n";
  after_claim_ = true;
}

void Lesson::claim(const std::string& en, const std::string& vi, bool holds, double measured) {
  claim(en, vi, holds, short_text(measured));
}

void Lesson::at_most(const std::string& en, const std::string& vi, double measured, double bound) {
  claim(en, vi, measured <= bound, short_text(measured) + " ≤ " + short_text(bound));
}

void Lesson::at_least(const std::string& en, const std::string& vi, double measured, double bound) {
  claim(en, vi, measured >= bound, short_text(measured) + " ≥ " + short_text(bound));
}

void Lesson::picture(const std::string& name, const std::string& svg) {
  ++pictures_;
  if (out_.empty()) return;
  const std::filesystem::path path = out_ / (name_ + "." + name + ".svg");
  common::write_text(path, svg);
  if (!after_picture_) line();
  line(pick("Picture: ", "Hình: ") + path.string());
  after_picture_ = true;
}

void Lesson::write_record() const {
  const ordered_json document = {
      {"lesson", name_}, {"language", language_}, {"claims", record_->claims}, {"numbers", record_->numbers}};
  common::write_text(out_ / (name_ + ".json"), document.dump() + "\n");
}

int Lesson::summary() {
  line();
  if (pictures_ > 0 && out_.empty())
    for (const std::string& text : wrapped(
             pick(fmt::format("With --out FOLDER the lesson writes its pictures ({}) and all its numbers.",
                              pictures_),
                  fmt::format("Thêm --out THƯ_MỤC, bài học sẽ ghi hình ({}) và mọi con số.", pictures_)),
             width_))
      line(text);
  if (claims_ > 0)
    std::cout << pick(fmt::format("{} of {} claims hold.", claims_ - failed_, claims_),
                      fmt::format("{} trong {} khẳng định đúng.", claims_ - failed_, claims_))
              << "\n";
  return failed_ == 0 ? 0 : common::failure_exit;
}

}  // namespace lessons

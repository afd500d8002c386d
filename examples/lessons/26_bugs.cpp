// Twelve bugs are planted in a small model, one at a time, and eleven checks look for them. Each bug has a
// check that is named for it; none of the checks sees all of them, and a falling loss sees few.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <regard/study/panels.hpp>

#include "lessons/26_bugs/lab.hpp"

using namespace regard;
using namespace bugs;
using lessons::Labels;
using lessons::Lesson;
using lessons::Table;

namespace {

/// A model with a bug, under the name it goes by: the bug's, or a letter while one guesses.
struct Patient {
  std::string name;
  const Planted* planted;  // null: healthy
  Outcomes outcomes;
  [[nodiscard]] bool alarm(std::size_t check) const { return outcomes[check].alarm; }
  [[nodiscard]] bool named(std::size_t check) const {
    return planted != nullptr && static_cast<std::size_t>(planted->found_by) == check;
  }
};

struct Wishes {
  std::string bug = "all";
  bool guess = false, reveal = false;
  std::string patient;
  std::vector<std::string> answers;
};

std::string letter(std::size_t i, char first) {
  return std::string(1, static_cast<char>(first + static_cast<char>(i)));
}

Labels check_letters() {
  Labels letters;
  for (std::size_t c = 0; c < check_count; ++c) letters.push_back(letter(c, 'a'));
  return letters;
}

std::string in(const Lesson& lesson, const lessons::Text& text) {
  return lesson.pick(text.en, text.vi);
}

std::string key(const Lesson& lesson, Check check) {
  return in(lesson, text(check).key);
}
std::string key(const Lesson& lesson, std::size_t check) {
  return key(lesson, static_cast<Check>(check));
}

const Planted* with_flag(const std::string& flag) {
  for (const Planted& bug : planted())
    if (bug.flag == flag) return &bug;
  return nullptr;
}

// ---- what is printed -----------------------------------------------------------------------------------

void explain(Lesson& lesson) {
  lesson.say(
      "The model: 16 tokens of width 16 get embeddings and positions, attend causally, and predict their "
      "next token, which four times in five is the one before last plus one. It is healthy, or has exactly "
      "one of these bugs. All of them compile, run, and give numbers of the right shape.",
      "Mô hình: 16 token rộng 16 có embedding và vị trí, chú ý nhân quả, rồi đoán token kế tiếp; năm lần thì "
      "bốn lần đó là token áp chót cộng một. Mô hình khỏe mạnh, hoặc có đúng một trong các lỗi sau. Lỗi nào "
      "cũng biên dịch được, chạy được, và cho ra số có đúng kích thước.");
  Table table({"--bug", lesson.pick("bug", "lỗi")});
  for (const Planted& bug : planted()) table.row({bug.flag, in(lesson, bug.name)});
  lesson.print(table);
  lesson.say("And these are the checks. None of them knows which bug there is:",
             "Còn đây là các phép kiểm tra. Không phép nào biết có lỗi gì:");
  Table checks({"", lesson.pick("check", "phép kiểm tra")});
  for (std::size_t c = 0; c < check_count; ++c)
    checks.row({letter(c, 'a'), in(lesson, text(static_cast<Check>(c)).name)});
  lesson.print(checks);
}

std::string sign(const Patient& patient, std::size_t check, const Wishes& wishes) {
  if (!patient.alarm(check)) return patient.named(check) && !wishes.guess ? "!" : "·";
  return patient.named(check) && !wishes.guess ? "●" : "○";
}

void print_matrix(Lesson& lesson, const std::vector<Patient>& patients, const Wishes& wishes) {
  std::vector<std::string> header = {""};
  for (const std::string& name : check_letters()) header.push_back(name);
  Table table(header);
  for (const Patient& patient : patients) {
    std::vector<std::string> cells = {patient.name};
    std::vector<double> row;
    for (std::size_t c = 0; c < check_count; ++c) {
      cells.push_back(sign(patient, c, wishes));
      row.push_back(patient.alarm(c) ? 1 : 0);
    }
    table.row(cells);
    const bool healthy = patient.planted == nullptr;
    lesson.keep(healthy        ? "healthy"
                : wishes.guess ? patient.name
                               : patient.planted->flag,
                from_vector(row, {static_cast<Size>(check_count)}));
  }
  lesson.print(table);
  lesson.print({wishes.guess ? lesson.pick("  ○ found, · silent", "  ○ tìm ra, · im lặng")
                             : lesson.pick("  ● found by the check named for it, ○ found, · silent",
                                           "  ● phép kiểm tra dành cho nó tìm ra, ○ tìm ra, · im lặng")});
}

void print_patient(Lesson& lesson, const Patient& healthy, const Patient& patient) {
  Table table({lesson.pick("check", "phép kiểm tra"), "", lesson.pick("what it measured", "đo được")});
  for (std::size_t c = 0; c < check_count; ++c) {
    table.row({letter(c, 'a') + " " + key(lesson, c), patient.alarm(c) ? "○" : "·",
               in(lesson, patient.outcomes[c].said)});
    if (patient.alarm(c))
      table.row({"", "", lesson.pick("healthy: ", "khi khỏe: ") + in(lesson, healthy.outcomes[c].said)});
  }
  lesson.print(table);
}

void print_lines(Lesson& lesson, const Planted& bug) {
  lesson.print({"", lesson.pick("  right:  ", "  đúng:  ") + bug.right,
                lesson.pick("  wrong:  ", "  sai:   ") + bug.wrong});
}

// ---- what is checked -----------------------------------------------------------------------------------

std::size_t alarms_of(const Patient& patient) {
  std::size_t count = 0;
  for (const Outcome& outcome : patient.outcomes) count += outcome.alarm ? 1 : 0;
  return count;
}

void claims(Lesson& lesson, const std::vector<Patient>& patients) {
  const std::size_t bugs = patients.size() - 1;
  std::size_t found_by_named = 0, seen_by_one = 0, seen_by_loss = 0;
  std::array<std::size_t, check_count> seen{};
  for (std::size_t i = 1; i < patients.size(); ++i) {
    const Patient& patient = patients[i];
    seen_by_one += alarms_of(patient) == 1 ? 1 : 0;
    seen_by_loss += patient.alarm(static_cast<std::size_t>(Check::control_run)) ||
                            patient.alarm(static_cast<std::size_t>(Check::too_good))
                        ? 1
                        : 0;
    for (std::size_t c = 0; c < check_count; ++c) {
      seen[c] += patient.alarm(c) ? 1 : 0;
      found_by_named += patient.alarm(c) && patient.named(c) ? 1 : 0;
    }
  }
  const std::size_t most = *std::max_element(seen.begin(), seen.end());
  const auto of = [bugs](std::size_t count) { return fmt::format("{} / {}", count, bugs); };
  lesson.claim("the healthy model raises no alarm", "mô hình khỏe mạnh không gây báo động nào",
               alarms_of(patients[0]) == 0, fmt::format("{}", alarms_of(patients[0])));
  lesson.claim("every bug is found by the check named for it",
               "lỗi nào cũng bị phép kiểm tra dành cho nó tìm ra", found_by_named == bugs,
               of(found_by_named));
  lesson.claim("no check sees them all; the best one sees", "không phép nào thấy hết; phép giỏi nhất thấy",
               most < bugs, of(most));
  lesson.claim("the loss, too high or too low, sees fewer than half",
               "nhìn loss, quá cao hay quá thấp, thấy chưa tới một nửa", 2 * seen_by_loss < bugs,
               of(seen_by_loss));
  lesson.claim("at least five bugs are seen by one check alone, and get by without it",
               "ít nhất năm lỗi chỉ một phép thấy, thiếu phép ấy là lọt", seen_by_one >= 5, of(seen_by_one));
}

std::string picture(const Lesson& lesson, const std::vector<Patient>& patients, const Wishes& wishes) {
  Labels names;
  std::vector<double> values;
  for (const Patient& patient : patients) {
    names.push_back(patient.name);
    for (std::size_t c = 0; c < check_count; ++c)
      values.push_back(!patient.alarm(c) ? 0 : patient.named(c) && !wishes.guess ? 2 : 1);
  }
  const Shape shape = {static_cast<Size>(patients.size()), static_cast<Size>(check_count)};
  std::vector<study::MatrixPanel> panels = {
      lessons::panel("", names, check_letters(), from_vector(values, shape))};
  study::PanelsOptions options;
  options.title = lesson.pick("Which check sees which bug", "Phép kiểm tra nào thấy lỗi nào");
  for (std::size_t c = 0; c < check_count; ++c)
    options.note += (c > 0 ? ", " : "") + letter(c, 'a') + " " + key(lesson, c);
  panels[0].caption = wishes.guess ? lesson.pick("1 found, 0 silent", "1 tìm ra, 0 im lặng")
                                   : lesson.pick("2 found by the check named for it, 1 found, 0 silent",
                                                 "2 phép dành cho nó tìm ra, 1 tìm ra, 0 im lặng");
  options.decimals = 0;
  options.language = lesson.language();
  return study::panels_svg(panels, options);
}

// ---- what can be asked for -----------------------------------------------------------------------------

Patient examined(const Lesson& lesson, const Planted* bug) {
  return {bug == nullptr ? lesson.pick("healthy", "khỏe mạnh") : in(lesson, bug->name), bug,
          examine(bug == nullptr ? Bug::none : bug->bug)};
}

void one_bug(Lesson& lesson, const Planted& bug) {
  const Patient healthy = examined(lesson, nullptr), patient = examined(lesson, &bug);
  lesson.heading(bug.name.en, bug.name.vi);
  print_lines(lesson, bug);
  lesson.look_for("the checks that stay silent: each of them alone would have let this bug pass.",
                  "những phép kiểm tra im lặng: chỉ dựa vào một phép như thế thì lỗi này đã lọt.");
  print_patient(lesson, healthy, patient);
  lesson.say(bug.why.en, bug.why.vi);
  const std::size_t named = static_cast<std::size_t>(bug.found_by);
  lesson.claim("the check named for it finds it: " + text(bug.found_by).key.en,
               "phép kiểm tra dành cho nó tìm ra: " + text(bug.found_by).key.vi, patient.alarm(named),
               in(lesson, patient.outcomes[named].said));
  lesson.claim("and says nothing of the healthy model", "và không nói gì về mô hình khỏe mạnh",
               !healthy.alarm(named), in(lesson, healthy.outcomes[named].said));
}

void all_bugs(Lesson& lesson, const Wishes& wishes) {
  explain(lesson);
  std::vector<Patient> patients = {examined(lesson, nullptr)};
  for (const Planted& bug : planted()) patients.push_back(examined(lesson, &bug));
  lesson.heading("Which check sees which bug", "Phép kiểm tra nào thấy lỗi nào");
  lesson.look_for(
      "the columns j and k, the loss: most bugs train as well as the healthy model. And the rows with a "
      "single sign.",
      "hai cột j và k, tức loss: phần lớn lỗi vẫn học tốt như mô hình khỏe mạnh. Và những hàng chỉ có một "
      "dấu.");
  print_matrix(lesson, patients, wishes);
  lesson.say("How each bug shows, where it is looked for:", "Từng lỗi lộ ra thế nào, ở nơi cần tìm nó:");
  for (std::size_t i = 1; i < patients.size(); ++i) {
    const Planted& bug = *patients[i].planted;
    const lessons::Text& said = patients[i].outcomes[static_cast<std::size_t>(bug.found_by)].said;
    const lessons::Text& check = text(bug.found_by).key;
    lesson.say(fmt::format("{} · {}: {} [{}]", bug.flag, check.en, bug.why.en, said.en),
               fmt::format("{} · {}: {} [{}]", bug.flag, check.vi, bug.why.vi, said.vi));
  }
  lesson.say("One bug more closely: --bug no-scale. To find out which is which by yourself: --guess.",
             "Xem kỹ một lỗi: --bug no-scale. Tự đoán xem lỗi nào là lỗi nào: --guess.");
  lesson.picture("matrix", picture(lesson, patients, wishes));
  claims(lesson, patients);
}

// ---- guessing ------------------------------------------------------------------------------------------

// Patient A's bug, patient B's, ...: the same every time, so that one can come back for the answer, and not
// in the table's order.
std::vector<const Planted*> shuffled() {
  std::vector<const Planted*> ill;
  for (const Planted& bug : planted()) ill.push_back(&bug);
  Rng rng(26);
  rng.shuffle(ill);
  return ill;
}

// Where the patient of that letter stands among the bugs.
std::size_t place_of(const Lesson& lesson, const std::string& name) {
  const std::size_t count = planted().size();
  for (std::size_t i = 0; i < count; ++i)
    if (name == letter(i, 'A')) return i;
  const std::string last = letter(count - 1, 'A');
  throw lessons::UsageError(
      lesson.pick(fmt::format("there is no patient \"{}\": they are A to {}", name, last),
                  fmt::format("không có bệnh nhân \"{}\": chỉ có từ A đến {}", name, last)));
}

Table judged(const Lesson& lesson, const std::vector<const Planted*>& bugs,
             const std::vector<std::string>& answers) {
  Table table({lesson.pick("your answer", "câu trả lời"), ""});
  for (const std::string& answer : answers) {
    const std::size_t at = answer.find('=');
    const Planted* bug = at == std::string::npos ? nullptr : with_flag(answer.substr(at + 1));
    if (bug == nullptr)
      throw lessons::UsageError(lesson.pick(
          fmt::format("\"{}\" is no answer; expected a patient and a bug: A=no-scale", answer),
          fmt::format("\"{}\" không phải câu trả lời; cần bệnh nhân và lỗi: A=no-scale", answer)));
    const bool right = bugs[place_of(lesson, answer.substr(0, at))] == bug;
    table.row({answer, right ? lesson.pick("right", "đúng") : lesson.pick("no", "chưa đúng")});
  }
  return table;
}

void guess(Lesson& lesson, const Wishes& wishes) {
  const std::vector<const Planted*> bugs = shuffled();
  const Table judgement = judged(lesson, bugs, wishes.answers);
  const std::size_t asked_for = wishes.patient.empty() ? 0 : place_of(lesson, wishes.patient) + 1;
  explain(lesson);
  std::vector<Patient> patients = {examined(lesson, nullptr)};
  for (std::size_t i = 0; i < bugs.size(); ++i) {
    patients.push_back(examined(lesson, bugs[i]));
    patients.back().name = letter(i, 'A');
  }
  lesson.heading("Which patient has which bug?", "Bệnh nhân nào mắc lỗi nào?");
  lesson.say(
      "A to L have one of the bugs each. --guess C tells what the checks measured of C, --answer C=… whether "
      "the bug you name is right, and --reveal all answers.",
      "A đến L mỗi mô hình mắc một lỗi. --guess C cho biết các phép kiểm tra đo được gì ở C, --answer C=… "
      "cho biết lỗi bạn đoán có đúng không, còn --reveal cho mọi đáp án.");
  lesson.look_for(
      "what a check can be silent about. Two rows may look alike: then what was measured differs.",
      "phép kiểm tra im lặng về điều gì. Hai hàng có thể giống nhau: khi đó số đo được khác nhau.");
  print_matrix(lesson, patients, wishes);
  if (asked_for > 0) {
    lesson.heading("Patient " + wishes.patient, "Bệnh nhân " + wishes.patient);
    print_patient(lesson, patients[0], patients[asked_for]);
  }
  if (!wishes.answers.empty()) lesson.print(judgement);
  if (wishes.reveal) {
    Table table({"", "--bug", lesson.pick("found by", "tìm ra bởi")});
    for (std::size_t i = 0; i < bugs.size(); ++i)
      table.row({letter(i, 'A'), bugs[i]->flag, key(lesson, bugs[i]->found_by)});
    lesson.print(table);
  }
  lesson.picture("guess", picture(lesson, patients, wishes));
  claims(lesson, patients);
}

}  // namespace

int main(int argc, char** argv) {
  set_blas_threads(1);
  Lesson lesson(argc, argv, {"Twelve bugs", "Mười hai lỗi"},
                {"Bugs that compile, run and often train, planted one at a time, and the checks that find "
                 "them.",
                 "Những lỗi biên dịch được, chạy được và thường vẫn học được, cài vào từng cái một, cùng các "
                 "phép kiểm tra tìm ra chúng."});
  Wishes wishes;
  std::vector<std::string> flags = {"all"};
  for (const Planted& bug : planted()) flags.push_back(bug.flag);
  CLI::App& app = lesson.flags();
  CLI::Option* bug =
      app.add_option("--bug", wishes.bug,
                     lesson.pick("the bug to plant, by its name, or all", "lỗi cần cài, theo tên, hoặc all"))
          ->check(CLI::IsMember(flags))
          ->capture_default_str();
  CLI::Option* guessing =
      app.add_option(
             "--guess", wishes.patient,
             lesson.pick("do not say which bug is which; with a letter, what was measured of that one",
                         "không nói lỗi nào là lỗi nào; thêm một chữ cái để xem số đo của nó"))
          ->expected(0, 1)
          ->excludes(bug);
  app.add_option(
         "--answer", wishes.answers,
         lesson.pick("your guess, as A=no-scale; says right or no", "câu đoán của bạn, như A=no-scale"))
      ->needs(guessing);
  app.add_flag("--reveal", wishes.reveal, lesson.pick("say which bug is which", "nói rõ lỗi nào là lỗi nào"))
      ->needs(guessing);
  return lesson.run([&] {
    wishes.guess = guessing->count() > 0;
    if (wishes.guess) return guess(lesson, wishes);
    if (const Planted* chosen = with_flag(wishes.bug)) return one_bug(lesson, *chosen);
    all_bugs(lesson, wishes);
  });
}

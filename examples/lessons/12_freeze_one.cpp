// What each of W_Q, W_K and W_V can learn by itself: a pronoun must name the number of its antecedent, and
// only some of the three matrices are trained. All else (embeddings, readout) stays as it was drawn at
// random.
#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <regard/regard.hpp>
#include <regard/study/bars.hpp>

#include "common/parallel.hpp"
#include "coreference/training.hpp"
#include "lessons/common/lesson.hpp"

using namespace regard;
using lessons::Lesson;
using lessons::Table;

namespace {

constexpr std::uint64_t seeds = 3;
constexpr int steps = 450, batch_size = 32;

/// Which matrices are trained.
struct Choice {
  std::string name;
  std::vector<std::string> parts;
};
const std::vector<Choice> choices = {
    {"-", {}},
    {"W_Q", {"query"}},
    {"W_K", {"key"}},
    {"W_Q + W_K", {"query", "key"}},
    {"W_V", {"value"}},
    {"W_Q + W_V", {"query", "value"}},
    {"W_K + W_V", {"key", "value"}},
    {"W_Q + W_K + W_V", {"query", "key", "value"}},
};

/// One layer whose random embeddings are wide enough that matrices alone can tell the words apart.
coreference::ModelSettings model_settings(coreference::Language language) {
  coreference::ModelSettings settings;
  settings.task = coreference::Task::agreement;
  settings.model = coreference::ModelKind::raw;
  settings.language = language;
  settings.width = 64;
  settings.head_width = 32;
  return settings;
}

coreference::Splits sentences(coreference::Language language, std::uint64_t seed) {
  coreference::SplitOptions options;
  options.language = language;
  options.task = coreference::Task::agreement;
  options.evaluation = 500;
  options.seed = seed;
  return coreference::make_splits(options);
}

/// The same start for every choice; then only what is chosen moves.
coreference::Metrics train(const Choice& choice, const coreference::Splits& splits,
                           coreference::Language language, std::uint64_t seed) {
  const coreference::ModelSettings settings = model_settings(language);
  Rng rng = Rng(seed).split(1), order = Rng(seed).split(2);
  const coreference::Model model(settings, rng);
  freeze(model);
  for (const std::string& part : choice.parts) unfreeze(model, "layer1." + part);

  AdamOptions options;
  options.learning_rate = 0.01;
  Adam optimizer(parameters(model), options);
  for (int step = 0; step < steps && !choice.parts.empty(); ++step) {
    std::vector<std::size_t> chosen;
    for (int i = 0; i < batch_size; ++i)
      chosen.push_back(static_cast<std::size_t>(order.below(static_cast<Size>(splits.training.size()))));
    const coreference::Inputs inputs(coreference::make_batch(splits.training, chosen), settings.dtype);
    optimizer.zero_grad();
    backward(cross_entropy(model(inputs).logits, inputs.targets));
    optimizer.step();
  }
  return coreference::evaluate(model, splits.validation).metrics;
}

using Results = std::vector<std::array<coreference::Metrics, seeds>>;  // [choice][seed]

/// Every seed a thread of its own, so that the numbers do not depend on how many there are.
Results train_all(coreference::Language language) {
  Results results(choices.size());
  common::run_in_parallel(
      seeds, 0,
      [&](std::size_t s) {
        const coreference::Splits splits = sentences(language, s + 1);
        for (std::size_t c = 0; c < choices.size(); ++c)
          results[c][s] = train(choices[c], splits, language, s + 1);
      },
      [] {}, [] {});
  return results;
}

double lowest(const std::array<coreference::Metrics, seeds>& of, double coreference::Metrics::*what) {
  double low = of[0].*what;
  for (const coreference::Metrics& metrics : of) low = std::min(low, metrics.*what);
  return low;
}
double highest(const std::array<coreference::Metrics, seeds>& of, double coreference::Metrics::*what) {
  double high = of[0].*what;
  for (const coreference::Metrics& metrics : of) high = std::max(high, metrics.*what);
  return high;
}
double average(const std::array<coreference::Metrics, seeds>& of, double coreference::Metrics::*what) {
  double total = 0;
  for (const coreference::Metrics& metrics : of) total += metrics.*what;
  return total / static_cast<double>(seeds);
}

constexpr double coreference::Metrics::*accuracy = &coreference::Metrics::accuracy;
constexpr double coreference::Metrics::*among = &coreference::Metrics::candidate_accuracy;
constexpr double coreference::Metrics::*mass = &coreference::Metrics::mass;

void explain(Lesson& lesson, coreference::Language language) {
  lesson.say(
      "Every noun of a sentence carries a number, new for each sentence. The pronoun must say the number of "
      "the noun it stands for; three nouns are candidates, and the pronoun's word decides. For instance:",
      "Mỗi danh từ trong câu mang một số, mỗi câu một khác. Đại từ phải nói ra số của danh từ mà nó thay "
      "thế; có ba danh từ ứng viên, và chính đại từ quyết định. Chẳng hạn:");
  Rng rng(5);
  coreference::GrammarOptions grammar;
  grammar.language = language;
  grammar.task = coreference::Task::agreement;
  const coreference::Sentence sentence = coreference::draw(grammar, rng);
  std::string words;
  const std::vector<std::string> tokens = sentence.words();
  for (Size i = 0; i < sentence.length(); ++i)
    words += (words.empty() ? "" : " ") + tokens[static_cast<std::size_t>(i)] +
             (sentence.referent(i) > 0 ? fmt::format("({})", sentence.referent(i)) : "");
  lesson.formula(
      fmt::format("{}   {} → {}", words, tokens[static_cast<std::size_t>(sentence.pronoun)], sentence.label));
  lesson.formula("logits = softmax((x·W_Q)(x·W_K)ᵀ/√d_k) · c·W_V · U + b");
  lesson.say(
      "x are embeddings of word, place and number, c those of the number alone. E, P, C, U and b are random "
      "and stay so. Each choice below starts from the same numbers and trains 450 steps.",
      "x là embedding của từ, vị trí và số; c chỉ là embedding của số. E, P, C, U và b ngẫu nhiên và giữ "
      "nguyên. Mỗi lựa chọn dưới đây bắt đầu từ cùng các con số và huấn luyện 450 bước.");
}

void print(Lesson& lesson, const Results& results) {
  Table table({lesson.pick("trained", "được học"), lesson.pick("accuracy", "độ chính xác"),
               lesson.pick("among the 3 nouns", "giữa 3 danh từ"),
               lesson.pick("weight on the antecedent", "trọng số ở tiền ngữ"), "entropy"});
  for (std::size_t c = 0; c < choices.size(); ++c) {
    const auto& r = results[c];
    const auto range = [&](double coreference::Metrics::*what) {
      return fmt::format("{:.2f} … {:.2f}", lowest(r, what), highest(r, what));
    };
    table.row({choices[c].name, range(accuracy), range(among), range(mass),
               fmt::format("{:.2f}", average(r, &coreference::Metrics::entropy))});
    lesson.keep(choices[c].name + ", accuracy", average(r, accuracy));
    lesson.keep(choices[c].name + ", mass", average(r, mass));
  }
  lesson.print(table);
}

std::string picture(const Lesson& lesson, const Results& results) {
  std::vector<study::BarGroup> groups;
  for (std::size_t c = 0; c < choices.size(); ++c)
    groups.push_back({choices[c].parts.empty() ? lesson.pick("nothing", "không gì") : choices[c].name,
                      {average(results[c], accuracy), average(results[c], mass)}});
  study::BarsOptions options;
  options.title = lesson.pick("What is trained, and what it can do", "Học cái gì, làm được gì");
  options.series = {lesson.pick("accuracy", "độ chính xác"),
                    lesson.pick("weight on the antecedent", "trọng số ở tiền ngữ")};
  options.lines = {{1.0 / 3, lesson.pick("one of three", "một trong ba")}};
  options.language = lesson.language();
  return study::bars_svg(groups, options);
}

void claims(Lesson& lesson, const Results& results) {
  const auto of = [&](const std::string& name) {
    std::size_t c = 0;
    while (choices[c].name != name) ++c;
    return results[c];
  };
  bool same_mass = true;
  for (std::size_t s = 0; s < seeds; ++s) same_mass = same_mass && of("W_V")[s].mass == of("-")[s].mass;
  lesson.claim("W_V alone: where the pronoun looks has not changed by a single bit",
               "chỉ W_V: nơi đại từ nhìn không đổi một bit nào", same_mass, average(of("W_V"), mass));
  lesson.at_most(
      "so it knows which numbers there are, but not whose: among the three nouns it guesses (highest of the "
      "seeds)",
      "nên nó biết có những số nào, nhưng không biết của ai: giữa ba danh từ nó chỉ đoán (seed cao nhất)",
      highest(of("W_V"), among), 0.45);
  const double without_v = std::max(
      {highest(of("W_Q"), accuracy), highest(of("W_K"), accuracy), highest(of("W_Q + W_K"), accuracy)});
  lesson.at_most(
      "W_Q, W_K or both: they can look anywhere, but what they see comes out as the wrong number (highest of "
      "all)",
      "W_Q, W_K hay cả hai: muốn nhìn đâu cũng được, nhưng thứ nhìn thấy lại đọc ra thành số sai (cao nhất)",
      without_v, 0.45);
  lesson.at_least("W_Q and W_V: looking and saying (lowest of the seeds)",
                  "W_Q và W_V: vừa nhìn vừa nói (seed thấp nhất)", lowest(of("W_Q + W_V"), accuracy), 0.7);
  lesson.at_least("W_K and W_V (lowest of the seeds)", "W_K và W_V (seed thấp nhất)",
                  lowest(of("W_K + W_V"), accuracy), 0.9);
  lesson.at_least("all three (lowest of the seeds)", "cả ba (seed thấp nhất)",
                  lowest(of("W_Q + W_K + W_V"), accuracy), 0.95);
  lesson.claim(
      "with W_V, the keys are worth more than the queries, in every seed: a few pronouns ask, but all nouns "
      "must be told apart",
      "cùng với W_V, key đáng giá hơn query, ở mọi seed: chỉ vài đại từ hỏi, nhưng phải phân biệt mọi danh "
      "từ",
      lowest(of("W_K + W_V"), accuracy) > highest(of("W_Q + W_V"), accuracy),
      fmt::format("{:.3f} > {:.3f}", lowest(of("W_K + W_V"), accuracy), highest(of("W_Q + W_V"), accuracy)));
  lesson.claim(
      "with W_V and one of the others the right number wins a vote; with all three attention settles on the "
      "antecedent",
      "W_V cùng một trong hai ma trận kia: số đúng thắng nhờ bỏ phiếu; cả ba: attention dồn vào tiền ngữ",
      lowest(of("W_Q + W_K + W_V"), mass) > 0.55 && highest(of("W_K + W_V"), mass) < 0.5,
      fmt::format("{:.2f} > 0.55, {:.2f} < 0.5", lowest(of("W_Q + W_K + W_V"), mass),
                  highest(of("W_K + W_V"), mass)));
}

}  // namespace

int main(int argc, char** argv) {
  set_blas_threads(1);
  Lesson lesson(argc, argv, {"Train only one matrix", "Chỉ học một ma trận"},
                {"W_Q and W_K decide where to look, W_V what is seen there. Each is trained alone, in pairs, "
                 "and all together.",
                 "W_Q và W_K quyết định nhìn vào đâu, W_V quyết định thấy gì ở đó. Học riêng từng ma trận, "
                 "từng cặp, rồi cả ba."});
  return lesson.run([&] {
    const coreference::Language language = coreference::language_of(lesson.language());
    explain(lesson, language);
    const Results results = train_all(language);
    lesson.look_for(
        "two abilities that cannot replace each other. Without W_V the accuracy hardly moves; without W_Q "
        "and W_K the weight on the antecedent does not move at all. And a right answer is not yet a sharp "
        "look: compare the two columns.",
        "hai khả năng không thay thế được nhau. Không có W_V thì độ chính xác hầu như đứng yên; không có W_Q "
        "và W_K thì trọng số ở tiền ngữ đứng yên hẳn. Và trả lời đúng chưa phải là nhìn rõ: hãy so hai cột.");
    lesson.say("Lowest and highest of three seeds, on 500 sentences that were not trained on:",
               "Thấp nhất và cao nhất trong ba seed, trên 500 câu không dùng để huấn luyện:");
    print(lesson, results);
    lesson.picture("bars", picture(lesson, results));
    claims(lesson, results);
  });
}

// Why several heads: a pronoun must say two things, the number of its antecedent and that of the first noun.
// One head has one row of weights for both questions; two heads share the work, and each can be switched off.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <regard/regard.hpp>
#include <regard/study/panels.hpp>

#include "common/parallel.hpp"
#include "coreference/model.hpp"
#include "coreference/splits.hpp"
#include "lessons/common/lesson.hpp"

using namespace regard;
using lessons::Lesson;
using lessons::Table;

namespace {

constexpr std::uint64_t seeds = 3;
constexpr int steps = 600, batch_size = 32;
constexpr Size numbers = coreference::referent_numbers;

/// How the layer is built; all read the same sentences with embeddings of width 16.
struct Layout {
  Size heads, head_width, value_width;
};
const std::vector<Layout> layouts = {{1, 8, 16}, {1, 32, 64}, {2, 8, 16}, {4, 8, 16}};

std::string name_of(const Layout& layout, const Lesson& lesson) {
  const std::string wide = layout.head_width > 8 ? lesson.pick(" wide", " rộng") : "";
  const std::string heads = lesson.vietnamese() ? "" : layout.heads > 1 ? "s" : "";
  return fmt::format("{}{} head{}", layout.heads, lesson.vietnamese() ? "" : wide, heads) +
         (lesson.vietnamese() ? wide : "");
}

coreference::ModelSettings settings_of(const Layout& layout, coreference::Language language) {
  coreference::ModelSettings settings;
  settings.task = coreference::Task::agreement;
  settings.model = coreference::ModelKind::raw;
  settings.language = language;
  settings.heads = layout.heads;
  settings.head_width = layout.head_width;
  return settings;
}

/// One layer of attention, read at the pronoun, with an answer for each question. Values hold numbers alone,
/// so an answer shows where a head looked.
struct Reader {
  Reader(const coreference::ModelSettings& s, Size value_width, Rng& rng)
      : word(normal({coreference::Lexicon::of(s.language).size(), s.width}, rng, 0, 0.2)),
        number(normal({numbers, s.width}, rng, 0, 0.2)),
        position(normal({coreference::longest_sentence, s.width}, rng, 0, 0.2)),
        attention(s, value_width, rng),
        antecedent(s.heads * value_width, numbers, rng),
        first(s.heads * value_width, numbers, rng) {}

  struct Answer {
    Tensor antecedent, first;  // logits [batch, numbers]
  };
  Answer operator()(const coreference::Inputs& in, AttentionTrace* trace = nullptr) const {
    const Tensor c = take(concatenate({zeros({1, number.shape()[1]}), number}), in.referents);
    const Tensor x = take(word, in.tokens) + c + slice(position, 0, {0, in.length});
    const Tensor out = attention(x, x, c, Mask::padding(in.lengths), trace);
    const Tensor row = take(reshape(out, {in.batch * in.length, out.size(2)}), in.pronoun_rows);
    const Tensor brought = heads(row);  // [batch, heads · value_width]
    return {antecedent(brought), first(brought)};
  }

  template <class F>
  void visit(F&& f) {
    f("word", word);
    f("number", number);
    f("position", position);
    f("attention", attention);
    f("heads", heads);
    f("antecedent", antecedent);
    f("first", first);
  }

  Parameter word, number, position;
  coreference::Head attention;
  Probe heads;  ///< what the heads bring to the pronoun, side by side
  nn::Linear antecedent, first;
};

/// Position of the first noun that is a candidate.
std::vector<Size> first_nouns(const coreference::Batch& batch) {
  std::vector<Size> positions;
  for (Size b = 0; b < batch.size; ++b) {
    const auto row = batch.candidates.begin() + static_cast<std::ptrdiff_t>(b * batch.length);
    positions.push_back(std::find(row, row + static_cast<std::ptrdiff_t>(batch.length), 1) - row);
  }
  return positions;
}

Tensor first_targets(const coreference::Batch& batch) {
  const std::vector<Size> positions = first_nouns(batch);
  std::vector<Size> targets;
  for (Size b = 0; b < batch.size; ++b) {
    const Size at = b * batch.length + positions[static_cast<std::size_t>(b)];
    targets.push_back(batch.referents[static_cast<std::size_t>(at)] - 1);
  }
  return from_vector(targets, {batch.size});
}

void train(const Reader& model, const std::vector<coreference::Sentence>& sentences, Rng order) {
  AdamOptions options;
  options.learning_rate = 0.01;
  Adam optimizer(parameters(model), options);
  for (int step = 0; step < steps; ++step) {
    std::vector<std::size_t> chosen;
    for (int i = 0; i < batch_size; ++i)
      chosen.push_back(static_cast<std::size_t>(order.below(static_cast<Size>(sentences.size()))));
    const coreference::Batch batch = coreference::make_batch(sentences, chosen);
    const coreference::Inputs inputs(batch, float64);
    const Reader::Answer answer = model(inputs);
    optimizer.zero_grad();
    backward(cross_entropy(answer.antecedent, inputs.targets) +
             cross_entropy(answer.first, first_targets(batch)));
    optimizer.step();
  }
}

/// Shares of the sentences that are answered right.
struct Right {
  double antecedent = 0, first = 0, both = 0;
};

struct Outcome {
  Right all;
  std::vector<Right> without;                   // each head switched off
  std::vector<double> on_antecedent, on_first;  // mean weight of each head
};

Right right_answers(const Reader& model, const coreference::Inputs& inputs, const Tensor& first,
                    AttentionTrace* trace) {
  const Reader::Answer answer = model(inputs, trace);
  const Tensor a = equal(argmax(answer.antecedent), inputs.targets), f = equal(argmax(answer.first), first);
  const auto share = [](const Tensor& x) { return mean(x.to(float64)).item(); };
  return {share(a), share(f), share(logical_and(a, f))};
}

/// Mean weight that the pronoun gives to a position of each sentence.
double mean_weight(const AttentionTrace& trace, Size head, const std::vector<Size>& from,
                   const std::vector<Size>& to) {
  double total = 0;
  for (std::size_t b = 0; b < from.size(); ++b)
    total += trace.weights.at({static_cast<Size>(b), head, from[b], to[b]});
  return total / static_cast<double>(from.size());
}

Outcome examine(const Reader& model, const std::vector<coreference::Sentence>& sentences,
                const Layout& layout) {
  const NoGrad no_grad;
  const coreference::Batch batch = coreference::make_batch(sentences);
  const coreference::Inputs inputs(batch, float64);
  const Tensor first = first_targets(batch);
  Outcome outcome;
  AttentionTrace trace;
  outcome.all = right_answers(model, inputs, first, &trace);
  for (Size head = 0; head < layout.heads; ++head) {
    outcome.on_antecedent.push_back(mean_weight(trace, head, batch.pronoun, batch.antecedent));
    outcome.on_first.push_back(mean_weight(trace, head, batch.pronoun, first_nouns(batch)));
    const Tensor off =
        reshape(one_hot(full({1}, static_cast<double>(head), int64), layout.heads), {layout.heads, 1});
    const Tensor on = reshape(broadcast_to(1.0 - off, {layout.heads, layout.value_width}),
                              {layout.heads * layout.value_width});
    const Attachment ablation = attach(model, "heads", [&](const Tensor& brought) { return brought * on; });
    outcome.without.push_back(right_answers(model, inputs, first, nullptr));
  }
  return outcome;
}

/// The shortest whose antecedent is not the first noun.
coreference::Sentence for_the_picture(const std::vector<coreference::Sentence>& sentences) {
  const auto length = [](const coreference::Sentence& x) {
    return x.length() + (x.antecedent == x.candidates.front() ? coreference::longest_sentence : 0);
  };
  return *std::min_element(
      sentences.begin(), sentences.end(),
      [&](const coreference::Sentence& a, const coreference::Sentence& b) { return length(a) < length(b); });
}

/// The pronoun's row of every head, for one sentence.
Tensor pronoun_rows(const Reader& model, const coreference::Sentence& sentence) {
  const NoGrad no_grad;
  AttentionTrace trace;
  (void)model(coreference::Inputs(coreference::make_batch({sentence}), float64), &trace);
  return select(select(trace.weights, 0, 0), 1, sentence.pronoun).detach();
}

struct Study {
  std::vector<std::vector<Outcome>> outcomes;  // [layout][seed]
  std::vector<std::vector<double>> rows;       // [layout] of the first seed, row-major [heads, tokens]
  coreference::Sentence sentence;              // whose rows they are
};

Study run(coreference::Language language) {
  Study study{std::vector<std::vector<Outcome>>(layouts.size(), std::vector<Outcome>(seeds)),
              std::vector<std::vector<double>>(layouts.size()),
              {}};
  common::run_in_parallel(
      seeds, 0,
      [&](std::size_t s) {
        coreference::SplitOptions options;
        options.language = language;
        options.task = coreference::Task::agreement;
        options.evaluation = 500;
        options.seed = s + 1;
        const coreference::Splits splits = coreference::make_splits(options);
        for (std::size_t l = 0; l < layouts.size(); ++l) {
          Rng rng = Rng(s + 1).split(1);
          const Reader model(settings_of(layouts[l], language), layouts[l].value_width, rng);
          train(model, splits.training, Rng(s + 1).split(2));
          study.outcomes[l][s] = examine(model, splits.validation, layouts[l]);
          if (s > 0) continue;
          study.sentence = for_the_picture(splits.validation);
          study.rows[l] = pronoun_rows(model, study.sentence).to_vector<double>();
        }
      },
      [] {}, [] {});
  return study;
}

// ---- the lesson ----------------------------------------------------------------------------------------

double peak(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

/// The largest mean weight that any head puts on either noun.
double sharpest(const Outcome& outcome) {
  return std::max(peak(outcome.on_antecedent), peak(outcome.on_first));
}

template <class F>
double over_seeds(const std::vector<Outcome>& outcomes, double (*choose)(double, double), F of) {
  double value = of(outcomes[0]);
  for (const Outcome& outcome : outcomes) value = choose(value, of(outcome));
  return value;
}
double lower(double a, double b) {
  return std::min(a, b);
}
double higher(double a, double b) {
  return std::max(a, b);
}

void print_results(Lesson& lesson, const Study& study) {
  lesson.heading("How many questions a head can answer", "Một head trả lời được mấy câu hỏi");
  lesson.look_for(
      "one head must put its weight on both nouns at once. Its values are numbers without a name, so it "
      "cannot tell which is whose; a wider head does not help. Two heads are as good as four.",
      "một head phải đặt trọng số lên cả hai danh từ cùng lúc. Value của nó là những con số không tên, nên "
      "nó không biết số nào của ai; head rộng hơn cũng không giúp được. Hai head đã tốt như bốn.");
  Table table({"", "seed", lesson.pick("antecedent", "tiền ngữ"), lesson.pick("first noun", "danh từ đầu"),
               lesson.pick("both right", "đúng cả hai"),
               lesson.pick("weight of each head: antecedent / first", "trọng số mỗi head: tiền ngữ / đầu")});
  for (std::size_t l = 0; l < layouts.size(); ++l)
    for (std::size_t s = 0; s < seeds; ++s) {
      const Outcome& o = study.outcomes[l][s];
      std::string weights;
      for (std::size_t h = 0; h < o.on_first.size(); ++h)
        weights += fmt::format("{}{:.2f} / {:.2f}", h > 0 ? "   " : "", o.on_antecedent[h], o.on_first[h]);
      table.row({name_of(layouts[l], lesson), fmt::format("{}", s + 1),
                 fmt::format("{:.3f}", o.all.antecedent), fmt::format("{:.3f}", o.all.first),
                 fmt::format("{:.3f}", o.all.both), weights});
    }
  lesson.print(table);
}

void print_ablation(Lesson& lesson, const Study& study) {
  lesson.heading("Each head switched off", "Tắt từng head");
  lesson.say(
      "A probe sits where the heads' results come in; it puts zeros in the place of one head's. Seed 1:",
      "Một probe đặt ở chỗ kết quả các head đi vào; nó thay phần của một head bằng số 0. Seed 1:");
  Table table({"", lesson.pick("switched off", "tắt"), lesson.pick("antecedent", "tiền ngữ"),
               lesson.pick("first noun", "danh từ đầu")});
  for (std::size_t l = 2; l < layouts.size(); ++l) {
    const Outcome& o = study.outcomes[l][0];
    table.row({name_of(layouts[l], lesson), "-", fmt::format("{:.3f}", o.all.antecedent),
               fmt::format("{:.3f}", o.all.first)});
    for (std::size_t h = 0; h < o.without.size(); ++h)
      table.row({"", fmt::format("head {}", h + 1), fmt::format("{:.3f}", o.without[h].antecedent),
                 fmt::format("{:.3f}", o.without[h].first)});
  }
  lesson.look_for(
      "of two heads each has one task: switched off, it takes its own answer with it and leaves the other. "
      "Of four, some do the same work, and one of them is hardly missed.",
      "với hai head, mỗi head một việc: tắt nó thì mất câu trả lời của nó, câu kia còn nguyên. Với bốn head, "
      "vài head làm cùng một việc, và có head tắt đi gần như không thấy thiếu.");
  lesson.print(table);
}

/// How well the two heads divide the work: what each keeps of the other's answer, and loses of its own.
struct Division {
  double kept, lost;
};
Division division(const Outcome& o) {
  const std::size_t looks_back = o.on_antecedent[0] > o.on_antecedent[1] ? 0 : 1;
  const Right& blind = o.without[looks_back];         // without the head that looks at the antecedent
  const Right& headless = o.without[1 - looks_back];  // without the one that looks at the first noun
  return {std::min(blind.first, headless.antecedent), std::max(blind.antecedent, headless.first)};
}

double least_missed(const Outcome& o) {
  double both = 0;
  for (const Right& right : o.without) both = std::max(both, right.both);
  return both;
}

void claims(Lesson& lesson, const Study& study) {
  const auto both = [](const Outcome& o) { return o.all.both; };
  const auto& one = study.outcomes[0];
  const auto& wide = study.outcomes[1];
  const auto& two = study.outcomes[2];
  const auto& four = study.outcomes[3];
  lesson.at_most("one head: both right, best of the seeds", "một head: đúng cả hai, seed tốt nhất",
                 over_seeds(one, higher, both), 0.95);
  lesson.at_most("one head: its weight on either noun, highest",
                 "một head: trọng số lên một danh từ, cao nhất", over_seeds(one, higher, sharpest), 0.7);
  lesson.at_most("one wide head, with four times the numbers: both right, best",
                 "một head rộng, nhiều số gấp bốn: đúng cả hai, tốt nhất", over_seeds(wide, higher, both),
                 0.95);
  lesson.at_least("two heads: both right, worst of the seeds", "hai head: đúng cả hai, seed tệ nhất",
                  over_seeds(two, lower, both), 0.97);
  lesson.at_least("two heads: the sharper one's weight on its noun, lowest",
                  "hai head: trọng số của head nhọn hơn, thấp nhất", over_seeds(two, lower, sharpest), 0.95);
  lesson.at_least("two heads: switched off, a head leaves the other's answer (worst)",
                  "hai head: tắt một head, câu của head kia vẫn còn (tệ nhất)",
                  over_seeds(two, lower, [](const Outcome& o) { return division(o).kept; }), 0.9);
  lesson.at_most("and takes its own with it (highest share still right)",
                 "và mất câu của chính nó (phần còn đúng, cao nhất)",
                 over_seeds(two, higher, [](const Outcome& o) { return division(o).lost; }), 0.6);
  lesson.at_least("four heads: one of them is hardly missed: both right without it (worst)",
                  "bốn head: có một head gần như không thiếu: đúng cả hai khi tắt nó (tệ nhất)",
                  over_seeds(four, lower, least_missed), 0.95);
}

std::string picture(const Lesson& lesson, const Study& study) {
  std::vector<study::MatrixPanel> panels;
  for (std::size_t l = 0; l < layouts.size(); ++l) {
    if (layouts[l].head_width > 8) continue;
    const Tensor rows = from_vector(study.rows[l], {layouts[l].heads, study.sentence.length()});
    panels.push_back(lessons::weights_panel(name_of(layouts[l], lesson),
                                            lessons::numbered("head ", layouts[l].heads),
                                            study.sentence.words(), rows));
  }
  const std::vector<std::string> words = study.sentence.words();
  const auto word_at = [&](Size i) { return words[static_cast<std::size_t>(i)]; };
  study::PanelsOptions options;
  const std::string pronoun = word_at(study.sentence.pronoun),
                    antecedent = word_at(study.sentence.antecedent),
                    first = word_at(study.sentence.candidates.front());
  options.title = lesson.pick(
      fmt::format("Where \"{}\" looks: antecedent \"{}\", first noun \"{}\"", pronoun, antecedent, first),
      fmt::format("\"{}\" nhìn vào đâu: tiền ngữ \"{}\", danh từ đầu \"{}\"", pronoun, antecedent, first));
  options.per_row = 1;
  options.language = lesson.language();
  return study::panels_svg(panels, options);
}

}  // namespace

int main(int argc, char** argv) {
  set_blas_threads(1);
  Lesson lesson(
      argc, argv, {"Why several heads", "Vì sao cần nhiều head"},
      {"A pronoun is asked two things at once: the number of its antecedent and that of the first noun of "
       "the three.",
       "Một đại từ bị hỏi hai điều cùng lúc: số của tiền ngữ và số của danh từ đầu tiên trong ba danh từ."});
  return lesson.run([&] {
    const Study study = run(coreference::language_of(lesson.language()));
    lesson.say(
        "The sentences are those of 12_freeze_one; every noun carries a number. Now all is trained, 600 "
        "steps, three seeds, and judged on 500 other sentences.",
        "Câu giống như ở 12_freeze_one; mỗi danh từ mang một số. Lần này mọi thứ đều được học, 600 bước, ba "
        "seed, và chấm trên 500 câu khác.");
    print_results(lesson, study);
    print_ablation(lesson, study);
    lesson.picture("heads", picture(lesson, study));
    lesson.heading("What is claimed", "Các khẳng định");
    claims(lesson, study);
  });
}

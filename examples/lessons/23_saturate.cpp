// Attention that starts too sharp cannot learn: initial weights of W_Q and W_K from small to large, the
// gradient that is left of dP, three remedies, and the least entropy that scores of a given size can have.
// Zhai et al. 2023 (entropy collapse, sigma-Reparam); Henry et al. 2020 (query-key normalisation).
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <regard/regard.hpp>
#include <regard/study/curves.hpp>

#include "lessons/common/lesson.hpp"

using namespace regard;
using lessons::doubles;
using lessons::Lesson;
using lessons::Table;

namespace {

constexpr std::uint64_t seeds = 5;
constexpr int steps = 600, log_every = 25;
constexpr Size symbols = 16, slots = 8, classes = 8, width = 16, batch_size = 64;

// ---- the task: look up the value of a key ---------------------------------------------------------------

/// Eight different symbols with a random value each, and the symbol that is asked for.
struct Lookups {
  Tensor keys, values;   // int64 [batch, slots]
  Tensor query, target;  // int64 [batch, 1], [batch]
};

Lookups draw(Rng& rng, Size batch) {
  std::vector<Size> keys, values, query, target;
  std::vector<Size> order;
  for (Size symbol = 0; symbol < symbols; ++symbol) order.push_back(symbol);
  for (Size b = 0; b < batch; ++b) {
    rng.shuffle(order);
    keys.insert(keys.end(), order.begin(), order.begin() + slots);
    for (Size slot = 0; slot < slots; ++slot) values.push_back(rng.below(classes));
    const Size asked = rng.below(slots);
    query.push_back(order[static_cast<std::size_t>(asked)]);
    target.push_back(values[static_cast<std::size_t>(b * slots + asked)]);
  }
  return {from_vector(keys, {batch, slots}), from_vector(values, {batch, slots}),
          from_vector(query, {batch, 1}), from_vector(target, {batch})};
}

// ---- the model -----------------------------------------------------------------------------------------

enum class Remedy { none, temperature, qk_norm, sigma_reparam };

/// W·γ / σ(W) with σ the largest singular value, by the power method. The directions are constants, σ is not.
Tensor reparametrised(const Tensor& W, const Tensor& gamma) {
  Tensor v = ones({W.size(1), 1});
  {
    const NoGrad no_grad;
    for (int i = 0; i < 30; ++i) {
      v = matmul(transpose(W.detach()), matmul(W.detach(), v));
      v = v / norm(v);
    }
  }
  return W * gamma / norm(matmul(W, v));
}

/// Random embeddings that stay, W_Q and W_K that are learned; values are the answers themselves, so that the
/// weights are all there is to get right.
struct Retriever {
  Retriever(double deviation, Remedy remedy_, Rng& rng)
      : remedy(remedy_),
        embedding(normal({symbols, width}, rng)),
        W_Q(normal({width, width}, rng, 0, deviation)),
        W_K(normal({width, width}, rng, 0, deviation)),
        gain_q(ones({1})),
        gain_k(ones({1})) {
    if (remedy == Remedy::qk_norm) gain_q.assign(full({1}, std::sqrt(static_cast<double>(width))));
    if (remedy != Remedy::temperature) return;
    AttentionTrace trace;  // the scores' deviation, once, on data of its own
    (void)(*this)(draw(rng, 256), &trace);
    temperature = std::sqrt(mean(square(trace.scaled)).item());
  }

  /// -> [batch, classes], shares that add up to 1.
  Tensor operator()(const Lookups& in, AttentionTrace* trace = nullptr) const {
    Tensor q_weights = W_Q, k_weights = W_K;
    if (remedy == Remedy::sigma_reparam) {
      q_weights = reparametrised(q_weights, gain_q);
      k_weights = reparametrised(k_weights, gain_k);
    }
    Tensor q = matmul(take(embedding, in.query), q_weights), k = matmul(take(embedding, in.keys), k_weights);
    AttentionOptions options;
    options.scale = 1 / std::sqrt(static_cast<double>(width)) / temperature;
    if (remedy == Remedy::qk_norm) {
      q = gain_q.tensor() * q / norm(q, {-1}, keep_axes);
      k = k / norm(k, {-1}, keep_axes);
      options.scale = 1;
    }
    return squeeze(attention(q, k, one_hot(in.values, classes), Mask::none(), options, trace), {1});
  }

  template <class F>
  void visit(F&& f) {
    f("W_Q", W_Q);
    f("W_K", W_K);
    f("gain_q", gain_q);
    f("gain_k", gain_k);
  }

  Remedy remedy;
  double temperature = 1;
  Tensor embedding;
  Parameter W_Q, W_K, gain_q, gain_k;
};

/// Half the squared distance to the right answer: dP stays bounded, whatever the weights are.
Tensor loss_of(const Tensor& answer, const Tensor& target) {
  return 0.5 * mean(sum(square(answer - one_hot(target, classes)), {-1}));
}

double accuracy(const Retriever& model) {
  const NoGrad no_grad;
  Rng rng(99);
  const Lookups held_out = draw(rng, 500);
  return mean(equal(argmax(model(held_out)), held_out.target).to(float64)).item();
}

// ---- the bound on the entropy --------------------------------------------------------------------------

/// The least entropy of a softmax over `keys` scores whose distance from their mean is `size` (Zhai et al.
/// 2023): ln(1 + (T-1)b) + s√(T(T-1))·b / (1 + (T-1)b), b = exp(-s√(T/(T-1))).
double least_entropy(double size, double keys) {
  const double b = std::exp(-size * std::sqrt(keys / (keys - 1)));
  const double z = 1 + (keys - 1) * b;
  return std::log(z) + size * std::sqrt(keys * (keys - 1)) * b / z;
}

double entropy_of(const Tensor& scores) {
  return -sum(softmax(scores) * log_softmax(scores)).item();
}

// ---- runs ----------------------------------------------------------------------------------------------

struct Start {
  double largest = 0, entropy = 0, bound = 0;  // means over the rows of one batch
  double passed = 0;                           // ‖dS‖ / ‖dP‖
  double below_bound = 0;  // how far any row's entropy lies below its bound; 0 if none does
};

struct Outcome {
  Start start;
  double accuracy = 0;  // in the end
  study::RunCurves curve;
};

Start look(const AttentionTrace& trace) {
  Start start;
  start.largest = mean(max(trace.weights, {-1})).item();
  start.entropy = mean(trace.entropy).item();
  const Tensor size = norm(trace.scaled - mean(trace.scaled, {-1}, keep_axes), {-1});
  const std::vector<double> sizes = doubles(size), entropies = doubles(trace.entropy);
  for (std::size_t row = 0; row < sizes.size(); ++row) {
    const double bound = least_entropy(sizes[row], static_cast<double>(slots));
    start.bound += bound / static_cast<double>(sizes.size());
    start.below_bound = std::max(start.below_bound, bound - entropies[row]);
  }
  start.passed = norm(trace.gradients().scaled).item() / norm(trace.gradients().weights).item();
  return start;
}

Outcome train(double deviation, Remedy remedy, std::uint64_t seed, const std::string& measure) {
  Rng initial = Rng(seed).split(1), data = Rng(seed).split(2);
  const Retriever model(deviation, remedy, initial);
  AdamOptions options;
  options.learning_rate = 0.01;
  Adam optimizer(parameters(model), options);
  Outcome outcome;
  for (int step = 0; step <= steps; ++step) {
    if (step % log_every == 0) {
      outcome.curve.steps.push_back(step);
      outcome.curve.measures[measure].push_back(accuracy(model));
    }
    const Lookups batch = draw(data, batch_size);
    AttentionTrace trace;
    const Tensor loss = loss_of(model(batch, step == 0 ? &trace : nullptr), batch.target);
    optimizer.zero_grad();
    backward(loss);
    if (step == 0) outcome.start = look(trace);
    optimizer.step();
  }
  outcome.accuracy = outcome.curve.measures[measure].back();
  return outcome;
}

struct Setting {
  std::string name;
  double deviation;
  Remedy remedy;
  std::vector<Outcome> outcomes = {};  // one per seed

  template <class F>
  [[nodiscard]] double average(F of) const {
    double total = 0;
    for (const Outcome& outcome : outcomes) total += of(outcome);
    return total / static_cast<double>(outcomes.size());
  }
  [[nodiscard]] double worst() const {
    return std::min_element(outcomes.begin(), outcomes.end(),
                            [](const Outcome& a, const Outcome& b) { return a.accuracy < b.accuracy; })
        ->accuracy;
  }
  [[nodiscard]] double best() const {
    return std::max_element(outcomes.begin(), outcomes.end(),
                            [](const Outcome& a, const Outcome& b) { return a.accuracy < b.accuracy; })
        ->accuracy;
  }
};

// ---- the lesson ----------------------------------------------------------------------------------------

void print(Lesson& lesson, const std::vector<Setting>& settings) {
  Table table({lesson.pick("deviation of W", "độ lệch chuẩn của W"), lesson.pick("remedy", "cách chữa"),
               "max p", "entropy", lesson.pick("least possible", "nhỏ nhất có thể"), "‖dS‖/‖dP‖",
               lesson.pick("accuracy, 5 seeds", "độ chính xác, 5 seed")});
  for (const Setting& s : settings)
    table.row({fmt::format("{}", s.deviation), s.name,
               fmt::format("{:.3f}", s.average([](const Outcome& o) { return o.start.largest; })),
               fmt::format("{:.3f}", s.average([](const Outcome& o) { return o.start.entropy; })),
               fmt::format("{:.3f}", s.average([](const Outcome& o) { return o.start.bound; })),
               fmt::format("{:.1e}", s.average([](const Outcome& o) { return o.start.passed; })),
               fmt::format("{:.2f} … {:.2f}", s.worst(), s.best())});
  lesson.print(table);
}

void the_bound(Lesson& lesson) {
  lesson.heading("How little entropy scores of a given size can have",
                 "Score lớn cỡ nào thì entropy nhỏ được tới đâu");
  lesson.say(
      "Let s be the distance of a row of T scores from their mean. Then, with b = exp(-s√(T/(T-1))),",
      "Gọi s là khoảng cách từ một hàng T score tới trung bình của chúng. Với b = exp(-s√(T/(T-1))) thì");
  lesson.formula("entropy ≥ ln(1 + (T-1)b) + s√(T(T-1))·b / (1 + (T-1)b)");
  lesson.say(
      "with equality where one score stands above all others, which are equal. So small scores cannot be "
      "sharp, and who keeps their size in check (by 1/√d_k, by QK-norm, by σ-Reparam) keeps the entropy up.",
      "dấu bằng xảy ra khi một score đứng trên tất cả, còn các score kia bằng nhau. Vậy score nhỏ thì không "
      "thể nhọn, và ai giữ được độ lớn của score (bằng 1/√d_k, QK-norm hay σ-Reparam) thì giữ được entropy.");
  const double expected[2][4] = {{2.219, 1.840, 0.619, 0.018}, {3.893, 3.766, 2.492, 0.136}};
  Table table({"T", "s = 1", "s = 2", "s = 4", "s = 8", "ln T"});
  double off = 0, attained = 0;
  for (const int row : {0, 1}) {
    const Size keys = row == 0 ? 10 : 50;
    const auto T = static_cast<double>(keys);
    std::vector<std::string> cells = {fmt::format("{}", keys)};
    for (const int column : {0, 1, 2, 3}) {
      const double s = std::pow(2, column);
      cells.push_back(fmt::format("{:.3f}", least_entropy(s, T)));
      off = std::max(off, std::fabs(least_entropy(s, T) - expected[row][column]));
      // One above, the others equal, and s away from their mean.
      const Tensor extreme = (one_hot(zeros({1}, int64), keys) - 1 / T) * (s / std::sqrt(1 - 1 / T));
      attained = std::max(attained, std::fabs(entropy_of(extreme) - least_entropy(s, T)));
    }
    cells.push_back(fmt::format("{:.3f}", std::log(T)));
    table.row(cells);
  }
  lesson.print(table);

  Rng rng(17);
  double below = -1;  // how far any random row lies below its bound; negative: none does
  for (int draw_number = 0; draw_number < 4000; ++draw_number) {
    const Size keys = 2 + rng.below(60);
    const Tensor scores = normal({1, keys}, rng, 0, std::exp(rng.uniform(-3, 3)));
    const double size = norm(scores - mean(scores)).item();
    below = std::max(below, least_entropy(size, static_cast<double>(keys)) - entropy_of(scores));
  }
  lesson.at_most("the table's figures are those of another calculation, to three decimals",
                 "bảng khớp với một phép tính khác, tới ba chữ số thập phân", off, 0.0006);
  lesson.at_most("one score above the rest attains the bound",
                 "một score đứng trên các score còn lại thì đạt đúng cận", attained, 1e-12);
  lesson.at_most("of 4000 random rows none lies below it (largest bound - entropy)",
                 "4000 hàng ngẫu nhiên, không hàng nào thấp hơn (cận - entropy lớn nhất)", below, 1e-12);
}

std::string picture(const Lesson& lesson, const std::vector<const Setting*>& settings,
                    const std::string& measure) {
  std::vector<study::RunCurves> runs;
  for (const Setting* s : settings) {
    study::RunCurves mean_curve = s->outcomes[0].curve;
    mean_curve.name = fmt::format("{}{}{}", s->deviation, s->remedy == Remedy::none ? "" : ", ",
                                  s->remedy == Remedy::none ? "" : s->name);
    std::vector<double>& values = mean_curve.measures[measure];
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = s->average([&](const Outcome& o) { return o.curve.measures.at(measure)[i]; });
    runs.push_back(mean_curve);
  }
  study::CurvesOptions options;
  options.title = lesson.pick("What is learned, by the first W", "Học được gì, tùy W ban đầu");
  options.measures = {measure};
  options.language = lesson.language();
  options.runs = study::Runs::different;
  return study::curves_svg(runs, options);
}

}  // namespace

int main(int argc, char** argv) {
  set_blas_threads(1);
  Lesson lesson(argc, argv, {"Too sharp to learn", "Nhọn quá thì không học được"},
                {"W_Q and W_K start small or large; large ones make weights that are 0 or 1, and hardly any "
                 "gradient comes through.",
                 "W_Q và W_K khởi đầu nhỏ hay lớn; lớn thì trọng số thành 0 hoặc 1, và hầu như không "
                 "gradient nào đi qua được."});
  return lesson.run([&] {
    const std::string measure = "accuracy";
    lesson.say(
        "Eight different symbols stand in a row, each with a value; a ninth asks for one of them, and its "
        "value is to be read. Embeddings are random and stay; only W_Q and W_K are learned. The loss is a "
        "squared distance, so that dP does not vanish by itself. 600 steps.",
        "Tám ký hiệu khác nhau đứng thành hàng, mỗi ký hiệu mang một giá trị; ký hiệu thứ chín hỏi một trong "
        "số đó, và phải đọc ra giá trị của nó. Embedding ngẫu nhiên và giữ nguyên; chỉ W_Q và W_K được học. "
        "Loss là khoảng cách bình phương, nên dP không tự triệt tiêu. 600 bước.");

    const std::string none = "-", temperature = lesson.pick("temperature", "nhiệt độ");
    std::vector<Setting> scales, remedies;
    for (const double deviation : {0.1, 0.3, 1.0, 3.0, 10.0})
      scales.push_back({none, deviation, Remedy::none});
    remedies = {{temperature, 3, Remedy::temperature},
                {"QK-norm", 3, Remedy::qk_norm},
                {"σ-Reparam", 3, Remedy::sigma_reparam}};
    for (std::vector<Setting>* group : {&scales, &remedies})
      for (Setting& setting : *group)
        for (std::uint64_t seed = 1; seed <= seeds; ++seed)
          setting.outcomes.push_back(train(setting.deviation, setting.remedy, seed, measure));

    lesson.heading("From small to large", "Từ nhỏ tới lớn");
    lesson.look_for(
        "dS = J·dP. The larger the first W, the nearer the weights to 0 and 1, the less of dP arrives, and "
        "the less is learned in 600 steps. Entropy and the share that passes are those of step 0.",
        "dS = J·dP. W ban đầu càng lớn thì trọng số càng gần 0 và 1, dP tới được càng ít, và 600 bước học "
        "được càng ít. Entropy và phần đi qua được là của bước 0.");
    print(lesson, scales);

    lesson.heading("Three remedies for W of deviation 3", "Ba cách chữa cho W có độ lệch chuẩn 3");
    lesson.say(
        "Temperature: scores are divided by the standard deviation they have at the start, once. QK-norm: q "
        "and k are brought to length 1, a learned gain stands before them (√d_k at first). σ-Reparam: W is "
        "replaced by γ·W/σ(W), σ its largest singular value, γ learned.",
        "Nhiệt độ: chia score cho độ lệch chuẩn lúc đầu của chúng, một lần. QK-norm: đưa q và k về độ dài 1, "
        "nhân với một hệ số học được (lúc đầu là √d_k). σ-Reparam: thay W bằng γ·W/σ(W), σ là giá trị kỳ dị "
        "lớn nhất, γ học được.");
    print(lesson, remedies);
    lesson.picture(
        "accuracy",
        picture(lesson, {&scales[0], &scales[3], &remedies[0], &remedies[1], &remedies[2]}, measure));

    double below = 0, remedied = 1, passed_remedied = 1;
    for (const std::vector<Setting>* group : {&scales, &remedies})
      for (const Setting& s : *group)
        for (const Outcome& o : s.outcomes) below = std::max(below, o.start.below_bound);
    const auto passed = [](const Outcome& o) { return o.start.passed; };
    for (const Setting& s : remedies) {
      remedied = std::min(remedied, s.worst());
      passed_remedied = std::min(passed_remedied, s.average(passed));
    }
    lesson.at_least("small start (0.1 and 0.3): every seed learns the task",
                    "bắt đầu nhỏ (0.1 và 0.3): mọi seed đều học được",
                    std::min(scales[0].worst(), scales[1].worst()), 0.95);
    lesson.at_most("large start (3 and 10): no seed does", "bắt đầu lớn (3 và 10): không seed nào học được",
                   std::max(scales[3].best(), scales[4].best()), 0.75);
    lesson.at_least("share of dP that passes: 0.1 against 3, so many times more",
                    "phần dP đi qua: 0.1 so với 3, gấp chừng này lần",
                    scales[0].average(passed) / scales[3].average(passed), 3);
    lesson.at_least("0.1 against 10", "0.1 so với 10", scales[0].average(passed) / scales[4].average(passed),
                    100);
    lesson.at_least("each remedy lets every seed learn the task from 3",
                    "mỗi cách chữa đều giúp mọi seed học được từ 3", remedied, 0.95);
    lesson.at_least("and lets as much pass as a small start, nearly",
                    "và cho đi qua gần bằng khi bắt đầu nhỏ", passed_remedied / scales[0].average(passed),
                    0.6);
    the_bound(lesson);
    lesson.at_most("nor does any row of these runs lie below the bound",
                   "và không hàng nào trong các lần chạy trên thấp hơn cận", below, 1e-12);
  });
}

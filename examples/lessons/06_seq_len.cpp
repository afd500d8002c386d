// Longer sequences: attention spreads out, memory grows with the square, and no weight can be larger than a
// bound.
#include <chrono>
#include <cmath>

#include <regard/regard.hpp>
#include <regard/study/curves.hpp>

#include "lessons/common/lesson.hpp"

using namespace regard;
using namespace lessons;

namespace {

constexpr Size width = 8, sequences = 50;

// The largest weight that scores which differ by at most `spread` allow: one at the top, N - 1 at the bottom.
double bound(double spread, Size length) {
  return std::exp(spread) / (std::exp(spread) + static_cast<double>(length - 1));
}

struct Measured {
  double entropy = 0;  // mean over the rows
  double largest = 0;  // mean over the rows of the largest weight
  double excess = -1;  // the most by which a weight is above the bound of its row
  double seconds = 0;  // forward and backward, one sequence
};

// Random sequences through attention, the same matrices for every length.
Measured measure(Size length, double weight_size) {
  NumpyRng rng = Rng::numpy(42);
  const auto draw = [&] { return variable(weight_size * rng.randn({width, width})); };
  const Tensor w_q = draw(), w_k = draw(), w_v = draw();
  const Tensor x = rng.randn({sequences, length, width});
  AttentionTrace trace;
  const auto start = std::chrono::steady_clock::now();
  const Tensor output = attention(matmul(x, w_q), matmul(x, w_k), matmul(x, w_v), Mask::none(), {}, &trace);
  (void)grad({sum(output)}, {w_q, w_k, w_v});
  Measured found;
  found.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / sequences;
  found.entropy = mean(trace.entropy).item();
  const Tensor top = max(trace.weights, {-1});
  found.largest = mean(top).item();
  const std::vector<double> spread = doubles(max(trace.scaled, {-1}) - (-max(-trace.scaled, {-1})));
  const std::vector<double> tops = doubles(top);
  for (std::size_t row = 0; row < tops.size(); ++row)
    found.excess = std::max(found.excess, tops[row] - bound(spread[row], length));
  return found;
}

std::string bytes(double count) {
  if (count >= 1e9) return fmt::format("{:.1f} GB", count / 1e9);
  return count >= 1e6 ? fmt::format("{:.1f} MB", count / 1e6) : fmt::format("{:.1f} kB", count / 1e3);
}

}  // namespace

int main(int argc, char** argv) {
  Lesson lesson(argc, argv, {"Longer sequences", "Chuỗi dài hơn"},
                {"10, 20, 50 tokens and more: what becomes of the weights, and what it costs.",
                 "10, 20, 50 token và hơn nữa: trọng số ra sao, và tốn bao nhiêu."});
  return lesson.run([&] {
    const std::vector<Size> lengths = {10, 20, 50, 100, 200};

    lesson.heading("Random attention", "Attention ngẫu nhiên");
    lesson.say(
        fmt::format(
            "{} random sequences of width {}, no mask. Matrices of 0.1·randn give scores near 0, so "
            "attention "
            "is nearly uniform; randn/√8 keeps the size of the embeddings, and scores differ by a few units.",
            sequences, width),
        fmt::format("{} chuỗi ngẫu nhiên rộng {}, không che. Ma trận 0.1·randn cho điểm gần 0, nên attention "
                    "gần như đều; "
                    "randn/√8 giữ nguyên cỡ của embedding, và điểm chênh nhau vài đơn vị.",
                    sequences, width));
    lesson.look_for(
        "the columns of one length against the next: the largest weight falls, the entropy rises, and the "
        "memory "
        "of one N × N matrix (float64, one head) grows with the square.",
        "độ dài này so với độ dài kế: trọng số lớn nhất giảm, entropy tăng, và bộ nhớ của một ma trận N × N "
        "(float64, một head) tăng theo bình phương.");
    Table table({"W", "N", lesson.pick("entropy", "entropy"), "ln N",
                 lesson.pick("largest weight", "trọng số lớn nhất"), "1/N", lesson.pick("memory", "bộ nhớ"),
                 lesson.pick("time", "thời gian")});
    double worst_excess = -1, worst_entropy = -1;
    bool spreads_out = true;
    std::vector<study::RunCurves> curves;
    for (const auto& [name, size] :
         {std::pair{"0.1·randn", 0.1}, std::pair{"randn/√8", std::sqrt(1.0 / width)}}) {
      study::RunCurves curve;
      curve.name = lesson.pick("measured, W = ", "đo được, W = ") + name;
      double before = 1;
      for (const Size length : lengths) {
        const Measured found = measure(length, size);
        const double n = static_cast<double>(length);
        table.row({name, fmt::format("{}", length), fmt::format("{:.3f}", found.entropy),
                   fmt::format("{:.3f}", std::log(n)), fmt::format("{:.4f}", found.largest),
                   fmt::format("{:.4f}", 1 / n), bytes(8 * n * n),
                   fmt::format("{:.2f} ms", 1e3 * found.seconds)});
        curve.steps.push_back(n);
        curve.measures[lesson.pick("mean of the largest weight", "trung bình của trọng số lớn nhất")]
            .push_back(found.largest);
        worst_excess = std::max(worst_excess, found.excess);
        worst_entropy = std::max(worst_entropy, found.entropy - std::log(n));
        spreads_out = spreads_out && found.largest < before;
        before = found.largest;
      }
      curves.push_back(curve);
    }
    lesson.print(table);
    lesson.at_most("the entropy is at most ln N; largest excess",
                   "entropy không quá ln N; phần vượt lớn nhất", worst_entropy, 1e-12);
    lesson.claim("the longer the sequence, the smaller the largest weight, on average",
                 "chuỗi càng dài, trọng số lớn nhất càng nhỏ, tính trung bình", spreads_out,
                 fmt::format("{:.3f} → {:.3f}", curves[1].measures.begin()->second.front(),
                             curves[1].measures.begin()->second.back()));

    lesson.heading("Why: a bound", "Vì sao: một chặn trên");
    lesson.say(
        "Let the scores of a row differ by at most D. The largest weight is as large as it can be when one "
        "score is at "
        "the top and all others D below it:",
        "Cho điểm trong một hàng chênh nhau nhiều nhất là D. Trọng số lớn nhất đạt mức cao nhất khi một điểm "
        "ở trên cùng và mọi "
        "điểm khác thấp hơn D:");
    lesson.formula("p ≤ e^D / (e^D + N - 1)");
    lesson.at_most("no weight of any row above is larger than its bound; largest excess",
                   "không trọng số nào của các hàng trên vượt chặn của nó; phần vượt lớn nhất", worst_excess,
                   1e-12);
    constexpr double spread = 5;
    lesson.say(
        "Now one token is right and 5 above all others, in sequences of every length. A trained model cannot "
        "do better "
        "without larger scores (Veličković et al. 2024: softmax must disperse).",
        "Giờ cho một token đúng và hơn mọi token khác 5 điểm, trong chuỗi dài đủ cỡ. Mô hình đã huấn luyện "
        "cũng không làm hơn "
        "được nếu điểm không lớn hơn (Veličković và cộng sự 2024: softmax ắt phải loãng ra).");
    Table needle({"N", lesson.pick("weight of the right token", "trọng số của token đúng"),
                  lesson.pick("bound, D = 5", "chặn trên, D = 5")});
    study::RunCurves found, limit;
    found.name = lesson.pick("one token 5 above the others", "một token hơn các token khác 5 điểm");
    double apart = 0;
    for (const Size length : {10, 20, 50, 100, 200, 500, 1000}) {
      const Tensor scores = concatenate({full({1}, spread), zeros({length - 1})});
      const double weight = softmax(scores).at({0});
      needle.row({fmt::format("{}", length), fmt::format("{:.3f}", weight),
                  fmt::format("{:.3f}", bound(spread, length))});
      apart = std::max(apart, std::fabs(weight - bound(spread, length)));
      lesson.keep(fmt::format("bound_5_{}", length), weight);
      if (length > 200) continue;
      found.steps.push_back(static_cast<double>(length));
      found.measures[curves[0].measures.begin()->first].push_back(weight);
    }
    lesson.print(needle);
    lesson.at_most("the bound is attained; largest difference", "chặn trên đạt được; sai khác lớn nhất",
                   apart, 1e-14);
    lesson.say(fmt::format("Memory: one matrix of 1,000 tokens holds {}, of 100,000 tokens {}, for every "
                           "head and layer. That is why "
                           "long sequences are worked off block by block, without the whole matrix.",
                           bytes(8e6), bytes(8e10)),
               fmt::format("Bộ nhớ: một ma trận của 1.000 token chiếm {}, của 100.000 token {}, cho mỗi head "
                           "và mỗi lớp. Vì thế chuỗi dài "
                           "được tính theo từng khối, không cần cả ma trận.",
                           bytes(8e6), bytes(8e10)));

    curves.push_back(found);
    study::CurvesOptions picture;
    picture.title =
        lesson.pick("Longer sequences spread attention out", "Chuỗi càng dài, attention càng loãng");
    picture.measures = {curves[0].measures.begin()->first};
    picture.x_label = lesson.pick("length N", "độ dài N");
    picture.x_scale = study::AxisScale::logarithmic;
    picture.runs = study::Runs::different;
    picture.language = lesson.language();
    lesson.picture("dispersal", curves_svg(curves, picture));
  });
}

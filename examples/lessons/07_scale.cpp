// Why scores are divided by √d_k: how sharp a row of attention is before anything was learned, and how much
// gradient comes through it, for heads of width 1 to 1024.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <regard/regard.hpp>
#include <regard/study/curves.hpp>

#include "lessons/common/lesson.hpp"

using namespace regard;
using lessons::Lesson;
using lessons::Table;

namespace {

constexpr Size draws = 3000, part = 250;  // worked off in parts, to need little memory

/// Means over the draws of one row of attention with random q and k.
struct Row {
  double variance = 0;          // of the scores
  double largest = 0;           // weight
  double entropy = 0;           // of the weights, in nats
  double jacobian = 0;          // Frobenius norm of dP/dS = diag(p) - p·pᵀ
  double dS = 0;                // norm of the gradient that reaches the scores, when dP ~ N(0, 1) comes in
  double certain = 0;           // share of the draws in which one weight is 0.999 or more
  double silent = 0;            // share of the draws in which dS is less than a hundredth of dP
  std::vector<double> dq = {};  // norm of the gradient that reaches the query, draw by draw
};

double mean_of(const Tensor& x) {
  return mean(x).item();
}

/// What of dy, the gradient of the output, arrives at x.
Tensor backward_to(const Tensor& x, const Tensor& output, const Tensor& dy) {
  GradOptions options;
  options.seeds = {dy};
  return grad(output, x, options);
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// ‖diag(p) - ppᵀ‖² = Σp² - 2Σp³ + (Σp²)², row by row.
Tensor jacobian_norm(const Tensor& p) {
  const Tensor squares = sum(square(p), {-1}), cubes = sum(p * p * p, {-1});
  return sqrt(maximum(squares - 2.0 * cubes + square(squares), zeros_like(squares)));
}

/// Attends with this factor, sends dP back, and adds what it sees to the row's means.
void watch(Row& row, const Tensor& query, const Tensor& key, const Tensor& dP, double scale) {
  const Size keys = key.size(1);
  const Tensor value = broadcast_to(eye(keys), {part, keys, keys});  // so that the output is the weights
  AttentionOptions options;
  options.scale = scale;
  AttentionTrace trace;
  const Tensor output = attention(query, key, value, Mask::none(), options, &trace);
  const Tensor dq = backward_to(query, output, dP);

  const double share = static_cast<double>(part) / static_cast<double>(draws);
  const Tensor dS = norm(trace.gradients().scaled, {-1});
  const Tensor silent = less(dS, 0.01 * norm(trace.gradients().weights, {-1}));
  row.variance += share * mean_of(square(trace.scaled));
  row.largest += share * mean_of(max(trace.weights, {-1}));
  row.certain += share * mean_of(greater_equal(max(trace.weights, {-1}), scalar(0.999)).to(float64));
  row.entropy += share * mean_of(trace.entropy);
  row.jacobian += share * mean_of(jacobian_norm(trace.weights));
  row.dS += share * mean_of(dS);
  row.silent += share * mean_of(silent.to(float64));
  for (const double length : norm(dq, {-1}).to_vector<double>()) row.dq.push_back(length);
}

struct Pair {
  Size keys, width;
  Row plain, scaled;
};

/// The same draws with both factors.
Pair measure(Size keys, Size width) {
  Pair pair{keys, width, {}, {}};
  Rng rng(1);
  for (Size done = 0; done < draws; done += part) {
    const Tensor query = variable(normal({part, 1, width}, rng)), key = normal({part, keys, width}, rng);
    const Tensor dP = normal({part, 1, keys}, rng);
    watch(pair.plain, query, key, dP, 1);
    watch(pair.scaled, query, key, dP, 1 / std::sqrt(static_cast<double>(width)));
  }
  return pair;
}

Table table_of(const std::vector<Pair>& pairs, const Lesson& lesson) {
  Table table({"N", "d_k", lesson.pick("factor", "hệ số"), "std S", "max p", "entropy", "‖J‖", "‖dS‖",
               lesson.pick("silent", "im lặng"), "‖dq‖"});
  for (const Pair& pair : pairs)
    for (const Row* row : {&pair.plain, &pair.scaled})
      table.row({fmt::format("{}", pair.keys), fmt::format("{}", pair.width),
                 row == &pair.plain ? "1" : "1/√d_k", fmt::format("{:.2f}", std::sqrt(row->variance)),
                 fmt::format("{:.3f}", row->largest), fmt::format("{:.3f}", row->entropy),
                 fmt::format("{:.3f}", row->jacobian), fmt::format("{:.3f}", row->dS),
                 fmt::format("{:.1f} %", 100 * row->silent), fmt::format("{:.1e}", median(row->dq))});
  return table;
}

/// What is drawn against the width, for rows of ten keys: one curve for each factor.
std::string curves(const std::vector<Pair>& pairs, const Lesson& lesson) {
  const std::string largest = lesson.pick("largest weight", "trọng số lớn nhất");
  const std::string silent = lesson.pick("share of silent rows", "tỉ lệ hàng im lặng");
  const auto curve = [&](const std::string& name, Row Pair::*which) {
    study::RunCurves run;
    run.name = name;
    for (const Pair& pair : pairs) {
      const Row& row = pair.*which;
      run.steps.push_back(static_cast<double>(pair.width));
      run.measures[largest].push_back(row.largest);
      run.measures["entropy"].push_back(row.entropy);
      run.measures["‖J‖"].push_back(row.jacobian);
      run.measures[silent].push_back(row.silent);
    }
    return run;
  };
  study::CurvesOptions options;
  options.title = lesson.pick("A row of ten scores, by the width of the head",
                              "Một hàng mười score, theo độ rộng của head");
  options.measures = {largest, "entropy", "‖J‖", silent};
  options.language = lesson.language();
  options.x_label = "d_k";
  options.runs = study::Runs::different;
  options.x_scale = study::AxisScale::logarithmic;
  return study::curves_svg({curve("q·k", &Pair::plain), curve("q·k / √d_k", &Pair::scaled)}, options);
}

/// Mean largest weight, entropy and Jacobian norm as an independent simulation (NumPy, 3000 draws) gave them.
struct Expected {
  Size keys, width;
  double plain[3], scaled[3];
};
const Expected expected[] = {
    {10, 1, {0.269, 2.003, 0.327}, {0.269, 2.003, 0.327}},
    {10, 16, {0.728, 0.744, 0.262}, {0.318, 1.926, 0.345}},
    {10, 64, {0.860, 0.357, 0.164}, {0.317, 1.928, 0.347}},
    {10, 256, {0.930, 0.171, 0.090}, {0.317, 1.930, 0.348}},
    {10, 1024, {0.968, 0.080, 0.045}, {0.321, 1.922, 0.348}},
    {20, 64, {0.832, 0.447, 0.186}, {0.216, 2.568, 0.284}},
    {50, 64, {0.796, 0.562, 0.212}, {0.124, 3.446, 0.203}},
};

double distance(const Row& row, const double (&figures)[3]) {
  return std::max({std::fabs(row.largest - figures[0]), std::fabs(row.entropy - figures[1]),
                   std::fabs(row.jacobian - figures[2])});
}

double difference_from_expected(const std::vector<Pair>& pairs) {
  double most = 0;
  for (const Expected& e : expected)
    for (const Pair& pair : pairs)
      if (pair.keys == e.keys && pair.width == e.width)
        most = std::max({most, distance(pair.plain, e.plain), distance(pair.scaled, e.scaled)});
  return most;
}

/// The formula of the norm, and the gradient that the trace shows, against the Jacobian itself.
double difference_from_the_jacobian() {
  Rng rng(7);
  const Tensor scores = normal({10}, rng, 0, 2), dP = normal({10}, rng);
  const Tensor p = softmax(scores), j = jacobian([](const Tensor&s) { return softmax(s); }, scores);
  const Tensor x = variable(scores);
  const Tensor dS = backward_to(x, softmax(x), dP);
  return std::max(std::fabs(norm(j).item() - jacobian_norm(p).item()), max(abs(dS - matmul(j, dP))).item());
}

}  // namespace

int main(int argc, char** argv) {
  set_blas_threads(1);
  Lesson lesson(
      argc, argv, {"Why scores are divided by √d_k", "Vì sao chia score cho √d_k"},
      {"How sharp a row of attention is before anything was learned, and how much gradient comes through it.",
       "Một hàng attention nhọn tới mức nào khi chưa học gì, và bao nhiêu gradient đi qua được nó."});
  return lesson.run([&] {
    lesson.say(
        "Let q and k hold d_k independent numbers with mean 0 and variance 1. Then q·k is a sum of d_k terms "
        "of variance 1, so its standard deviation is √d_k. What becomes of a softmax over N such scores, and "
        "of the gradient on its way back?",
        "Cho q và k gồm d_k số độc lập, trung bình 0, phương sai 1. Khi đó q·k là tổng của d_k số hạng có "
        "phương sai 1, nên độ lệch chuẩn là √d_k. Softmax trên N score như vậy sẽ ra sao, và gradient trên "
        "đường quay về sẽ ra sao?");
    lesson.formula("dS = J·dP,   J = diag(p) - p·pᵀ");
    lesson.look_for(
        "with factor 1, ‖J‖ falls as the head gets wider, so W_Q and W_K are hardly told anything. A row is "
        "silent when less than a hundredth of dP comes through: it has made up its mind by chance. With "
        "1/√d_k nothing depends on the width. More keys make rows flatter, which no factor mends: the "
        "average key has 1/N.",
        "ở các dòng hệ số 1, head càng rộng thì ‖J‖ càng nhỏ, nên W_Q và W_K hầu như không học được gì. Một "
        "hàng gọi là im lặng khi chưa tới một phần trăm của dP đi qua được: nó đã \"quyết\" một cách ngẫu "
        "nhiên trước khi học. Với 1/√d_k thì không còn gì phụ thuộc vào độ rộng. Thêm key thì hàng phẳng "
        "hơn, và hệ số không sửa được điều đó: trung bình mỗi key chỉ có 1/N.");

    std::vector<Pair> ten, more;
    for (Size width = 1; width <= 1024; width *= 2) ten.push_back(measure(10, width));
    for (const Size keys : {20, 50})
      for (const Size width : {64, 512}) more.push_back(measure(keys, width));
    lesson.say("Means over 3000 draws (‖dq‖: the median), dP drawn from N(0, 1):",
               "Trung bình trên 3000 lần rút ngẫu nhiên (‖dq‖: trung vị), dP rút từ N(0, 1):");
    lesson.print(table_of(ten, lesson));
    lesson.print(table_of(more, lesson));
    lesson.picture("curves", curves(ten, lesson));

    lesson.heading("What is often said of d_k = 512", "Điều thường được nói về d_k = 512");
    const Row& wide = ten[9].plain;
    const double deviation = std::sqrt(wide.variance);
    lesson.say(
        fmt::format(
            "The course says: scores of about 22, and one token takes 99.9 % of the attention. Measured for "
            "ten keys: the scores do have a standard deviation of {:.1f}, but the largest weight is {:.3f} "
            "on average. It is 0.999 or more in {:.0f} % of the rows: that is the typical row, but not the "
            "mean, since in the others the second best score is close enough to keep a share.",
            deviation, wide.largest, 100 * wide.certain),
        fmt::format("Khóa học nói: score cỡ 22, và một token chiếm 99.9 % attention. Đo với mười key: độ "
                    "lệch chuẩn của score đúng là {:.1f}, nhưng trọng số lớn nhất trung bình là {:.3f}. Nó "
                    "đạt 0.999 trở lên ở {:.0f} % số hàng: 99.9 % là hàng điển hình chứ không phải trung "
                    "bình, vì ở các hàng còn lại score đứng nhì đủ gần để giữ lại một phần.",
                    deviation, wide.largest, 100 * wide.certain));

    lesson.heading("What is claimed", "Các khẳng định");
    std::vector<Pair> all = ten;
    all.insert(all.end(), more.begin(), more.end());
    double deviation_off = 0, silent_scaled = 0;
    for (const Pair& pair : all) {
      const double ratio = std::sqrt(pair.plain.variance / static_cast<double>(pair.width));
      deviation_off = std::max(deviation_off, std::fabs(ratio - 1));
      silent_scaled = std::max(silent_scaled, pair.scaled.silent);
    }
    lesson.at_most("the formula of ‖J‖ and the dS of the trace are those of the Jacobian itself",
                   "công thức ‖J‖ và dS của trace khớp với chính ma trận Jacobi",
                   difference_from_the_jacobian(), 1e-12);
    lesson.at_most("the standard deviation of q·k is √d_k: largest relative difference",
                   "độ lệch chuẩn của q·k là √d_k: sai lệch tương đối lớn nhất", deviation_off, 0.03);
    lesson.at_most("max p, entropy and ‖J‖ are those of another simulation: largest difference",
                   "max p, entropy và ‖J‖ khớp với một mô phỏng khác: sai lệch lớn nhất",
                   difference_from_expected(all), 0.02);
    lesson.at_least("at N = 10, d_k = 1024 the Jacobian is so many times larger with the factor",
                    "với N = 10, d_k = 1024, có hệ số thì Jacobi lớn hơn chừng này lần",
                    ten.back().scaled.jacobian / ten.back().plain.jacobian, 6);
    lesson.at_most("at d_k = 512 scores have a standard deviation of 22.6: difference",
                   "với d_k = 512, score có độ lệch chuẩn 22.6: sai lệch", std::fabs(deviation - 22.6), 0.4);
    lesson.claim("the largest weight is then 0.95 on average, not 0.999",
                 "khi đó trọng số lớn nhất trung bình là 0.95, không phải 0.999",
                 wide.largest > 0.93 && wide.largest < 0.97, wide.largest);
    lesson.at_least("but over half of the rows do have one of 0.999",
                    "nhưng quá nửa số hàng đúng là có một trọng số 0.999", wide.certain, 0.5);
    lesson.at_least("share of silent rows at d_k = 512 without the factor",
                    "tỉ lệ hàng im lặng với d_k = 512 khi không có hệ số", wide.silent, 0.7);
    lesson.at_most("and with it, at any width", "và khi có hệ số, ở mọi độ rộng", silent_scaled, 0.01);
  });
}

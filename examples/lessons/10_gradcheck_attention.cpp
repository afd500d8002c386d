// How to know that a gradient is right: attention's gradients by closed form, by the tape and by differences;
// how the step of a difference is chosen; what a gradient check can say; and how it finds an operation whose
// rule is wrong.
#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <regard/regard.hpp>
#include <regard/study/v_curve.hpp>

#include "lessons/common/lesson.hpp"

using namespace regard;
using lessons::largest_difference;
using lessons::Lesson;
using lessons::Table;

namespace {

/// The course's three tokens and its weights: np.random.seed(0), then 0.5·randn(4, 4) three times.
struct Course {
  Tensor X = tensor({{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}});
  Tensor W_Q, W_K, W_V;
  Tensor upstream = reshape(arange(1, 13, 1) / 12.0, {3, 4});  // dL/d(output), no two alike

  Course() {
    NumpyRng rng = Rng::numpy(0);
    W_Q = 0.5 * rng.randn({4, 4});
    W_K = 0.5 * rng.randn({4, 4});
    W_V = 0.5 * rng.randn({4, 4});
  }
  [[nodiscard]] Tensors inputs() const { return {X, W_Q, W_K, W_V}; }
};

const std::vector<std::string> input_names = {"X", "W_Q", "W_K", "W_V"};

/// in: X, W_Q, W_K, W_V.
Tensor attend(const Tensors& in) {
  return attention(matmul(in[0], in[1]), matmul(in[0], in[2]), matmul(in[0], in[3]), Mask::causal());
}

// ---- 1. three ways -------------------------------------------------------------------------------------

/// dX, dW_Q, dW_K, dW_V written out, with nothing but products and the softmax's Jacobian.
Tensors by_closed_form(const Course& c) {
  const Tensor Q = matmul(c.X, c.W_Q), K = matmul(c.X, c.W_K), V = matmul(c.X, c.W_V);
  const Tensor visible = equal(triu(ones({3, 3}), 1), scalar(0));
  const double scale = 1 / std::sqrt(4.0);
  const Tensor P = softmax(scale * matmul(Q, transpose(K)), visible);

  const Tensor dO = c.upstream;
  const Tensor dV = matmul(transpose(P), dO);
  const Tensor dP = matmul(dO, transpose(V));
  const Tensor dS = P * (dP - sum(P * dP, {-1}, keep_axes));
  const Tensor dQ = scale * matmul(dS, K);
  const Tensor dK = scale * matmul(transpose(dS), Q);

  const Tensor Xt = transpose(c.X);
  const Tensor dX =
      matmul(dQ, transpose(c.W_Q)) + matmul(dK, transpose(c.W_K)) + matmul(dV, transpose(c.W_V));
  return {dX, matmul(Xt, dQ), matmul(Xt, dK), matmul(Xt, dV)};
}

Tensors by_tape(const Course& c) {
  Tensors leaves;
  for (const Tensor& x : c.inputs()) leaves.push_back(variable(x));
  return grad({sum(attend(leaves) * c.upstream)}, leaves);
}

/// (L(x + h) - L(x - h)) / 2h for every number of every input.
Tensors by_differences(const Course& c, double h) {
  const NoGrad no_grad;
  Tensors inputs = c.inputs(), slopes;
  for (Tensor& input : inputs) {
    const Tensor x = input;
    std::vector<double> slope;
    for (Size i = 0; i < x.numel(); ++i) {
      const auto loss_at = [&](double step) {
        const Tensor moved =
            step * reshape(one_hot(full({1}, static_cast<double>(i), int64), x.numel()), x.shape());
        input = x + moved;
        return sum(attend(inputs) * c.upstream).item();
      };
      slope.push_back((loss_at(h) - loss_at(-h)) / (2 * h));
    }
    input = x;
    slopes.push_back(from_vector(slope, x.shape()));
  }
  return slopes;
}

void three_ways(Lesson& lesson, const Course& course) {
  lesson.heading("Three ways to the same gradient", "Ba con đường tới cùng một gradient");
  lesson.say(
      "The course's three tokens, causal, L = sum(output · upstream). The closed form is what one derives by "
      "hand; the tape is what backward does; differences know nothing of either.",
      "Ba token của khóa học, có causal mask, L = sum(output · upstream). Công thức là thứ ta suy ra bằng "
      "tay; tape là thứ backward làm; sai phân không biết gì về cả hai.");
  lesson.formula("dV = Pᵀ·dO    dP = dO·Vᵀ    dS = P∘(dP - Σ P∘dP)    dQ = dS·K/√d_k    dK = dSᵀ·Q/√d_k");
  lesson.formula("dW_Q = Xᵀ·dQ    dW_K = Xᵀ·dK    dW_V = Xᵀ·dV    dX = dQ·W_Qᵀ + dK·W_Kᵀ + dV·W_Vᵀ");
  const Tensors closed = by_closed_form(course), tape = by_tape(course),
                numeric = by_differences(course, 1e-5);
  Table table({"", lesson.pick("size", "độ lớn"), lesson.pick("closed form - tape", "công thức - tape"),
               lesson.pick("tape - differences", "tape - sai phân")});
  double to_tape = 0, to_differences = 0;
  for (std::size_t i = 0; i < closed.size(); ++i) {
    const double a = largest_difference(closed[i], tape[i]), b = largest_difference(tape[i], numeric[i]);
    table.row({"d" + input_names[i], fmt::format("{:.3f}", lessons::largest(tape[i])),
               fmt::format("{:.1e}", a), fmt::format("{:.1e}", b)});
    to_tape = std::max(to_tape, a);
    to_differences = std::max(to_differences, b);
  }
  lesson.print(table);
  lesson.show("dW_Q", "", tape[1]);
  lesson.at_most("closed form and tape are the same", "công thức và tape giống nhau", to_tape, 1e-12);
  lesson.at_most("differences agree as far as they can (h = 1e-5)",
                 "sai phân khớp tới mức nó có thể (h = 1e-5)", to_differences, 1e-9);
}

// ---- 2. the step ---------------------------------------------------------------------------------------

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back("  " + line);
  return lines;
}

GradientReport check_course(const Course& course, DType dtype) {
  GradientCheckOptions options;
  options.names = input_names;
  options.formula = Formula::central;
  Tensors inputs;
  for (const Tensor& x : course.inputs()) inputs.push_back(x.to(dtype));
  return check_gradients(attend, inputs, options);
}

/// The errors at the largest step, the best and the smallest that still changes x.
struct V {
  double coarse = 0, best = std::numeric_limits<double>::infinity(), fine = 0, best_step = 0;
};

V shape_of(const GradientFinding& finding) {
  V v;
  double largest = 0, smallest = std::numeric_limits<double>::infinity();
  for (const StepError& point : finding.curve) {
    if (!std::isfinite(point.error)) continue;
    if (point.step > largest) largest = point.step, v.coarse = point.error;
    if (point.exact && point.step < smallest) smallest = point.step, v.fine = point.error;
    if (point.exact && point.error < v.best) v.best = point.error, v.best_step = point.step;
  }
  return v;
}

void the_step(Lesson& lesson, const Course& course) {
  lesson.heading("Which step? The V-curve", "Bước bao nhiêu? Đường cong chữ V");
  lesson.look_for(
      "two arms. At the top (in the picture: on the right) the step is too coarse: the error of a central "
      "difference falls as h², two decades for one. At the bottom digits run out: f(x + h) and f(x - h) "
      "agree in all but the last, and the error grows as 1/h. The best step lies between; the check looks "
      "for it instead of guessing.",
      "hai nhánh. Ở trên (trong hình: bên phải), bước quá thô: sai số của sai phân trung tâm giảm theo h², h "
      "giảm một bậc thì sai số giảm hai bậc. Ở dưới, hết chữ số: f(x + h) và f(x - h) chỉ khác nhau ở chữ số "
      "cuối, và sai số tăng theo 1/h. Bước tốt nhất nằm giữa; phép kiểm tra tự tìm nó thay vì đoán.");
  for (const DType dtype : {float64, float32}) {
    const GradientFinding finding = check_course(course, dtype).findings[1];  // W_Q
    if (dtype == float64) lesson.print(lines_of(study::v_curve_text(finding)));
    lesson.picture(fmt::format("v_curve_{}", name(dtype)), study::v_curve_svg(finding, lesson.language()));
    const V v = shape_of(finding);
    lesson.at_least(fmt::format("{}: the coarsest step errs so many times more than the best", name(dtype)),
                    fmt::format("{}: bước thô nhất sai gấp chừng này lần bước tốt nhất", name(dtype)),
                    v.coarse / v.best, 100);
    lesson.at_least(fmt::format("{}: and so does the finest", name(dtype)),
                    fmt::format("{}: bước nhỏ nhất cũng vậy", name(dtype)), v.fine / v.best, 100);
  }
  lesson.claim("float64 gets along with a smaller step, and is right to more digits",
               "float64 dùng được bước nhỏ hơn, và đúng tới nhiều chữ số hơn",
               shape_of(check_course(course, float64).findings[1]).best <
                   1e-4 * shape_of(check_course(course, float32).findings[1]).best,
               shape_of(check_course(course, float64).findings[1]).best);
}

// ---- 3. verdicts ---------------------------------------------------------------------------------------

struct Trial {
  std::string en, vi;
  FunctionOfMany f;
  Tensors inputs;
  Verdict expected;
  GradientCheckOptions options = {};
};

std::vector<Trial> trials(const Course& course, Rng& rng) {
  GradientCheckOptions too_strict;
  too_strict.tolerance = 1e-12;
  const Tensor row = tensor({1, 2, 4});
  return {
      {"attention", "attention", attend, course.inputs(), Verdict::ok},
      {"sum of a softmax: always 1",
       "tổng của softmax: luôn bằng 1",
       [](const Tensors& in) { return sum(softmax(in[0])); },
       {row},
       Verdict::vacuous},
      {"float32 against 12 digits",
       "float32 mà đòi 12 chữ số",
       [](const Tensors& in) { return softmax(in[0]); },
       {row.to(float32)},
       Verdict::precision_limited,
       too_strict},
      {"relu, at 0",
       "relu, tại 0",
       [](const Tensors& in) { return relu(in[0]); },
       {tensor({-1, 0, 2})},
       Verdict::kink},
      {"keys cut off by detach()",
       "key bị cắt bởi detach()",
       [](const Tensors& in) { return matmul(softmax(in[0] * in[1].detach()), transpose(in[0])); },
       {tensor({{1, 2, 4}}), tensor({{3, 1, 2}})},
       Verdict::not_connected},
      {"dropout that draws anew",
       "dropout rút lại mỗi lần",
       [&rng](const Tensors& in) { return dropout(in[0], 0.5, rng); },
       {ones({4, 5})},
       Verdict::nondeterministic},
  };
}

void verdicts(Lesson& lesson, const Course& course) {
  lesson.heading("What a check can say", "Một phép kiểm tra nói được gì");
  lesson.say(
      "\"Wrong\" is the last of seven verdicts. The others keep one from hunting a mistake that is none, or "
      "from trusting a check that checked nothing.",
      "\"wrong\" là kết luận cuối trong bảy kết luận. Các kết luận kia giúp ta khỏi săn một lỗi không có "
      "thật, hay tin một phép kiểm tra chưa kiểm tra gì.");
  Rng rng(3);
  Table table({lesson.pick("function", "hàm"), lesson.pick("verdict", "kết luận")});
  int as_expected = 0;
  const std::vector<Trial> all = trials(course, rng);
  for (const Trial& trial : all) {
    const Verdict verdict = check_gradients(trial.f, trial.inputs, trial.options).verdict();
    table.row({lesson.pick(trial.en, trial.vi), name(verdict)});
    as_expected += verdict == trial.expected;
  }
  lesson.print(table);
  lesson.claim("each gets the verdict that fits it", "mỗi hàm nhận đúng kết luận của nó",
               as_expected == static_cast<int>(all.size()), fmt::format("{} / {}", as_expected, all.size()));
}

// ---- 4. a planted mistake ------------------------------------------------------------------------------

/// A softmax whose rule forgets that the weights share: it says dS = P∘dP, where P∘(dP - Σ P∘dP) is right.
const CustomOp forgetful_softmax(
    "forgetful_softmax", [](const Tensors& in) { return softmax(in[0]); },
    [](const RuleInputs& at) { return Tensors{at.output * at.dy}; });

using Stage = std::pair<std::string, FunctionOfMany>;

/// Attention step by step, each with what it takes.
std::vector<Stage> stages() {
  return {{"scores", [](const Tensors& in) { return matmul(in[0], transpose(in[1])); }},
          {"scale", [](const Tensors& in) { return in[0] * 0.5; }},
          {"softmax", [](const Tensors& in) { return forgetful_softmax({in[0]}); }},
          {"mix", [](const Tensors& in) { return matmul(in[0], in[1]); }}};
}

/// The same attention out of these steps, without a mask.
Tensor attend_in_steps(const Tensors& in) {
  const std::vector<Stage> step = stages();
  const Tensor Q = matmul(in[0], in[1]), K = matmul(in[0], in[2]), V = matmul(in[0], in[3]);
  return step[3].second({step[2].second({step[1].second({step[0].second({Q, K})})}), V});
}

void planted(Lesson& lesson, const Course& course) {
  lesson.heading("A mistake is planted, and found", "Cài một lỗi, rồi tìm ra nó");
  lesson.say(
      "A softmax of our own has a rule without the term Σ P∘dP. Its values are right, so no test of values "
      "sees it. First the whole of attention is checked:",
      "Một softmax tự viết có quy tắc gradient thiếu số hạng Σ P∘dP. Giá trị của nó vẫn đúng nên không phép "
      "thử giá trị nào thấy được. Trước hết kiểm tra cả attention:");
  GradientCheckOptions options;
  options.names = input_names;
  const GradientReport whole = check_gradients(attend_in_steps, course.inputs(), options);
  Table table({"", lesson.pick("verdict", "kết luận"), "tape", lesson.pick("differences", "sai phân")});
  for (const GradientFinding& f : whole.findings)
    table.row({f.verdict == Verdict::ok ? f.input : f.where, name(f.verdict),
               fmt::format("{:.6f}", f.analytic), fmt::format("{:.6f}", f.numeric)});
  lesson.look_for(
      "W_V is right, W_Q and W_K are not. What only W_Q and W_K pass through is to blame: scores, scale or "
      "softmax.",
      "W_V đúng, W_Q và W_K sai. Thủ phạm nằm ở đoạn chỉ W_Q và W_K đi qua: scores, scale hoặc softmax.");
  lesson.print(table);
  lesson.say("Then each step by itself, at the point where attention uses it:",
             "Rồi từng bước một, tại đúng điểm mà attention dùng nó:");
  const Tensor Q = matmul(course.X, course.W_Q), K = matmul(course.X, course.W_K),
               V = matmul(course.X, course.W_V);
  const Tensor S = matmul(Q, transpose(K)), P = softmax(S * 0.5);
  const std::vector<Tensors> points = {{Q, K}, {S}, {S * 0.5}, {P, V}};
  Table steps({lesson.pick("step", "bước"), lesson.pick("verdict", "kết luận")});
  std::string culprits;
  const std::vector<Stage> all = stages();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Verdict verdict = check_gradients(all[i].second, points[i]).verdict();
    steps.row({all[i].first, name(verdict)});
    if (verdict != Verdict::ok) culprits += (culprits.empty() ? "" : ", ") + all[i].first;
  }
  lesson.print(steps);

  const auto verdict_of = [&](std::size_t input) { return whole.findings[input].verdict; };
  lesson.claim("the check of the whole says wrong for X, W_Q and W_K, and ok for W_V",
               "kiểm tra cả khối: X, W_Q và W_K sai, W_V đúng",
               verdict_of(0) == Verdict::wrong && verdict_of(1) == Verdict::wrong &&
                   verdict_of(2) == Verdict::wrong && verdict_of(3) == Verdict::ok,
               name(whole.verdict()));
  lesson.claim("the check of the steps names the culprit, and only it",
               "kiểm tra từng bước chỉ đúng tên thủ phạm, và chỉ nó", culprits == "softmax", culprits);
  lesson.at_most("although its values are right", "dù giá trị của nó vẫn đúng",
                 largest_difference(forgetful_softmax({S}), softmax(S)), 0);
}

}  // namespace

int main(int argc, char** argv) {
  set_blas_threads(1);
  Lesson lesson(argc, argv, {"Is the gradient right?", "Gradient có đúng không?"},
                {"Attention's gradients by hand, by the tape and by differences; what a check says, and how "
                 "it finds a mistake.",
                 "Gradient của attention tính bằng tay, bằng tape và bằng sai phân; một phép kiểm tra nói "
                 "gì, và nó tìm ra lỗi thế nào."});
  return lesson.run([&] {
    const Course course;
    three_ways(lesson, course);
    the_step(lesson, course);
    verdicts(lesson, course);
    planted(lesson, course);
  });
}

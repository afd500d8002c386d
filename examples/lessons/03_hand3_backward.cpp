// The three tokens again, backwards: from the gradient of the output to those of the matrices, one operation
// at a time, each compared with the tape and with differences.
#include <cmath>

#include <regard/regard.hpp>
#include <regard/study/panels.hpp>

#include "lessons/common/course.hpp"
#include "lessons/common/lesson.hpp"

using namespace regard;
using namespace lessons;

namespace {

// dL/dx, one number of x after the other, from four values of L around it: (Abramowitz & Stegun, 25.3.6),
// whose error is about h⁴.
Tensor by_differences(const Function& loss, const Tensor& x) {
  constexpr double h = 1e-3;
  const NoGrad no_grad;
  std::vector<double> slopes;
  for (Size i = 0; i < x.numel(); ++i) {
    const Tensor step = reshape(one_hot(full({1}, static_cast<double>(i), int64), x.numel()), x.shape());
    const auto at = [&](double times) { return loss(x + (times * h) * step).item(); };
    slopes.push_back((8 * (at(1) - at(-1)) - (at(2) - at(-2))) / (12 * h));
  }
  return from_vector(slopes, x.shape());
}

}  // namespace

int main(int argc, char** argv) {
  Lesson lesson(
      argc, argv, {"Three tokens, backwards", "Ba token, đi ngược"},
      {"Backpropagation through attention: every gradient by a formula, by the tape and by differences.",
       "Lan truyền ngược qua attention: mỗi gradient tính bằng công thức, bằng tape và bằng sai phân."});
  return lesson.run([&] {
    const Course course = three_tokens();
    const Labels& names = course.tokens;
    const double root = std::sqrt(4.0);
    const Tensor keep = tril(ones({3, 3})).to(boolean);

    lesson.heading("Forward, once more", "Đi xuôi, thêm một lần");
    lesson.formula("Q = X·W_Q; K = X·W_K; V = X·W_V; S = Q·Kᵀ/√4; P = softmax(mask(S)); O = P·V");
    // variable() marks what a gradient is wanted for: from there on the tape records.
    const Tensor x = variable(course.x), w_q = variable(course.w_q), w_k = variable(course.w_k),
                 w_v = variable(course.w_v);
    const Tensor q = matmul(x, w_q), k = matmul(x, w_k), v = matmul(x, w_v);
    const Tensor s = matmul(q, transpose(k)) / root;
    const Tensor p = softmax(s, keep);
    const Tensor o = matmul(p, v);
    lesson.show("P", "", p, names, names);
    lesson.show("O", "", o, names);

    lesson.heading("The loss, and the first gradient", "Hàm mất mát, và gradient đầu tiên");
    lesson.say(
        "Let the loss be L = sum(O * U) with fixed numbers U. Then dL/dO = U: this is where going back "
        "begins. We "
        "write dO for dL/dO, and so on.",
        "Cho mất mát L = sum(O * U) với các số U cố định. Khi đó dL/dO = U: đường về bắt đầu từ đây. Ta viết "
        "dO "
        "thay cho dL/dO, các ký hiệu khác cũng vậy.");
    const Tensor u = reshape(arange(1, 13, 1), {3, 4}) / 12.0;
    const Tensor loss = sum(o * u);
    lesson.show("dO", "U", u, names);

    // What the formulas below use are plain numbers.
    const Tensor X = course.x, Q = q.detach(), K = k.detach(), V = v.detach(), S = s.detach(), P = p.detach();
    const Tensors tape = grad({loss}, {v, p, s, q, k, w_q, w_k, w_v, x});
    const auto softmax_of = [&](const Tensor& scores) { return softmax(scores, keep); };
    const auto loss_of = [&](const Tensor& weights, const Tensor& values) {
      return sum(matmul(weights, values) * u);
    };
    const auto loss_of_qk = [&](const Tensor& a, const Tensor& b) {
      return loss_of(softmax_of(matmul(a, transpose(b)) / root), V);
    };
    const auto loss_of_weights = [&](const Tensor& at, const Tensor& a, const Tensor& b, const Tensor& c) {
      const Tensor weights = softmax_of(matmul(matmul(at, a), transpose(matmul(at, b))) / root);
      return loss_of(weights, matmul(at, c));
    };

    Table table({lesson.pick("gradient", "gradient"), lesson.pick("formula - tape", "công thức - tape"),
                 lesson.pick("formula - differences", "công thức - sai phân")});
    double worst_tape = 0, worst_differences = 0;
    const auto compare = [&](const std::string& name, const Tensor& formula, const Tensor& taped,
                             const Function& f, const Tensor& at) {
      const double apart = largest_difference(formula, taped),
                   off = largest_difference(formula, by_differences(f, at));
      table.row({name, fmt::format("{:.1e}", apart), fmt::format("{:.1e}", off)});
      worst_tape = std::max(worst_tape, apart);
      worst_differences = std::max(worst_differences, off);
    };

    lesson.heading("1. O = P·V", "1. O = P·V");
    lesson.say("A product sends its gradient to each factor, multiplied by the other one.",
               "Một phép nhân gửi gradient về từng thừa số, nhân với thừa số kia.");
    const Tensor dV = matmul(transpose(P), u), dP = matmul(u, transpose(V));
    lesson.show("dV", "Pᵀ·dO", dV, names);
    lesson.show("dP", "dO·Vᵀ", dP, names, names);
    lesson.look_for(
        "dV of \"cat\" is small: hardly anyone read that value, so it hardly matters what it holds.",
        "dV của \"cat\" nhỏ: hầu như không ai đọc value đó, nên nó chứa gì cũng chẳng mấy quan trọng.");
    compare(
        "dV", dV, tape[0], [&](const Tensor& t) { return loss_of(P, t); }, V);
    compare(
        "dP", dP, tape[1], [&](const Tensor& t) { return loss_of(t, V); }, P);

    lesson.heading("2. P = softmax(S)", "2. P = softmax(S)");
    lesson.say(
        "Shares of one whole: to raise one weight is to lower the others. So the mean of dP in a row, "
        "weighted by P, "
        "is taken off first. Only what is better or worse than the mean moves a score.",
        "Các phần của một tổng: nâng trọng số này là hạ trọng số khác. Vì thế trước hết phải trừ trung bình "
        "của dP "
        "trong hàng, lấy theo trọng số P. Chỉ điều hơn hay kém trung bình mới làm điểm thay đổi.");
    lesson.formula("dS = P * (dP - sum of P * dP over the row)");
    const Tensor dS = P * (dP - sum(P * dP, {-1}, keep_axes));
    lesson.show("dS", "", dS, names, names, 6);
    lesson.look_for(
        "every row adds up to 0. The row of \"the\" is 0: its only weight is 1 whatever the score, so it "
        "cannot "
        "learn where to look. What is masked gets exactly 0.",
        "hàng nào cũng cộng lại bằng 0. Hàng \"the\" toàn 0: trọng số duy nhất của nó luôn bằng 1 dù điểm là "
        "bao "
        "nhiêu, nên nó không thể học nhìn đi đâu. Chỗ bị che nhận đúng 0.");
    compare(
        "dS", dS, tape[2], [&](const Tensor& t) { return loss_of(softmax_of(t), V); }, S);

    lesson.say("The same for the row of \"sat\" by its Jacobian: dS = J·dP with J = diag(p) - p·pᵀ.",
               "Cũng điều đó cho hàng \"sat\", bằng ma trận Jacobi: dS = J·dP với J = diag(p) - p·pᵀ.");
    const Tensor row = reshape(slice(P, 0, {2}), {3});
    const Tensor J = row * eye(3) - matmul(reshape(row, {3, 1}), reshape(row, {1, 3}));
    lesson.show("J", "diag(p) - p·pᵀ", J, names, names);
    const Tensor dS_by_J = matmul(J, reshape(slice(dP, 0, {2}), {3}));

    lesson.heading("3. S = Q·Kᵀ/√4", "3. S = Q·Kᵀ/√4");
    lesson.say(
        "Again a product, and the scale stays: the gradient of a query is made of the keys it was compared "
        "with, that "
        "of a key of the queries. The loss falls when the numbers move against it.",
        "Lại một phép nhân, và phép chia thang vẫn còn: gradient của một query gồm các key nó đã được so "
        "với, của một "
        "key gồm các query. Mất mát giảm khi các con số đi ngược gradient.");
    const Tensor dQ = matmul(dS, K) / root, dK = matmul(transpose(dS), Q) / root;
    lesson.show("dQ", "dS·K/√4", dQ, names);
    lesson.show("dK", "dSᵀ·Q/√4", dK, names);
    compare(
        "dQ", dQ, tape[3], [&](const Tensor& t) { return loss_of_qk(t, K); }, Q);
    compare(
        "dK", dK, tape[4], [&](const Tensor& t) { return loss_of_qk(Q, t); }, K);

    lesson.heading("4. Q = X·W_Q, K = X·W_K, V = X·W_V", "4. Q = X·W_Q, K = X·W_K, V = X·W_V");
    lesson.say("The three matrices learn from all tokens at once; the embeddings hear from all three.",
               "Ba ma trận học từ mọi token cùng lúc; embedding thì nghe từ cả ba phía.");
    const Tensor dW_Q = matmul(transpose(X), dQ), dW_K = matmul(transpose(X), dK),
                 dW_V = matmul(transpose(X), dV);
    const Tensor dX = matmul(dQ, transpose(course.w_q)) + matmul(dK, transpose(course.w_k)) +
                      matmul(dV, transpose(course.w_v));
    lesson.show("dW_Q", "Xᵀ·dQ", dW_Q);
    lesson.show("dW_K", "Xᵀ·dK", dW_K);
    lesson.show("dW_V", "Xᵀ·dV", dW_V);
    lesson.show("dX", "dQ·W_Qᵀ + dK·W_Kᵀ + dV·W_Vᵀ", dX, names);
    lesson.look_for(
        "how much smaller dW_Q and dW_K are than dW_V: the way through softmax is narrow. Where to look is "
        "learned more slowly than what to say.",
        "dW_Q và dW_K nhỏ hơn dW_V bao nhiêu: đường qua softmax hẹp. Nhìn đi đâu thì học chậm hơn nói điều "
        "gì.");
    compare(
        "dW_Q", dW_Q, tape[5], [&](const Tensor& t) { return loss_of_weights(X, t, course.w_k, course.w_v); },
        course.w_q);
    compare(
        "dW_K", dW_K, tape[6], [&](const Tensor& t) { return loss_of_weights(X, course.w_q, t, course.w_v); },
        course.w_k);
    compare(
        "dW_V", dW_V, tape[7], [&](const Tensor& t) { return loss_of_weights(X, course.w_q, course.w_k, t); },
        course.w_v);
    compare(
        "dX", dX, tape[8],
        [&](const Tensor& t) { return loss_of_weights(t, course.w_q, course.w_k, course.w_v); }, X);

    lesson.heading("Formula, tape and differences", "Công thức, tape và sai phân");
    lesson.say(
        "The tape is what regard records and walks back by itself. Differences know nothing of rules: they "
        "move one "
        "number a little and look at the loss.",
        "Tape là thứ regard tự ghi lại rồi tự đi ngược. Sai phân không biết quy tắc nào: nó nhích một con số "
        "một "
        "chút rồi xem mất mát.");
    lesson.print(table);
    lesson.at_most("every formula agrees with the tape; largest difference",
                   "công thức nào cũng khớp với tape; sai khác lớn nhất", worst_tape, 1e-10);
    lesson.at_most("every formula agrees with differences; largest difference",
                   "công thức nào cũng khớp với sai phân; sai khác lớn nhất", worst_differences, 1e-10);
    lesson.at_most("the Jacobian gives the row of dS too; difference",
                   "ma trận Jacobi cũng cho ra hàng của dS; sai khác",
                   largest_difference(dS_by_J, reshape(slice(dS, 0, {2}), {3})), 1e-14);
    lesson.at_most("every row of dS adds up to 0; largest sum",
                   "mọi hàng của dS cộng lại bằng 0; tổng lớn nhất", largest(sum(dS, {-1})), 1e-14);
    lesson.claim("the first row of dS, and all that is masked, is exactly 0",
                 "hàng đầu của dS, và mọi chỗ bị che, đúng bằng 0",
                 largest(triu(dS, 1)) == 0 && largest(slice(dS, 0, {0, 1})) == 0, largest(triu(dS, 1)));
    lesson.at_most("dW_Q is smaller than dW_V; ratio of their norms", "dW_Q nhỏ hơn dW_V; tỉ số hai chuẩn",
                   norm(dW_Q).item() / norm(dW_V).item(), 0.1);

    const Labels dimensions(4);
    std::vector<study::MatrixPanel> panels = {
        panel("S", names, names, S, keep),         weights_panel("P", names, names, P, keep),
        panel("O", names, dimensions, o.detach()), panel("dS", names, names, dS, keep),
        panel("dP", names, names, dP, keep),       panel("dO", names, dimensions, u)};
    panels[1].arrow = "softmax";
    panels[2].arrow = "· V";
    panels[4].arrow = "P * (… - Σ)";
    panels[5].arrow = "· Vᵀ";
    panels[4].arrow_to = panels[5].arrow_to = study::ArrowTo::panel_before;
    study::PanelsOptions picture;
    picture.title = lesson.pick("Forward above, gradients below", "Trên: đi xuôi, dưới: gradient");
    picture.per_row = 3;
    picture.language = lesson.language();
    lesson.picture("gradients", panels_svg(panels, picture));
    picture.title = lesson.pick("The gradients of the three matrices", "Gradient của ba ma trận");
    lesson.picture("matrices", panels_svg({panel("dW_Q", dimensions, dimensions, dW_Q),
                                           panel("dW_K", dimensions, dimensions, dW_K),
                                           panel("dW_V", dimensions, dimensions, dW_V)},
                                          picture));
  });
}

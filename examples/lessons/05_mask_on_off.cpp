// The causal mask on and off, before softmax and (wrongly) after it, with an audit that finds every leak.
#include <cmath>
#include <limits>

#include <regard/regard.hpp>
#include <regard/study/panels.hpp>

#include "lessons/common/course.hpp"
#include "lessons/common/lesson.hpp"

using namespace regard;
using namespace lessons;

namespace {

// leak[i, j]: the largest |d output_i / d x_j|, over the components of both. Not 0: token i knows something
// of token j.
Tensor leak_audit(const Function& model, const Tensor& x) {
  const Size tokens = x.size(0), width = x.size(1);
  const Tensor slopes = abs(jacobian(model, x));  // [tokens, width, tokens, width]
  return max(reshape(permute(slopes, {0, 2, 1, 3}), {tokens, tokens, width * width}), {-1});
}

double future(const Tensor& square) {
  return largest(triu(square, 1));
}

}  // namespace

int main(int argc, char** argv) {
  Lesson lesson(argc, argv, {"The mask, on and off", "Mặt nạ, bật và tắt"},
                {"A causal mask keeps a token from knowing what comes after it: if it stands before softmax.",
                 "Mặt nạ nhân quả giữ cho token không biết điều đến sau nó: nếu được đặt trước softmax."});
  return lesson.run([&] {
    const Course course = two_sequences();
    const Tensor x = select(course.x, 0, 0);
    const Labels& names = course.tokens;
    const Size count = x.size(0);
    const Tensor keep = tril(ones({count, count})).to(boolean);
    const double root = std::sqrt(static_cast<double>(x.size(1)));
    const auto scores = [&](const Tensor& at) {
      return matmul(matmul(at, course.w_q), transpose(matmul(at, course.w_k))) / root;
    };

    lesson.heading("Four ways to make weights", "Bốn cách tạo trọng số");
    lesson.say(
        "Five tokens of width 8 with random matrices, as a model before any training. The same scores become "
        "weights "
        "in four ways:",
        "Năm token rộng 8 với các ma trận ngẫu nhiên, như một mô hình chưa huấn luyện. Cùng một bảng điểm "
        "thành trọng "
        "số theo bốn cách:");
    // Each makes the weights of its rows from the embeddings.
    const Function off = [&](const Tensor& at) { return softmax(scores(at)); };
    const Function before = [&](const Tensor& at) { return softmax(scores(at), keep); };
    const Function after = [&](const Tensor& at) { return softmax(scores(at)) * keep.to(float64); };
    const Function repaired = [&](const Tensor& at) {
      const Tensor cut = after(at);
      return cut / sum(cut, {-1}, keep_axes);
    };
    const auto output = [&](const Function& weights) {
      return Function([&, weights](const Tensor& at) { return matmul(weights(at), matmul(at, course.w_v)); });
    };
    struct Way {
      std::string key, name;
      Function weights;
    };
    const std::vector<Way> ways = {
        {"off", lesson.pick("no mask", "không che"), off},
        {"before", lesson.pick("masked before softmax", "che trước softmax"), before},
        {"after", lesson.pick("masked after softmax (wrong)", "che sau softmax (sai)"), after},
        {"repaired", lesson.pick("after, then divided again", "che sau, rồi chia lại"), repaired}};
    Table sums({lesson.pick("sum of row", "tổng của hàng"), "1", "2", "3", "4", "5"});
    for (const Way& way : ways) {
      const Tensor weights = way.weights(x);
      lesson.show("weights_" + way.key, way.name, weights, names, names);
      std::vector<std::string> cells = {way.name};
      for (const double total : doubles(sum(weights, {-1}))) cells.push_back(fmt::format("{:.4f}", total));
      sums.row(cells);
    }
    lesson.print(sums);
    lesson.keep("output_off", output(off)(x));
    lesson.keep("output_before", output(before)(x));
    lesson.look_for(
        "the sums. Cut off after softmax, a row no longer adds up to 1: the first token keeps a fifth of "
        "itself.",
        "các tổng. Cắt sau softmax thì hàng không còn cộng lại bằng 1: token đầu chỉ giữ một phần năm của "
        "mình.");
    lesson.at_most("masked before softmax, every row adds up to 1; largest difference",
                   "che trước softmax, mọi hàng cộng lại bằng 1; sai khác lớn nhất",
                   largest(sum(before(x), {-1}) - 1.0), 1e-15);
    const Tensor cut = sum(after(x), {-1});
    lesson.at_most("masked after softmax, the first row adds up to far less",
                   "che sau softmax, hàng đầu cộng lại ít hơn nhiều", cut.at({0}), 0.5);

    lesson.heading("The leak audit", "Kiểm tra rò rỉ");
    lesson.say(
        "How do we know that a token learns nothing of the future? Not by looking at the weights: by asking "
        "how much "
        "its output changes when a later embedding does. That is a derivative, and the tape gives all of "
        "them: row i, "
        "column j is the largest |d output_i / d x_j|.",
        "Làm sao biết token không hay gì về tương lai? Không phải bằng cách nhìn trọng số, mà bằng cách hỏi: "
        "đầu ra của nó "
        "đổi bao nhiêu khi một embedding phía sau đổi. Đó là đạo hàm, và tape cho ta tất cả: hàng i, cột j "
        "là "
        "|d output_i / d x_j| lớn nhất.");
    Table table({"", lesson.pick("rows add up to 1", "hàng cộng bằng 1"),
                 lesson.pick("leak from the future", "rò rỉ từ tương lai")});
    std::vector<Tensor> leaks;
    for (const Way& way : ways) {
      leaks.push_back(leak_audit(output(way.weights), x));
      lesson.show("leak_" + way.key, way.name, leaks.back(), names, names);
      const bool whole = largest(sum(way.weights(x), {-1}) - 1.0) < 1e-14;
      table.row({way.name, whole ? lesson.pick("yes", "có") : lesson.pick("no", "không"),
                 fmt::format("{:.1e}", future(leaks.back()))});
    }
    lesson.print(table);
    lesson.look_for(
        "the wrong mask. Its weights above the diagonal are 0, and still every token but the last leaks: the "
        "sum that "
        "softmax "
        "divides by was taken over the whole row, future included.",
        "mặt nạ sai. Trọng số trên đường chéo của nó bằng 0, vậy mà trừ token cuối, token nào cũng rò rỉ: "
        "tổng mà softmax "
        "đem chia "
        "được lấy trên cả hàng, kể cả tương lai.");
    lesson.claim("without a mask the future is seen", "không che thì thấy tương lai", future(leaks[0]) > 1e-3,
                 future(leaks[0]));
    lesson.claim("masked before softmax, the leak is exactly 0", "che trước softmax, rò rỉ đúng bằng 0",
                 future(leaks[1]) == 0, future(leaks[1]));
    lesson.claim("masked after softmax, the weights of the future are 0 and it leaks all the same",
                 "che sau softmax, trọng số của tương lai bằng 0 mà vẫn rò rỉ",
                 future(after(x)) == 0 && future(leaks[2]) > 1e-3, future(leaks[2]));
    lesson.at_most("dividing again mends it up to rounding, with more work; leak left",
                   "chia lại thì sửa được, trừ sai số làm tròn, mà tốn công hơn; rò rỉ còn lại",
                   future(leaks[3]), 1e-14);
    lesson.at_most("its weights are those of the mask before softmax; largest difference",
                   "trọng số của nó chính là của cách che trước softmax; sai khác lớn nhất",
                   largest_difference(repaired(x), before(x)), 1e-14);

    lesson.heading("The same question, by experiment", "Cũng câu hỏi ấy, bằng thí nghiệm");
    lesson.say(
        "Replace the last token by another one, or by numbers that are none, and compare the outputs of the "
        "tokens "
        "before it, bit by bit.",
        "Thay token cuối bằng token khác, hay bằng những số không phải là số (NaN), rồi so đầu ra của các "
        "token trước nó, "
        "từng bit một.");
    const auto earlier = [&](const Tensor& all) { return slice(all, 0, {0, count - 1}); };
    const auto replaced = [&](double value) {
      return concatenate({earlier(x), full({1, x.size(1)}, value)});
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto change = [&](const Function& weights, double value) {
      return largest_difference(earlier(output(weights)(replaced(value))), earlier(output(weights)(x)));
    };
    const auto attend = [&](const Tensor& at) {
      return attention(matmul(at, course.w_q), matmul(at, course.w_k), matmul(at, course.w_v),
                       Mask::causal());
    };
    Table trial({lesson.pick("output of the others changes by", "đầu ra của các token khác đổi"), "x₅ = 3",
                 "x₅ = NaN"});
    for (const Way& way : ways)
      trial.row({way.name, fmt::format("{:.1e}", change(way.weights, 3)),
                 fmt::format("{:.1e}", change(way.weights, nan))});
    const double regard_3 = largest_difference(earlier(attend(replaced(3))), earlier(attend(x)));
    const double regard_nan = largest_difference(earlier(attend(replaced(nan))), earlier(attend(x)));
    trial.row(
        {"attention(…, Mask::causal())", fmt::format("{:.1e}", regard_3), fmt::format("{:.1e}", regard_nan)});
    lesson.print(trial);
    lesson.look_for(
        "NaN in the second row: the weight is 0, but 0 times NaN is NaN, and a plain product P·V multiplies "
        "it in. "
        "attention() leaves out what is hidden.",
        "NaN ở hàng thứ hai: trọng số bằng 0, nhưng 0 nhân NaN vẫn là NaN, và phép nhân P·V thông thường có "
        "nhân vào. "
        "attention() bỏ hẳn những gì bị che.");
    lesson.claim("masked before softmax, another future changes no bit of the past",
                 "che trước softmax, tương lai khác đi không đổi một bit nào của quá khứ",
                 change(before, 3) == 0, change(before, 3));
    lesson.claim("attention() with a typed mask stays the same bit by bit, even if the future is NaN",
                 "attention() với mặt nạ có kiểu vẫn giữ nguyên từng bit, cả khi tương lai là NaN",
                 regard_3 == 0 && regard_nan == 0, regard_nan);

    std::vector<study::MatrixPanel> panels;
    for (std::size_t i = 0; i < ways.size(); ++i)
      panels.push_back(weights_panel(ways[i].name, names, names, ways[i].weights(x),
                                     ways[i].key == "off" ? Tensor() : keep));
    for (std::size_t i = 0; i < ways.size(); ++i) {
      panels.push_back(panel(lesson.pick("leak", "rò rỉ"), names, names, leaks[i]));
      panels.back().caption =
          lesson.pick("above the diagonal: ", "trên đường chéo: ") + fmt::format("{:.1e}", future(leaks[i]));
    }
    study::PanelsOptions picture;
    picture.title = lesson.pick("Weights above, what leaks below", "Trên: trọng số, dưới: rò rỉ");
    picture.per_row = ways.size();
    picture.decimals = 3;
    picture.language = lesson.language();
    lesson.picture("leaks", panels_svg(panels, picture));
  });
}

// Softmax where numbers end: exp overflows, exp underflows, and three ways to hide a key (-1e9, -∞, a typed
// mask) on rows that see something and on a row that sees nothing; in float32 and float64, as measured.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <regard/regard.hpp>
#include <regard/study/panels.hpp>

#include "lessons/common/lesson.hpp"

using namespace regard;
using lessons::doubles;
using lessons::largest_difference;
using lessons::Lesson;
using lessons::Table;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// The definition, word for word.
Tensor naive_softmax(const Tensor& x) {
  const Tensor e = exp(x);
  return e / sum(e, {-1}, keep_axes);
}

/// The same value on paper: both sides of the fraction are divided by exp(max).
Tensor shifted_softmax(const Tensor& x) {
  return naive_softmax(x - max(x, {-1}, keep_axes));
}

/// "0.1200  0.8800  NaN"
std::string numbers_in(const Tensor& x) {
  std::string text;
  for (const double value : doubles(x)) {
    if (!text.empty()) text += "  ";
    text += std::isnan(value) ? "NaN" : fmt::format("{:.4f}", value);
  }
  return text;
}

bool every_number(const Tensor& x, bool (*is)(double)) {
  for (const double value : doubles(x))
    if (!is(value)) return false;
  return true;
}
bool is_finite(double value) {
  return std::isfinite(value);
}
bool is_nan(double value) {
  return std::isnan(value);
}
bool is_zero(double value) {
  return value == 0;
}
bool some_nan(const Tensor& x) {
  return any(isnan(x));
}

// ---- 1. where exp ends ---------------------------------------------------------------------------------

/// The largest x, to four decimals, whose exp is finite in this dtype.
double last_finite(DType dtype) {
  double low = 0, high = 1000;
  while (high - low > 1e-5) {
    const double middle = (low + high) / 2;
    (std::isfinite(exp(scalar(middle, dtype)).item()) ? low : high) = middle;
  }
  return low;
}

void where_exp_ends(Lesson& lesson) {
  lesson.heading("Where exp ends", "exp dừng ở đâu");
  lesson.say("A float32 ends at 3.4e38, a float64 at 1.8e308. exp gets there soon:",
             "float32 dừng ở 3.4e38, float64 ở 1.8e308. exp tới đó rất nhanh:");
  Table table(
      {"dtype", "exp(10)", "exp(100)", "exp(1000)", lesson.pick("finite up to x =", "hữu hạn tới x =")});
  for (const DType dtype : {float32, float64}) {
    const auto e = [&](double x) { return fmt::format("{:.4g}", exp(scalar(x, dtype)).item()); };
    table.row({name(dtype), e(10), e(100), e(1000), fmt::format("{:.4f}", last_finite(dtype))});
  }
  lesson.print(table);
  lesson.claim(
      "exp(100) overflows in float32, as the course says, and not in float64",
      "exp(100) tràn số trong float32, đúng như khóa học nói, còn trong float64 thì không",
      exp(scalar(100, float32)).item() == infinity && std::isfinite(exp(scalar(100, float64)).item()),
      exp(scalar(100, float64)).item());
  lesson.at_most("float32 ends at ln(3.4028e38) = 88.7228", "float32 dừng ở ln(3.4028e38) = 88.7228",
                 std::fabs(last_finite(float32) - 88.7228), 1e-3);
  lesson.at_most("float64 ends at ln(1.7977e308) = 709.7827", "float64 dừng ở ln(1.7977e308) = 709.7827",
                 std::fabs(last_finite(float64) - 709.7827), 1e-3);
}

// ---- 2. naive and shifted ------------------------------------------------------------------------------

void naive_and_shifted(Lesson& lesson) {
  lesson.heading("Subtract the maximum first", "Trừ max trước đã");
  lesson.formula("exp(x) / Σ exp(x) = exp(x - m) / Σ exp(x - m),   m = max x");
  lesson.look_for(
      "∞/∞ at the upper end, 0/0 at the lower: both are NaN. Shifted, the largest term is exp(0) = 1, so "
      "nothing overflows and the sum is at least 1.",
      "∞/∞ ở đầu trên, 0/0 ở đầu dưới: cả hai đều là NaN. Sau khi trừ, số hạng lớn nhất là exp(0) = 1 nên "
      "không gì tràn được và tổng ít nhất bằng 1.");
  const std::vector<std::pair<std::string, Tensor>> rows = {{"1 2 3", tensor({1, 2, 3})},
                                                            {"98 99 100", tensor({98, 99, 100})},
                                                            {"-202 -201 -200", tensor({-202, -201, -200})},
                                                            {"998 999 1000", tensor({998, 999, 1000})}};
  Table table({"dtype", lesson.pick("scores", "score"), lesson.pick("naive", "theo định nghĩa"),
               lesson.pick("shifted", "trừ max")});
  const Tensor right = softmax(rows[0].second);
  double furthest = 0;
  for (const DType dtype : {float32, float64})
    for (const auto& [label, scores] : rows) {
      const Tensor x = scores.to(dtype);
      table.row({name(dtype), label, numbers_in(naive_softmax(x)), numbers_in(shifted_softmax(x))});
      furthest = std::max(furthest, largest_difference(shifted_softmax(x).to(float64), right));
      furthest = std::max(furthest, largest_difference(softmax(x).to(float64), right));
    }
  lesson.print(table);
  const auto naive = [&](std::size_t row, DType dtype) { return naive_softmax(rows[row].second.to(dtype)); };
  lesson.claim("naive, float32: NaN near 100 (∞/∞) and near -200 (0/0)",
               "theo định nghĩa, float32: NaN quanh 100 (∞/∞) và quanh -200 (0/0)",
               some_nan(naive(1, float32)) && every_number(naive(2, float32), is_nan), "NaN");
  lesson.claim("naive, float64: right near 100 and -200, NaN near 1000",
               "theo định nghĩa, float64: đúng quanh 100 và -200, NaN quanh 1000",
               every_number(naive(1, float64), is_finite) && every_number(naive(2, float64), is_finite) &&
                   some_nan(naive(3, float64)),
               "NaN");
  lesson.at_most("shifted, and regard's softmax: all four rows are the softmax of 1 2 3, in both dtypes",
                 "trừ max, và softmax của regard: cả bốn hàng đều là softmax của 1 2 3, ở cả hai dtype",
                 furthest, 1e-7);
}

// ---- 3. three ways to hide a key -----------------------------------------------------------------------

enum class Hiding { minus_1e9, minus_infinity, typed };

std::string name_of(Hiding hiding, const Lesson& lesson) {
  switch (hiding) {
    case Hiding::minus_1e9:
      return "-1e9";
    case Hiding::minus_infinity:
      return "-∞";
    case Hiding::typed:
      return lesson.pick("typed mask", "mặt nạ có kiểu");
  }
  return "";
}

/// Softmax of rows in which only what `keep` marks is visible.
Tensor hidden_softmax(const Tensor& scores, const Tensor& keep, Hiding hiding) {
  if (hiding == Hiding::typed) return softmax(scores, keep);
  const double low = hiding == Hiding::minus_1e9 ? -1e9 : -infinity;
  const Tensor zero = scalar(0, scores.dtype());
  return softmax(scores + where(keep, zero, scalar(low, scores.dtype())));
}

/// What a row gives, and what it sends back to its scores when dP comes in.
struct Outcome {
  Tensor weights, dS;
};

Outcome hide(const Tensor& scores, const Tensor& keep, Hiding hiding) {
  const Tensor x = variable(scores);
  const Tensor p = hidden_softmax(x, keep, hiding);
  GradOptions options;
  options.seeds = {tensor({1, 2, 4}, scores.dtype())};
  return {p.detach(), grad(p, x, options)};
}

void three_ways(Lesson& lesson) {
  lesson.heading("-1e9, -∞ or a typed mask", "-1e9, -∞ hay mặt nạ có kiểu");
  lesson.say(
      "Scores 1 2 3; dP = 1 2 4. In the first rows the last key is hidden, in the others all three are: a "
      "query that stands in padding, say. regard's typed mask does not add anything; it leaves the hidden "
      "keys out.",
      "Score 1 2 3; dP = 1 2 4. Ở các hàng đầu, key cuối bị che; ở các hàng sau, cả ba đều bị che: chẳng hạn "
      "một query nằm trong phần padding. Mặt nạ có kiểu của regard không cộng gì cả; nó bỏ hẳn các key bị "
      "che.");
  lesson.look_for(
      "a hidden last key: no difference. An empty row: -1e9 shows what it should hide. In float32 the score "
      "drowns (numbers near 1e9 lie 64 apart), the row is uniform; in float64 it does not, and the weights "
      "are those without a mask, gradient included. -∞ gives NaN. Only the mask gives nothing.",
      "che key cuối: ba cách như nhau. Hàng rỗng: -1e9 để lộ thứ lẽ ra phải che. Trong float32, score bị "
      "nuốt mất (các số gần 1e9 cách nhau 64) nên hàng thành đều; trong float64 thì không, và trọng số đúng "
      "bằng khi không có mặt nạ, kể cả gradient. -∞ cho NaN. Chỉ mặt nạ có kiểu mới cho ra không.");
  const Tensor some = tensor({1, 1, 0}, boolean), nothing = tensor({0, 0, 0}, boolean);
  Table table(
      {"dtype", lesson.pick("visible", "thấy được"), lesson.pick("hidden by", "che bằng"), "P", "dS"});
  std::vector<study::MatrixPanel> panels;
  for (const DType dtype : {float32, float64}) {
    const Tensor scores = tensor({1, 2, 3}, dtype);
    std::vector<Tensor> empty_rows;
    lessons::Labels labels;
    for (const Tensor& keep : {some, nothing})
      for (const Hiding hiding : {Hiding::minus_1e9, Hiding::minus_infinity, Hiding::typed}) {
        const Outcome got = hide(scores, keep, hiding);
        table.row({name(dtype), any(keep) ? "1 2 -" : "- - -", name_of(hiding, lesson),
                   numbers_in(got.weights), numbers_in(got.dS)});
        if (any(keep)) continue;
        empty_rows.push_back(got.weights);
        labels.push_back(name_of(hiding, lesson));
      }
    panels.push_back(
        lessons::weights_panel(name(dtype), labels, lessons::numbered("k", 3), stack(empty_rows)));
  }
  lesson.print(table);
  study::PanelsOptions options;
  options.title = lesson.pick("The softmax of a row in which everything is hidden",
                              "Softmax của một hàng mà mọi thứ đều bị che");
  options.language = lesson.language();
  lesson.picture("empty_row", study::panels_svg(panels, options));

  double apart = 0;
  for (const DType dtype : {float32, float64}) {
    const Tensor scores = tensor({1, 2, 3}, dtype);
    const Outcome masked = hide(scores, some, Hiding::typed);
    for (const Hiding hiding : {Hiding::minus_1e9, Hiding::minus_infinity}) {
      const Outcome added = hide(scores, some, hiding);
      apart = std::max({apart, largest_difference(added.weights, masked.weights),
                        largest_difference(added.dS, masked.dS)});
    }
  }
  lesson.at_most("where a row sees something, the three ways agree",
                 "nơi hàng còn thấy gì đó, ba cách khớp nhau", apart, 1e-7);
  const auto empty = [&](DType dtype, Hiding hiding) {
    return hide(tensor({1, 2, 3}, dtype), nothing, hiding);
  };
  const Outcome plain = hide(tensor({1, 2, 3}), tensor({1, 1, 1}, boolean), Hiding::typed);
  const Outcome leaked = empty(float64, Hiding::minus_1e9);
  lesson.at_most("-1e9 on an empty row, float32: uniform", "-1e9 ở hàng rỗng, float32: đều nhau",
                 largest_difference(empty(float32, Hiding::minus_1e9).weights, full({3}, 1.0 / 3, float32)),
                 1e-7);
  lesson.at_most(
      "-1e9 on an empty row, float64: the weights and the gradient without any mask",
      "-1e9 ở hàng rỗng, float64: đúng trọng số và gradient khi không có mặt nạ",
      std::max(largest_difference(leaked.weights, plain.weights), largest_difference(leaked.dS, plain.dS)),
      1e-6);
  bool infinity_is_nan = true, mask_is_zero = true;
  for (const DType dtype : {float32, float64}) {
    const Outcome added = empty(dtype, Hiding::minus_infinity), masked = empty(dtype, Hiding::typed);
    infinity_is_nan =
        infinity_is_nan && every_number(added.weights, is_nan) && every_number(added.dS, is_nan);
    mask_is_zero = mask_is_zero && every_number(masked.weights, is_zero) && every_number(masked.dS, is_zero);
  }
  lesson.claim("-∞ on an empty row: NaN, in the weights and in the gradient",
               "-∞ ở hàng rỗng: NaN, cả trọng số lẫn gradient", infinity_is_nan, "NaN");
  lesson.claim("a typed mask on an empty row: exactly 0, in both",
               "mặt nạ có kiểu ở hàng rỗng: đúng bằng 0, cả hai", mask_is_zero, 0.0);
}

// ---- 4. NaN behind the mask ----------------------------------------------------------------------------

void what_hides_behind(Lesson& lesson) {
  lesson.heading("A weight of 0 does not hide a NaN", "Trọng số 0 không che được NaN");
  lesson.say(
      "Padding may hold anything, NaN too. Hidden with -1e9 its weight is exactly 0, but the product with V "
      "still multiplies: 0·NaN = NaN. attention() with a mask does not read what is hidden.",
      "Phần padding có thể chứa bất cứ gì, kể cả NaN. Che bằng -1e9 thì trọng số đúng bằng 0, nhưng phép "
      "nhân với V vẫn nhân: 0·NaN = NaN. attention() có mặt nạ thì không đọc phần bị che.");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Tensor query = tensor({{1, 0}}), key = tensor({{1, 0}, {0, 1}, {1, 1}}),
               value = tensor({{1, 2}, {3, 4}, {nan, nan}});
  const Tensor keep = tensor({{1, 1, 0}}, boolean);
  const Tensor scores = matmul(query, transpose(key)) / std::sqrt(2.0);
  const Tensor added = matmul(hidden_softmax(scores, keep, Hiding::minus_1e9), value);
  const Tensor masked = attention(query, key, value, Mask::keep(keep));
  lesson.show(lesson.pick("output with -1e9", "đầu ra với -1e9"), "softmax(S - 1e9·hidden) · V", added);
  lesson.show(lesson.pick("output with a mask", "đầu ra với mặt nạ"), "attention(Q, K, V, mask)", masked);
  lesson.claim("-1e9 lets the NaN through", "-1e9 để lọt NaN", every_number(added, is_nan), "NaN");
  const Tensor seen = attention(query, slice(key, 0, {0, 2}), slice(value, 0, {0, 2}));
  lesson.at_most("the mask gives what attention over the two visible keys gives",
                 "mặt nạ cho đúng kết quả của attention trên hai key thấy được",
                 largest_difference(masked, seen), 1e-15);
}

}  // namespace

int main(int argc, char** argv) {
  Lesson lesson(
      argc, argv, {"A softmax that does not break", "Softmax không vỡ"},
      {"Where exp overflows, why the maximum is subtracted, and what -1e9, -∞ and a typed mask do to a row.",
       "exp tràn số ở đâu, vì sao phải trừ max, và -1e9, -∞, mặt nạ có kiểu làm gì với một hàng."});
  return lesson.run([&] {
    where_exp_ends(lesson);
    naive_and_shifted(lesson);
    three_ways(lesson);
    what_hides_behind(lesson);
  });
}

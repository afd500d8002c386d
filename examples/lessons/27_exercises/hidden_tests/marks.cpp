#include "lessons/27_exercises/hidden_tests/marks.hpp"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "lessons/27_exercises/exercises.hpp"

namespace exercises {

using namespace regard;
using lessons::Text;

namespace {

// What is wrong; nothing if it is right.
using Complaint = std::string;

struct Test {
  Text name;
  std::function<Complaint()> run;
};

// A mistake that is often made: an answer that makes it too gives the same numbers here.
struct Mistake {
  Text hint;
  std::function<bool()> made;
};

Text hint_among(const std::vector<Mistake>& mistakes) {
  for (const Mistake& mistake : mistakes) {
    try {
      if (mistake.made()) return mistake.hint;
    } catch (...) {  // it is not that one
    }
  }
  return {};
}

Mark judge(const std::string& exercise, const std::vector<Test>& tests,
           const std::vector<Mistake>& mistakes) {
  Mark mark;
  mark.exercise = exercise;
  mark.tests = static_cast<int>(tests.size());
  mark.state = State::right;
  for (const Test& test : tests) {
    Complaint complaint;
    try {
      complaint = test.run();
    } catch (const NotWritten&) {
      mark.state = State::not_yet;
      return mark;
    } catch (const std::exception& error) {
      complaint = error.what();
    } catch (...) {
      complaint = "an exception that is no std::exception";
    }
    if (complaint.empty()) {
      ++mark.passed;
    } else if (mark.state == State::right) {  // the first that fails is reported
      mark.state = State::wrong;
      mark.test = test.name;
      mark.where = complaint;
    }
  }
  if (mark.state == State::wrong) mark.hint = hint_among(mistakes);
  return mark;
}

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && lessons::largest_difference(a, b) < 1e-12;
}

std::string place(const std::string& name, std::size_t flat, const Shape& shape) {
  std::string text;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    text = std::to_string(flat % extent) + (text.empty() ? "" : "," + text);
    flat /= extent;
  }
  return text.empty() ? name : name + "[" + text + "]";
}

Complaint compare(const std::string& name, const Tensor& got, const std::vector<double>& expected,
                  const Shape& shape, DType dtype) {
  if (!got.defined()) return name + " is an empty Tensor";
  if (got.shape() != shape)
    return fmt::format("{}: expected shape {}, got {}", name, to_string(shape), to_string(got.shape()));
  if (got.dtype() != dtype)
    return fmt::format("{}: expected {}, got {}", name, regard::name(dtype), regard::name(got.dtype()));
  const std::vector<double> values = lessons::doubles(got);
  const double tolerance = dtype == float32 ? 1e-5 : 1e-12;
  std::size_t worst = 0;
  double off = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double by = std::fabs(values[i] - expected[i]);
    if (std::isnan(by) || by > off) {
      off = by;
      worst = i;
    }
    if (std::isnan(by)) break;
  }
  if (off <= tolerance * std::fmax(1, std::fabs(expected.empty() ? 0 : expected[worst]))) return "";
  const std::string found = std::isnan(values[worst]) ? "NaN" : fmt::format("{:.6g}", values[worst]);
  return fmt::format("{}: expected {:.6g}, got {}", place(name, worst, shape), expected[worst], found);
}

Complaint differences(const FunctionOfMany& f, const Tensors& inputs, const std::vector<std::string>& names,
                      int order = 1) {
  GradientCheckOptions options;
  options.coverage = Coverage::slow;
  options.names = names;
  options.order = order;
  const GradientReport report = check_gradients(f, inputs, options);
  return report.ok() ? "" : to_string(report.worst());
}

Tensor drawn(const Shape& shape, std::uint64_t seed, DType dtype = float64) {
  Rng rng(seed);
  return normal(shape, rng, 0, 1).to(dtype);
}

// ---- 1 -------------------------------------------------------------------------------------------------

Mark softmax_vjp_mark(const Answers& answers) {
  const CustomOp op(
      "softmax", [](const Tensors& in) { return softmax(in[0]); },
      [&answers](const RuleInputs& at) { return Tensors{answers.softmax_vjp(at.output, at.dy)}; });
  const auto on = [op](const Tensor& x) {
    return [op, x] { return differences([op](const Tensors& in) { return op(in); }, {x}, {"x"}); };
  };
  const Tensor y = softmax(drawn({3, 4}, 1)), dy = drawn({3, 4}, 2);
  const auto gives = [&](const Tensor& mistake) {
    return [&answers, y, dy, mistake] { return same(answers.softmax_vjp(y, dy), mistake); };
  };
  return judge(
      "softmax_vjp",
      {{{"one row of five", "một hàng năm số"}, on(drawn({5}, 3))},
       {{"three rows of four", "ba hàng bốn số"}, on(drawn({3, 4}, 4))},
       {{"two heads of three rows", "hai head, mỗi head ba hàng"}, on(drawn({2, 3, 4}, 5))},
       {{"a row that is nearly decided", "một hàng gần như đã ngã ngũ"}, on(tensor({{0, 4, -3, 1}}))},
       {{"rows of a single number: the slope is 0", "hàng chỉ có một số: độ dốc bằng 0"},
        [&answers] {
          return compare("dx", answers.softmax_vjp(ones({2, 1}), drawn({2, 1}, 6)), {0, 0}, {2, 1}, float64);
        }},
       {{"float32", "float32"}, on(drawn({2, 4}, 7, float32))}},
      {{{"This is y·dy. Every x also moves the sum that all y are divided by: Σ y·dy is missing.",
         "Đây là y·dy. Mỗi x còn làm đổi tổng mà mọi y đem chia: thiếu Σ y·dy."},
        gives(y * dy)},
       {{"This is y·(1 - y)·dy, the diagonal of the Jacobian alone: each x moves all y of its row.",
         "Đây là y·(1 - y)·dy, chỉ có đường chéo của Jacobi: mỗi x làm đổi mọi y trong hàng."},
        gives(y * (1.0 - y) * dy)},
       {{"The sum runs over all rows: each row needs its own, sum(.., {-1}, keep_axes).",
         "Tổng lấy trên mọi hàng: mỗi hàng cần tổng riêng, sum(.., {-1}, keep_axes)."},
        gives(y * (dy - sum(y * dy)))},
       {{"This is Σ dy in place of Σ y·dy.", "Đây là Σ dy thay vì Σ y·dy."},
        gives(y * (dy - sum(dy, {-1}, keep_axes)))}});
}

// ---- 2 -------------------------------------------------------------------------------------------------

Mark matmul_vjp_mark(const Answers& answers) {
  const CustomOp op(
      "matmul", [](const Tensors& in) { return matmul(in[0], in[1]); },
      [&answers](const RuleInputs& at) { return answers.matmul_vjp(at.inputs[0], at.inputs[1], at.dy); });
  const auto on = [op](const Tensor& a, const Tensor& b) {
    return [op, a, b] { return differences([op](const Tensors& in) { return op(in); }, {a, b}, {"a", "b"}); };
  };
  const Tensor a = drawn({3, 3}, 1), b = drawn({3, 3}, 2), dy = drawn({3, 3}, 3);
  const auto gives = [&](const Tensor& da, const Tensor& db) {
    return [&answers, a, b, dy, da, db] {
      const Tensors got = answers.matmul_vjp(a, b, dy);
      return got.size() == 2 && same(got[0], da) && same(got[1], db);
    };
  };
  const Tensor da = matmul(dy, transpose(b)), db = matmul(transpose(a), dy);
  const auto only_right = [&](std::size_t one) {
    return [&answers, a, b, dy, da, db, one] {
      const Tensors got = answers.matmul_vjp(a, b, dy), right = {da, db};
      return same(got.at(one), right[one]) && !same(got.at(1 - one), right[1 - one]);
    };
  };
  return judge("matmul_vjp",
               {{{"square, 3 x 3", "vuông, 3 x 3"}, on(drawn({3, 3}, 4), drawn({3, 3}, 5))},
                {{"[2, 3] x [3, 4]", "[2, 3] x [3, 4]"}, on(drawn({2, 3}, 6), drawn({3, 4}, 7))},
                {{"a row times a column", "hàng nhân cột"}, on(drawn({1, 4}, 8), drawn({4, 1}, 9))},
                {{"a column times a row", "cột nhân hàng"}, on(drawn({3, 1}, 10), drawn({1, 2}, 11))},
                {{"a batch, [2, 2, 3] x [2, 3, 4]", "theo batch, [2, 2, 3] x [2, 3, 4]"},
                 on(drawn({2, 2, 3}, 12), drawn({2, 3, 4}, 13))},
                {{"float32", "float32"}, on(drawn({2, 3}, 14, float32), drawn({3, 2}, 15, float32))}},
               {{{"The transposes are missing: da = dy·bᵀ and db = aᵀ·dy.",
                  "Thiếu chuyển vị: da = dy·bᵀ và db = aᵀ·dy."},
                 gives(matmul(dy, b), matmul(a, dy))},
                {{"da is right; in db the transpose is missing.", "da đúng; db thiếu chuyển vị."},
                 gives(da, matmul(a, dy))},
                {{"db is right; in da the transpose is missing.", "db đúng; da thiếu chuyển vị."},
                 gives(matmul(dy, b), db)},
                {{"Both are right, but for their order: da comes first.",
                  "Cả hai đều đúng, chỉ sai thứ tự: da đứng trước."},
                 gives(db, da)},
                {{"The factors are in the wrong order: a product of matrices cannot be turned round.",
                  "Thừa số sai thứ tự: tích ma trận không giao hoán."},
                 gives(matmul(transpose(b), dy), matmul(dy, transpose(a)))},
                {{"da is right, db is not.", "da đúng, db thì chưa."}, only_right(0)},
                {{"db is right, da is not.", "db đúng, da thì chưa."}, only_right(1)}});
}

// ---- 3 -------------------------------------------------------------------------------------------------

// In plain loops over rows: what the answer should give.
std::vector<double> expected_shares(const Tensor& scores, const Tensor& keep) {
  const std::vector<double> s = lessons::doubles(scores);
  const std::vector<double> seen = lessons::doubles(broadcast_to(keep, scores.shape()).to(float64));
  std::vector<double> shares(s.size(), 0);
  const auto row = static_cast<std::size_t>(scores.size(-1));
  for (std::size_t first = 0; first < s.size(); first += row) {
    double largest = -std::numeric_limits<double>::infinity(), total = 0;
    for (std::size_t i = first; i < first + row; ++i)
      if (seen[i] != 0) largest = std::fmax(largest, s[i]);
    for (std::size_t i = first; i < first + row; ++i)
      if (seen[i] != 0) total += shares[i] = std::exp(s[i] - largest);
    for (std::size_t i = first; i < first + row; ++i)
      if (total > 0) shares[i] /= total;
  }
  return shares;
}

Mark masked_softmax_mark(const Answers& answers) {
  const auto on = [&answers](const Tensor& scores, const Tensor& keep) {
    return [&answers, scores, keep] {
      return compare("P", answers.masked_softmax(scores, keep), expected_shares(scores, keep), scores.shape(),
                     scores.dtype());
    };
  };
  const auto all = [](const Shape& shape) { return ones(shape, boolean); };
  const Tensor causal = tril(ones({4, 4})).to(boolean);
  const Tensor some = tensor({{1, 0, 1, 1}, {0, 0, 0, 0}, {0, 1, 0, 0}}, boolean);
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const Tensor plain = drawn({4, 4}, 1);
  const auto gives = [&](const Tensor& mistake) {
    return
        [&answers, plain, causal, mistake] { return same(answers.masked_softmax(plain, causal), mistake); };
  };
  const auto empty_row = [&answers](const auto& like) {
    return [&answers, like] {
      const Tensor got = answers.masked_softmax(tensor({{1, 2}}), tensor({{0, 0}}, boolean));
      return like(got.at({0, 0}));
    };
  };
  return judge(
      "masked_softmax",
      {{{"nothing hidden", "không che gì"}, on(drawn({2, 4}, 2), all({2, 4}))},
       {{"causal", "nhân quả"}, on(drawn({4, 4}, 3), causal)},
       {{"one mask for all rows", "một mặt nạ cho mọi hàng"},
        on(drawn({3, 4}, 4), tensor({1, 1, 0, 1}, boolean))},
       {{"two heads", "hai head"}, on(drawn({2, 4, 4}, 5), causal)},
       {{"a row that keeps nothing", "một hàng không giữ gì"}, on(drawn({3, 4}, 6), some)},
       {{"scores of 1000", "score bằng 1000"},
        on(tensor({{1000, 999, 998}, {-1000, -1001, -999}}), all({2, 3}))},
       {{"hidden scores of 10000", "score bị che bằng 10000"},
        on(tensor({{1, 10000, 2}, {10000, -10000, 0}}), tensor({{1, 0, 1}, {0, 1, 1}}, boolean))},
       {{"hidden scores that are NaN or infinite", "score bị che là NaN hay vô cực"},
        on(tensor({{1, nan, 2}, {inf, nan, -inf}}), tensor({{1, 0, 1}, {0, 0, 0}}, boolean))},
       {{"float32", "float32"}, on(drawn({4, 4}, 7, float32), causal)}},
      {{{"The mask stands behind softmax: the rows were divided by sums that include what is hidden, and no "
         "longer add up to 1.",
         "Mặt nạ đứng sau softmax: các hàng đã bị chia cho tổng gồm cả phần bị che, nên không còn cộng lại "
         "bằng 1."},
        gives(softmax(plain) * causal.to(float64))},
       {{"What is to be kept is hidden, and the other way round: keep is true where a query may look.",
         "Phần cần giữ lại bị che, và ngược lại: keep là true ở nơi query được nhìn."},
        gives(softmax(plain, logical_not(causal)))},
       {{"A hidden score of 0 is not hidden: exp 0 is 1. It takes -∞.",
         "Score bị che đặt bằng 0 thì chưa bị che: exp 0 bằng 1. Cần -∞."},
        gives(softmax(plain * causal.to(float64)))},
       {{"The mask is not used.", "Mặt nạ chưa được dùng."}, gives(softmax(plain))},
       {{"A row that keeps nothing is divided by its sum, which is 0.",
         "Hàng không giữ gì bị chia cho tổng của nó, vốn bằng 0."},
        empty_row([](double share) { return std::isnan(share); })},
       {{"A row that keeps nothing gives equal shares: a large negative number hides only beside others that "
         "are larger.",
         "Hàng không giữ gì lại chia đều: một số âm lớn chỉ che được khi bên cạnh có số lớn hơn."},
        empty_row([](double share) { return share == 0.5; })}});
}

// ---- 4 -------------------------------------------------------------------------------------------------

Complaint own_operation(const Answers& answers) {
  TapeRecorder tape;
  const Tensor y = answers.soft_cap(variable(drawn({3}, 1)), 2);
  for (const Step& step : tape.steps())
    if (step.kind == StepKind::custom && step.op == "soft_cap") return "";
  return "no CustomOp called \"soft_cap\" ran";
}

Mark soft_cap_mark(const Answers& answers) {
  const auto values = [&answers](const Tensor& x, double cap) {
    return [&answers, x, cap] {
      std::vector<double> expected;
      for (const double value : lessons::doubles(x)) expected.push_back(cap * std::tanh(value / cap));
      return compare("y", answers.soft_cap(x, cap), expected, x.shape(), x.dtype());
    };
  };
  const auto slopes = [&answers](const Tensor& x, double cap, int order) {
    return [&answers, x, cap, order] {
      return differences([&answers, cap](const Tensors& in) { return answers.soft_cap(in[0], cap); }, {x},
                         {"x"}, order);
    };
  };
  constexpr double cap = 2;
  const Tensor x = drawn({3, 4}, 2), y = tanh(x / cap) * cap, dy = drawn({3, 4}, 3);
  const auto gives = [&](const Tensor& mistake) {
    return [&answers, x, y, dy, mistake] {
      const Pullback got = vjp([&answers](const Tensors& in) { return answers.soft_cap(in[0], cap); }, {x});
      return same(got.output, y) && same(got.vjp(dy)[0], mistake);
    };
  };
  return judge(
      "soft_cap",
      {{{"values, cap 2", "giá trị, cap 2"}, values(drawn({3, 4}, 4) * 3.0, 2)},
       {{"values far beyond the cap", "giá trị vượt xa cap"}, values(tensor({-1e6, -40, 0, 40, 1e6}), 30)},
       {{"gradient, cap 2", "gradient, cap 2"}, slopes(drawn({2, 3}, 5), 2, 1)},
       {{"gradient, cap 0.5", "gradient, cap 0,5"}, slopes(drawn({2, 3}, 6) * 0.5, 0.5, 1)},
       {{"the gradient's gradient", "gradient của gradient"}, slopes(drawn({3}, 7), 2, 2)},
       {{"a single number", "một số đơn lẻ"}, slopes(scalar(0.7), 2, 1)},
       {{"float32", "float32"}, slopes(drawn({4}, 8, float32), 2, 1)},
       {{"an operation of its own", "một phép tính riêng"}, [&answers] { return own_operation(answers); }}},
      {{{"dx is dy: the slope of the cap is missing, 1 - tanh²(x / cap).",
         "dx bằng dy: thiếu độ dốc của cap, 1 - tanh²(x / cap)."},
        gives(dy)},
       {{"This is dy·(1 - y²). But y is cap·tanh: divide it by the cap first.",
         "Đây là dy·(1 - y²). Nhưng y là cap·tanh: hãy chia nó cho cap trước."},
        gives(dy * (1.0 - square(y)))},
       {{"This is dy·(1 - tanh² x): x is to be divided by the cap, here as in the value.",
         "Đây là dy·(1 - tanh² x): x phải chia cho cap, ở đây cũng như ở giá trị."},
        gives(dy * (1.0 - square(tanh(x))))},
       {{"Too small by the factor cap: cap·tanh(..) has that factor, which cancels the inner slope 1 / cap.",
         "Nhỏ đi cap lần: cap·tanh(..) có thừa số ấy, nó khử độ dốc bên trong 1 / cap."},
        gives(dy * (1.0 - square(y / cap)) / cap)},
       {{"Too large by the factor cap: the inner slope 1 / cap is missing, which cancels it.",
         "Lớn lên cap lần: thiếu độ dốc bên trong 1 / cap, thứ khử thừa số ấy."},
        gives(dy * (1.0 - square(y / cap)) * cap)}});
}

}  // namespace

Answers yours() {
  return {softmax_vjp, matmul_vjp, masked_softmax, soft_cap};
}

Answers reference() {
  return {solutions::softmax_vjp, solutions::matmul_vjp, solutions::masked_softmax, solutions::soft_cap};
}

Answers mistaken() {
  const auto straight_through = [](const Tensor& x, double cap) {
    const CustomOp op(
        "soft_cap", [cap](const Tensors& in) { return tanh(in[0] / cap) * cap; },
        [](const RuleInputs& at) { return Tensors{at.dy}; });
    return op({x});
  };
  return {[](const Tensor& y, const Tensor& dy) { return y * dy; },
          [](const Tensor& a, const Tensor& b, const Tensor& dy) {
            return Tensors{matmul(dy, b), matmul(a, dy)};
          },
          [](const Tensor& scores, const Tensor& keep) { return softmax(scores) * keep.to(scores.dtype()); },
          straight_through};
}

std::vector<Mark> mark(const Answers& answers) {
  return {softmax_vjp_mark(answers), matmul_vjp_mark(answers), masked_softmax_mark(answers),
          soft_cap_mark(answers)};
}

}  // namespace exercises

#include "lessons/27_exercises/hidden_tests/picture.hpp"

#include <functional>
#include <limits>
#include <utility>
#include <vector>

#include <regard/study/panels.hpp>

namespace exercises {

using namespace regard;

namespace {

using Panels = std::vector<study::MatrixPanel>;

/// values [rows, columns].
study::MatrixPanel panel(const std::string& title, const Tensor& values, study::MatrixScale scale) {
  study::MatrixPanel made;
  made.title = title;
  made.rows.resize(static_cast<std::size_t>(values.size(0)));
  made.columns.resize(static_cast<std::size_t>(values.size(1)));
  made.values = values.detach().to_vector<double>();
  made.scale = scale;
  return made;
}

/// The answer, or NaN of the shape that was expected.
Tensor or_nothing(const std::function<Tensor()>& answer, const Tensor& expected) {
  try {
    const Tensor given = answer();
    if (given.defined() && given.shape() == expected.shape() && given.dtype() == float64)
      return given.detach().contiguous();
  } catch (...) {  // not written, or it fails: the marks say how
  }
  return full(expected.shape(), std::numeric_limits<double>::quiet_NaN());
}

void add(Panels& panels, const std::pair<std::string, std::string>& titles, const Tensor& expected,
         const std::function<Tensor()>& answer, study::MatrixScale scale = study::MatrixScale::signed_value) {
  panels.push_back(panel(titles.first, or_nothing(answer, expected), scale));
  panels.push_back(panel(titles.second, expected, scale));
}

}  // namespace

std::string picture(const lessons::Lesson& lesson, const Answers& answers) {
  const auto titles = [&](const std::string& what, const std::string& right) {
    return std::pair(what + lesson.pick(": yours", ": của bạn"), right);
  };
  Panels panels;
  const Tensor x = tensor({0.5, -1.0, 2.0}), y = softmax(x);
  // A row for each dy that is 1 in one place: together they are the Jacobian.
  add(panels, titles("softmax: J", "diag(p) − ppᵀ"),
      jacobian([](const Tensor& at) { return softmax(at); }, x), [&] {
        return answers.softmax_vjp(broadcast_to(y, {3, 3}), eye(3));
      });

  const Tensor a = tensor({{1, 2, 0}, {0, -1, 1}}), b = tensor({{1, 0}, {2, 1}, {0, 3}});
  const Tensor dy = tensor({{1, -1}, {2, 0}});
  add(panels, titles("matmul: da", "dy·bᵀ"), matmul(dy, transpose(b)),
      [&] { return answers.matmul_vjp(a, b, dy).at(0); });

  const Tensor scores = tensor({{1, 2, 3}, {1, 2, 3}, {1, 2, 3}});
  const Tensor keep = tensor({{1, 1, 1}, {1, 0, 1}, {0, 0, 0}}, boolean);
  add(
      panels, titles("masked softmax", "softmax(S, keep)"), softmax(scores, keep),
      [&] { return answers.masked_softmax(scores, keep); }, study::MatrixScale::weight);

  panels.back().hidden = {0, 0, 0, 0, 1, 0, 1, 1, 1};

  const Tensor at = tensor({{-4, -2, 0, 2, 4}});
  const auto slope = [&](const std::function<Tensor(const Tensor&)>& f) {
    const Tensor leaf = variable(at);
    return grad(sum(f(leaf)), leaf);
  };
  add(panels, titles("soft cap: slope", "1 − tanh²(x / 2)"),
      slope([](const Tensor& from) { return 2.0 * tanh(from / 2.0); }),
      [&] { return slope([&](const Tensor& from) { return answers.soft_cap(from, 2); }); });

  study::PanelsOptions options;
  options.title = lesson.pick("Yours beside what it should be", "Của bạn, bên cạnh kết quả đúng");
  options.note =
      lesson.pick("NaN: not written yet, or it does not run", "NaN: chưa viết, hoặc chưa chạy được");
  options.per_row = 2;
  options.language = lesson.language();
  return study::panels_svg(panels, options);
}

}  // namespace exercises

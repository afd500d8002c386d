// A row's explanation in words and as a table.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "regard/study/explain.hpp"
#include "regard/study/terminal.hpp"
#include "study/words.hpp"

namespace regard::study {
namespace {

struct Texts {
  const char *gains, *no_key, *one_key, *no_number, *all_weight, *level;
  const char *head, *sum, *eigenvalues, *bound;
};

constexpr Texts english = {
    "A step against the gradient raises the score of “{0}” most: its dp {1} lies {2} below the row's average "
    "Σ p·dp = {3}, at a weight "
    "of {4}. “{5}” loses most: its dp {6} lies {7} above the average, at a weight of {8}.",
    "“{0}” sees no key: its weights, its output and its gradients are 0.",
    "“{0}” sees only “{1}”: that weight is 1 whatever its score, so no score moves.",
    "A number of this row is no number (NaN or infinite), so no key can be said to gain.",
    "“{1}” has all the weight: the Jacobian is 0, and no score moves, whatever dp says.",
    "All keys that “{0}” gives weight to have the same dp: no key gains.",
    "{}, batch {}, head {}, {}, scale {}",
    "sum",
    "eigenvalues of J: {}",
    "the largest, {}, is at most 1/2, as for every softmax: dS is never longer than half of dp"};

constexpr Texts vietnamese = {
    "Một bước ngược gradient nâng điểm số của “{0}” nhiều nhất: dp của nó, {1}, thấp hơn trung bình của hàng "
    "Σ p·dp = {3} một khoảng "
    "{2}, với trọng số {4}. “{5}” mất nhiều nhất: dp của nó, {6}, cao hơn trung bình {7}, với trọng số {8}.",
    "“{0}” không thấy key nào: trọng số, đầu ra và gradient của nó bằng 0.",
    "“{0}” chỉ thấy “{1}”: trọng số ấy là 1 dù điểm số bao nhiêu, nên không điểm số nào đổi.",
    "Hàng này có số không phải là số (NaN hoặc vô hạn), nên không thể nói key nào được lợi.",
    "“{1}” có toàn bộ trọng số: Jacobian bằng 0, không điểm số nào đổi, dù dp ra sao.",
    "Mọi key mà “{0}” cho trọng số đều có cùng dp: không key nào được lợi.",
    "{}, batch {}, head {}, {}, scale {}",
    "tổng",
    "trị riêng của J: {}",
    "lớn nhất là {}, không quá 1/2, như với mọi softmax: dS không bao giờ dài hơn một nửa dp"};

const Texts& texts(const std::string& language) {
  return language.substr(0, 2) == "vi" ? vietnamese : english;
}

std::string digits(double number) {
  return fmt::format("{:.4g}", number == 0 ? 0.0 : number);
}

std::string right_aligned(const std::string& text, int columns) {
  return std::string(static_cast<std::size_t>(std::max(0, columns - display_width(text))), ' ') + text;
}

std::string column(double number) {
  return right_aligned(fmt::format("{:.4f}", std::fabs(number) < 5e-5 ? 0.0 : number), 11);
}

std::string left_aligned(const std::string& text, int columns) {
  const std::string fitted = fit_width(text, columns);
  return fitted + std::string(static_cast<std::size_t>(std::max(0, columns - display_width(fitted))), ' ');
}

std::string table(const RowExplanation& row, const Words& word, const Texts& text, int label) {
  std::string lines = left_aligned("", label);
  for (const char* name : {"q·k", "scaled", "masked", "p", "dp", "p·dp", "dS"})
    lines += right_aligned(name, 11);
  lines += "\n";
  double weights = 0, slopes = 0;
  for (std::size_t j = 0; j < row.keys.size(); ++j) {
    lines += left_aligned(row.keys[j], label) + column(row.raw[j]) + column(row.scaled[j]) +
             column(row.masked[j]) + column(row.p[j]) + column(row.dp[j]) +
             column(row.hidden[j] ? 0 : row.p[j] * row.dp[j]) + column(row.ds[j]);
    lines += row.hidden[j] ? std::string("  ") + word.hidden + "\n" : "\n";
    weights += row.p[j];
    slopes += row.ds[j];
  }
  const std::string gap(11, ' ');
  return lines + left_aligned(std::string("Σ ") + text.sum, label) + gap + gap + gap + column(weights) + gap +
         column(row.inner) + column(slopes) + "\n";
}

std::string jacobian(const RowExplanation& row, int label) {
  const std::size_t n = row.keys.size();
  std::string lines = "J = diag(p) - p·pᵀ\n" + left_aligned("", label);
  for (const std::string& key : row.keys) lines += right_aligned(fit_width(key, 10), 11);
  lines += "\n";
  for (std::size_t i = 0; i < n; ++i) {
    lines += left_aligned(row.keys[i], label);
    for (std::size_t j = 0; j < n; ++j) lines += column(row.jacobian[i * n + j]);
    lines += "\n";
  }
  return lines;
}

}  // namespace

std::string explanation_sentence(const RowExplanation& row, const std::string& language) {
  const Texts& text = texts(language);
  std::vector<std::size_t> visible;
  for (std::size_t j = 0; j < row.keys.size(); ++j)
    if (row.hidden[j] == 0) visible.push_back(j);
  const auto say = [&](const char* what, const std::string& key = "") {
    return fmt::format(fmt::runtime(what), row.query, key);
  };
  if (visible.empty()) return say(text.no_key);
  double largest_dp = 0;
  bool finite = true;
  for (const std::size_t j : visible) {
    finite = finite && std::isfinite(row.p[j]) && std::isfinite(row.dp[j]) && std::isfinite(row.ds[j]);
    largest_dp = std::max(largest_dp, std::fabs(row.dp[j]));
  }
  if (!finite) return say(text.no_number);
  if (visible.size() == 1) return say(text.one_key, row.keys[visible[0]]);
  const auto less = [&](std::size_t a, std::size_t b) { return row.ds[a] < row.ds[b]; };
  const std::size_t up = *std::min_element(visible.begin(), visible.end(), less);
  const std::size_t down = *std::max_element(visible.begin(), visible.end(), less);
  const double rounding = (row.dtype == float32 ? 1e-6 : 1e-15) * largest_dp;
  if (std::max(-row.ds[up], row.ds[down]) <= rounding) {
    for (const std::size_t j : visible)
      if (row.p[j] == 1) return say(text.all_weight, row.keys[j]);
    return say(text.level);
  }
  return fmt::format(fmt::runtime(text.gains), row.keys[up], digits(row.dp[up]),
                     digits(row.inner - row.dp[up]), digits(row.inner), digits(row.p[up]), row.keys[down],
                     digits(row.dp[down]), digits(row.dp[down] - row.inner), digits(row.p[down]));
}

std::string explanation_text(const RowExplanation& row, const std::string& language) {
  const Texts& text = texts(language);
  int label = 6;
  for (const std::string& key : row.keys) label = std::max(label, std::min(20, display_width(key) + 2));
  std::string out = fmt::format(fmt::runtime(text.head), row.query, row.batch, row.head,
                                regard::name(row.dtype), digits(row.scale)) +
                    "\n\n" + table(row, words(language), text, label) + "\n";
  if (row.keys.size() <= 12) out += jacobian(row, label);
  if (!row.keys.empty()) {
    std::string eigenvalues;
    const std::size_t first = row.eigenvalues.size() > 12 ? row.eigenvalues.size() - 12 : 0;
    for (std::size_t j = first; j < row.eigenvalues.size(); ++j)
      eigenvalues += (j == first ? (first > 0 ? "… " : "") : " ") +
                     fmt::format("{:.4f}", std::fabs(row.eigenvalues[j]) < 5e-5 ? 0.0 : row.eigenvalues[j]);
    out += fmt::format(fmt::runtime(text.eigenvalues), eigenvalues) + "; " +
           fmt::format(fmt::runtime(text.bound), digits(row.spectral_norm)) + "\n\n";
  }
  return out + explanation_sentence(row, language) + "\n";
}

}  // namespace regard::study

// One row of one attention, taken apart: why its scores are pushed as they are.
//
// ```cpp
// AttentionTrace trace;
// backward(loss(attention(q, k, v, Mask::causal(), {}, &trace)));
// std::cout << explanation_text(explain(trace));  // its first row; ExplainOptions name another
// ```
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <regard/attention.hpp>
#include <regard/export.hpp>

namespace REGARD_API regard {
namespace study {

/// Which row, and what its tokens are called.
struct ExplainOptions {
  Size batch = 0, head = 0, query = 0;
  std::string query_name;              ///< empty: "query 2"
  std::vector<std::string> key_names;  ///< one per key; empty: "0", "1", ...
};

/// A query's row. Vectors have one number per key, the engine's own: those of the trace and of its gradients,
/// converted to double without rounding. With S the masked scores, P their softmax and J its Jacobian:
///   J = diag(p) - p·pᵀ      dS = J·dp = p·(dp - Σ p·dp)      Σ dS = 0      0 <= eigenvalues of J <= 1/2
/// as far as p, rounded as it is, sums to 1.
struct RowExplanation {
  std::string query;
  std::vector<std::string> keys;
  Size batch = 0, head = 0;
  DType dtype = DType::float64;
  double scale = 1;

  std::vector<double> raw;           ///< query·key, hidden ones as well
  std::vector<double> scaled;        ///< raw·scale
  std::vector<double> masked;        ///< what softmax gets: with bias, -inf where hidden
  std::vector<double> p;             ///< the weights, 0 where hidden
  std::vector<double> dp;            ///< dL/dp, 0 where hidden
  std::vector<double> ds;            ///< dL/dS, 0 where hidden
  std::vector<std::uint8_t> hidden;  ///< 1 where the mask hides the key

  double inner = 0;                 ///< Σ p·dp: the average of dp under the weights
  std::vector<double> jacobian;     ///< [keys, keys], row-major; 0 in the rows and columns of hidden keys
  std::vector<double> eigenvalues;  ///< of the Jacobian, ascending, by LAPACK; NaN when a weight is no number
  double spectral_norm = 0;         ///< the largest of them by magnitude
};

/// From a trace that a backward has reached: ValueError when none has, when there is no such batch, head or
/// query, when names are not as many as keys, when the weights are not the softmax of the masked scores
/// (another normaliser, or through_weights), and beyond 2048 keys.
[[nodiscard]] RowExplanation explain(const AttentionTrace& trace, const ExplainOptions& options = {});

/// Runs softmax(scale·q·kᵀ)·v and its backward first. q, k, v as attention() takes them; `upstream` is
/// dL/d(output) in the output's shape, ones unless given. Also throws what attention() and grad() throw.
[[nodiscard]] RowExplanation explain(const Tensor& q, const Tensor& k, const Tensor& v, const Mask& mask,
                                     const ExplainOptions& options = {}, const Tensor& upstream = {});

/// Which key gains and why, in one sentence, in "en" or "vi". "Gains": a small step against the gradient
/// raises its score.
[[nodiscard]] std::string explanation_sentence(const RowExplanation& row, const std::string& language = "en");

/// For a terminal: the row as a table, the Jacobian (up to 12 keys), its eigenvalues, and the sentence.
[[nodiscard]] std::string explanation_text(const RowExplanation& row, const std::string& language = "en");

/// The steps of the row one below another, dS as bars under its keys, and the Jacobian as a heat map. Hidden
/// keys are hatched.
[[nodiscard]] std::string explanation_svg(const RowExplanation& row, const std::string& language = "en");
/// The same, written to a file, which is replaced as a whole or not at all. Throws IoError too.
void write_explanation_svg(const std::filesystem::path& path, const RowExplanation& row,
                           const std::string& language = "en");

}  // namespace study
}  // namespace regard

// Scaled dot-product attention, and the trace that shows each of its steps.
//
// ```cpp
// AttentionTrace trace;
// const Tensor output = attention(query, key, value, Mask::causal(), {}, &trace);
// backward(sum(output));
// std::cout << trace.weights << trace.gradients().weights;
// ```
#pragma once

#include <functional>
#include <memory>
#include <optional>

#include <regard/export.hpp>
#include <regard/mask.hpp>
#include <regard/random.hpp>
#include <regard/tensor.hpp>

namespace REGARD_API regard {

namespace detail {
struct AttentionSteps;
}

/// What a query gives that may see no key at all.
enum class EmptyRows {
  zeros,  ///< zeros, and zero gradients
  error,  ///< a ValueError that names batch, head and query
};

/// What makes a row of weights of a row of scores. With all of them what is hidden has weight exactly 0, and
/// a query that sees nothing has no weights but 0.
enum class Normaliser {
  softmax,    ///< Vaswani et al. 2017
  softmax1,   ///< exp s / (1 + Σ exp s), Miller 2023: a query may look at nothing
  sigmoid,    ///< of each score by itself, Ramapuram et al. 2024
  relu,       ///< of each score by itself, Wortsman et al. 2023
  sparsemax,  ///< Martins & Astudillo 2016: most weights exactly 0
  entmax15,   ///< between softmax and sparsemax, Peters, Niculae & Martins 2019
};

/// Whether sigmoid and relu count the n keys that a query may see: sigmoid(s - log n), relu(s) / n. Only what
/// is visible counts, so that neither padding nor decoding token by token changes a weight.
enum class ByLength { yes, no };

/// How scores become weights: what modules take as well.
struct ScoreOptions {
  /// Factor of the scores, the inverse of a temperature; 1 / sqrt(key_width) unless given. ValueError unless
  /// finite.
  std::optional<double> scale;
  /// Scaled scores s become cap·tanh(s / cap), which stay within ±cap, before a bias is added (Gemma 2,
  /// 2024). ValueError unless positive and finite.
  std::optional<double> softcap;
  Normaliser normaliser = Normaliser::softmax;
  ByLength by_length = ByLength::yes;
};

/// How attention goes about it. Both ways give the same up to rounding.
enum class AttentionPath {
  /// Blocked if that can do what is asked and there is more than one query (or few keys); else dense, as well as while a
  /// TapeRecorder is there to see every step. Numbers decide nothing.
  automatic,
  /// The matrix of weights [batch, heads, queries, keys] is made, and kept for backward.
  dense,
  /// Scores are made block by block and forgotten, in backward again: beyond inputs, outputs and gradients there are a
  /// few blocks. Blocks that no query may see are skipped. Softmax alone, without softcap, dropout, through_weights or
  /// trace: ValueError. A gradient that is to be differentiated itself (create_graph) still goes by the matrix.
  blocked,
};

struct AttentionOptions : ScoreOptions {
  /// Each weight is 0 with this probability, else divided by 1 - dropout. 0 is evaluation: nothing is drawn.
  double dropout = 0;
  /// Draws for dropout; ValueError if dropout is above 0 without it.
  Rng* rng = nullptr;
  EmptyRows empty_rows = EmptyRows::zeros;
  /// The weights [batch, heads, queries, keys] pass through it, before dropout, and what it returns takes
  /// their place (a Probe fits here). What is hidden is left out all the same. ShapeError, DTypeError when
  /// the result does not fit.
  std::function<Tensor(const Tensor& weights)> through_weights;
  AttentionPath path = AttentionPath::automatic;
};

/// What attention did. The values are constants; the gradients arrive with backward, in all copies of the
/// trace. Giving the trace to another call starts it afresh.
struct AttentionTrace {
  Tensor raw;        ///< [batch, heads, queries, keys] query·key, hidden ones as well
  Tensor scaled;     ///< [batch, heads, queries, keys] raw·scale
  Tensor masked;     ///< [batch, heads, queries, keys] scaled (and capped) + bias; -inf where hidden
  Tensor weights;    ///< [batch, heads, queries, keys] softmax (or another normaliser) of masked, 0 where
                     ///< hidden; or what through_weights made of it
  Tensor dropped;    ///< [batch, heads, queries, keys] weights after dropout; the weights if there was none
  Tensor output;     ///< [batch, heads, queries, value_width]
  Tensor logsumexp;  ///< [batch, heads, queries] log Σ exp masked; -inf for a query that sees nothing
  Tensor entropy;    ///< [batch, heads, queries] -Σ w·log w of the weights, in nats; 0·log 0 is 0
  Tensor keep;       ///< [batch, heads, queries, keys] boolean, true where visible
  double scale = 0;

  /// dL/d of each value, in its shape; 0 where hidden. Undefined where no backward has come by: none was run,
  /// it needed no gradient there (of the weights, say, when only `value` requires one), or recording was off.
  struct Gradients {
    Tensor raw;
    Tensor scaled;
    Tensor masked;
    Tensor weights;
    Tensor dropped;
    Tensor output;
  };
  /// Those of the newest backward.
  [[nodiscard]] const Gradients& gradients() const;

 private:
  friend struct detail::AttentionSteps;
  std::shared_ptr<Gradients> gradients_;  ///< shared with the hooks that fill it
};

/// softmax(scale · query·keyᵀ + bias) · value, Vaswani et al. 2017, equation 1; the options cap the scores,
/// or put another normaliser in softmax's place.
///
/// query [batch, heads, queries, key_width], key [batch, kv_heads, keys, key_width],
/// value [batch, kv_heads, keys, value_width] -> [batch, heads, queries, value_width]
///
/// Also [batch, tokens, width] (one head) and [tokens, width] (one head, one sequence), the same rank for all
/// three. kv_heads divides heads: kv_heads = heads is multi-head attention; with fewer, heads / kv_heads
/// neighbouring query heads share a key and value head (Ainslie et al. 2023), which is not copied. A batch of
/// 1 serves all sequences. Nothing else stretches.
///
/// What the mask hides has weight exactly 0 and is never multiplied in: NaN there reaches neither output nor
/// gradient. A query that sees nothing gives zeros and zero gradients.
///
/// With S the masked scores, P = softmax S row by row, and neither cap nor dropout:
///   dvalue = Pᵀ·dy     dP = dy·valueᵀ     dS = P·(dP - Σ_keys P·dP)     dbias = dS
///   dquery = scale·dS·key                 dkey = scale·dSᵀ·query
///
/// float32 or float64, one for all. Without a trace, attention goes by blocks where it can (Milakov & Gimelshein 2018; Dao
/// et al. 2022, algorithms 1 and 4); with one the numbers are those of AttentionPath::dense to the last bit, and those of
/// the blocks up to rounding. ShapeError, DTypeError, ValueError.
[[nodiscard]] Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value,
                               const Mask& mask = {}, const AttentionOptions& options = {},
                               AttentionTrace* trace = nullptr);

struct LinearAttentionOptions {
  bool causal = false;  ///< a token sees itself and those before it
  /// int64 [batch]: how many keys each sequence has; those behind are hidden from all. All, unless given.
  Tensor lengths = {};
};

/// Katharopoulos et al. 2020: the weight of key j for query i is φ(q_i)·φ(k_j) with φ(x) = elu(x) + 1, so
/// that
///   y_i = φ(q_i)·(Σ_j φ(k_j)ᵀ·v_j) / (φ(q_i)·Σ_j φ(k_j))
/// and no matrix of weights is made: time and memory are linear in the number of tokens, also for gradients
/// of every order, and also where causal, with j <= i.
///
/// Shapes, shared heads, dtypes and errors as attention; causal needs as many queries as keys. What is hidden
/// is never read, and a query that sees nothing, or whose weights are too small for the dtype, gives zeros.
/// No scale: φ is no exponential. Gradients: with S = Σ_j φ(k_j)ᵀ·v_j, each is such a sum again, from the
/// other side where causal.
[[nodiscard]] Tensor linear_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                      const LinearAttentionOptions& options = {});

}  // namespace regard

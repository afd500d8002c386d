// Masks: which keys a query may see, and what is added to its scores. A mask says in its name which way round
// it is (keep or hide), is hidden exactly (never with a large negative number), and prints itself.
//
// ```cpp
// const Mask mask = Mask::causal() & Mask::padding(lengths);
// std::cout << mask.grid(2, 1, 5, 5);
// ```
#pragma once

#include <iosfwd>
#include <memory>
#include <string>

#include <regard/export.hpp>
#include <regard/tensor.hpp>

namespace REGARD_API regard {

namespace detail {
struct MaskParts;
}

/// Where query i stands among the keys, for masks that compare positions.
enum class Align {
  same_length,   ///< at key i; an error unless there are as many queries as keys
  top_left,      ///< at key i: the first query stands at the first key
  bottom_right,  ///< at key i + keys - queries: the last query stands at the last key, as in cached decoding
};

/// A mask worked out for scores [batch, heads, queries, keys]; both broadcast to them from rank 4.
struct ResolvedMask {
  Tensor keep;  ///< boolean, true where a query may see a key; undefined when everything is visible
  Tensor bias;  ///< added to the scaled scores where they are visible; undefined when there is none
  /// With alibi, slopes [1, heads, 1, 1], float64, and positions of the queries among the keys [queries, 1],
  /// int64: from the score of key j goes slope·|position - j|, which is never made a table. Undefined
  /// without.
  Tensor slopes, positions;
};

/// Press, Smith & Lewis 2022: 2^(-8h / heads) for h = 1 .. heads, if heads is a power of two; else those of
/// the power p below, and then 2^(-8h / 2p) for h = 1, 3, 5, ... float64 [heads]. ValueError when negative.
[[nodiscard]] Tensor alibi_slopes(Size heads);

/// A value. Tensors given to a mask are taken as [queries, keys] (rank 2), [batch, queries, keys] (rank 3,
/// the same for all heads) or [batch, heads, queries, keys] (rank 4); an axis of extent 1 stretches. That a
/// tensor fits is checked where the mask is used (attention, resolve, grid), as is everything that depends on
/// lengths.
class Mask {
 public:
  /// Everything is visible.
  Mask() = default;
  static Mask none() { return {}; }

  /// A query sees the keys where `visible` (boolean) is true. DTypeError for numbers, ShapeError for another
  /// rank.
  [[nodiscard]] static Mask keep(const Tensor& visible);
  /// A query sees the keys where `hidden` (boolean) is false. DTypeError, ShapeError as keep.
  [[nodiscard]] static Mask hide(const Tensor& hidden);
  /// Added to the scaled scores, in their dtype; may be learned: it gets dL/d(scores), summed over the axes
  /// it was stretched along. -inf hides exactly, and gets gradient 0. DTypeError unless float, ShapeError as
  /// keep.
  [[nodiscard]] static Mask bias(const Tensor& added);
  /// ALiBi, Press, Smith & Lewis 2022: the scaled score of a query at position p and key j is lowered by
  /// slope·|p - j|, with a slope for each head (alibi_slopes). Hides nothing: put it beside causal. Alignment
  /// as causal. ValueError, where it is used, if it stands there twice.
  [[nodiscard]] static Mask alibi(Align align = Align::same_length);
  /// A query at position p sees the keys 0..p. With different lengths the alignment must be named:
  /// ShapeError.
  [[nodiscard]] static Mask causal(Align align = Align::same_length);
  /// A query at position p sees the keys p - radius .. p + radius: 2·radius + 1 of them, itself in the
  /// middle. With causal it is a sliding window of radius + 1. ValueError for a negative radius; alignment as
  /// causal.
  [[nodiscard]] static Mask window(Size radius, Align align = Align::same_length);
  /// Sequence b has lengths[b] keys; those behind are hidden from all queries. int64 [batch], 0..keys each:
  /// DTypeError, ShapeError, ValueError.
  [[nodiscard]] static Mask padding(const Tensor& lengths);
  /// A query sees the keys whose id is its own: several documents packed into one sequence. int64 [batch, n],
  /// or [n] for all sequences alike, of queries and keys alike. DTypeError, ShapeError.
  [[nodiscard]] static Mask documents(const Tensor& ids);
  /// The same where queries and keys are different tokens: [batch, queries] and [batch, keys].
  [[nodiscard]] static Mask documents(const Tensor& query_ids, const Tensor& key_ids);

  /// Visible where it is visible in both; biases add up.
  [[nodiscard]] friend Mask operator&(const Mask& a, const Mask& b) { return a.and_also(b); }

  [[nodiscard]] bool is_none() const { return terms_ == nullptr; }

  /// The mask for scores of this shape. ShapeError names the mask, the scores and the axis that does not fit.
  [[nodiscard]] ResolvedMask resolve(Size batch, Size heads, Size queries, Size keys) const;

  /// "causal & padding [2]".
  [[nodiscard]] std::string describe() const;
  /// A picture: one row of signs per query, █ hidden, · visible, + visible with a bias that is not 0; one
  /// block per sequence and head where they differ. Errors as resolve.
  [[nodiscard]] std::string grid(Size batch, Size heads, Size queries, Size keys) const;

 private:
  friend struct detail::MaskParts;
  struct Term;
  struct Terms;
  explicit Mask(Term term);
  [[nodiscard]] Mask and_also(const Mask& other) const;

  std::shared_ptr<const Terms> terms_;  ///< null when everything is visible
};

/// describe().
std::ostream& operator<<(std::ostream& out, const Mask& mask);
[[nodiscard]] std::string to_string(const Mask& mask);
/// The grid for one sequence and one head.
[[nodiscard]] std::string to_string(const Mask& mask, Size queries, Size keys);

}  // namespace regard

// A mask of attention scores as the pieces that it is made of, of which only the part that belongs to one
// block of queries and keys is ever written out.
#pragma once

#include <algorithm>
#include <cstring>
#include <limits>

#include "kernels/call.hpp"
#include "kernels/vector/table.hpp"

namespace regard::kernels {

/// Attribute of the blocked attention. Query i sees key j only where low <= j - i <= high; query i stands at
/// key first + i, for ALiBi.
struct BlockedAttention {
  double scale;
  Size low, high, first;
};

/// Inputs of every kernel that takes a mask in pieces. Those that a kernel does not take, and those of the
/// mask, may be missing; behind the last one that is there they are left out.
enum BlockedInput {
  in_query,      ///< [batch or 1, heads, queries, width], or without heads, or without both
  in_key,        ///< [batch or 1, kv_heads, keys, width], likewise
  in_value,      ///< [batch or 1, kv_heads, keys, value_width], likewise
  in_softmax,    ///< [batch, heads, queries, 2], as forward gives it
  in_y,          ///< the output
  in_dy,         ///< and its gradient
  in_bias,       ///< added where it is not -inf; rank 4, an extent of 1 stretches
  in_keep,       ///< boolean, likewise
  in_slopes,     ///< of ALiBi, [1, heads, 1, 1]
  in_lengths,    ///< int64 [batch]: how many keys each sequence has
  in_query_ids,  ///< int64 [batch or 1, n, queries]: a query sees the keys whose n ids are all its own
  in_key_ids,    ///< int64 [batch or 1, n, keys]
  blocked_inputs
};

/// The input, or an array without data.
inline const Array& given(const Call& c, int i) {
  static const Array none;
  return i < c.input_count ? c.in(i) : none;
}

/// Half open.
struct Span {
  Size begin, end;
  Size size() const { return end - begin; }
};

/// Where the scores of one sequence and head begin in an array that stretches to [batch, heads, queries,
/// keys].
template <class T>
struct ScorePart {
  T* first = nullptr;
  Size row = 0, column = 0;

  ScorePart(const Array& x, Size b, Size h) {
    if (!x.data) return;
    const auto step = [&x](int axis) { return x.shape[axis] == 1 ? 0 : x.strides[axis]; };
    first = x.as<T>() + b * step(0) + h * step(1);
    row = step(2);
    column = step(3);
  }
  T* at(Size i, Size j) const { return first + i * row + j * column; }
};

/// The mask of one sequence and head.
template <class T>
class BlockMask {
 public:
  const ScorePart<const T> bias;

  BlockMask(const Call& c, Size b, Size h, Size keys)
      : bias(given(c, in_bias), b, h),
        keep_(given(c, in_keep), b, h),
        low_(c.get<BlockedAttention>().low),
        high_(c.get<BlockedAttention>().high),
        keys_(keys),
        query_ids_(given(c, in_query_ids)),
        key_ids_(given(c, in_key_ids)),
        batch_(b) {
    const Array& lengths = given(c, in_lengths);
    if (lengths.data) keys_ = std::min(keys, lengths.as<const Size>()[b * lengths.strides[0]]);
  }

  /// How many keys the sequence has.
  Size keys() const { return keys_; }

  /// What pairs of a block show by position.
  Band band(const Span& queries, const Span& keys) const {
    const Size ahead = queries.begin - keys.begin;
    return {low_ + ahead, high_ + ahead};
  }

  /// Is the mask more than a band, and lengths?
  bool has_tables() const { return keep_.first || bias.first || query_ids_.data; }

  /// The keys that any of these queries may see by position and length; all others are hidden.
  Span visible_to(const Span& queries) const {
    const Size begin = std::max<Size>(0, queries.begin + low_), end = std::min(keys_, queries.end + high_);
    return {begin, std::max(begin, end)};
  }

  /// Is every one of these pairs visible, as can be told without looking at each?
  bool shows_all(const Span& queries, const Span& keys) const {
    return !has_tables() && keys.end <= keys_ && keys.begin >= queries.end - 1 + low_ &&
           keys.end - 1 <= queries.begin + high_;
  }

  /// keep[i·step + j] for the block. Is any of it visible?
  bool fill(const Span& queries, const Span& keys, bool* keep, Size step) const {
    bool any = false;
    for (Size i = queries.begin; i < queries.end; ++i, keep += step) {
      std::memset(keep, 0, static_cast<std::size_t>(keys.size()));
      const Span seen = visible_to({i, i + 1});
      const Size begin = std::max(seen.begin, keys.begin), end = std::min(seen.end, keys.end);
      if (begin < end) any |= fill_row(i, {begin, end}, keep + (begin - keys.begin));
    }
    return any;
  }

 private:
  bool fill_row(Size i, const Span& keys, bool* row) const {
    const Size n = keys.size();
    const auto and_also = [row, n](auto visible) {
      for (Size j = 0; j < n; ++j) row[j] = row[j] & visible(j);
    };
    std::memset(row, 1, static_cast<std::size_t>(n));
    if (keep_.first)
      and_also([kept = keep_.at(i, keys.begin), step = keep_.column](Size j) { return kept[j * step]; });
    if (bias.first)
      and_also([added = bias.at(i, keys.begin), step = bias.column](Size j) {
        return added[j * step] != -std::numeric_limits<T>::infinity();
      });
    for (Size d = 0; query_ids_.data && d < query_ids_.shape[1]; ++d)
      and_also([own = *id(query_ids_, d, i), other = id(key_ids_, d, keys.begin),
                step = key_ids_.strides[2]](Size j) { return other[j * step] == own; });
    return std::memchr(row, 1, static_cast<std::size_t>(n)) != nullptr;
  }

  const Size* id(const Array& ids, Size d, Size token) const {
    return ids.as<const Size>() + (ids.shape[0] == 1 ? 0 : batch_) * ids.strides[0] + d * ids.strides[1] +
           token * ids.strides[2];
  }

  ScorePart<const bool> keep_;
  Size low_, high_, keys_;
  const Array &query_ids_, &key_ids_;
  Size batch_;
};

}  // namespace regard::kernels

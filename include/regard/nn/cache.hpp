// Keys and values of the tokens that were decoded so far.
//
// ```cpp
// nn::KeyValueCache cache;
// Tensor y = layer.step(prompt, cache);                          // all tokens of the prompt at once
// for (int i = 0; i < 10; ++i) y = layer.step(next(y), cache);   // then one at a time
// ```
#pragma once

#include <cstdint>
#include <memory>

#include <regard/export.hpp>
#include <regard/mask.hpp>
#include <regard/tensor.hpp>

namespace REGARD_API regard {
namespace nn {

/// A value: copies share what they have in common and never see what becomes of another, so that a copy is a
/// cheap place to come back to. The room for tokens doubles when it is used up: n tokens cost n copies of a
/// row, twice at most. Holds no graph. One cache per attention module and batch of sequences, all of one
/// length.
class KeyValueCache {
 public:
  /// A token sees itself and `window` tokens before it, as with Mask::causal() & Mask::window(window); older
  /// ones are forgotten. All, unless given. ValueError when negative.
  explicit KeyValueCache(Size window = INT64_MAX);

  /// Tokens that were given, forgotten ones included: the position of the next.
  [[nodiscard]] Size length() const { return length_; }
  /// Those that the next token sees: [batch, kv_heads, tokens, width], or undefined at the start. What was
  /// looked at stays as it is.
  [[nodiscard]] Tensor keys() const;
  [[nodiscard]] Tensor values() const;

  /// What new tokens see: keys and values from the first that the oldest of them sees to the newest, and what
  /// of it is hidden from whom.
  struct Visible {
    Tensor keys, values;
    Mask mask;
  };
  /// Takes in keys [batch, kv_heads, tokens, key_width] and values [.., value_width]. ShapeError
  /// unless all but the tokens is as before; GraphError when one requires a gradient.
  Visible append(const Tensor& keys, const Tensor& values);

  /// As at the start.
  void reset();
  /// As after the first `length` tokens. ValueError when there were fewer, or what token `length` sees is
  /// forgotten.
  void trim(Size length);
  /// Sequence i is from now on what sequence rows[i] was: int64, any number of them, as a beam search
  /// chooses. Errors as take.
  void reorder(const Tensor& rows);

 private:
  struct Buffer;
  // Position of the first token that the next one sees.
  [[nodiscard]] Size first() const { return length_ > window_ ? length_ - window_ : 0; }

  std::shared_ptr<Buffer> buffer_;
  Size length_ = 0, window_;
};

}  // namespace nn
}  // namespace regard

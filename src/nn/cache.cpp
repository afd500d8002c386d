#include <regard/nn/cache.hpp>

#include <algorithm>
#include <string>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "ops/movement.hpp"
#include "tensor/impl.hpp"

namespace regard::nn {

/// A row per token. Copies of a cache share it; one of them may have gone on behind the end of another.
struct KeyValueCache::Buffer {
  Tensor rows[2];    ///< keys and values [batch, kv_heads, capacity, width]
  Size start = 0;    ///< position of the token in row 0
  Size written = 0;  ///< rows that somebody may be looking at

  Tensor part(int which, Size first, Size last) const {
    return slice(rows[which], 2, {first - start, last - start});
  }
  bool is_alone() const { return detail::is_sole_owner(rows[0]) && detail::is_sole_owner(rows[1]); }
};

namespace {

std::string describe(const Tensor& keys, const Tensor& values) {
  return std::string("keys ") + name(keys.dtype()) + " " + to_string(keys.shape()) + " and values " +
         name(values.dtype()) + " " + to_string(values.shape());
}

/// Both of rank 4 and equal but for one axis.
bool alike(const Tensor& a, const Tensor& b, int free_axis) {
  if (a.rank() != 4 || b.rank() != 4 || a.dtype() != b.dtype()) return false;
  for (int axis = 0; axis < 4; ++axis)
    if (axis != free_axis && a.size(axis) != b.size(axis)) return false;
  return true;
}

}  // namespace

KeyValueCache::KeyValueCache(Size window) : window_(window) {
  if (window < 0) throw ValueError("key-value cache: the window is negative, " + std::to_string(window));
}

Tensor KeyValueCache::keys() const {
  return buffer_ ? buffer_->part(0, first(), length_) : Tensor();
}

Tensor KeyValueCache::values() const {
  return buffer_ ? buffer_->part(1, first(), length_) : Tensor();
}

KeyValueCache::Visible KeyValueCache::append(const Tensor& keys, const Tensor& values) {
  if (!is_float(keys.dtype()) || !alike(keys, values, 3))
    throw ShapeError(
        "key-value cache: expected keys [batch, kv_heads, tokens, key_width] and values [batch, kv_heads, "
        "tokens, value_width] of one float dtype, got " +
        describe(keys, values));
  if (buffer_ && !(alike(keys, buffer_->rows[0], 2) && alike(values, buffer_->rows[1], 2)))
    throw ShapeError("key-value cache: " + describe(keys, values) + " do not continue " +
                     describe(this->keys(), this->values()) +
                     "; only the number of tokens may differ, or reset() first");
  if (keys.requires_grad() || values.requires_grad())
    throw GraphError("key-value cache: what requires a gradient cannot be kept; decode under NoGrad");

  const Size oldest = first(), now = length_ + keys.size(2);
  const Tensor given[] = {keys, values};
  const bool last = buffer_ && (buffer_->written == length_ - buffer_->start ||
                                (buffer_.use_count() == 1 && buffer_->is_alone()));
  if (!last || now - buffer_->start > buffer_->rows[0].size(2)) {
    const auto larger = std::make_shared<Buffer>();
    larger->start = oldest;
    for (const int i : {0, 1}) {
      const Tensor& x = given[i];
      larger->rows[i] = detail::empty({x.size(0), x.size(1), 2 * (now - oldest), x.size(3)}, x.dtype());
      if (buffer_) detail::write(larger->part(i, oldest, length_), buffer_->part(i, oldest, length_));
    }
    buffer_ = larger;
  }
  for (const int i : {0, 1}) detail::write(buffer_->part(i, length_, now), given[i]);
  buffer_->written = now - buffer_->start;
  const bool several = keys.size(2) > 1;
  length_ = now;
  return {buffer_->part(0, oldest, now), buffer_->part(1, oldest, now),
          !several ? Mask()
                   : Mask::causal(Align::bottom_right) &
                         Mask::window(std::min(window_, now), Align::bottom_right)};
}

void KeyValueCache::reset() {
  *this = KeyValueCache(window_);
}

void KeyValueCache::trim(Size length) {
  if (length < 0 || length > length_)
    throw ValueError("key-value cache: cannot go back to " + std::to_string(length) + " tokens of " +
                     std::to_string(length_));
  KeyValueCache shorter = *this;
  shorter.length_ = length;
  if (buffer_ && shorter.first() < buffer_->start)
    throw ValueError("key-value cache: cannot go back to " + std::to_string(length) +
                     " tokens, since what the next one sees is forgotten from " +
                     std::to_string(buffer_->start) + " back");
  length_ = length;
}

void KeyValueCache::reorder(const Tensor& rows) {
  if (rows.rank() != 1)
    throw ShapeError("key-value cache: expected rows [batch], got " + to_string(rows.shape()));
  if (!buffer_) return;
  buffer_ = std::make_shared<Buffer>(
      Buffer{{take(keys(), rows), take(values(), rows)}, first(), length_ - first()});
}

}  // namespace regard::nn

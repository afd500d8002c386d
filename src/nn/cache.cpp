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
};

namespace {

std::string describe(const Tensor& keys, const Tensor& values) {
  return std::string("keys ") + name(keys.dtype()) + " " + to_string(keys.shape()) + " and values " +
         name(values.dtype()) + " " + to_string(values.shape());
}

/// Both of rank 4, of one dtype, and equal but for one axis.
bool alike(const Tensor& a, const Tensor& b, int free_axis) {
  Shape shape = a.shape();
  if (a.rank() == 4 && b.rank() == 4) shape[free_axis] = b.size(free_axis);
  return a.rank() == 4 && shape == b.shape() && a.dtype() == b.dtype();
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
  const std::string given_in = "key-value cache: " + describe(keys, values);
  if (!is_float(keys.dtype()) || !alike(keys, values, 3))
    throw ShapeError(given_in +
                     " are not [batch, kv_heads, tokens, width] of one float dtype, equal but for the width");
  if (buffer_ && !(alike(keys, buffer_->rows[0], 2) && alike(values, buffer_->rows[1], 2)))
    throw ShapeError(given_in + " do not continue " + describe(this->keys(), this->values()) +
                     "; only the number of tokens may differ, or reset() first");
  if (keys.requires_grad() || values.requires_grad())
    throw GraphError(given_in + " cannot be kept, since they require a gradient; decode under NoGrad");

  const Size oldest = first(), now = length_ + keys.size(2);
  const Tensor given[] = {keys, values};
  // Behind our end nobody is, or nobody is looking.
  const bool alone = buffer_.use_count() == 1 && detail::is_sole_owner(buffer_->rows[0]) &&
                     detail::is_sole_owner(buffer_->rows[1]);
  const bool last = buffer_ && (alone || buffer_->written == length_ - buffer_->start);
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
  length_ = now;
  const Mask hidden =
      Mask::causal(Align::bottom_right) & Mask::window(std::min(window_, now), Align::bottom_right);
  return {buffer_->part(0, oldest, now), buffer_->part(1, oldest, now), keys.size(2) > 1 ? hidden : Mask()};
}

void KeyValueCache::reset() {
  *this = KeyValueCache(window_);
}

void KeyValueCache::trim(Size length) {
  const bool forgotten = buffer_ && length >= 0 && std::max<Size>(length - window_, 0) < buffer_->start;
  if (length < 0 || length > length_ || forgotten)
    throw ValueError("key-value cache: cannot go back to " + std::to_string(length) + " tokens of " +
                     std::to_string(length_) +
                     (forgotten ? ", since what the next one sees is forgotten" : ""));
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

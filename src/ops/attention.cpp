#include <regard/attention.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "autograd/host_step.hpp"
#include "autograd/observer.hpp"
#include "kernels/causal_product.hpp"
#include "ops/alibi.hpp"
#include "ops/attention_steps.hpp"
#include "ops/blocked_attention.hpp"
#include "ops/masked_product.hpp"
#include "ops/matmul.hpp"
#include "ops/softmax.hpp"

namespace regard {
namespace {

struct Extents {
  Size batch, heads, kv_heads, queries, keys, key_width;
};

[[noreturn]] void do_not_fit(const char* op, const Tensor& query, const Tensor& key, const Tensor& value,
                             const std::string& why) {
  throw ShapeError(std::string(op) + ": query " + to_string(query.shape()) + ", key " +
                   to_string(key.shape()) + " and value " + to_string(value.shape()) + " do not fit: " + why);
}

std::string differ(const char* what, Size a, Size b) {
  return std::string(what) + " " + std::to_string(a) + " and " + std::to_string(b) + " differ";
}

void require_one_rank(const char* op, const Tensor& query, const Tensor& key, const Tensor& value) {
  const int rank = query.rank();
  if (rank >= 2 && rank <= 4 && key.rank() == rank && value.rank() == rank) return;
  do_not_fit(op, query, key, value,
             "all must be [batch, heads, tokens, width], all [batch, tokens, width], or all [tokens, width]");
}

// [batch, heads, tokens, width], with 1 for what is missing.
Shape to_rank_4(const Shape& x) {
  return x.rank() == 4 ? x : x.rank() == 3 ? Shape{x[0], 1, x[1], x[2]} : Shape{1, 1, x[0], x[1]};
}

Extents check(const char* op, const Tensor& query, const Tensor& key, const Tensor& value) {
  require_one_rank(op, query, key, value);
  const Shape q = to_rank_4(query.shape()), k = to_rank_4(key.shape()), v = to_rank_4(value.shape());
  const auto complain = [&](const std::string& why) { do_not_fit(op, query, key, value, why); };
  Size batch = q[0];
  for (const Shape* x : {&k, &v}) {
    if (batch == 1) batch = (*x)[0];
    if ((*x)[0] != 1 && (*x)[0] != batch) complain(differ("batches", batch, (*x)[0]));
  }
  const Size heads = q[1], kv_heads = k[1];
  if (v[1] != kv_heads) complain(differ("heads of key and value,", kv_heads, v[1]));
  if (kv_heads == 0 ? heads != 0 : heads % kv_heads != 0)
    complain("the " + std::to_string(heads) + " query heads cannot share " + std::to_string(kv_heads) +
             " key heads evenly");
  if (k[2] != v[2]) complain(differ("lengths of key and value,", k[2], v[2]));
  if (k[3] != q[3]) complain(differ("widths of query and key,", q[3], k[3]));
  return {batch, heads, kv_heads, q[2], k[2], k[3]};
}

void check(const AttentionOptions& options) {
  if (options.scale && !std::isfinite(*options.scale))
    throw ValueError("attention: the scale must be finite, got " + std::to_string(*options.scale));
  if (options.softcap && !(*options.softcap > 0 && std::isfinite(*options.softcap)))
    throw ValueError("attention: the softcap must be positive and finite, got " +
                     std::to_string(*options.softcap));
  if (!(options.dropout >= 0 && options.dropout <= 1))
    throw ValueError("attention: dropout must lie in 0..1, got " + std::to_string(options.dropout));
  if (options.dropout > 0 && !options.rng)
    throw ValueError("attention: dropout " + std::to_string(options.dropout) +
                     " needs random numbers; give options.rng, or 0 for evaluation");
}

void check_bias(const Tensor& bias, DType dtype) {
  if (bias.defined() && bias.dtype() != dtype)
    throw DTypeError(std::string("attention: the mask's bias is ") + name(bias.dtype()) +
                     " but query, key and value are " + name(dtype) + "; convert one with .to()");
}

// ValueError for the first row of scores that has no visible key.
void require_visible_keys(const Mask& mask, const Tensor& keep, const Extents& n) {
  const bool no_keys = n.keys == 0;
  if (!no_keys && !keep.defined()) return;
  const Shape rows =
      no_keys ? Shape{n.batch, n.heads, n.queries} : Shape{keep.size(0), keep.size(1), keep.size(2)};
  const std::vector<bool> visible = no_keys ? std::vector<bool>() : keep.to_vector<bool>();
  const Size keys = no_keys ? 0 : keep.size(3);
  auto at = visible.begin();
  for (Size b = 0; b < rows[0]; ++b)
    for (Size h = 0; h < rows[1]; ++h)
      for (Size i = 0; i < rows[2]; ++i, at += keys)
        if (std::find(at, at + keys, true) == at + keys)
          throw ValueError("attention: query " + std::to_string(i) + " of batch " + std::to_string(b) +
                           ", head " + std::to_string(h) + " may see no key (" + mask.describe() +
                           ", scores " + to_string(Shape{n.batch, n.heads, n.queries, n.keys}) +
                           "); EmptyRows::zeros gives zeros there");
}

Tensor stretch_batch(const Tensor& x, Size batch) {
  return x.size(0) == batch ? x : broadcast_to(x, {batch, x.size(1), x.size(2), x.size(3)});
}

// The weights as the caller sees them, whether or not heads are shared, through what the caller gave.
Tensor pass_through(const AttentionOptions& options, const Tensor& weights, const Shape& scores_shape) {
  const Tensor passed = options.through_weights(reshape(weights, scores_shape));
  if (passed.shape() != scores_shape)
    throw ShapeError("attention: through_weights returned " + to_string(passed.shape()) + ", expected " +
                     to_string(scores_shape));
  if (passed.dtype() != weights.dtype())
    throw DTypeError(std::string("attention: through_weights returned ") + name(passed.dtype()) +
                     ", expected " + name(weights.dtype()) + "; convert it with .to()");
  return reshape(passed, weights.shape());
}

// Blocks are the faster way, as well as the smaller one, but for a single query with more keys than this: it would turn
// all keys for one product. By shapes alone, so that the way does not depend on numbers; and not while a tape is there to
// show every step.
constexpr Size keys_of_a_single_query = 16;

bool goes_by_blocks(const AttentionOptions& options, const AttentionTrace* trace, const Extents& n) {
  const char* const in_the_way = options.normaliser != Normaliser::softmax ? "another normaliser than softmax"
                                 : options.softcap                         ? "a softcap"
                                 : options.dropout > 0                     ? "dropout"
                                 : options.through_weights                 ? "through_weights"
                                 : trace                                   ? "a trace"
                                                                           : nullptr;
  if (options.path == AttentionPath::blocked && in_the_way)
    throw ValueError(std::string("attention: AttentionPath::blocked cannot do ") + in_the_way +
                     ", which needs all weights at once; AttentionPath::automatic takes the way that can");
  if (options.path != AttentionPath::automatic) return options.path == AttentionPath::blocked;
  return !in_the_way && !detail::Observers::want_steps() && (n.queries > 1 || n.keys <= keys_of_a_single_query);
}

Tensor to_rank(int rank, const Tensor& output, const Extents& n) {
  Shape shape{n.batch, n.heads, n.queries, output.size(-1)};
  if (rank < 4) shape.erase(1);
  if (rank < 3) shape.erase(0);
  return reshape(output, shape);
}

}  // namespace

Tensor detail::to_rank_4(const Tensor& x) {
  return x.rank() == 4 ? x : x.rank() == 3 ? expand_dims(x, {1}) : expand_dims(x, {0, 1});
}

Tensor attention(const Tensor& query, const Tensor& key, const Tensor& value, const Mask& mask,
                 const AttentionOptions& options, AttentionTrace* trace) {
  detail::common_float_dtype("attention", query, key);
  const DType dtype = detail::common_float_dtype("attention", query, value);
  check(options);
  const Extents n = check("attention", query, key, value);
  // Without any width all scores are 0, whatever the scale.
  const double scale =
      options.scale.value_or(n.key_width == 0 ? 1 : 1 / std::sqrt(static_cast<double>(n.key_width)));
  if (goes_by_blocks(options, trace, n)) {
    detail::MaskPieces pieces = detail::MaskParts::take(mask, n.batch, n.heads, n.queries, n.keys);
    for (const Tensor& bias : pieces.biases) check_bias(bias, dtype);
    const bool may_be_empty = options.empty_rows == EmptyRows::error && !pieces.leave_a_key(n.queries, n.keys);
    const detail::BlockedOutput blocked = detail::blocked_attention(
        query, key, value, {n.batch, n.heads, n.queries, 2}, std::move(pieces), scale);
    if (may_be_empty) {
      const Tensor sees = detail::sees_a_key(blocked);
      detail::host_step([mask, sees, n] { require_visible_keys(mask, sees, n); });
    }
    return blocked.y;
  }

  const Tensor q = detail::to_rank_4(query), k = detail::to_rank_4(key), v = detail::to_rank_4(value);
  const ResolvedMask visible = mask.resolve(n.batch, n.heads, n.queries, n.keys);
  check_bias(visible.bias, dtype);
  if (options.empty_rows == EmptyRows::error)
    detail::host_step([mask, keep = visible.keep, n] { require_visible_keys(mask, keep, n); });

  const detail::Grouping group{n.heads, n.kv_heads};
  detail::AttentionSteps at;
  at.query = group.of_queries(stretch_batch(q, n.batch));
  at.key = group.of_keys(stretch_batch(k, n.batch));
  at.keep = group.of_queries(visible.keep);
  at.scores_shape = {n.batch, n.heads, n.queries, n.keys};
  at.scale = scale;
  at.softcap = options.softcap;

  at.scaled = detail::masked_scores(at.query, at.key, at.keep, at.scale);
  at.masked = options.softcap ? *options.softcap * tanh(at.scaled / *options.softcap) : at.scaled;
  if (visible.bias.defined()) at.masked = at.masked + group.of_queries(visible.bias);
  if (visible.slopes.defined())
    at.masked =
        detail::minus_distances(at.masked, group.of_queries(visible.slopes.to(dtype)), visible.positions);
  at.weights = detail::normalise(options, at.masked, at.keep);
  if (options.through_weights) at.weights = pass_through(options, at.weights, at.scores_shape);
  at.dropped = options.dropout > 0 ? dropout(at.weights, options.dropout, *options.rng) : at.weights;
  at.output = detail::masked_mix(at.dropped, group.of_keys(stretch_batch(v, n.batch)), at.keep);
  if (trace) at.trace(*trace);
  return to_rank(query.rank(), at.output, n);
}

// ---- linear attention ----------------------------------------------------------------------------------

namespace {

using detail::Op, detail::Vjp, kernels::Side;

Tensor causal_product(const Tensor& a, const Tensor& b, const Tensor& c, Side side);

Side other(Side side) {
  return side == Side::past ? Side::future : Side::past;
}

// y_i = Σ_{j <= i} (a_i·b_j)·c_j. Each gradient is such a sum again, over j <= i for a, over i >= j for b and
// c.
// clang-format off
const Op causal_product_op = {"causal_product", kernels::causal_product, {
    [](const Vjp& at) { return sum_to(causal_product(at.dy, at.x(2), at.x(1), at.get<Side>()), at.x(0).shape()); },
    [](const Vjp& at) { return sum_to(causal_product(at.x(2), at.dy, at.x(0), other(at.get<Side>())), at.x(1).shape()); },
    [](const Vjp& at) { return sum_to(causal_product(at.x(1), at.x(0), at.dy, other(at.get<Side>())), at.x(2).shape()); }}};
// clang-format on

Tensor causal_product(const Tensor& a, const Tensor& b, const Tensor& c, Side side) {
  Shape shape = broadcast_shapes(detail::broadcast_leading("causal_product", a, b),
                                 detail::broadcast_leading("causal_product", b, c), "causal_product");
  shape.push_back(c.size(-2));
  shape.push_back(c.size(-1));
  return apply(causal_product_op, {a, b, c}, shape, c.dtype(), side);
}

// elu(x) + 1, whose slope is 1 from 0 on.
Tensor feature_map(const Tensor& x) {
  const Tensor zero = scalar(0, x.dtype()), positive = greater(x, zero);
  return where(positive, x + 1.0, exp(where(positive, zero, x)));
}

}  // namespace

Tensor linear_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                        const LinearAttentionOptions& options) {
  detail::common_float_dtype("linear_attention", query, key);
  const DType dtype = detail::common_float_dtype("linear_attention", query, value);
  const Extents n = check("linear_attention", query, key, value);
  const Tensor q = detail::to_rank_4(query), k = detail::to_rank_4(key), v = detail::to_rank_4(value);
  if (options.causal && n.queries != n.keys)
    do_not_fit("linear_attention", query, key, value,
               differ("causal numbers of queries and keys,", n.queries, n.keys));
  const Mask padding = options.lengths.defined() ? Mask::padding(options.lengths) : Mask();
  const Tensor keep = padding.resolve(n.batch, n.heads, n.queries, n.keys).keep, zero = scalar(0, dtype);
  const auto shown = [&](const Tensor& x) { return keep.defined() ? where(transpose(keep), x, zero) : x; };
  const detail::Grouping group{n.heads, n.kv_heads};

  // A column of ones beside the values brings the sum of the weights.
  const Tensor left = feature_map(group.of_queries(stretch_batch(q, n.batch)));
  const Tensor keys = group.of_keys(shown(feature_map(shown(stretch_batch(k, n.batch)))));
  const Tensor beside = concatenate({v, ones({v.size(0), v.size(1), v.size(2), 1}, dtype)}, -1);
  const Tensor values = group.of_keys(shown(stretch_batch(beside, n.batch)));
  const Tensor mixed = options.causal ? causal_product(left, keys, values, Side::past)
                                      : matmul(left, matmul(transpose(keys), values));
  const Tensor total = slice(mixed, -1, {v.size(-1), Slice::end});
  const Tensor divisor = masked_fill(total, equal(total, zero), 1);
  return to_rank(query.rank(), slice(mixed, -1, {0, v.size(-1)}) / divisor, n);
}

}  // namespace regard

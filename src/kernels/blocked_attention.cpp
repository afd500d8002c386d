#include "kernels/blocked_attention.hpp"

#include <cmath>
#include <limits>
#include <new>

#include "kernels/loops.hpp"
#include "kernels/vector/table.hpp"
#include "memory/pool.hpp"

namespace regard::kernels {
namespace {

// Fixed, so that the same call gives the same bits. A block of scores stays in the second cache.
constexpr Size queries_at_a_time = 64, keys_at_a_time = 256;

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

/// Rows of numbers side by side.
template <class T>
struct Matrix {
  T* first;
  Size rows, columns, step;

  T* row(Size i) const { return first + i * step; }
};

/// An array of rank 2 to 4 as [batch, heads, tokens, width]: its last two axes where they lie, or in a copy
/// where the numbers of a row are not side by side. What is stretched over an axis is copied once.
template <class T>
class Matrices {
 public:
  explicit Matrices(const Array& x) : first_(x.as<T>()) {
    const int rank = x.shape.rank();
    for (int axis = 0; axis < 4; ++axis) {
      const int from = axis >= 2 ? axis - 4 + rank : axis < rank - 2 ? axis : -1;
      shape_[axis] = from < 0 ? 1 : x.shape[from];
      strides_[axis] = from < 0 ? 0 : x.strides[from];
    }
    if (shape_[3] > 1 && strides_[3] != 1 && first_) copy(x.dtype);
  }

  Size batch() const { return shape_[0]; }
  Size heads() const { return shape_[1]; }
  Size rows() const { return shape_[2]; }
  Size width() const { return shape_[3]; }

  /// One batch serves all.
  Matrix<T> part(Size b, Size h, const Span& rows) const {
    T* const first =
        first_ + (batch() == 1 ? 0 : b * strides_[0]) + h * strides_[1] + rows.begin * strides_[2];
    return {first, rows.size(), width(), strides_[2]};
  }

 private:
  void copy(DType dtype) {
    Array once{first_, dtype, {}, {}};
    for (int axis = 0; axis < 4; ++axis) {
      once.shape.push_back(axis < 3 && strides_[axis] == 0 ? std::min<Size>(1, shape_[axis]) : shape_[axis]);
      once.strides.push_back(strides_[axis]);
    }
    copy_ = detail::PoolArray<T>::unset(static_cast<std::size_t>(numel(once.shape)));
    const Array copied{copy_.data(), dtype, once.shape, contiguous_strides(once.shape)};
    map1<T, T>(once, copied, [](T number) { return number; });
    first_ = copy_.data();
    for (int axis = 0; axis < 4; ++axis)
      strides_[axis] = once.shape[axis] == shape_[axis] ? copied.strides[axis] : 0;
  }

  T* first_;
  Size shape_[4], strides_[4];
  detail::PoolArray<T> copy_;
};

/// One block of the pool, handed out in pieces that begin at cache lines.
class Room {
 public:
  template <class T>
  static Size bytes(Size count) {
    constexpr Size line = 64;
    return (count * static_cast<Size>(sizeof(T)) + line - 1) / line * line;
  }
  explicit Room(Size bytes)
      : block_(detail::PoolArray<unsigned char>::unset(static_cast<std::size_t>(bytes))),
        next_(block_.data()) {}
  template <class T>
  T* take(Size count) {
    T* const piece = reinterpret_cast<T*>(next_);
    next_ += bytes<T>(count);
    return piece;
  }

 private:
  detail::PoolArray<unsigned char> block_;
  unsigned char* next_;
};

/// Inputs and sizes of both directions. The work is done for one sequence and one head of keys at a time,
/// with the query heads that share it.
template <class T>
struct Problem {
  const Call& call;
  Matrices<T> query, key, value;
  Size batch, group, queries, keys;
  T scale;
  bool masked;
  Size rows_most, keys_most, step;  ///< of a block of scores; each row has room for a tile's zeros

  Problem(const Call& c, Size batches)
      : call(c),
        query(c.in(in_query)),
        key(c.in(in_key)),
        value(c.in(in_value)),
        batch(batches),
        group(key.heads() == 0 ? 0 : query.heads() / key.heads()),
        queries(query.rows()),
        keys(key.rows()),
        scale(static_cast<T>(c.get<BlockedAttention>().scale)),
        rows_most(std::min(queries_at_a_time, queries)),
        keys_most(std::min(keys_at_a_time, keys)),
        step((keys_most + 15) / 16 * 16 + 16) {
    const BlockedAttention& at = c.get<BlockedAttention>();
    masked = at.low > 1 - queries || at.high < keys - 1;
    for (int i = in_bias; i < blocked_inputs; ++i) masked |= i != in_slopes && given(c, i).data != nullptr;
  }

  bool has_tables() const {
    return given(call, in_bias).data || given(call, in_keep).data || given(call, in_query_ids).data;
  }
  /// f(b, kv, room) for every sequence and head of keys; in any order and several at a time if they are
  /// independent. Each thread makes a room of its own.
  template <class RoomOf, class F>
  void for_each_key_head(bool independent, F f) const {
    const Size all = batch * key.heads();
    const auto some = [&](Size begin, Size end) {
      if (begin == end) return;
      const RoomOf room(*this);
      for (Size i = begin; i < end; ++i) f(i / key.heads(), i % key.heads(), room);
    };
    if (!independent) return some(0, all);
    parallel_ranges(all, group * queries * keys * (query.width() + value.width()), multiplied, some);
  }
};

/// Scores of one block, and what is known of its mask.
template <class T>
struct Block {
  ScoreBlock<T> scores;
  Span queries, keys;
  bool shows_all;
};

/// f(block of keys, head of queries, mask, block) for the blocks of one key head that hold anything visible,
/// the keys' blocks one after another; begin(keys) before each of those.
template <class T, class Begin, class F>
void for_each_block(const Problem<T>& p, Size b, Size kv, T* scores, bool* keep, Begin begin, F f) {
  for (Size j = 0; j < p.keys; j += keys_at_a_time) {
    bool begun = false;
    for (Size h = kv * p.group; h < (kv + 1) * p.group; ++h) {
      const BlockMask<T> mask(p.call, b, h, p.keys);
      const Span keys{j, std::min(j + keys_at_a_time, mask.keys())};
      for (Size i = 0; i < p.queries; i += queries_at_a_time) {
        const Span queries{i, std::min(i + queries_at_a_time, p.queries)};
        const Span visible = mask.visible_to(queries);
        if (std::max(visible.begin, keys.begin) >= std::min(visible.end, keys.end)) continue;
        const bool tables = mask.has_tables();
        if (tables && !mask.fill(queries, keys, keep, p.step)) continue;
        if (!begun) begin(keys);
        begun = true;
        const ScoreBlock<T> block{queries.size(),
                                  keys.size(),
                                  p.step,
                                  scores,
                                  mask.band(queries, keys),
                                  tables ? keep : nullptr,
                                  p.keys <= keys_at_a_time};
        f(h, mask, Block<T>{block, queries, keys, mask.shows_all(queries, keys)});
      }
    }
  }
}

/// s = scale·q·kᵀ + bias - slope·distance.
template <class T>
void compute(const Problem<T>& p, Size h, const BlockMask<T>& mask, const Block<T>& block,
             const Matrix<T>& query, const T* turned_key) {
  const ScoreBlock<T>& s = block.scores;
  rows<T>().band_scores({s.rows, s.columns, query.columns, p.scale, query.first, query.step, 1, turned_key,
                         s.step, s.scores, s.step, s.band});
  const Array& slopes = given(p.call, in_slopes);
  if (!mask.bias.first && !slopes.data) return;
  const Size first = p.call.template get<BlockedAttention>().first;
  for (Size i = 0; i < s.rows; ++i) {
    T* const row = s.scores + i * s.step;
    const Span seen{std::max<Size>(0, i + s.band.low), std::min(s.columns, i + s.band.high + 1)};
    if (mask.bias.first) {
      const T* const added = mask.bias.at(block.queries.begin + i, block.keys.begin);
      for (Size j = seen.begin; j < seen.end; ++j) row[j] += added[j * mask.bias.column];
    }
    if (slopes.data) {
      const T slope = slopes.template as<const T>()[h * slopes.strides[1]];
      const T ahead = static_cast<T>(block.keys.begin - (first + block.queries.begin + i));
      for (Size j = seen.begin; j < seen.end; ++j) row[j] -= slope * std::abs(ahead + static_cast<T>(j));
    }
  }
}

/// C += alpha·A·B for a block A of weights. What is hidden is not multiplied in, should B hold NaN or
/// infinities: these are left out of the product and come after it, pair by pair.
template <class T>
void mix(const BandProduct<T>& at, const bool* keep, bool finite) {
  if (finite) return rows<T>().band_mix(at);
  const auto zeroed = detail::PoolArray<T>::unset(static_cast<std::size_t>(at.k * at.n));
  for (Size p = 0; p < at.k; ++p)
    for (Size c = 0; c < at.n; ++c) {
      const T number = at.b[p * at.b_row + c];
      zeroed.data()[p * at.n + c] = std::isfinite(number) ? number : T{0};
    }
  BandProduct<T> of_finite = at;
  of_finite.b = zeroed.data();
  of_finite.b_row = at.n;
  rows<T>().band_mix(of_finite);
  const auto visible = [&](Size i, Size p) {
    return at.band.low <= p - i && p - i <= at.band.high && (!keep || keep[i * at.a_row + p * at.a_column]);
  };
  for (Size p = 0; p < at.k; ++p)
    for (Size c = 0; c < at.n; ++c) {
      const T number = at.b[p * at.b_row + c];
      for (Size i = 0; i < at.m && !std::isfinite(number); ++i)
        if (visible(i, p)) at.c[i * at.c_row + c] += at.alpha * at.a[i * at.a_row + p * at.a_column] * number;
    }
}

/// c += alpha·M·x, for a matrix M that lies as the block's scores do.
template <class T>
void add_mix(const ScoreBlock<T>& s, const T* m, const Matrix<T>& x, bool finite, T alpha,
             const Matrix<T>& c) {
  mix<T>({s.rows, x.columns, s.columns, alpha, m, s.step, 1, x.first, x.step, c.first, c.step, s.band},
         s.keep, finite);
}
/// c += alpha·Mᵀ·x.
template <class T>
void add_turned_mix(const ScoreBlock<T>& s, const T* m, const Matrix<T>& x, bool finite, T alpha,
                    const Matrix<T>& c) {
  mix<T>({s.columns, x.columns, s.rows, alpha, m, 1, s.step, x.first, x.step, c.first, c.step,
          Band{-s.band.high, -s.band.low}},
         s.keep, finite);
}

/// Zeros in a part of an output, which is row-major, unless several sequences add to it;
template <class T>
void clear_own(const Problem<T>& p, const Matrices<T>& x, Size b, Size h) {
  if (x.batch() == p.batch) std::fill_n(x.part(b, h, {0, 0}).first, x.rows() * x.width(), T{0});
}
/// or in all of it if they do, before any does.
template <class T>
void clear_shared(const Problem<T>& p, const Matrices<T>& x) {
  for (Size h = 0; x.batch() != p.batch && h < x.heads(); ++h)
    std::fill_n(x.part(0, h, {0, 0}).first, x.rows() * x.width(), T{0});
}

template <class T>
bool all_finite(const Matrix<T>& x) {
  return rows<T>().all_finite(x.rows, x.columns, x.first, x.step);
}

template <class T>
void turn(const Matrix<T>& x, T* to, Size step) {
  rows<T>().turn(x.rows, x.columns, x.first, x.step, to, step);
}

// ---- forward --------------------------------------------------------------------------------------------

template <class T>
struct ForwardRoom {
  Room room;
  T *scores, *turned_key, *largest, *corrections;
  double* total;
  bool* keep;

  explicit ForwardRoom(const Problem<T>& p)
      : room(Room::bytes<T>(p.rows_most * p.step) + Room::bytes<T>(p.query.width() * p.step) +
             Room::bytes<T>(p.group * p.queries) + Room::bytes<T>(p.rows_most) +
             Room::bytes<double>(p.group * p.queries) +
             Room::bytes<bool>(p.has_tables() ? p.rows_most * p.step : 0)),
        scores(room.take<T>(p.rows_most * p.step)),
        turned_key(room.take<T>(p.query.width() * p.step)),
        largest(room.take<T>(p.group * p.queries)),
        corrections(room.take<T>(p.rows_most)),
        total(room.take<double>(p.group * p.queries)),
        keep(room.take<bool>(p.has_tables() ? p.rows_most * p.step : 0)) {}
};

template <class T>
bool sees_any(const Problem<T>& p, Size b, Size h, Size query, bool* keep) {
  const BlockMask<T> mask(p.call, b, h, p.keys);
  const Span row{query, query + 1}, visible = mask.visible_to(row);
  if (visible.size() == 0 || !mask.has_tables()) return visible.size() > 0;
  for (Size j = visible.begin; j < visible.end; j += keys_at_a_time)
    if (mask.fill(row, {j, std::min(j + keys_at_a_time, visible.end)}, keep, p.step)) return true;
  return false;
}

/// Shift and share of a row's weights. Nothing but -inf is 0 / 0 without a mask, and has no weights with one,
/// like softmax.
template <class T>
void put_softmax(const Problem<T>& p, Size b, Size h, Size query, T largest, double total, bool* keep,
                 T* pair) {
  pair[0] = largest == -infinity<T> ? T{0} : largest;
  pair[1] = 1 / static_cast<T>(total);
  if (total != 0) return;
  const bool sees = sees_any(p, b, h, query, keep);
  pair[0] = T{0};
  pair[1] = !sees      ? static_cast<T>(share_of_a_blind_query)
            : p.masked ? T{0}
                       : std::numeric_limits<T>::quiet_NaN();
}

// y = Σ exp(s - m)·v / Σ exp(s - m), where m, the largest score so far, grows from block to block; what was
// added up before is multiplied by exp(the old m - the new m).
template <class T>
void forward(const Problem<T>& p, Size b, Size kv, const ForwardRoom<T>& room, const Matrices<T>& outputs,
             const Matrices<T>& softmax) {
  const Size first_head = kv * p.group;
  for (Size g = 0; g < p.group; ++g) clear_own(p, outputs, b, first_head + g);
  std::fill_n(room.largest, p.group * p.queries, -infinity<T>);
  std::fill_n(room.total, p.group * p.queries, 0.0);
  bool finite = true;
  const auto begin = [&](const Span& keys) {
    turn(p.key.part(b, kv, keys), room.turned_key, p.step);
    finite = !p.masked || all_finite(p.value.part(b, kv, keys));
  };
  for_each_block(
      p, b, kv, room.scores, room.keep, begin, [&](Size h, const BlockMask<T>& mask, const Block<T>& block) {
        compute(p, h, mask, block, p.query.part(b, h, block.queries), room.turned_key);
        const Matrix<T> y = outputs.part(b, h, block.queries);
        const Size at = (h - first_head) * p.queries + block.queries.begin;
        if (rows<T>().online_softmax(block.scores, room.largest + at, room.total + at, room.corrections))
          rows<T>().scale_rows(y.rows, y.columns, y.first, y.step, room.corrections, 1);
        add_mix(block.scores, block.scores.scores, p.value.part(b, kv, block.keys), finite || block.shows_all,
                T{1}, y);
      });
  for (Size g = 0; g < p.group; ++g) {
    const Size h = first_head + g;
    const Matrix<T> y = outputs.part(b, h, {0, p.queries}), pairs = softmax.part(b, h, {0, p.queries});
    for (Size i = 0; i < p.queries; ++i) {
      const Size at = g * p.queries + i;
      T* const pair = pairs.row(i);
      put_softmax(p, b, h, i, room.largest[at], room.total[at], room.keep, pair);
      const T share = pair[1] * static_cast<T>(raised_by);
      const bool has_weights = room.total[at] != 0;
      if (has_weights ? p.keys > keys_at_a_time : std::isnan(share))
        rows<T>().scale_rows(1, y.columns, y.row(i), y.step, &share, 0);
    }
  }
}

template <class T>
void forward_kernel(const Call& c) {
  const Matrices<T> outputs(c.out(0)), softmax(c.out(1));
  const Problem<T> problem(c, softmax.batch());
  problem.template for_each_key_head<ForwardRoom<T>>(true, [&](Size b, Size kv, const ForwardRoom<T>& room) {
    forward(problem, b, kv, room, outputs, softmax);
  });
}

// ---- backward -------------------------------------------------------------------------------------------

template <class T>
struct BackwardRoom {
  Room room;
  T *scores, *slopes, *turned_key, *turned_value;
  bool* keep;

  explicit BackwardRoom(const Problem<T>& p)
      : room(2 * Room::bytes<T>(p.rows_most * p.step) + Room::bytes<T>(p.query.width() * p.step) +
             Room::bytes<T>(p.value.width() * p.step) +
             Room::bytes<bool>(p.has_tables() ? p.rows_most * p.step : 0)),
        scores(room.take<T>(p.rows_most * p.step)),
        slopes(room.take<T>(p.rows_most * p.step)),
        turned_key(room.take<T>(p.query.width() * p.step)),
        turned_value(room.take<T>(p.value.width() * p.step)),
        keep(room.take<bool>(p.has_tables() ? p.rows_most * p.step : 0)) {}
};

template <class T>
struct Slopes {
  Matrices<T> softmax, y, dy;
  Matrices<T> dquery, dkey, dvalue;
  const Array* dbias;
};

template <class T>
void add_to_bias(const Array& dbias, Size b, Size h, const Block<T>& block, const T* ds) {
  const ScorePart<T> to(dbias, b, h);
  const ScoreBlock<T>& s = block.scores;
  for (Size i = 0; i < s.rows; ++i) {
    T* const sums = to.at(block.queries.begin + i, block.keys.begin);
    const Size end = std::min(s.columns, i + s.band.high + 1);
    for (Size j = std::max<Size>(0, i + s.band.low); j < end; ++j) sums[j * to.column] += ds[i * s.step + j];
  }
}

// With p = exp(s - shift)·share, as forward had it: dp = dy·vᵀ, ds = p·(dp - Σ dy·y), and each gradient adds
// up over the blocks.
template <class T>
void backward(const Problem<T>& p, Size b, Size kv, const BackwardRoom<T>& room, const Slopes<T>& at) {
  clear_own(p, at.dkey, b, kv);
  clear_own(p, at.dvalue, b, kv);
  for (Size h = kv * p.group; h < (kv + 1) * p.group; ++h) clear_own(p, at.dquery, b, h);
  bool finite_key = true;
  const auto begin = [&](const Span& keys) {
    turn(p.key.part(b, kv, keys), room.turned_key, p.step);
    turn(p.value.part(b, kv, keys), room.turned_value, p.step);
    finite_key = !p.masked || all_finite(p.key.part(b, kv, keys));
  };
  for_each_block(
      p, b, kv, room.scores, room.keep, begin, [&](Size h, const BlockMask<T>& mask, const Block<T>& block) {
        const ScoreBlock<T>& s = block.scores;
        const Matrix<T> query = p.query.part(b, h, block.queries), y = at.y.part(b, h, block.queries),
                        dy = at.dy.part(b, h, block.queries);
        compute(p, h, mask, block, query, room.turned_key);
        rows<T>().band_scores({s.rows, s.columns, dy.columns, T{1}, dy.first, dy.step, 1, room.turned_value,
                               p.step, room.slopes, p.step, s.band});
        rows<T>().attention_slopes(
            s, {y.columns, y.first, y.step, dy.first, dy.step, at.softmax.part(b, h, block.queries).first},
            room.slopes);
        add_turned_mix(s, s.scores, dy, block.shows_all || all_finite(dy), T{1},
                       at.dvalue.part(b, kv, block.keys));
        add_mix<T>(s, room.slopes, p.key.part(b, kv, block.keys), block.shows_all || finite_key, p.scale,
                   at.dquery.part(b, h, block.queries));
        add_turned_mix<T>(s, room.slopes, query, block.shows_all || all_finite(query), p.scale,
                          at.dkey.part(b, kv, block.keys));
        if (at.dbias) add_to_bias(*at.dbias, b, h, block, room.slopes);
      });
}

template <class T>
void backward_kernel(const Call& c) {
  const Array* const dbias = c.output_count > 3 ? &c.out(3) : nullptr;
  if (dbias) std::fill_n(dbias->as<T>(), numel(dbias->shape), T{0});
  const Slopes<T> slopes{Matrices<T>(c.in(in_softmax)),
                         Matrices<T>(c.in(in_y)),
                         Matrices<T>(c.in(in_dy)),
                         Matrices<T>(c.out(0)),
                         Matrices<T>(c.out(1)),
                         Matrices<T>(c.out(2)),
                         dbias};
  const Problem<T> problem(c, slopes.softmax.batch());
  bool independent = !dbias;
  for (const Matrices<T>* x : {&slopes.dquery, &slopes.dkey, &slopes.dvalue}) {
    clear_shared(problem, *x);
    independent &= x->batch() == problem.batch;
  }
  problem.template for_each_key_head<BackwardRoom<T>>(
      independent,
      [&](Size b, Size kv, const BackwardRoom<T>& room) { backward(problem, b, kv, room, slopes); });
}

template <class T>
void whole_mask(const Call& c) {
  const Shape& shape = c.out().shape;
  for (Size b = 0; b < shape[0]; ++b)
    for (Size h = 0; h < shape[1]; ++h)
      BlockMask<T>(c, b, h, shape[3])
          .fill({0, shape[2]}, {0, shape[3]}, c.out().as<bool>() + (b * shape[1] + h) * shape[2] * shape[3],
                shape[3]);
}

}  // namespace

const KernelSet blocked_attention = {forward_kernel<float>, forward_kernel<double>};
const KernelSet blocked_attention_backward = {backward_kernel<float>, backward_kernel<double>};
const KernelSet blocked_attention_mask = {whole_mask<float>, whole_mask<double>};

}  // namespace regard::kernels

#include "kernels/blocked_attention.hpp"

#include <cmath>
#include <limits>

#include "kernels/blas.hpp"
#include "kernels/rows.hpp"

namespace regard::kernels {
namespace {

// Fixed, so that the same call gives the same bits. A block of scores stays in the second cache.
constexpr Size queries_at_a_time = 128, keys_at_a_time = 256;

template <class T>
detail::PoolArray<T> scratch(Size count) {
  return detail::PoolArray<T>::unset(static_cast<std::size_t>(count));
}

template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

/// Rows of numbers side by side.
template <class T>
struct Matrix {
  T* first;
  Size rows, columns, step;

  T* row(Size i) const { return first + i * step; }
};

/// C = alpha·op(A)·op(B) + beta·C.
template <class T>
void multiply(bool transpose_a, const Matrix<const T>& a, bool transpose_b, const Matrix<const T>& b, T alpha,
              T beta, const Matrix<T>& c) {
  const Size inner = transpose_a ? a.rows : a.columns;
  if (c.rows == 0 || c.columns == 0) return;
  if (inner == 0) {
    for (Size i = 0; beta == 0 && i < c.rows; ++i) std::fill_n(c.row(i), c.columns, T{0});
    return;
  }
  const auto of = [](Size x) { return static_cast<int>(x); };
  gemm(transpose_a, transpose_b, of(c.rows), of(c.columns), of(inner), alpha, a.first, of(a.step), b.first,
       of(b.step), c.first, of(c.step), beta);
}

/// The matrices of the last two axes of an input of rank 4, block by block: where they lie, or as a copy
/// where BLAS could not read them there.
template <class T>
class Blocks {
 public:
  Blocks(const Array& x, Size rows_at_a_time)
      : x_(x),
        direct_((x.shape[3] <= 1 || x.strides[3] == 1) && x.strides[2] >= std::max<Size>(1, x.shape[3]) &&
                x.strides[2] <= std::numeric_limits<int>::max()),
        room_(std::min(rows_at_a_time, x.shape[2]) * x.shape[3]),
        copy_(scratch<T>(direct_ ? 0 : room_)) {}

  /// An input of one batch serves all.
  void choose(Size b, Size h) {
    matrix_ = x_.as<const T>() + (x_.shape[0] == 1 ? 0 : b) * x_.strides[0] + h * x_.strides[1];
  }

  Matrix<const T> read(const Span& rows) {
    const Size width = x_.shape[3];
    const T* const first = matrix_ + rows.begin * x_.strides[2];
    if (direct_) return {first, rows.size(), width, x_.strides[2]};
    for (Size i = 0; i < rows.size(); ++i)
      gather(width, first + i * x_.strides[2], x_.strides[3], copy_.data() + i * width);
    return {copy_.data(), rows.size(), width, std::max<Size>(1, width)};
  }

  /// Room for a block of its own, asked for at the first need.
  Matrix<T> room(Size rows) {
    if (!spare_) spare_ = scratch<T>(room_);
    return {spare_.data(), rows, x_.shape[3], std::max<Size>(1, x_.shape[3])};
  }

 private:
  Array x_;
  bool direct_;
  Size room_;
  detail::PoolArray<T> copy_, spare_;
  const T* matrix_ = nullptr;
};

/// The matrices of a row-major output of rank 4.
template <class T>
Matrix<T> part(const Array& y, Size b, Size h, const Span& rows) {
  const Size width = y.shape[3], batch = y.shape[0] == 1 ? 0 : b;
  return {y.as<T>() + ((batch * y.shape[1] + h) * y.shape[2] + rows.begin) * width, rows.size(), width,
          std::max<Size>(1, width)};
}

template <class T>
bool all_finite(const Matrix<const T>& x) {
  bool all = true;
  for (Size i = 0; i < x.rows; ++i) {
    const T* const row = x.row(i);
    for (Size j = 0; j < x.columns; ++j) all &= std::abs(row[j]) <= std::numeric_limits<T>::max();
  }
  return all;
}

template <class T>
Matrix<const T> read_only(const Matrix<T>& x) {
  return {x.first, x.rows, x.columns, x.step};
}

/// y += alpha·op(M)·x, where M is 0 where hidden, and what is hidden is not multiplied in either, should x
/// hold NaN or infinities. `keep` lies as M does; null when all is visible.
template <class T>
void add_mix(bool transpose, const Matrix<T>& m, const bool* keep, const Matrix<const T>& x, Blocks<T>& of_x,
             T alpha, const Matrix<T>& y) {
  if (!keep || all_finite(x)) return multiply(transpose, read_only(m), false, x, alpha, T{1}, y);
  const Matrix<T> finite = of_x.room(x.rows);
  for (Size j = 0; j < x.rows; ++j)
    for (Size c = 0; c < x.columns; ++c) finite.row(j)[c] = std::isfinite(x.row(j)[c]) ? x.row(j)[c] : T{0};
  multiply(transpose, read_only(m), false, read_only(finite), alpha, T{1}, y);
  const auto pair = [&](Size from, Size to) { return transpose ? from * m.step + to : to * m.step + from; };
  for (Size j = 0; j < x.rows; ++j)
    for (Size c = 0; c < x.columns; ++c)
      for (Size i = 0; i < y.rows && !std::isfinite(x.row(j)[c]); ++i)
        if (keep[pair(j, i)]) y.row(i)[c] += alpha * m.first[pair(j, i)] * x.row(j)[c];
}

/// One sequence and head, and its blocks of scores.
template <class T>
struct Scores {
  const Call& call;
  BlockMask<T> mask;
  Size keys, first;
  T scale, slope = 0;

  Scores(const Call& c, Size b, Size h)
      : call(c),
        mask(c, b, h, c.in(in_key).shape[2]),
        keys(c.in(in_key).shape[2]),
        first(c.get<BlockedAttention>().first),
        scale(static_cast<T>(c.get<BlockedAttention>().scale)) {
    const Array& slopes = c.in(in_slopes);
    if (slopes.data) slope = slopes.as<const T>()[h * slopes.strides[1]];
  }

  /// f(block of keys, its mask) for the blocks that hold anything visible; the mask is null where all is.
  template <class F>
  void for_each_block(const Span& queries, bool* keep, F f) const {
    const Span visible = mask.visible_to(queries);
    if (visible.size() == 0) return;
    for (Size j = visible.begin - visible.begin % keys_at_a_time; j < visible.end; j += keys_at_a_time) {
      const Span block{j, std::min(j + keys_at_a_time, keys)};
      if (mask.shows_all(queries, block))
        f(block, static_cast<const bool*>(nullptr));
      else if (mask.fill(queries, block, keep))
        f(block, static_cast<const bool*>(keep));
    }
  }

  /// s = scale·q·kᵀ + bias - slope·distance.
  void compute(const Matrix<const T>& q, const Matrix<const T>& k, Size query, Size key,
               const Matrix<T>& s) const {
    multiply(false, q, true, k, scale, T{0}, s);
    for (Size i = 0; mask.bias.first && i < s.rows; ++i) {
      const T* const added = mask.bias.at(query + i, key);
      T* const row = s.row(i);
      if (mask.bias.column == 1)
        rows<T>().add(s.columns, row, 1, added, 1, row);
      else
        for (Size j = 0; j < s.columns; ++j) row[j] += added[j * mask.bias.column];
    }
    for (Size i = 0; call.in(in_slopes).data && i < s.rows; ++i) {
      T* const row = s.row(i);
      const T ahead = static_cast<T>(key - (first + query + i));
      for (Size j = 0; j < s.columns; ++j) row[j] -= slope * std::abs(ahead + static_cast<T>(j));
    }
  }
};

/// Every block of queries of every sequence and head.
template <class F>
void for_each_block_of_queries(const Call& c, Size batch, F f) {
  const Size heads = c.in(in_query).shape[1], queries = c.in(in_query).shape[2];
  for (Size b = 0; b < batch; ++b)
    for (Size h = 0; h < heads; ++h)
      for (Size i = 0; i < queries; i += queries_at_a_time)
        f(b, h, h / (heads / c.in(in_key).shape[1]), Span{i, std::min(i + queries_at_a_time, queries)});
}

bool masked(const Call& c) {
  const BlockedAttention& at = c.get<BlockedAttention>();
  bool given = at.low > 1 - c.in(in_query).shape[2] || at.high < c.in(in_key).shape[2] - 1;
  for (const int i : {in_bias, in_keep, in_lengths, in_query_ids}) given |= c.in(i).data != nullptr;
  return given;
}

// y = Σ exp(s - m)·v / Σ exp(s - m), where m, the largest score so far, grows from block to block; what was
// added up before is multiplied by exp(the old m - the new m).
template <class T>
void forward(const Call& c) {
  const Size rows_most = std::min(queries_at_a_time, c.in(in_query).shape[2]);
  const Size keys_most = std::min(keys_at_a_time, c.in(in_key).shape[2]);
  const auto scores = scratch<T>(rows_most * keys_most);
  const auto keep = scratch<bool>(rows_most * keys_most);
  const auto largest = scratch<T>(rows_most);
  const auto total = scratch<double>(rows_most);
  const auto seen = scratch<bool>(rows_most);
  Blocks<T> q(c.in(in_query), queries_at_a_time), k(c.in(in_key), keys_at_a_time),
      v(c.in(in_value), keys_at_a_time);
  const bool no_mask = !masked(c);
  for_each_block_of_queries(c, c.out().shape[0], [&](Size b, Size h, Size kv, const Span& queries) {
    q.choose(b, h);
    k.choose(b, kv);
    v.choose(b, kv);
    const Matrix<const T> query = q.read(queries);
    const Matrix<T> y = part<T>(c.out(), b, h, queries);
    std::fill_n(y.first, y.rows * y.columns, T{0});
    std::fill_n(largest.data(), y.rows, -infinity<T>);
    std::fill_n(total.data(), y.rows, 0.0);
    std::fill_n(seen.data(), y.rows, false);
    const Scores<T> part_of(c, b, h);
    part_of.for_each_block(queries, keep.data(), [&](const Span& keys, const bool* kept) {
      const Matrix<T> s{scores.data(), y.rows, keys.size(), keys.size()};
      part_of.compute(query, k.read(keys), queries.begin, keys.begin, s);
      for (Size i = 0; i < y.rows; ++i) {
        const bool* const row = kept ? kept + i * s.step : nullptr;
        seen.data()[i] |= !row || std::memchr(row, 1, static_cast<std::size_t>(s.columns));
        const T correction =
            rows<T>().online_softmax(s.columns, s.row(i), row, largest.data()[i], total.data()[i]);
        if (correction != 1) rows<T>().multiply(y.columns, y.row(i), 1, &correction, 0, y.row(i));
      }
      add_mix(false, s, kept, v.read(keys), v, T{1}, y);
    });
    T* const logs = c.out(1).as<T>() + (b * c.out(1).shape[1] + h) * c.out(1).shape[2] + queries.begin;
    for (Size i = 0; i < y.rows; ++i) {
      // Nothing but -inf is 0 / 0 without a mask, and has no weights with one, like softmax; +inf then makes
      // the weights 0 again in backward.
      const double sum = total.data()[i];
      const bool nothing = sum == 0 && !(no_mask && seen.data()[i]);
      logs[i] = nothing    ? (seen.data()[i] ? infinity<T> : -infinity<T>)
                : sum == 0 ? std::numeric_limits<T>::quiet_NaN()
                           : static_cast<T>(static_cast<double>(largest.data()[i]) + std::log(sum));
      const T share = nothing ? T{1} : static_cast<T>(1 / sum);
      rows<T>().multiply(y.columns, y.row(i), 1, &share, 0, y.row(i));
    }
  });
}

template <class T>
void add_to_bias(const Array& dbias, Size b, Size h, const Matrix<T>& ds, Size query, Size key) {
  const ScorePart<T> to(dbias, b, h);
  for (Size i = 0; i < ds.rows; ++i) {
    T* const sums = to.at(query + i, key);
    for (Size j = 0; j < ds.columns; ++j) sums[j * to.column] += ds.row(i)[j];
  }
}

// With p = exp(s - log-sum-exp), as forward had it: dp = dy·vᵀ, ds = p·(dp - Σ dy·y), and each gradient adds
// up over the blocks.
template <class T>
void backward(const Call& c) {
  constexpr int in_log = blocked_inputs, in_y = in_log + 1, in_dy = in_y + 1;
  const Size rows_most = std::min(queries_at_a_time, c.in(in_query).shape[2]);
  const Size keys_most = std::min(keys_at_a_time, c.in(in_key).shape[2]);
  const auto scores = scratch<T>(rows_most * keys_most), slopes = scratch<T>(rows_most * keys_most);
  const auto keep = scratch<bool>(rows_most * keys_most);
  const auto delta = scratch<T>(rows_most), shift = scratch<T>(rows_most);
  Blocks<T> q(c.in(in_query), queries_at_a_time), k(c.in(in_key), keys_at_a_time),
      v(c.in(in_value), keys_at_a_time), y(c.in(in_y), queries_at_a_time), dy(c.in(in_dy), queries_at_a_time);
  for (int i = 0; i < c.output_count; ++i)
    std::fill_n(c.out(i).template as<T>(), numel(c.out(i).shape), T{0});
  for_each_block_of_queries(c, c.in(in_y).shape[0], [&](Size b, Size h, Size kv, const Span& queries) {
    q.choose(b, h);
    k.choose(b, kv);
    v.choose(b, kv);
    y.choose(b, h);
    dy.choose(b, h);
    const Matrix<const T> query = q.read(queries), output = y.read(queries), slope = dy.read(queries);
    const Array& logs = c.in(in_log);
    for (Size i = 0; i < queries.size(); ++i) {
      double sum = 0;
      for (Size a = 0; a < output.columns; ++a)
        sum += static_cast<double>(output.row(i)[a]) * static_cast<double>(slope.row(i)[a]);
      delta.data()[i] = static_cast<T>(sum);
      const T log = logs.as<const T>()[(b * logs.shape[1] + h) * logs.shape[2] + queries.begin + i];
      shift.data()[i] = log == -infinity<T> ? T{0} : log;
    }
    const Matrix<T> dq = part<T>(c.out(0), b, h, queries);
    const Scores<T> part_of(c, b, h);
    part_of.for_each_block(queries, keep.data(), [&](const Span& keys, const bool* kept) {
      const Matrix<T> p{scores.data(), queries.size(), keys.size(), keys.size()};
      const Matrix<T> ds{slopes.data(), queries.size(), keys.size(), keys.size()};
      const Matrix<const T> key = k.read(keys);
      part_of.compute(query, key, queries.begin, keys.begin, p);
      multiply(false, slope, true, v.read(keys), T{1}, T{0}, ds);
      for (Size i = 0; i < p.rows; ++i)
        rows<T>().attention_slopes(p.columns, p.row(i), ds.row(i), kept ? kept + i * p.step : nullptr,
                                   shift.data()[i], delta.data()[i]);
      add_mix(true, p, kept, slope, dy, T{1}, part<T>(c.out(2), b, kv, keys));
      add_mix(false, ds, kept, key, k, part_of.scale, dq);
      add_mix(true, ds, kept, query, q, part_of.scale, part<T>(c.out(1), b, kv, keys));
      if (c.output_count > 3) add_to_bias(c.out(3), b, h, ds, queries.begin, keys.begin);
    });
  });
}

template <class T>
void whole_mask(const Call& c) {
  const Shape& shape = c.out().shape;
  for (Size b = 0; b < shape[0]; ++b)
    for (Size h = 0; h < shape[1]; ++h)
      BlockMask<T>(c, b, h, shape[3])
          .fill({0, shape[2]}, {0, shape[3]}, c.out().as<bool>() + (b * shape[1] + h) * shape[2] * shape[3]);
}

}  // namespace

const KernelSet blocked_attention = {forward<float>, forward<double>};
const KernelSet blocked_attention_backward = {backward<float>, backward<double>};
const KernelSet blocked_attention_mask = {whole_mask<float>, whole_mask<double>};

}  // namespace regard::kernels

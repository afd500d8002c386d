// FlashAttention on foot: softmax of a row that arrives in blocks, with a running maximum and a running sum;
// the whole of attention tile by tile, without ever holding the N x N weights; and its gradient from the
// log-sum-exp alone. Milakov & Gimelshein 2018 (online softmax); Dao et al. 2022, algorithms 1 and 4; Dao
// 2023 (the order of loops).
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <regard/regard.hpp>
#include <regard/study/panels.hpp>

#include "lessons/common/lesson.hpp"

using namespace regard;
using lessons::doubles;
using lessons::largest_difference;
using lessons::Lesson;
using lessons::Table;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// What is known of some rows after the blocks seen so far.
struct Running {
  Tensor max;     // [rows, 1] the largest score, m
  Tensor sum;     // [rows, 1] Σ exp(s - m), l
  Tensor output;  // [rows, value_width] Σ exp(s - m)·v, not yet divided by l
};

Running nothing_seen(Size rows, Size value_width, DType dtype) {
  return {full({rows, 1}, -infinity, dtype), zeros({rows, 1}, dtype), zeros({rows, value_width}, dtype)};
}

/// One more block: scores [rows, block], value [block, value_width]. Where the maximum rises, all that was
/// added up before shrinks by exp(old m - new m).
Running absorb(const Running& before, const Tensor& scores, const Tensor& value) {
  const Tensor m = maximum(before.max, max(scores, {-1}, keep_axes));
  const Tensor shrink = exp(before.max - m);
  const Tensor p = exp(scores - m);
  return {m, shrink * before.sum + sum(p, {-1}, keep_axes), shrink * before.output + matmul(p, value)};
}

Tensor rows_of(const Tensor& x, Size first, Size count) {
  return slice(x, 0, {first, std::min(first + count, x.size(0))});
}

enum class Sight { all, causal };
struct Tiles {
  Size queries, keys;
  Sight sight;
};

/// Does a tile show anything? Its last query stands at `last`; its first key must not stand behind that.
bool is_visited(const Tiles& tiles, Size first_query, Size first_key, Size tokens) {
  return tiles.sight == Sight::all || first_key < std::min(first_query + tiles.queries, tokens);
}

/// Scores of one tile; -∞ where a key stands behind its query.
Tensor tile_scores(const Tensor& q, const Tensor& k, Size first_query, Size first_key, Sight sight) {
  const Tensor s = matmul(q, transpose(k)) * (1 / std::sqrt(static_cast<double>(q.size(1))));
  if (sight == Sight::all) return s;
  const Tensor query_at = expand_dims(arange(q.size(0)), {1}), key_at = arange(k.size(0));
  const Tensor behind =
      greater(key_at, query_at + scalar(static_cast<double>(first_query - first_key), int64));
  return masked_fill(s, behind, -infinity);
}

struct Forward {
  Tensor output;     // [tokens, value_width]
  Tensor logsumexp;  // [tokens, 1], m + log l: all that the backward pass needs
};

/// Attention of one head: q, k, v [tokens, width].
Forward forward(const Tensor& q, const Tensor& k, const Tensor& v, const Tiles& tiles) {
  const Size tokens = q.size(0);
  Tensors outputs, logsumexps;
  for (Size i = 0; i < tokens; i += tiles.queries) {
    const Tensor q_i = rows_of(q, i, tiles.queries);
    Running seen = nothing_seen(q_i.size(0), v.size(1), q.dtype());
    for (Size j = 0; j < tokens && is_visited(tiles, i, j, tokens); j += tiles.keys)
      seen = absorb(seen, tile_scores(q_i, rows_of(k, j, tiles.keys), i, j, tiles.sight),
                    rows_of(v, j, tiles.keys));
    outputs.push_back(seen.output / seen.sum);
    logsumexps.push_back(seen.max + log(seen.sum));
  }
  return {concatenate(outputs), concatenate(logsumexps)};
}

/// dq, dk, dv from dy. The weights of a tile are made again: P = exp(S - logsumexp). Σ P∘dP of a whole row is
/// known before its tiles are: it is Σ dy∘output.
Tensors backward(const Tensor& q, const Tensor& k, const Tensor& v, const Forward& y, const Tensor& dy,
                 const Tiles& tiles) {
  const Size tokens = q.size(0);
  const double scale = 1 / std::sqrt(static_cast<double>(q.size(1)));
  const Tensor inner = sum(dy * y.output, {-1}, keep_axes);
  Tensors dq, dk, dv;
  for (Size i = 0; i < tokens; i += tiles.queries) dq.push_back(zeros_like(rows_of(q, i, tiles.queries)));
  for (Size j = 0; j < tokens; j += tiles.keys) {
    const Tensor k_j = rows_of(k, j, tiles.keys), v_j = rows_of(v, j, tiles.keys);
    Tensor dk_j = zeros_like(k_j), dv_j = zeros_like(v_j);
    for (Size i = 0; i < tokens; i += tiles.queries) {
      if (!is_visited(tiles, i, j, tokens)) continue;
      const auto rows = [&](const Tensor& x) { return rows_of(x, i, tiles.queries); };
      const Tensor p = exp(tile_scores(rows(q), k_j, i, j, tiles.sight) - rows(y.logsumexp));
      const Tensor ds = p * (matmul(rows(dy), transpose(v_j)) - rows(inner));
      dv_j = dv_j + matmul(transpose(p), rows(dy));
      dk_j = dk_j + scale * matmul(transpose(ds), rows(q));
      Tensor& dq_i = dq[static_cast<std::size_t>(i / tiles.queries)];
      dq_i = dq_i + scale * matmul(ds, k_j);
    }
    dk.push_back(dk_j);
    dv.push_back(dv_j);
  }
  return {concatenate(dq), concatenate(dk), concatenate(dv)};
}

// ---- the lesson ----------------------------------------------------------------------------------------

struct Heads {
  Tensor q, k, v, dy;
};

Heads draw(Size tokens, Size width, DType dtype, double size_of_scores = 1) {
  Rng rng(11);
  const auto numbers = [&] { return normal({tokens, width}, rng, 0, 1, dtype); };
  return {numbers() * size_of_scores, numbers(), numbers(), numbers()};
}

std::string name_of(Sight sight, const Lesson& lesson) {
  return sight == Sight::causal ? "causal" : lesson.pick("none", "không");
}

Mask mask_of(Sight sight) {
  return sight == Sight::causal ? Mask::causal() : Mask::none();
}

std::string numbers_in(const Tensor& x) {
  std::string text;
  for (const double value : doubles(x)) text += fmt::format("{}{:.3f}", text.empty() ? "" : " ", value);
  return text;
}

void one_row(Lesson& lesson) {
  lesson.heading("One row, three blocks", "Một hàng, ba khối");
  lesson.say(
      "A query has twelve scores, which arrive four at a time. Softmax needs the maximum and the sum of all "
      "of them. We keep those of what was seen so far; when a larger score comes, what was added up shrinks.",
      "Một query có mười hai score, mỗi lần tới bốn cái. Softmax cần max và tổng của tất cả. Ta giữ max và "
      "tổng của phần đã thấy; khi có score lớn hơn, phần đã cộng sẽ co lại.");
  lesson.formula(
      "m' = max(m, max s)    c = exp(m - m')    l' = c·l + Σ exp(s - m')    o' = c·o + exp(s - m')·V");
  const Heads h = draw(12, 3, float64, 1.5);
  const Tensor q = rows_of(h.q, 0, 1);
  Running seen = nothing_seen(1, 3, float64);
  Table table({lesson.pick("block", "khối"), lesson.pick("scores", "score"), "m", "c", "l", "o / l"});
  for (Size j = 0; j < 12; j += 4) {
    const Tensor scores = tile_scores(q, rows_of(h.k, j, 4), 0, j, Sight::all);
    const double old_max = seen.max.item();
    seen = absorb(seen, scores, rows_of(h.v, j, 4));
    table.row({fmt::format("{}", j / 4 + 1), numbers_in(scores), fmt::format("{:.3f}", seen.max.item()),
               fmt::format("{:.3f}", std::exp(old_max - seen.max.item())),
               fmt::format("{:.3f}", seen.sum.item()), numbers_in(seen.output / seen.sum)});
  }
  lesson.look_for(
      "c: 0 at first, as there was nothing; 1 where the maximum stays; else all that was added up before "
      "counts less.",
      "c: lúc đầu bằng 0 vì chưa có gì; bằng 1 khi max không đổi; còn lại thì phần đã cộng trước đó bị giảm "
      "đi.");
  lesson.print(table);
  const Tensor dense = attention(q, h.k, h.v);
  lesson.show(lesson.pick("in one go", "tính một lần"), "softmax(q·Kᵀ/√d_k)·V", dense, {}, {}, 3);
  lesson.at_most("block by block gives the same row; largest difference",
                 "từng khối một cho cùng một hàng; sai khác lớn nhất",
                 largest_difference(seen.output / seen.sum, dense), 1e-12);
}

void whole_attention(Lesson& lesson) {
  lesson.heading("All rows, tile by tile", "Mọi hàng, từng ô một");
  lesson.say(
      "50 tokens of width 8. The tiles need not divide the length, nor be square. With a causal mask, tiles "
      "that would be hidden altogether are not visited. dq, dk and dv are made from the output and one "
      "number per row, its log-sum-exp: the weights are computed again, tile by tile.",
      "50 token, rộng 8. Ô không cần chia hết độ dài, cũng không cần vuông. Có causal mask thì các ô bị che "
      "hoàn toàn không được ghé tới. dq, dk, dv được dựng từ đầu ra và đúng một số cho mỗi hàng, log-sum-exp "
      "của nó: trọng số được tính lại, từng ô một.");
  Table table({lesson.pick("tile", "ô"), lesson.pick("mask", "mặt nạ"), "dtype",
               lesson.pick("output", "đầu ra"), "logsumexp", "dq, dk, dv"});
  double worst64 = 0, worst32 = 0;
  for (const DType dtype : {float64, float32})
    for (const Tiles& tiles : {Tiles{16, 16, Sight::all}, Tiles{16, 16, Sight::causal},
                               Tiles{7, 13, Sight::causal}, Tiles{1, 1, Sight::causal}}) {
      const Heads h = draw(50, 8, dtype);
      const Forward y = forward(h.q, h.k, h.v, tiles);
      const Tensors gradients = backward(h.q, h.k, h.v, y, h.dy, tiles);

      AttentionTrace trace;
      const Tensors leaves = {variable(h.q), variable(h.k), variable(h.v)};
      const Tensor dense = attention(leaves[0], leaves[1], leaves[2], mask_of(tiles.sight), {}, &trace);
      const Tensors expected = grad({sum(dense * h.dy)}, leaves);

      const double output = largest_difference(y.output, dense);
      const double lse = largest_difference(reshape(y.logsumexp, {50}), reshape(trace.logsumexp, {50}));
      double gradient = 0;
      for (std::size_t i = 0; i < 3; ++i)
        gradient = std::max(gradient, largest_difference(gradients[i], expected[i]));
      table.row({fmt::format("{} x {}", tiles.queries, tiles.keys), name_of(tiles.sight, lesson), name(dtype),
                 fmt::format("{:.1e}", output), fmt::format("{:.1e}", lse), fmt::format("{:.1e}", gradient)});
      double& worst = dtype == float64 ? worst64 : worst32;
      worst = std::max({worst, output, lse, gradient});
    }
  lesson.print(table);
  lesson.at_most("forward and backward are those of dense attention, float64",
                 "lượt đi và lượt về trùng với attention thường, float64", worst64, 1e-12);
  lesson.at_most("and in float32", "và trong float32", worst32, 1e-5);
  const Heads large = draw(50, 8, float32, 1000);
  const Tensor out = forward(large.q, large.k, large.v, {16, 16, Sight::causal}).output;
  lesson.claim("scores in the thousands overflow nothing: the running maximum is subtracted before exp",
               "score hàng nghìn cũng không tràn: max đang giữ được trừ trước khi lấy exp",
               all(isfinite(out)), lessons::largest(out));
}

/// The most numbers that one tensor held while f ran.
template <class F>
Size largest_tensor(const F& f) {
  const TapeRecorder tape;
  f();
  Size most = 0;
  for (const Step& step : tape.steps())
    if (step.kind == StepKind::kernel)
      for (const Value& value : step.outputs) most = std::max(most, numel(value.shape));
  return most;
}

void ledger(Lesson& lesson) {
  lesson.heading("The memory ledger", "Sổ bộ nhớ");
  lesson.say(
      "Numbers in the largest tensor that is made on the way, read off a tape; one head of width 16, tiles "
      "of 32 x 32. \"kept\" is what the backward pass must find again: the weights, or output and "
      "log-sum-exp.",
      "Số phần tử của tensor lớn nhất được tạo ra trên đường đi, đọc từ tape; một head rộng 16, ô 32 x 32. "
      "\"giữ lại\" là thứ lượt về phải tìm lại được: trọng số, hoặc đầu ra và log-sum-exp.");
  const Tiles tiles{32, 32, Sight::all};
  Table table({"N", lesson.pick("dense", "thường"), lesson.pick("tiles", "từng ô"),
               lesson.pick("kept, dense", "giữ lại, thường"), lesson.pick("kept, tiles", "giữ lại, từng ô")});
  std::vector<double> dense_growth, tile_growth;
  for (const Size tokens : {128, 256, 512}) {
    const Heads h = draw(tokens, 16, float32);
    AttentionTrace trace;  // with it, attention writes its weights out
    const Size dense = largest_tensor([&] { (void)attention(h.q, h.k, h.v, Mask::none(), {}, &trace); });
    const Size tiled = largest_tensor([&] { (void)forward(h.q, h.k, h.v, tiles); });
    table.row({fmt::format("{}", tokens), fmt::format("{}", dense), fmt::format("{}", tiled),
               fmt::format("{}", tokens * tokens), fmt::format("{}", tokens * 17)});
    dense_growth.push_back(static_cast<double>(dense));
    tile_growth.push_back(static_cast<double>(tiled));
  }
  lesson.look_for(
      "N² against N: twice the length, four times the memory, or twice. The arithmetic is the same; a "
      "graphics card gains its time because a tile fits into its fast memory.",
      "N² so với N: dài gấp đôi thì bộ nhớ gấp bốn, hay chỉ gấp đôi. Số phép tính như nhau; card đồ họa "
      "nhanh hơn vì một ô vừa trong bộ nhớ nhanh của nó.");
  lesson.print(table);
  lesson.claim("the largest tensor of dense attention grows by 4 when N doubles",
               "tensor lớn nhất của attention thường tăng 4 lần khi N gấp đôi",
               dense_growth[2] == 4 * dense_growth[1] && dense_growth[1] == 4 * dense_growth[0],
               dense_growth[2] / dense_growth[1]);
  lesson.claim("tile by tile it grows by 2, with the output", "từng ô một thì chỉ tăng 2 lần, theo đầu ra",
               tile_growth[2] == 2 * tile_growth[1], tile_growth[2] / tile_growth[1]);
}

/// In which order the tiles are visited; hatched where none is.
std::string picture_of_tiles(const Lesson& lesson) {
  std::vector<study::MatrixPanel> panels;
  for (const Sight sight : {Sight::all, Sight::causal}) {
    std::vector<double> order;
    std::vector<bool> visited;
    double next = 1;
    for (Size i = 0; i < 16; i += 4)
      for (Size j = 0; j < 16; j += 4) {
        visited.push_back(is_visited({4, 4, sight}, i, j, 16));
        order.push_back(visited.back() ? next++ : 0);
      }
    panels.push_back(lessons::panel(lesson.pick("mask: ", "mặt nạ: ") + name_of(sight, lesson),
                                    lessons::numbered("Q", 4), lessons::numbered("K", 4),
                                    from_vector(order, {4, 4}), from_vector(visited, {4, 4})));
  }
  study::PanelsOptions options;
  options.title = lesson.pick("16 tokens in tiles of 4 x 4: which is visited when",
                              "16 token, ô 4 x 4: ghé ô nào lúc nào");
  options.decimals = 0;
  options.language = lesson.language();
  return study::panels_svg(panels, options);
}

}  // namespace

int main(int argc, char** argv) {
  set_blas_threads(1);
  Lesson lesson(argc, argv, {"FlashAttention on foot", "Đi bộ qua FlashAttention"},
                {"The softmax of a row that arrives in blocks; attention without its N x N weights; the "
                 "gradient from a log-sum-exp.",
                 "Softmax của một hàng tới theo từng khối; attention không cần ma trận trọng số N x N; "
                 "gradient từ log-sum-exp."});
  return lesson.run([&] {
    one_row(lesson);
    whole_attention(lesson);
    ledger(lesson);
    lesson.picture("tiles", picture_of_tiles(lesson));
  });
}

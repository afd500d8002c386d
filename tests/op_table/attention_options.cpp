#include <regard/attention.hpp>

#include <cstdlib>

#include "op_table/samples.hpp"
#include "op_table/table.hpp"
#include "twins/attention.hpp"
#include "twins/dropout.hpp"
#include "twins/normalise.hpp"

namespace regard::test {
namespace {

using Call = Tensor (*)(Inputs);
using Twin = Plain (*)(PlainInputs);

Row& attending(Rows& rows, const char* name, Call call, Twin twin, Samples samples, Misuses misuses) {
  Row row;
  row.name = name;
  row.call = call;
  row.twin = twin;
  row.samples = std::move(samples);
  row.misuses = std::move(misuses);
  rows.push_back(row);
  return rows.back();
}

Tensor attend(Inputs x, const Mask& mask = {}, const AttentionOptions& options = {}) {
  return attention(x[0], x[1], x[2], mask, options);
}

AttentionOptions in_blocks() {
  AttentionOptions options;
  options.path = AttentionPath::blocked;
  return options;
}

Size tokens(const Plain& x) {
  return x.shape[x.shape.rank() - 2];
}

/// Of rank 4, with dropout of the weights: the mask follows their row-major order.
Plain output_with_dropout(PlainInputs x, double p, std::uint64_t key) {
  const AttentionTwin twin = attention_twin(rank_4(x[0]), rank_4(x[1]), rank_4(x[2]));
  const Plain value = rank_4(x[2]);
  Plain output(twin.output.shape);
  for_each_index(twin.weights.shape, [&](const Index& at) {
    if (is_dropped(key, twin.weights.place(at), p)) return;
    const Size head = at[1] / (twin.weights.shape[1] / value.shape[1]);
    for (Size d = 0; d < value.shape[3]; ++d)
      output.at({at[0], at[1], at[2], d}) +=
          twin.weights.at(at) / (1 - p) * value.at({value.shape[0] == 1 ? 0 : at[0], head, at[3], d});
  });
  output.shape = attention_output(x[0], x[1], x[2]).shape;
  return output;
}

/// Query, key and value in all the shapes they may have.
Samples of_any_shape() {
  const Input none = real({0, 2, 3, 4});
  return {
      {real({2, 2, 3, 4}), real({2, 2, 5, 4}), real({2, 2, 5, 3})},
      {real({1, 1, 1, 1}), real({1, 1, 1, 1}), real({1, 1, 1, 1})},
      {real({2, 4, 3, 2}), real({2, 2, 4, 2}), real({2, 2, 4, 3})},  // two query heads share a key head
      {real({3, 2, 3, 2}), real({1, 2, 4, 2}), real({1, 2, 4, 2})},  // one memory for all sequences
      {real({1, 2, 3, 2}), real({2, 2, 4, 2}), real({1, 2, 4, 2})},
      {real({3, 4}), real({5, 4}), real({5, 2})},
      {real({2, 3, 4}), real({2, 5, 4}), real({2, 5, 2})},
      {real({2, 3, 2}), same_as(0), same_as(0)},
      {none, none, none},
      {real({1, 2, 3, 4}), real({1, 2, 0, 4}), real({1, 2, 0, 3})},
      {real({1, 2, 0, 4}), real({1, 2, 3, 4}), real({1, 2, 3, 2})},
      {repeated({1, 3, 2}, {2, 3, 2}), repeated({1, 4, 2}, {2, 4, 2}), repeated({2, 4, 1}, {2, 4, 2})},
      {real({3, 2}), real({4, 2}), real({4, 2}, Domain::large)},
      values_only({real({3, 2}, Domain::large), real({4, 2}, Domain::small), real({4, 2})}),
  };
}

/// As many queries as keys.
Samples of_one_length() {
  const Input none = real({0, 2, 3, 2});
  return {
      {real({2, 2, 3, 2}), real({2, 2, 3, 2}), real({2, 2, 3, 3})},
      {real({2, 4, 3, 2}), real({2, 2, 3, 2}), real({2, 2, 3, 2})},
      {real({1, 1}), real({1, 1}), real({1, 1})},
      {real({2, 4, 2}), same_as(0), same_as(0)},
      {none, none, none},
      {real({4, 2}), real({4, 2}), real({4, 1})},
      {real({3, 2}), real({3, 2}), real({3, 2}, Domain::large)},
      values_only({real({3, 2}, Domain::large), real({3, 2}, Domain::small), real({3, 2})}),
  };
}

/// A mask of rank 2, 3 or 4 at [batch, head, query, key].
double mask_at(const Plain& mask, const Index& at) {
  if (mask.shape.rank() == 2) return mask.broadcast_at({at[2], at[3]});
  if (mask.shape.rank() == 3) return mask.broadcast_at({at[0], at[2], at[3]});
  return mask.broadcast_at(at);
}

void add_plain_rows(Rows& rows) {
  // clang-format off
  attending(rows, "attention traced",
            [](Inputs x) { AttentionTrace trace; return attention(x[0], x[1], x[2], {}, {}, &trace); },
            [](PlainInputs x) { return attention_output(x[0], x[1], x[2]); }, of_any_shape(),
            {misuse<ShapeError>([] { return attention(ones({2, 3}), ones({1, 4, 3}), ones({4, 2})); }, "all must be [batch, heads, tokens, width]"),
             misuse<ShapeError>([] { return attention(ones({1, 3, 2, 4}), ones({1, 2, 2, 4}), ones({1, 2, 2, 4})); }, "the 3 query heads cannot share 2 key heads evenly"),
             misuse<ShapeError>([] { return attention(ones({3, 2, 4}), ones({2, 2, 4}), ones({2, 2, 4})); }, "batches 3 and 2 differ"),
             misuse<DTypeError>([] { return attention(ones({2, 3}, int64), ones({4, 3}), ones({4, 3})); }, "expected float32 or float64, got int64"),
             misuse<ShapeError>([] { AttentionTrace trace; return attention(ones({2}), ones({2}), ones({2}), {}, {}, &trace); }, "all [tokens, width]"),
             misuse<GraphError>([] { AttentionTrace trace; return attention(Tensor(), ones({2, 2}), ones({2, 2}), {}, {}, &trace); }, "empty")});
  attending(rows, "attention with a scale",
            [](Inputs x) { AttentionOptions options; options.scale = -0.25; return attend(x, {}, options); },
            [](PlainInputs x) { return attention_output(x[0], x[1], x[2], always, nothing, -0.25); }, of_any_shape(),
            {misuse<ValueError>([] { AttentionOptions options; options.scale = infinity; return attend({ones({2, 2}), ones({2, 2}), ones({2, 2})}, {}, options); }, "the scale must be finite"),
             misuse<ValueError>([] { AttentionOptions options; options.scale = not_a_number; return attend({ones({2, 2}), ones({2, 2}), ones({2, 2})}, {}, options); }, "the scale must be finite")});
  attending(rows, "attention in blocks",
            [](Inputs x) { return attend(x, {}, in_blocks()); },
            [](PlainInputs x) { return attention_output(x[0], x[1], x[2]); }, of_any_shape(),
            {misuse<ValueError>([] { AttentionOptions options = in_blocks(); options.softcap = 3; return attend({ones({2, 2}), ones({2, 2}), ones({2, 2})}, {}, options); }, "AttentionPath::blocked cannot do a softcap"),
             misuse<ValueError>([] { Rng rng(1); AttentionOptions options = in_blocks(); options.dropout = 0.5; options.rng = &rng; return attend({ones({2, 2}), ones({2, 2}), ones({2, 2})}, {}, options); }, "AttentionPath::blocked cannot do dropout"),
             misuse<ShapeError>([] { return attend({ones({2, 3}), ones({4, 3}), ones({4, 3})}, Mask::causal(), in_blocks()); }, "Align::bottom_right")});
  attending(rows, "attention in blocks, causal from the bottom right",
            [](Inputs x) { return attend(x, Mask::causal(Align::bottom_right), in_blocks()); },
            [](PlainInputs x) { const Size before = tokens(x[1]) - tokens(x[0]); return attention_output(x[0], x[1], x[2], [before](Size, Size, Size i, Size j) { return j <= i + before; }); }, of_any_shape(),
            {misuse<ValueError>([] { AttentionTrace trace; return attention(ones({2, 2}), ones({2, 2}), ones({2, 2}), {}, in_blocks(), &trace); }, "AttentionPath::blocked cannot do a trace"),
             misuse<DTypeError>([] { return attend({ones({2, 3}), ones({4, 3}), ones({4, 3})}, Mask::bias(ones({2, 4}, float32)), in_blocks()); }, "the mask's bias is float32")});
  attending(rows, "attention with dropout",
            [](Inputs x) { Rng rng(5); AttentionOptions options; options.dropout = 0.3; options.rng = &rng; return attend(x, {}, options); },
            [](PlainInputs x) { return output_with_dropout(x, 0.3, Rng(5).next()); }, of_any_shape(),
            {misuse<ValueError>([] { AttentionOptions options; options.dropout = 0.3; return attend({ones({2, 2}), ones({2, 2}), ones({2, 2})}, {}, options); }, "give options.rng"),
             misuse<ValueError>([] { AttentionOptions options; options.dropout = 1.5; return attend({ones({2, 2}), ones({2, 2}), ones({2, 2})}, {}, options); }, "dropout must lie in 0..1")});
  // clang-format on
}

void add_masked_rows(Rows& rows) {
  const double nan = not_a_number, inf = infinity;
  const Input q = real({2, 2, 3, 2}), k = real({2, 2, 4, 2}), v = real({2, 2, 4, 3});
  // clang-format off
  const Samples masks = {
      {q, k, v, mask({3, 4})}, {q, k, v, mask({2, 3, 4})}, {q, k, v, mask({2, 2, 3, 4})}, {q, k, v, mask({2, 1, 1, 4})}, {q, k, v, mask({1, 2, 3, 1})},
      {real({2, 4, 3, 2}), k, v, mask({2, 4, 3, 4})}, {real({3, 2}), real({4, 2}), real({4, 2}), mask({3, 4})}, {real({1, 1}), real({1, 1}), real({1, 1}), mask({1, 1})},
      {real({0, 3, 2}), real({0, 4, 2}), real({0, 4, 2}), mask({3, 4})},
      // A row that sees nothing and one that sees all; then numbers that are there and must not be looked at.
      {real({2, 2}), real({3, 2}), real({3, 1}), given_mask({0, 0, 0, 1, 1, 1}, {2, 3})},
      {real({2, 2}), given({1, 2, nan, inf, 0, 1}, {3, 2}), given({1, nan, 2}, {3, 1}), given_mask({1, 0, 1, 1, 0, 0}, {2, 3})},
      {real({2, 2}), real({3, 2}), given({1, inf, 2}, {3, 1}), given_mask({1, 0, 1, 1, 0, 0}, {2, 3})},
  };
  attending(rows, "attention keep, nothing, or past what is NaN", [](Inputs x) { return attend(x, Mask::keep(x[3])); },
            [](PlainInputs x) { return attention_output(x[0], x[1], x[2], [&](Size b, Size h, Size i, Size j) { return mask_at(x[3], {b, h, i, j}) != 0; }); }, masks,
            {misuse<ShapeError>([] { return attend({ones({2, 2}), ones({3, 2}), ones({3, 2})}, Mask::keep(ones({3, 3}, boolean))); }, "axis queries is 3, expected 2"),
             misuse<DTypeError>([] { return attend({ones({2, 2}), ones({3, 2}), ones({3, 2})}, Mask::keep(ones({2, 3}))); }, "expected a boolean tensor, got float64"),
             misuse<ValueError>([] { AttentionOptions options; options.empty_rows = EmptyRows::error; return attend({ones({2, 2}), ones({1, 2}), ones({1, 2})}, Mask::keep(tensor({{1}, {0}}, boolean)), options); }, "query 1 of batch 0, head 0 may see no key")});
  attending(rows, "attention bias, infinite too", [](Inputs x) { return attend(x, Mask::bias(x[3])); },
            [](PlainInputs x) { return attention_output(x[0], x[1], x[2], always, [&](Size b, Size h, Size i, Size j) { return mask_at(x[3], {b, h, i, j}); }); },
            {{q, k, v, real({3, 4})}, {q, k, v, real({2, 3, 4})}, {q, k, v, real({1, 2, 3, 4})}, {q, k, v, real({2, 1, 1, 4})}, {real({2, 4, 3, 2}), k, v, real({1, 4, 1, 4})},
             {real({1, 1}), real({1, 1}), real({1, 1}), real({1, 1})}, {real({0, 3, 2}), real({0, 4, 2}), real({0, 4, 2}), real({3, 4})}, {real({3, 3}), same_as(0), same_as(0), same_as(0)},
             {real({2, 2}), real({3, 2}), real({3, 1}), given({0, -inf, 1, -inf, -inf, -inf}, {2, 3})}, values_only({real({2, 2}), real({3, 2}), real({3, 1}), real({2, 3}, Domain::large)})},
            {misuse<DTypeError>([] { return attend({ones({2, 2}), ones({3, 2}), ones({3, 2})}, Mask::bias(ones({2, 3}, boolean))); }, "Mask::keep and Mask::hide take conditions"),
             misuse<DTypeError>([] { return attend({ones({2, 2}), ones({3, 2}), ones({3, 2})}, Mask::bias(ones({2, 3}, float32))); }, "the mask's bias is float32"),
             misuse<ShapeError>([] { return attend({ones({2, 2}), ones({3, 2}), ones({3, 2})}, Mask::bias(ones({2, 2}))); }, "axis keys is 2, expected 3")});
  attending(rows, "attention causal", [](Inputs x) { return attend(x, Mask::causal()); },
            [](PlainInputs x) { return attention_output(x[0], x[1], x[2], [](Size, Size, Size i, Size j) { return j <= i; }); }, of_one_length(),
            {misuse<ShapeError>([] { return attend({ones({2, 2}), ones({3, 2}), ones({3, 2})}, Mask::causal()); }, "must say where the queries stand"),
             misuse<ShapeError>([] { return attend({ones({3, 2}), ones({2, 2}), ones({2, 2})}, Mask::causal()); }, "Align::bottom_right")});
  attending(rows, "attention causal, bottom right", [](Inputs x) { return attend(x, Mask::causal(Align::bottom_right)); },
            [](PlainInputs x) { const Size before = tokens(x[1]) - tokens(x[0]); return attention_output(x[0], x[1], x[2], [before](Size, Size, Size i, Size j) { return j <= i + before; }); }, of_any_shape(),
            {misuse<ShapeError>([] { return attend({ones({3}), ones({2}), ones({2})}, Mask::causal(Align::bottom_right)); }, "all [tokens, width]"),
             misuse<ValueError>([] { AttentionOptions options; options.empty_rows = EmptyRows::error; return attend({ones({3, 2}), ones({2, 2}), ones({2, 2})}, Mask::causal(Align::bottom_right), options); }, "query 0 of batch 0")});
  attending(rows, "attention window, padding and documents",
            [](Inputs x) { return attend(x, Mask::window(1, Align::top_left) & Mask::padding(x[3]) & Mask::documents(x[4])); },
            [](PlainInputs x) {
              return attention_output(x[0], x[1], x[2], [&](Size b, Size, Size i, Size j) {
                return std::abs(j - i) <= 1 && static_cast<double>(j) < x[3].at({b}) && x[4].at({i}) == x[4].at({j});
              });
            },
            {{real({2, 2, 4, 2}), real({2, 2, 4, 2}), real({2, 2, 4, 3}), given_ids({4, 2}, {2}), given_ids({7, 7, 7, 7}, {4})},
             {real({2, 4, 4, 2}), real({2, 2, 4, 2}), real({2, 2, 4, 3}), given_ids({3, 0}, {2}), given_ids({0, 0, 1, 1}, {4})},
             {real({2, 4, 2}), same_as(0), same_as(0), given_ids({1, 4}, {2}), given_ids({5, 6, 6, 5}, {4})},
             {real({1, 1}), real({1, 1}), real({1, 1}), given_ids({1}, {1}), given_ids({0}, {1})},
             {real({0, 3, 2}), real({0, 3, 2}), real({0, 3, 2}), ids({0}, 3), ids({3}, 2)},
             {real({4, 2}), real({4, 2}), real({4, 2}, Domain::large), given_ids({3}, {1}), given_ids({1, 1, 1, 2}, {4})}},
            {misuse<ShapeError>([] { return attend({ones({2, 2}), ones({2, 2}), ones({2, 2})}, Mask::padding(full({2}, 1, int64))); }, "axis batch is 2, expected 1"),
             misuse<ValueError>([] { return attend({ones({2, 2}), ones({2, 2}), ones({2, 2})}, Mask::padding(full({1}, 3, int64))); }, "padding of sequence 0 is 3 keys long, expected 0..2"),
             misuse<ShapeError>([] { return attend({ones({2, 2}), ones({2, 2}), ones({2, 2})}, Mask::documents(zeros({3}, int64))); }, "axis queries is 3, expected 2"),
             misuse<ValueError>([] { return attend({ones({2, 2}), ones({2, 2}), ones({2, 2})}, Mask::window(-1)); }, "the radius must be 0 or more")});
  // clang-format on
}

/// Without queries so far below 0 that exp gives 0 in float32, and away from 0, where the second derivative of elu has a
/// kink. Of one key the output is its value: the gradients of
/// query and key are 0, and what rounding leaves of them is compared with nothing.
Samples moderate(Samples samples) {
  samples.pop_back();
  for (Sample& sample : samples) {
    for (std::size_t i = 0; i < 2; ++i)
      if (sample.inputs[i].domain == Domain::normal) sample.inputs[i].domain = Domain::away_from_zero;
    const Shape& key = sample.inputs[1].shape;
    if (key.rank() >= 2 && key[key.rank() - 2] == 1) sample.differentiable = false;
  }
  return samples;
}

void add_linear_rows(Rows& rows) {
  const auto causal = [](Inputs x) { LinearAttentionOptions options; options.causal = true; return linear_attention(x[0], x[1], x[2], options); };
  // clang-format off
  attending(rows, "linear_attention", [](Inputs x) { return linear_attention(x[0], x[1], x[2]); },
            [](PlainInputs x) { return linear_attention_twin(x[0], x[1], x[2]); }, moderate(of_any_shape()),
            {misuse<ShapeError>([] { return linear_attention(ones({2, 3}), ones({2, 4}), ones({2, 3})); }, "linear_attention: query [2, 3], key [2, 4]"),
             misuse<ShapeError>([] { return linear_attention(ones({2, 3}), ones({1, 2, 3}), ones({2, 3})); }, "all must be [batch, heads, tokens, width]"),
             misuse<DTypeError>([] { return linear_attention(ones({2, 3}), ones({2, 3}, float32), ones({2, 3})); }, "linear_attention: dtypes float64 [2, 3] and float32 [2, 3]")});
  attending(rows, "linear_attention causal", causal,
            [](PlainInputs x) { return linear_attention_twin(x[0], x[1], x[2], [](Size, Size, Size i, Size j) { return j <= i; }); }, moderate(of_one_length()),
            {misuse<ShapeError>([causal] { return causal({ones({2, 3}), ones({4, 3}), ones({4, 3})}); }, "causal numbers of queries and keys, 2 and 4 differ"),
             misuse<DTypeError>([causal] { return causal({ones({2, 3}, int64), ones({2, 3}), ones({2, 3})}); }, "int64")});
  constexpr Domain apart = Domain::away_from_zero;
  const auto padded = [](Inputs x) { LinearAttentionOptions options; options.lengths = x[3].detach(); return linear_attention(x[0], x[1], x[2], options); };
  attending(rows, "linear_attention padded", padded,
            [](PlainInputs x) { return linear_attention_twin(x[0], x[1], x[2], [&](Size b, Size, Size, Size j) { return static_cast<double>(j) < x[3].at({b}); }); },
            {{real({2, 2, 3, 2}, apart), real({2, 2, 4, 2}, apart), real({2, 2, 4, 3}), given_ids({4, 2}, {2})}, {real({2, 4, 3, 2}, apart), real({2, 2, 4, 2}, apart), real({2, 2, 4, 3}), given_ids({3, 0}, {2})},
             {real({2, 3, 2}, apart), same_as(0), same_as(0), given_ids({1, 3}, {2})}, values_only({real({1, 1}), real({1, 1}), real({1, 1}), given_ids({1}, {1})}),
             {real({0, 3, 2}), real({0, 3, 2}), real({0, 3, 2}), ids({0}, 3)}, {real({3, 2}, apart), real({3, 2}, apart), real({3, 2}, Domain::large), given_ids({2}, {1})},
             {repeated({1, 3, 2}, {2, 3, 2}), given({1, 2, 3, 4, not_a_number, infinity, 1, -0.5, 2, 1, 3, 0.5}, {2, 3, 2}), given({1, -2, not_a_number, 4, -5, 6}, {2, 3, 1}), given_ids({2, 3}, {2})}},
            {misuse<ValueError>([padded] { return padded({ones({2, 3}), ones({2, 3}), ones({2, 3}), full({1}, 5, int64)}); }, "is 5 keys long, expected 0..2"),
             misuse<DTypeError>([padded] { return padded({ones({2, 3}), ones({2, 3}), ones({2, 3}), ones({1})}); }, "expected int64, got float64")});
  // clang-format on
}

}  // namespace

void add_attention_option_rows(Rows& rows) {
  add_plain_rows(rows);
  add_masked_rows(rows);
  add_linear_rows(rows);
}

}  // namespace regard::test

#include "ops/blocked_attention.hpp"

#include <algorithm>

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "autograd/context.hpp"
#include "kernels/blocked_attention.hpp"
#include "ops/alibi.hpp"
#include "ops/attention_steps.hpp"
#include "ops/masked_product.hpp"
#include "ops/softmax.hpp"

namespace regard::detail {
namespace {

using namespace kernels;  // NOLINT: the names of the inputs

const Op backward_op = {"blocked_attention_backward", kernels::blocked_attention_backward};
const Op mask_op = {"blocked_attention_mask", kernels::blocked_attention_mask, {}, nullptr, false,
                    DispatchOn::first_input};

void from_blocks(const Vjp& at, const bool* needed, Tensor* dx) {
  Tensor inputs[blocked_inputs], outputs[4];
  std::copy_n(at.inputs, at.input_count, inputs);
  inputs[in_y] = at.y;
  inputs[in_dy] = at.dy;
  const int count = at.input_count > in_bias && needed[in_bias] ? 4 : 3;
  for (int i = 0; i < count; ++i) outputs[i] = empty(at.x(i < 3 ? i : in_bias).shape(), at.y.dtype());
  execute(backward_op, inputs, std::max<int>(at.input_count, in_dy + 1), outputs, count, at.attributes);
  for (int i = 0; i < count; ++i) {
    const int input = i < 3 ? i : in_bias;
    if (needed[input]) dx[input] = outputs[i];
  }
}

// The same as differentiable ops, each of which knows the mask.
void step_by_step(const Vjp& at, const bool* needed, Tensor* dx) {
  const auto given = [&at](int i) { return i < at.input_count ? at.x(i) : Tensor(); };
  const double scale = at.get<BlockedAttention>().scale;
  const Tensor query = to_rank_4(at.x(in_query)), key = to_rank_4(at.x(in_key)), dy = to_rank_4(at.dy);
  const Tensor bias = given(in_bias), slopes = given(in_slopes);
  const Grouping group{query.size(1), key.size(1)};
  Tensor table = empty({dy.size(0), dy.size(1), dy.size(2), key.size(2)}, boolean);
  execute(mask_op, at.inputs, at.input_count, &table, 1, at.attributes);
  const Tensor q = group.of_queries(query), k = group.of_keys(key),
               v = group.of_keys(to_rank_4(at.x(in_value))), d = group.of_queries(dy),
               keep = group.of_queries(table);
  Tensor scores = masked_scores(q, k, keep, scale);
  if (bias.defined()) scores = scores + group.of_queries(bias);
  if (slopes.defined()) {
    const Tensor positions =
        expand_dims(arange(dy.size(2)) + static_cast<double>(at.get<BlockedAttention>().first), {1});
    scores = minus_distances(scores, group.of_queries(slopes), positions);
  }
  const Tensor p = normalise({}, scores, keep);
  const Tensor ds = softmax_backward(masked_scores(d, v, keep), p, keep, -1 + p.rank());
  const auto give = [&](int i, const Tensor& grouped, const Tensor& whole) {
    dx[i] = reshape(sum_to(whole, grouped.shape()), at.x(i).shape());
  };
  if (needed[in_query]) give(in_query, q, masked_mix(ds, k, keep, scale));
  if (needed[in_key]) give(in_key, k, masked_mix_transposed(ds, q, keep, scale));
  if (needed[in_value]) give(in_value, v, masked_mix_transposed(p, d, keep));
  if (bias.defined() && needed[in_bias]) give(in_bias, group.of_queries(bias), ds);
}

const Op blocked_op = {
    "blocked_attention", kernels::blocked_attention, {}, [](const Vjp& at, const bool* needed, Tensor* dx) {
      (context().recording ? step_by_step : from_blocks)(at, needed, dx);
    }};

}  // namespace

BlockedOutput blocked_attention(const Tensor& query, const Tensor& key, const Tensor& value,
                                const Shape& softmax_shape, MaskPieces mask, double scale) {
  mask.add_up_biases();
  const ResolvedMask& tables = mask.tables;
  const DType dtype = query.dtype();
  Shape shape = query.shape();
  if (shape.rank() > 2) shape[0] = softmax_shape[0];
  shape[shape.rank() - 1] = value.size(-1);
  Tensor outputs[] = {empty(shape, dtype), empty(softmax_shape, dtype)};
  Tensor inputs[blocked_inputs] = {query, key, value};
  inputs[in_bias] = tables.bias;
  inputs[in_keep] = tables.keep;
  if (tables.slopes.defined()) inputs[in_slopes] = tables.slopes.to(dtype);
  inputs[in_lengths] = mask.lengths;
  inputs[in_query_ids] = mask.query_ids;
  inputs[in_key_ids] = mask.key_ids;
  int count = blocked_inputs;
  while (!inputs[count - 1].defined()) --count;
  const BlockedAttention attributes{scale, mask.low, mask.high, mask.first};
  execute(blocked_op, inputs, count, outputs, 2, attributes);
  inputs[in_softmax] = outputs[1];
  return {record(blocked_op, inputs, std::max<int>(count, in_softmax + 1), outputs[0], attributes),
          outputs[1]};
}

Tensor sees_a_key(const BlockedOutput& output) {
  const Tensor share = slice(output.softmax, 3, {1, 2});
  return not_equal(share, scalar(share_of_a_blind_query, share.dtype()));
}

}  // namespace regard::detail

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
  Tensor inputs[blocked_inputs + 3], outputs[4];
  Tensor* const rest = std::copy_n(at.inputs, blocked_inputs + 1, inputs);
  rest[0] = at.y;
  rest[1] = at.dy;
  const int count = needed[in_bias] ? 4 : 3;
  for (int i = 0; i < count; ++i) outputs[i] = empty(at.x(i).shape(), at.y.dtype());
  execute(backward_op, inputs, blocked_inputs + 3, outputs, count, at.attributes);
  for (int i = 0; i < count; ++i)
    if (needed[i]) dx[i] = outputs[i];
}

// The same as differentiable ops, each of which knows the mask.
void step_by_step(const Vjp& at, const bool* needed, Tensor* dx) {
  const double scale = at.get<BlockedAttention>().scale;
  const Shape& y = at.y.shape();
  const Grouping group{y[1], at.x(in_key).size(1)};
  Tensor table = empty({y[0], y[1], y[2], at.x(in_key).size(2)}, boolean);
  execute(mask_op, at.inputs, blocked_inputs, &table, 1, at.attributes);
  const Tensor q = group.of_queries(at.x(in_query)), k = group.of_keys(at.x(in_key)),
               v = group.of_keys(at.x(in_value)), dy = group.of_queries(at.dy),
               keep = group.of_queries(table);
  Tensor scores = masked_scores(q, k, keep, scale);
  if (at.x(in_bias).defined()) scores = scores + group.of_queries(at.x(in_bias));
  if (at.x(in_slopes).defined()) {
    const Tensor positions =
        expand_dims(arange(y[2]) + static_cast<double>(at.get<BlockedAttention>().first), {1});
    scores = minus_distances(scores, group.of_queries(at.x(in_slopes)), positions);
  }
  const Tensor p = normalise({}, scores, keep);
  const Tensor ds = softmax_backward(masked_scores(dy, v, keep), p, keep, -1 + p.rank());
  const auto give = [&](int i, const Tensor& grouped, const Tensor& whole) {
    dx[i] = reshape(sum_to(whole, grouped.shape()), at.x(i).shape());
  };
  if (needed[in_query]) give(in_query, q, masked_mix(ds, k, keep, scale));
  if (needed[in_key]) give(in_key, k, masked_mix_transposed(ds, q, keep, scale));
  if (needed[in_value]) give(in_value, v, masked_mix_transposed(p, dy, keep));
  if (needed[in_bias]) give(in_bias, group.of_queries(at.x(in_bias)), ds);
}

const Op blocked_op = {
    "blocked_attention", kernels::blocked_attention, {}, [](const Vjp& at, const bool* needed, Tensor* dx) {
      (context().recording ? step_by_step : from_blocks)(at, needed, dx);
    }};

}  // namespace

BlockedOutput blocked_attention(const Tensor& query, const Tensor& key, const Tensor& value, Size batch,
                                MaskPieces mask, double scale) {
  mask.add_up_biases();
  const ResolvedMask& tables = mask.tables;
  const DType dtype = query.dtype();
  const Shape rows{batch, query.size(1), query.size(2)};
  Tensor outputs[] = {empty({rows[0], rows[1], rows[2], value.size(3)}, dtype), empty(rows, dtype)};
  const Tensor inputs[] = {query,        key,
                           value,        tables.bias,
                           tables.keep,  tables.slopes.defined() ? tables.slopes.to(dtype) : Tensor(),
                           mask.lengths, mask.query_ids,
                           mask.key_ids, outputs[1]};
  const BlockedAttention attributes{scale, mask.low, mask.high, mask.first};
  execute(blocked_op, inputs, blocked_inputs, outputs, 2, attributes);
  return {record(blocked_op, inputs, blocked_inputs + 1, outputs[0], attributes), outputs[1]};
}

}  // namespace regard::detail

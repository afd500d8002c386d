#include <regard/attention.hpp>

#include "op_table/samples.hpp"
#include "op_table/table.hpp"
#include "twins/attention.hpp"

namespace regard::test {
namespace {

Plain twin_of(PlainInputs x, const Condition& visible, const Number& bias) {
  return attention_output(x[0], x[1], x[2], visible, bias);
}

// [batch, heads, queries, keys] of a sample of rank 4.
Shape scores_of(const Sample& sample) {
  const auto shape = [&](std::size_t i) {
    const Input& input = sample.inputs[i];
    return input.kind == Input::Kind::same ? sample.inputs[input.as].shape : input.shape;
  };
  const Size batch = shape(0)[0] != 1 ? shape(0)[0] : shape(1)[0] != 1 ? shape(1)[0] : shape(2)[0];
  return {batch, shape(0)[1], shape(0)[2], shape(1)[2]};
}

// Rank 4: query heads to themselves, shared and all on one; a batch of one; nothing of each kind; one of
// everything.
Samples calls(const std::vector<Input>& more = {}) {
  Samples samples = {
      {real({2, 2, 3, 2}), real({2, 2, 4, 2}), real({2, 2, 4, 3})},
      {real({1, 4, 3, 2}), real({1, 2, 4, 2}), real({1, 2, 4, 2})},
      {real({2, 3, 3, 2}), real({1, 1, 4, 2}), real({2, 1, 4, 1})},
      {real({1, 1, 1, 1}), real({1, 1, 1, 1}), real({1, 1, 1, 1})},
      {real({0, 2, 3, 2}), real({0, 2, 4, 2}), real({0, 2, 4, 3})},
      {real({1, 2, 0, 2}), real({1, 2, 4, 2}), real({1, 2, 4, 3})},
      {real({1, 2, 3, 2}), real({1, 2, 0, 2}), real({1, 2, 0, 3})},
      {real({1, 2, 3, 2}), real({1, 1, 4, 2}), real({1, 1, 4, 0})},
      {repeated({1, 1, 3, 2}, {2, 2, 3, 2}), repeated({2, 1, 4, 2}, {2, 2, 4, 2}),
       repeated({2, 2, 4, 1}, {2, 2, 4, 3})},
      {real({1, 1, 3, 2}, Domain::small), real({1, 1, 4, 2}), real({1, 1, 4, 2}, Domain::large)},
      {real({1, 2, 4, 3}), same_as(0), same_as(0)},
  };
  for (Sample& sample : samples) {
    const Shape scores = scores_of(sample);
    for (Input input : more) {
      for (int axis = 0; axis < 4; ++axis)
        if (input.shape[axis] != 1) input.shape[axis] = scores[axis];
      sample.inputs.push_back(input);
    }
  }
  return samples;
}

Misuses misuses() {
  return {
      misuse<ShapeError>(
          [] {
            return attention(ones({2, 4, 5, 8}), ones({2, 4, 6, 7}), ones({2, 4, 6, 8}));
          },
          "widths of query and key, 8 and 7 differ"),
      misuse<ShapeError>(
          [] {
            return attention(ones({5, 8}), ones({5, 8}), ones({6, 8}));
          },
          "lengths of key and value, 5 and 6 differ"),
      misuse<DTypeError>(
          [] {
            return attention(ones({5, 8}), ones({5, 8}, float32), ones({5, 8}));
          },
          "attention: dtypes float64 [5, 8] and float32 [5, 8]"),
      misuse<ShapeError>(
          [] {
            return attention(ones({5, 8}), ones({6, 8}), ones({6, 8}), Mask::causal());
          },
          "Align::bottom_right"),
  };
}

void attend(Rows& rows, const char* name, std::function<Tensor(Inputs)> call,
            std::function<Plain(PlainInputs)> twin, Samples samples) {
  Row row;
  row.name = name;
  row.call = std::move(call);
  row.twin = std::move(twin);
  row.samples = std::move(samples);
  row.misuses = misuses();
  rows.push_back(row);
}

// The element of an input of rank 4 that stretches over the scores.
Number of(const Plain& x) {
  return [&x](Size b, Size h, Size i, Size j) { return x.broadcast_at({b, h, i, j}); };
}
Condition holds(const Plain& x) {
  return [&x](Size b, Size h, Size i, Size j) { return x.broadcast_at({b, h, i, j}) != 0; };
}
Condition fails(const Plain& x) {
  return [&x](Size b, Size h, Size i, Size j) { return x.broadcast_at({b, h, i, j}) == 0; };
}
bool not_later(Size, Size, Size i, Size j) {
  return j <= i;
}

}  // namespace

void add_attention_rows(Rows& rows) {
  // clang-format off
  attend(rows, "attention", [](Inputs x) { return attention(x[0], x[1], x[2]); }, [](PlainInputs x) { return twin_of(x, always, nothing); }, calls());
  attend(rows, "attention without heads", [](Inputs x) { return attention(x[0], x[1], x[2]); }, [](PlainInputs x) { return twin_of(x, always, nothing); },
         {{real({2, 3, 2}), real({2, 4, 2}), real({2, 4, 3})}, {real({3, 2}), real({4, 2}), real({4, 1})}, {real({1, 3, 2}), real({2, 4, 2}), real({1, 4, 3})},
          {real({1, 1}), real({1, 1}), real({1, 1})}, {real({0, 3, 2}), real({0, 4, 2}), real({0, 4, 2})}, {real({3, 2}), real({0, 2}), real({0, 2})},
          {real({4, 3}), same_as(0), same_as(0)}, {repeated({1, 2}, {3, 2}), repeated({4, 1}, {4, 2}), real({4, 2})}, {real({3, 2}, Domain::small), real({4, 2}), real({4, 2}, Domain::large)}});
  attend(rows, "attention causal top_left", [](Inputs x) { return attention(x[0], x[1], x[2], Mask::causal(Align::top_left)); },
         [](PlainInputs x) { return twin_of(x, not_later, nothing); }, calls());
  attend(rows, "attention that keeps", [](Inputs x) { return attention(x[0], x[1], x[2], Mask::keep(x[3])); },
         [](PlainInputs x) { return twin_of(x, holds(x[3]), nothing); }, calls({mask({2, 2, 2, 2})}));
  attend(rows, "attention that hides for all heads", [](Inputs x) { return attention(x[0], x[1], x[2], Mask::hide(x[3])); },
         [](PlainInputs x) { return twin_of(x, fails(x[3]), nothing); }, calls({mask({2, 1, 2, 2})}));
  attend(rows, "attention with a bias", [](Inputs x) { return attention(x[0], x[1], x[2], Mask::bias(x[3])); },
         [](PlainInputs x) { return twin_of(x, always, of(x[3])); }, calls({real({1, 2, 2, 2})}));
  attend(rows, "attention that keeps, with a bias", [](Inputs x) { return attention(x[0], x[1], x[2], Mask::keep(x[3]) & Mask::bias(x[4])); },
         [](PlainInputs x) { return twin_of(x, holds(x[3]), of(x[4])); }, calls({mask({2, 1, 2, 2}), real({1, 2, 1, 2})}));
  // clang-format on
}

}  // namespace regard::test

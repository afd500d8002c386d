#include "op_table/samples.hpp"
#include "op_table/table.hpp"

namespace regard::test {
namespace {

using Call = Tensor (*)(Inputs);
using Twin = std::function<Plain(PlainInputs)>;

/// Numbers only move: the twin has the same bits, in every dtype.
Row& moving(Rows& rows, const char* name, Call call, Twin twin, Samples samples, Misuses misuses) {
  Row row;
  row.name = name;
  row.call = call;
  row.twin = twin;
  row.samples = std::move(samples);
  row.misuses = std::move(misuses);
  row.precision = Precision::moved;
  row.takes_int64 = true;
  rows.push_back(row);
  return rows.back();
}

Plain with_shape(const Plain& x, const Shape& shape) {
  return Plain(shape, x.values);
}

/// Axis i of the result is axis order[i] of x.
Plain permuted(const Plain& x, const std::vector<std::size_t>& order) {
  Shape shape;
  for (const std::size_t axis : order) shape.push_back(x.shape[static_cast<int>(axis)]);
  return fill(shape, [&](const Index& at) {
    Index from(order.size());
    for (std::size_t i = 0; i < order.size(); ++i) from[order[i]] = at[i];
    return x.at(from);
  });
}

Plain without_axis(const Plain& x, int axis) {
  Shape shape = x.shape;
  shape.erase(axis);
  return with_shape(x, shape);
}

Plain with_axis(const Plain& x, int axis) {
  Shape shape = x.shape;
  shape.insert(axis, 1);
  return with_shape(x, shape);
}

/// Elements start, start + step, ... (count of them) along an axis.
Plain stepped(const Plain& x, int axis, Size start, Size step, Size count) {
  Shape shape = x.shape;
  shape[axis] = count;
  return fill(shape, [&](const Index& at) {
    return x.at(with(at, axis, start + step * at[static_cast<std::size_t>(axis)]));
  });
}

Plain joined(PlainInputs parts, int axis) {
  Shape shape = parts[0].shape;
  shape[axis] = 0;
  for (const Plain& part : parts) shape[axis] += part.shape[axis];
  return fill(shape, [&](Index at) {
    Size& i = at[static_cast<std::size_t>(axis)];
    std::size_t part = 0;
    while (i >= parts[part].shape[axis]) i -= parts[part++].shape[axis];
    return parts[part].at(at);
  });
}

Plain stacked(PlainInputs parts, int axis) {
  Plains expanded;
  for (const Plain& part : parts) expanded.push_back(with_axis(part, axis));
  return joined(expanded, axis);
}

Plain triangle(const Plain& x, Size diagonal, bool upper) {
  const auto last = static_cast<std::size_t>(x.shape.rank() - 1);
  return fill(x.shape, [&](const Index& at) {
    const Size beyond = at[last] - at[last - 1] - diagonal;  // columns right of the diagonal
    return (upper ? beyond >= 0 : beyond <= 0) ? x.at(at) : 0.0;
  });
}

Samples of_rank_3() {
  return {{real({2, 3, 4})},
          {real({1, 1, 1})},
          {real({0, 3, 2})},
          {real({3, 1, 2})},
          {real({2, 4, 3})},
          {repeated({1, 3, 1}, {2, 3, 2})},
          {real({2, 2, 2}, Domain::large)}};
}
Samples of_rank_2() {
  return {{real({3, 4})},
          {real({1, 1})},
          {real({0, 3})},
          {real({3, 0})},
          {real({5, 2})},
          {repeated({1, 3}, {2, 3})},
          {real({2, 2}, Domain::large)}};
}

void add_views(Rows& rows) {
  // clang-format off
  moving(rows, "reshape", [](Inputs x) { return reshape(x[0], {4, 6}); }, [](PlainInputs x) { return with_shape(x[0], {4, 6}); },
         {{real({2, 3, 4})}, {real({24})}, {real({6, 4})}, {real({1, 24, 1})}, {repeated({1, 12}, {2, 12})}, {real({2, 2, 6}, Domain::large)}, {real({4, 3, 2})}},
         {misuse<ShapeError>([] { return reshape(ones({2, 3}), {4}); }, "cannot look at [2, 3] (6 elements) as [4]"),
          misuse<ShapeError>([] { return reshape(ones({2, 3}), {-1, -1}); }, "only one extent may be -1"),
          misuse<ShapeError>([] { return reshape(ones({2, 3}), {4, -1}); }, "4 does not divide"),
          misuse<ShapeError>([] { return reshape(zeros({0, 3}), {0, -1}); }, "the -1 could be anything"),
          misuse<ShapeError>([] { return reshape(ones({2}), {-2}); }, "negative")});
  rows.back().takes_empty = rows.back().takes_one = false;
  moving(rows, "reshape with an open extent", [](Inputs x) { return reshape(x[0], {-1, 1}); }, [](PlainInputs x) { return with_shape(x[0], {numel(x[0].shape), 1}); },
         {{real({2, 3, 4})}, {real({})}, {real({1})}, {real({0, 3})}, {repeated({1, 3}, {2, 3})}, {real({5}, Domain::large)}, {real({3, 2})}},
         {misuse<ShapeError>([] { return reshape(ones({3}), {2, -1}); }, "2 does not divide"),
          misuse<GraphError>([] { return reshape(Tensor(), {-1}); }, "empty")});
  moving(rows, "permute", [](Inputs x) { return permute(x[0], {2, 0, 1}); }, [](PlainInputs x) { return permuted(x[0], {2, 0, 1}); }, of_rank_3(),
         {misuse<ShapeError>([] { return permute(ones({2, 3}), {0}); }, "does not name each of the 2 axes of [2, 3] once"),
          misuse<ShapeError>([] { return permute(ones({2, 3}), {0, 0}); }, "axis 0 is named 2 times"),
          misuse<ShapeError>([] { return permute(ones({2, 3}), {0, 2}); }, "axis 2 is out of range")});
  moving(rows, "permute negative axes", [](Inputs x) { return permute(x[0], {-1, 1, -3}); }, [](PlainInputs x) { return permuted(x[0], {2, 1, 0}); }, of_rank_3(),
         {misuse<ShapeError>([] { return permute(ones({2, 3}), {-1, 1}); }, "axis 1 is named 2 times"),
          misuse<ShapeError>([] { return permute(ones({2, 3}), {-3, 1}); }, "axis -3 is out of range")});
  moving(rows, "transpose", [](Inputs x) { return transpose(x[0]); }, [](PlainInputs x) { return permuted(x[0], {0, 2, 1}); }, of_rank_3(),
         {misuse<ShapeError>([] { return transpose(ones({2})); }, "axis -2 is out of range for rank 1"),
          misuse<GraphError>([] { return transpose(Tensor()); }, "empty")});
  moving(rows, "transpose two axes", [](Inputs x) { return transpose(x[0], 0, -1); }, [](PlainInputs x) { return permuted(x[0], {2, 1, 0}); }, of_rank_3(),
         {misuse<ShapeError>([] { return transpose(ones({2, 3}), 0, 2); }, "axis 2 is out of range"),
          misuse<ShapeError>([] { return transpose(scalar(1), 0, 0); }, "rank 0")});
  moving(rows, "transpose times itself", [](Inputs x) { return transpose(x[0]) * x[0]; },
         [](PlainInputs x) { return map(permuted(x[0], {1, 0}), x[0], [](double a, double b) { return a * b; }); },
         {{real({3, 3})}, {real({1, 1})}, {real({0, 0})}, {real({2, 2})}, {repeated({1, 3}, {3, 3})}, {real({2, 2}, Domain::large)}},
         {misuse<ShapeError>([] { return transpose(ones({2, 3})) * ones({2, 3}); }, "do not broadcast"),
          misuse<ShapeError>([] { return transpose(ones({2, 3, 4}), 0, 3); }, "axis 3 is out of range")}).precision = Precision::rounded;
  moving(rows, "squeeze", [](Inputs x) { return squeeze(x[0]); },
         [](PlainInputs x) { Shape shape; for (const Size n : x[0].shape) if (n != 1) shape.push_back(n); return with_shape(x[0], shape); },
         {{real({2, 1, 3})}, {real({1})}, {real({})}, {real({0, 1})}, {real({1, 1, 4, 1})}, {repeated({1, 1}, {3, 1})}, {real({2, 3}, Domain::large)}},
         {misuse<GraphError>([] { return squeeze(Tensor()); }, "empty"),
          misuse<GraphError>([] { return squeeze(Tensor(), {0}); }, "empty")});
  moving(rows, "squeeze one axis", [](Inputs x) { return squeeze(x[0], {-2}); }, [](PlainInputs x) { return without_axis(x[0], x[0].shape.rank() - 2); },
         {{real({2, 1, 3})}, {real({1, 1})}, {real({1, 4})}, {real({1, 0})}, {repeated({1, 1}, {1, 3})}, {real({3, 1, 2}, Domain::large)}},
         {misuse<ShapeError>([] { return squeeze(ones({2, 3}), {1}); }, "axis 1 of [2, 3] has extent 3"),
          misuse<ShapeError>([] { return squeeze(ones({1}), {1}); }, "axis 1 is out of range")});
  moving(rows, "expand_dims", [](Inputs x) { return expand_dims(x[0], {0, -1}); },
         [](PlainInputs x) { return with_axis(with_axis(x[0], x[0].shape.rank()), 0); },
         {{real({2, 3})}, {real({})}, {real({1})}, {real({0, 3})}, {repeated({1, 3}, {2, 3})}, {real({2, 2}, Domain::large)}},
         {misuse<ShapeError>([] { return expand_dims(ones({2}), {2}); }, "axis 2 is out of range"),
          misuse<ShapeError>([] { return expand_dims(ones({2}), {0, 0}); }, "named 2 times"),
          misuse<ShapeError>([] { return expand_dims(ones({1, 1, 1, 1, 1, 1, 1, 1}), {0}); }, "at most 8")});
  moving(rows, "broadcast_to", [](Inputs x) { return broadcast_to(x[0], {2, 3, 4}); },
         [](PlainInputs x) { return fill({2, 3, 4}, [&](const Index& at) { return x[0].broadcast_at(at); }); },
         {{real({3, 4})}, {real({2, 3, 4})}, {real({})}, {real({1})}, {real({3, 1})}, {real({2, 1, 1})}, {repeated({1, 4}, {3, 4})}, {real({4}, Domain::large)}},
         {misuse<ShapeError>([] { return broadcast_to(ones({2, 3}), {3, 2}); }, "[2, 3] does not stretch to [3, 2]"),
          misuse<ShapeError>([] { return broadcast_to(ones({2, 3}), {3}); }, "[2, 3] does not stretch to [3]")}).takes_empty = false;
  moving(rows, "broadcast_to nothing", [](Inputs x) { return broadcast_to(x[0], {0, 3}); }, [](PlainInputs) { return Plain(Shape{0, 3}); },
         {{real({3})}, {real({1})}, {real({})}, {real({0, 3})}, {real({0, 1})}, {real({1, 1})}},
         {misuse<ShapeError>([] { return broadcast_to(ones({2, 3}), {0, 3}); }, "[2, 3] does not stretch to [0, 3]"),
          misuse<ShapeError>([] { return broadcast_to(zeros({0}), {2}); }, "[0] does not stretch to [2]")});
  // clang-format on
}

void add_parts(Rows& rows) {
  // clang-format off
  const Samples pairs = {{real({2, 3}), real({2, 3})}, {real({2, 3}), same_as(0)}, {real({1, 1}), real({1, 1})}, {real({0, 3}), real({0, 3})},
                         {repeated({1, 3}, {2, 3}), real({2, 3})}, {real({2, 1}, Domain::large), real({2, 1})}, {real({3, 2}), real({3, 2})}};
  moving(rows, "concatenate", [](Inputs x) { return concatenate(x); }, [](PlainInputs x) { return joined(x, 0); },
         {{real({2, 3}), real({1, 3}), real({4, 3})}, {real({2, 3}), same_as(0)}, {real({1})}, {real({0, 3}), real({2, 3})}, {real({0, 3}), real({0, 3})},
          {repeated({1, 3}, {2, 3}), real({1, 3})}, {real({2}, Domain::large), real({3})}, {real({1}), real({2}), real({3}), real({4}), real({5}), real({6}), real({7}), real({8}), real({9}), real({10})}},
         {misuse<ValueError>([] { return concatenate({}); }, "at least one tensor"),
          misuse<ShapeError>([] { return concatenate({ones({2, 3}), ones({2, 2})}); }, "part 0 is [2, 3] but part 1 is [2, 2]"),
          misuse<ShapeError>([] { return concatenate({ones({2}), ones({2, 2})}); }, "part 0 is [2] but part 1 is [2, 2]"),
          misuse<ShapeError>([] { return concatenate({scalar(1), scalar(2)}); }, "rank 0"),
          misuse<DTypeError>([] { return concatenate({ones({2}), ones({2}, float32)}); }, "part 0 is float64 but part 1 is float32")});
  moving(rows, "concatenate the last axis", [](Inputs x) { return concatenate(x, -1); }, [](PlainInputs x) { return joined(x, x[0].shape.rank() - 1); },
         {{real({2, 3}), real({2, 1}), real({2, 4})}, {real({2, 3}), same_as(0), real({2, 2})}, {real({1, 1}), real({1, 1})}, {real({2, 0}), real({2, 3})}, {real({0, 2}), real({0, 1})},
          {repeated({1, 3}, {2, 3}), real({2, 1})}, {real({2, 2}, Domain::large), real({2, 3})}},
         {misuse<ShapeError>([] { return concatenate({ones({2, 3}), ones({3, 3})}, -1); }, "all axes but axis 1 must agree"),
          misuse<ShapeError>([] { return concatenate({ones({2, 3})}, 2); }, "axis 2 is out of range")});
  moving(rows, "stack", [](Inputs x) { return stack(x); }, [](PlainInputs x) { return stacked(x, 0); }, pairs,
         {misuse<ValueError>([] { return stack({}); }, "at least one tensor"),
          misuse<ShapeError>([] { return stack({ones({2, 3}), ones({3, 2})}); }, "all shapes must agree"),
          misuse<ShapeError>([] { return stack({ones({2})}, 2); }, "axis 2 is out of range"),
          misuse<DTypeError>([] { return stack({ones({2}), ones({2}, int64)}); }, "part 1 is int64")});
  moving(rows, "stack the last axis", [](Inputs x) { return stack(x, -1); }, [](PlainInputs x) { return stacked(x, x[0].shape.rank()); }, pairs,
         {misuse<ShapeError>([] { return stack({ones({1, 1, 1, 1, 1, 1, 1, 1})}); }, "at most 8"),
          misuse<ShapeError>([] { return stack({ones({2})}, -3); }, "axis -3 is out of range")});
  moving(rows, "split", [](Inputs x) { return split(x[0], 2)[1]; },
         [](PlainInputs x) { const Size half = x[0].shape[0] / 2; return stepped(x[0], 0, half, 1, half); },
         {{real({4, 3})}, {real({2})}, {real({2, 1})}, {real({0, 3})}, {real({4, 0})}, {repeated({1, 3}, {4, 3})}, {real({6}, Domain::large)}},
         {misuse<ShapeError>([] { return split(ones({3}), 2)[0]; }, "axis 0 of [3] does not divide into 2 equal parts"),
          misuse<ShapeError>([] { return split(ones({3}), 0)[0]; }, "does not divide into 0"),
          misuse<ShapeError>([] { return split(ones({3}), 1, 1)[0]; }, "axis 1 is out of range")}).takes_one = false;
  moving(rows, "split into unequal parts", [](Inputs x) { const Tensors parts = split(x[0], {1, 0, 3}, -1); return concatenate({parts[2], parts[1], parts[0], parts[0]}, -1); },
         [](PlainInputs x) { const int last = x[0].shape.rank() - 1; return joined({stepped(x[0], last, 1, 1, 3), stepped(x[0], last, 0, 1, 1), stepped(x[0], last, 0, 1, 1)}, last); },
         {{real({3, 4})}, {real({4})}, {real({0, 4})}, {real({2, 3, 4})}, {repeated({1, 4}, {2, 4})}, {real({2, 4}, Domain::large)}},
         {misuse<ShapeError>([] { return split(ones({5}), {1, 3})[0]; }, "add up to 5"),
          misuse<ShapeError>([] { return split(ones({5}), {-1, 6})[0]; }, "at least 0")}).takes_one = false;
  // clang-format on
}

/// The axis at another extent, whose element i is element place(i) of x.
template <class Place>
Plain placed(const Plain& x, int axis, Size extent, Place place) {
  Shape shape = x.shape;
  shape[axis] = extent;
  return fill(shape, [&](const Index& at) { return x.at(with(at, axis, place(at[static_cast<std::size_t>(axis)]))); });
}

Plain padded(const Plain& x, const std::vector<Padding>& widths, double value) {
  Shape shape = x.shape;
  for (int i = 0; i < shape.rank(); ++i)
    shape[i] += widths[static_cast<std::size_t>(i)].before + widths[static_cast<std::size_t>(i)].after;
  Plain out(shape, value);
  for_each_index(x.shape, [&](const Index& from) {
    Index to = from;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += widths[i].before;
    out.at(to) = x.at(from);
  });
  return out;
}

void add_copies(Rows& rows) {
  // clang-format off
  moving(rows, "pad", [](Inputs x) { return pad(x[0], {{1, 2}, {0, 3}}); }, [](PlainInputs x) { return padded(x[0], {{1, 2}, {0, 3}}, 0); }, of_rank_2(),
         {misuse<ShapeError>([] { return pad(ones({2, 3}), {{1, 1}}); }, "expected {before, after} for each axis of [2, 3], got 1 of them"),
          misuse<ValueError>([] { return pad(ones({2}), {{-1, 1}}); }, "widths {-1, 1} of axis 0 are negative"),
          misuse<ValueError>([] { return pad(ones({2}), {{INT64_MAX, 1}}); }, "beyond 63 bits")});
  moving(rows, "pad with a number", [](Inputs x) { return pad(x[0], {{0, 1}, {2, 0}, {1, 1}}, -7); }, [](PlainInputs x) { return padded(x[0], {{0, 1}, {2, 0}, {1, 1}}, -7); }, of_rank_3(),
         {misuse<DTypeError>([] { return pad(ones({2}, int64), {{1, 1}}, 0.5); }, "0.5 is no whole number"),
          misuse<GraphError>([] { return pad(Tensor(), {}, 1); }, "empty")});
  moving(rows, "flip", [](Inputs x) { return flip(x[0], {-1, 0}); }, [](PlainInputs x) { const Size n = x[0].shape[0], m = x[0].shape[2]; return stepped(stepped(x[0], 0, n - 1, -1, n), 2, m - 1, -1, m); }, of_rank_3(),
         {misuse<ShapeError>([] { return flip(ones({2, 3}), {2}); }, "flip: axis 2 is out of range"),
          misuse<ShapeError>([] { return flip(ones({2, 3}), {0, -2}); }, "named 2 times")});
  moving(rows, "roll", [](Inputs x) { return roll(x[0], 2, -1); }, [](PlainInputs x) { const Size n = x[0].shape[1]; return placed(x[0], 1, n, [n](Size i) { return (i + 10 * n - 2) % n; }); }, of_rank_2(),
         {misuse<ShapeError>([] { return roll(ones({2, 3}), 1, 2); }, "roll: axis 2 is out of range"),
          misuse<ShapeError>([] { return roll(scalar(1), 1, 0); }, "rank 0")});
  moving(rows, "roll far back", [](Inputs x) { return roll(x[0], -7, 0); }, [](PlainInputs x) { const Size n = x[0].shape[0]; return placed(x[0], 0, n, [n](Size i) { return (i + 7) % n; }); }, of_rank_2(),
         {misuse<ShapeError>([] { return roll(ones({2, 3}), 1, -3); }, "axis -3 is out of range"),
          misuse<GraphError>([] { return roll(Tensor(), 1, 0); }, "empty")});
  const auto twice_and_thrice = [](const Plain& x) {
    const int last = x.shape.rank() - 1;
    const Size n = x.shape[last - 1], m = x.shape[last];
    return placed(placed(x, last - 1, 2 * n, [n](Size i) { return i % n; }), last, 3 * m, [m](Size i) { return i % m; });
  };
  moving(rows, "tile", [](Inputs x) { return tile(x[0], {2, 3}); }, [=](PlainInputs x) { return twice_and_thrice(x[0]); }, of_rank_3(),
         {misuse<ValueError>([] { return tile(ones({2, 3}), {-1}); }, "tile: expected repeats of at least 0, got -1"),
          misuse<ShapeError>([] { return tile(ones({4}), {INT64_MAX}); }, "")});
  moving(rows, "tile a vector into rows", [](Inputs x) { return tile(x[0], {2, 3}); }, [=](PlainInputs x) { return twice_and_thrice(with_axis(x[0], 0)); },
         {{real({4})}, {real({1})}, {real({0})}, {real({7})}, {repeated({1}, {5})}, {real({3}, Domain::large)}},
         {misuse<ValueError>([] { return tile(ones({2}), {2, -3}); }, "got -3"),
          misuse<GraphError>([] { return tile(Tensor(), {2}); }, "empty")});
  moving(rows, "tile no times", [](Inputs x) { return tile(x[0], {0, 1}); }, [](PlainInputs x) { return placed(x[0], 0, 0, [](Size i) { return i; }); }, of_rank_2(),
         {misuse<ValueError>([] { return tile(ones({2}), {-2}); }, "got -2"),
          misuse<GraphError>([] { return tile(Tensor(), {}); }, "empty")});
  moving(rows, "repeat_interleave", [](Inputs x) { return repeat_interleave(x[0], 3, 0); }, [](PlainInputs x) { return placed(x[0], 0, 3 * x[0].shape[0], [](Size i) { return i / 3; }); }, of_rank_2(),
         {misuse<ValueError>([] { return repeat_interleave(ones({2}), -1, 0); }, "repeat_interleave: expected repeats of at least 0, got -1"),
          misuse<ShapeError>([] { return repeat_interleave(ones({2}), 2, 1); }, "axis 1 is out of range")});
  moving(rows, "repeat_interleave once", [](Inputs x) { return repeat_interleave(x[0], 1, -1); }, [](PlainInputs x) { return x[0]; }, of_rank_2(),
         {misuse<ShapeError>([] { return repeat_interleave(scalar(1), 1, 0); }, "rank 0"),
          misuse<GraphError>([] { return repeat_interleave(Tensor(), 1, 0); }, "empty")});
  // clang-format on
}

void add_slices(Rows& rows) {
  // clang-format off
  const Samples rows_of_5 = {{real({5, 3})}, {real({5})}, {real({5, 0})}, {real({5, 2, 2})}, {repeated({1, 3}, {5, 3})}, {real({5}, Domain::large)}};
  const auto sliced = [&rows, &rows_of_5](const char* name, Call call, Twin twin, Misuses misuses) {
    moving(rows, name, call, twin, rows_of_5, std::move(misuses)).takes_one = false;
  };
  sliced("slice", [](Inputs x) { return slice(x[0], 0, {1, 4}); }, [](PlainInputs x) { return stepped(x[0], 0, 1, 1, 3); },
         {misuse<ValueError>([] { return slice(ones({5}), 0, {0, 5, 0}); }, "the step must not be 0"),
          misuse<ShapeError>([] { return slice(ones({5}), 1, {0, 1}); }, "axis 1 is out of range")});
  sliced("slice with a step", [](Inputs x) { return slice(x[0], 0, {0, Slice::end, 2}); }, [](PlainInputs x) { return stepped(x[0], 0, 0, 2, 3); },
         {misuse<ShapeError>([] { return slice(ones({5}), -2, {0, 1}); }, "axis -2 is out of range"),
          misuse<GraphError>([] { return slice(Tensor(), 0, {0, 1}); }, "empty")});
  sliced("slice counted from the end", [](Inputs x) { return slice(x[0], 0, {-3, -1}); }, [](PlainInputs x) { return stepped(x[0], 0, 2, 1, 2); },
         {misuse<ShapeError>([] { return slice(scalar(1), 0, {0, 1}); }, "rank 0"),
          misuse<ValueError>([] { return slice(ones({5}), 0, {1, 0, 0}); }, "step")});
  sliced("slice clipped", [](Inputs x) { return slice(x[0], 0, {-9, 99}); }, [](PlainInputs x) { return x[0]; },
         {misuse<ShapeError>([] { return slice(ones({5}), 3, {0, 1}); }, "axis 3 is out of range"),
          misuse<ShapeError>([] { return slice(ones({5}), -3, {0, 1}); }, "axis -3 is out of range")});
  sliced("slice of nothing", [](Inputs x) { return slice(x[0], 0, {4, 2}); }, [](PlainInputs x) { return stepped(x[0], 0, 0, 1, 0); },
         {misuse<ShapeError>([] { return slice(ones({5}), 3, {4, 2}); }, "axis 3 is out of range"),
          misuse<ValueError>([] { return slice(ones({5}), 0, {4, 2, 0}); }, "step")});
  sliced("slice reversed", [](Inputs x) { return slice(x[0], 0, Slice::reversed()); }, [](PlainInputs x) { return stepped(x[0], 0, 4, -1, 5); },
         {misuse<ShapeError>([] { return slice(ones({5}), 3, Slice::reversed()); }, "axis 3 is out of range"),
          misuse<GraphError>([] { return slice(Tensor(), 0, Slice::reversed()); }, "empty")});
  sliced("slice reversed by steps", [](Inputs x) { return slice(x[0], 0, {3, 0, -2}); }, [](PlainInputs x) { return stepped(x[0], 0, 3, -2, 2); },
         {misuse<ShapeError>([] { return slice(ones({5}), 3, {3, 0, -2}); }, "axis 3 is out of range"),
          misuse<GraphError>([] { return slice(Tensor(), 0, {3, 0, -2}); }, "empty")});
  sliced("select", [](Inputs x) { return select(x[0], 0, 3); }, [](PlainInputs x) { return without_axis(stepped(x[0], 0, 3, 1, 1), 0); },
         {misuse<ValueError>([] { return select(ones({5, 2}), 0, 5); }, "index 5 is out of range for axis 0 of [5, 2]"),
          misuse<ValueError>([] { return select(ones({5, 2}), 0, -6); }, "index -6 is out of range"),
          misuse<ShapeError>([] { return select(ones({5, 2}), 2, 0); }, "axis 2 is out of range")});
  sliced("select from the end", [](Inputs x) { return select(x[0], 0, -1); }, [](PlainInputs x) { return without_axis(stepped(x[0], 0, 4, 1, 1), 0); },
         {misuse<ValueError>([] { return select(zeros({0}), 0, -1); }, "index -1 is out of range for axis 0 of [0]"),
          misuse<ShapeError>([] { return select(scalar(1), 0, 0); }, "rank 0")});
  // The last writer must not win: B30.
  moving(rows, "select twice", [](Inputs x) { return select(x[0], 0, 0) + select(x[0], 0, 0); }, [](PlainInputs x) { return map(without_axis(stepped(x[0], 0, 0, 1, 1), 0), [](double v) { return 2 * v; }); },
         {{real({3, 2})}, {real({1})}, {real({1, 0})}, {real({2, 2, 2})}, {repeated({1, 3}, {2, 3})}, {real({3}, Domain::large)}},
         {misuse<ValueError>([] { return select(zeros({0}), 0, 0); }, "index 0 is out of range"),
          misuse<ValueError>([] { return select(ones({1}), -1, 1); }, "index 1 is out of range")});

  const auto triangular = [&rows](const char* name, Call call, Twin twin) {
    moving(rows, name, call, twin, of_rank_2(), {misuse<ShapeError>([call] { return call({ones({2})}); }, "expected [.., rows, columns], got [2]"),
                                                 misuse<ShapeError>([call] { return call({scalar(1)}); }, "got []")}).samples.push_back({real({2, 3, 4})});
  };
  triangular("triu",              [](Inputs x) { return triu(x[0]); },     [](PlainInputs x) { return triangle(x[0], 0, true); });
  triangular("triu a diagonal up",[](Inputs x) { return triu(x[0], 1); },  [](PlainInputs x) { return triangle(x[0], 1, true); });
  triangular("tril",              [](Inputs x) { return tril(x[0]); },     [](PlainInputs x) { return triangle(x[0], 0, false); });
  triangular("tril two down",     [](Inputs x) { return tril(x[0], -2); }, [](PlainInputs x) { return triangle(x[0], -2, false); });
  triangular("tril far up",       [](Inputs x) { return tril(x[0], 99); }, [](PlainInputs x) { return x[0]; });
  // clang-format on
}

}  // namespace

void add_shape_rows(Rows& rows) {
  add_views(rows);
  add_parts(rows);
  add_copies(rows);
  add_slices(rows);
}

}  // namespace regard::test

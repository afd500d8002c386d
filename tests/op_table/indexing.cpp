#include "op_table/samples.hpp"
#include "op_table/table.hpp"

namespace regard::test {
namespace {

using Call = Tensor (*)(Inputs);
using Twin = Plain (*)(PlainInputs);

Row& indexing(Rows& rows, const char* name, Call call, Twin twin, Samples samples, Misuses misuses) {
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

Plain take_twin(const Plain& x, const Plain& ids, int axis) {
  Shape shape;
  for (int i = 0; i < axis; ++i) shape.push_back(x.shape[i]);
  for (const Size extent : ids.shape) shape.push_back(extent);
  for (int i = axis + 1; i < x.shape.rank(); ++i) shape.push_back(x.shape[i]);
  return fill(shape, [&](const Index& at) {
    const auto first = at.begin() + axis, behind = first + ids.shape.rank();
    Index from(at.begin(), first);
    from.push_back(static_cast<Size>(ids.at(Index(first, behind))));
    from.insert(from.end(), behind, at.end());
    return x.at(from);
  });
}

Plain gather_twin(const Plain& x, const Plain& ids, int axis) {
  return fill(ids.shape,
              [&](const Index& at) { return x.at(with(at, axis, static_cast<Size>(ids.at(at)))); });
}

Plain scatter_add_twin(const Plain& x, const Plain& ids, const Plain& updates, int axis) {
  Plain out = x;
  for_each_index(ids.shape, [&](const Index& at) {
    out.at(with(at, axis, static_cast<Size>(ids.at(at)))) += updates.at(at);
  });
  return out;
}

}  // namespace

void add_indexing_rows(Rows& rows) {
  // clang-format off
  indexing(rows, "take", [](Inputs x) { return take(x[0], x[1]); }, [](PlainInputs x) { return take_twin(x[0], x[1], 0); },
           {{real({5, 3}), ids({4}, 5)}, {real({5, 3}), ids({2, 3}, 5)}, {real({5, 3}), ids({}, 5)}, {real({1}), ids({1}, 1)}, {real({5, 3}), ids({0}, 5)},
            {real({5, 0}), ids({2}, 5)}, {real({4}), given_ids({0, 0, 0, 1}, {4})}, {repeated({1, 3}, {5, 3}), ids({4}, 5)}, {real({5, 3}, Domain::large), ids({4}, 5)}, {real({0, 3}), ids({0}, 1)}},
           {misuse<ValueError>([] { return take(ones({5, 3}), tensor({0, 5}, int64)); }, "id 5 at position [1] of ids [2] is out of range for axis 0 of [5, 3]; expected 0 to 4"),
            misuse<ValueError>([] { return take(ones({5, 3}), tensor({-1}, int64)); }, "id -1 at position [0]"),
            misuse<ValueError>([] { return take(zeros({0, 3}), tensor({0}, int64)); }, "there is nothing to index"),
            misuse<DTypeError>([] { return take(ones({5, 3}), ones({2})); }, "ids must be int64, got float64"),
            misuse<ShapeError>([] { return take(scalar(1), tensor({0}, int64)); }, "rank 0")});
  indexing(rows, "take of the last axis", [](Inputs x) { return take(x[0], x[1], -1); }, [](PlainInputs x) { return take_twin(x[0], x[1], x[0].shape.rank() - 1); },
           {{real({3, 5}), ids({4}, 5)}, {real({2, 3, 5}), ids({2, 3}, 5)}, {real({3, 5}), ids({}, 5)}, {real({1}), ids({1}, 1)}, {real({0, 5}), ids({2}, 5)},
            {real({3, 5}), given_ids({1, 1, 1}, {3})}, {repeated({3, 1}, {3, 5}), ids({4}, 5)}, {real({3, 5}, Domain::large), ids({4}, 5)}},
           {misuse<ValueError>([] { return take(ones({5, 3}), tensor({0, 3}, int64), -1); }, "axis 1 of [5, 3]; expected 0 to 2"),
            misuse<ShapeError>([] { return take(ones({5, 3}), tensor({0}, int64), 2); }, "axis 2 is out of range"),
            misuse<ShapeError>([] { return take(ones({1, 1, 1, 1, 1, 1, 1, 1}), zeros({1, 1}, int64)); }, "would make more than 8 axes")});
  indexing(rows, "gather", [](Inputs x) { return gather(x[0], x[1], 0); }, [](PlainInputs x) { return gather_twin(x[0], x[1], 0); },
           {{real({5, 3}), ids({4, 3}, 5)}, {real({5, 3}), ids({2, 1}, 5)}, {real({5}), ids({7}, 5)}, {real({1}), ids({1}, 1)}, {real({5, 3}), ids({0, 3}, 5)},
            {real({3, 2}), given_ids({0, 1, 0, 1}, {2, 2})}, {repeated({1, 3}, {5, 3}), ids({4, 3}, 5)}, {real({5, 3}, Domain::large), ids({4, 3}, 5)}},
           {misuse<ShapeError>([] { return gather(ones({5, 3}), zeros({5}, int64), 0); }, "ids [5] do not fit x [5, 3]"),
            misuse<ShapeError>([] { return gather(ones({5, 3}), zeros({5, 4}, int64), 0); }, "no larger extent than x's but on axis 0"),
            misuse<ValueError>([] { return gather(ones({5, 3}), full({1, 3}, 5, int64), 0); }, "id 5 at position [0, 0]"),
            misuse<DTypeError>([] { return gather(ones({5, 3}), ones({1, 3}), 0); }, "ids must be int64")});
  indexing(rows, "gather along the last axis", [](Inputs x) { return gather(x[0], x[1], -1); }, [](PlainInputs x) { return gather_twin(x[0], x[1], x[0].shape.rank() - 1); },
           {{real({3, 5}), ids({3, 2}, 5)}, {real({2, 3, 5}), ids({2, 3, 1}, 5)}, {real({3, 5}), ids({2, 6}, 5)}, {real({1, 1}), ids({1, 1}, 1)}, {real({0, 5}), ids({0, 2}, 5)},
            {repeated({3, 1}, {3, 5}), ids({3, 4}, 5)}, {real({3, 5}, Domain::large), ids({3, 4}, 5)}},
           {misuse<ShapeError>([] { return gather(ones({5, 3}), zeros({6, 3}, int64), -1); }, "ids [6, 3] do not fit x [5, 3]"),
            misuse<ShapeError>([] { return gather(ones({5, 3}), zeros({5, 3}, int64), 2); }, "axis 2 is out of range")});
  Row& scatter = indexing(rows, "scatter_add", [](Inputs x) { return scatter_add(x[0], x[1], x[2], 0); }, [](PlainInputs x) { return scatter_add_twin(x[0], x[1], x[2], 0); },
           {{real({5, 3}), ids({4, 3}, 5), real({4, 3})}, {real({5, 3}), ids({2, 2}, 5), real({2, 2})}, {real({5}), ids({7}, 5), real({7})}, {real({1}), ids({1}, 1), real({1})},
            {real({5, 3}), ids({0, 3}, 5), real({0, 3})}, {real({3}), given_ids({1, 1, 1, 1}, {4}), real({4})}, {repeated({1, 3}, {5, 3}), ids({4, 3}, 5), repeated({4, 1}, {4, 3})},
            {real({3, 3}), ids({3, 3}, 3), same_as(0)}, {real({5, 3}, Domain::large), ids({4, 3}, 5), real({4, 3})}},
           {misuse<ShapeError>([] { return scatter_add(ones({5}), zeros({2}, int64), ones({3}), 0); }, "updates [3] and ids [2] must have the same shape"),
            misuse<DTypeError>([] { return scatter_add(ones({5}), zeros({2}, int64), ones({2}, float32), 0); }, "x is float64 but the updates are float32"),
            misuse<ValueError>([] { return scatter_add(ones({5}), full({2}, -1, int64), ones({2}), 0); }, "id -1"),
            misuse<ShapeError>([] { return scatter_add(ones({5}), zeros({2, 2}, int64), ones({2, 2}), 0); }, "do not fit x [5]")});
  scatter.precision = Precision::rounded;
  Row& last = indexing(rows, "scatter_add along the last axis", [](Inputs x) { return scatter_add(x[0], x[1], x[2], -1); },
           [](PlainInputs x) { return scatter_add_twin(x[0], x[1], x[2], x[0].shape.rank() - 1); },
           {{real({3, 5}), ids({3, 4}, 5), real({3, 4})}, {real({2, 3, 5}), ids({2, 1, 4}, 5), real({2, 1, 4})}, {real({1, 1}), ids({1, 3}, 1), real({1, 3})},
            {real({0, 5}), ids({0, 2}, 5), real({0, 2})}, {repeated({3, 1}, {3, 5}), ids({3, 4}, 5), real({3, 4})}, {real({3, 5}, Domain::large), ids({3, 4}, 5), real({3, 4})}},
           {misuse<ShapeError>([] { return scatter_add(ones({5}), zeros({2}, int64), ones({2}), 1); }, "axis 1 is out of range"),
            misuse<DTypeError>([] { return scatter_add(ones({5}), zeros({2}), ones({2}), 0); }, "ids must be int64")});
  last.precision = Precision::rounded;

  Row& hot = indexing(rows, "one_hot", [](Inputs x) { return one_hot(x[0], 4); },
           [](PlainInputs x) {
             Shape shape = x[0].shape;
             shape.push_back(4);
             return fill(shape, [&](Index at) { const Size c = at.back(); at.pop_back(); return static_cast<Size>(x[0].at(at)) == c ? 1.0 : 0.0; });
           },
           {{ids({3}, 4)}, {ids({}, 4)}, {ids({1}, 4)}, {ids({0}, 4)}, {ids({2, 3}, 4)}, {given_ids({0, 3, 3}, {3})}},
           {misuse<ValueError>([] { return one_hot(tensor({0, 4}, int64), 4); }, "id 4 at position [1] of ids [2] is out of range for 4 classes"),
            misuse<ValueError>([] { return one_hot(tensor({-1}, int64), 4); }, "id -1"),
            misuse<ValueError>([] { return one_hot(tensor({0}, int64), -1); }, "a number of classes from 0 on, got -1"),
            misuse<DTypeError>([] { return one_hot(ones({2}), 4); }, "ids must be int64")});
  hot.differentiable = false;
  hot.takes_int64 = false;
  // clang-format on
}

}  // namespace regard::test

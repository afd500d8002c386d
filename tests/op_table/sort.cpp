#include "twins/sort.hpp"
#include "op_table/samples.hpp"
#include "op_table/table.hpp"

namespace regard::test {
namespace {

using Call = Tensor (*)(Inputs);

/// Numbers without ties for gradients, and ties and NaN for values.
Samples to_sort() {
  const double nan = not_a_number, inf = infinity;
  return {
      {real({3, 4}, Domain::distinct)},
      {real({4, 3, 2}, Domain::distinct)},
      {real({1}, Domain::distinct)},
      {real({5}, Domain::distinct)},
      {real({0})},
      {real({0, 3})},
      values_only({repeated({3, 1}, {3, 4})}),
      values_only({given({2, 1, 2, 1, 2, 1, 0, 0}, {2, 4})}),
      values_only({given({1, nan, -inf, 0, -0.0, inf, nan, -1}, {8})}),
      values_only({real({3, 70}, Domain::large)}),
  };
}

Row& sorting(Rows& rows, const char* name, Call call, std::function<Plain(PlainInputs)> twin) {
  Row row;
  row.name = name;
  row.call = call;
  row.twin = std::move(twin);
  row.samples = to_sort();
  row.misuses = {
      misuse<ShapeError>([call] { return call({scalar(1)}); }, "is out of range for rank 0"),
      misuse<DTypeError>([call] { return call({ones({2}, boolean)}); }, "not defined for boolean"),
  };
  row.precision = Precision::moved;
  row.takes_int64 = true;
  rows.push_back(row);
  return rows.back();
}

}  // namespace

void add_sort_rows(Rows& rows) {
  const auto values = [](int axis, const SortTwin& how, Size count = -1) {
    return [=](PlainInputs x) { return at_places(x[0], argsort_twin(x[0], axis, how, count), axis); };
  };
  const auto places = [](int axis, const SortTwin& how) {
    return [=](PlainInputs x) { return argsort_twin(x[0], axis, how); };
  };
  constexpr SortTwin ascending{}, descending{true, false}, largest{true, true}, smallest{false, true};
  // clang-format off
  sorting(rows, "sort",                        [](Inputs x) { return sort(x[0]).values; },                                 values(-1, ascending));
  sorting(rows, "sort descending, first axis", [](Inputs x) { return sort(x[0], 0, Order::descending).values; },          values(0, descending));
  sorting(rows, "argsort",                     [](Inputs x) { return argsort(x[0]); },                                     places(-1, ascending)).differentiable = false;
  sorting(rows, "argsort descending",          [](Inputs x) { return argsort(x[0], 0, Order::descending); },              places(0, descending)).differentiable = false;
  sorting(rows, "sort indices",                [](Inputs x) { return sort(x[0], 0).indices; },                             places(0, ascending)).differentiable = false;
  // The k that each sample allows: of one element one, of none none.
  sorting(rows, "top_k",                       [](Inputs x) { return top_k(x[0], std::min<Size>(2, x[0].shape().back())).values; }, [=](PlainInputs x) { return values(-1, largest, std::min<Size>(2, x[0].shape.back()))(x); });
  rows.back().misuses = {misuse<ValueError>([] { return top_k(ones({2, 3}), 4).values; }, "top_k: expected k from 0 to 3 for axis 1 of [2, 3], got 4"),
                         misuse<ValueError>([] { return top_k(ones({2, 3}), -1).values; }, "got -1")};
  sorting(rows, "top_k smallest, first axis",  [](Inputs x) { return top_k(x[0], std::min<Size>(3, x[0].size(0)), 0, Order::ascending).values; }, [=](PlainInputs x) { return values(0, smallest, std::min<Size>(3, x[0].shape[0]))(x); });
  sorting(rows, "top_k indices of none",       [](Inputs x) { return top_k(x[0], 0).indices; },                            [](PlainInputs x) { return argsort_twin(x[0], -1, {}, 0); }).differentiable = false;
  // clang-format on
}

}  // namespace regard::test

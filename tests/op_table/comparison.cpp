// Ops without a gradient that give booleans.
#include <cmath>

#include "op_table/samples.hpp"
#include "op_table/table.hpp"

namespace regard::test {
namespace {

using Call = Tensor (*)(Inputs);

Row without_gradient(const char* name, Call call) {
  Row row;
  row.name = name;
  row.call = call;
  row.precision = Precision::moved;
  row.differentiable = false;
  return row;
}

void comparison(Rows& rows, const char* name, Call call, bool (*holds)(double, double)) {
  Row row = without_gradient(name, call);
  row.twin = [holds](PlainInputs x) {
    return map(x[0], x[1], [&](double a, double b) { return holds(a, b) ? 1.0 : 0.0; });
  };
  row.samples = two_inputs(Domain::normal, Domain::normal);
  row.samples.push_back({given({1, 2, 3, 4}, {4}), given({1, 3, 2, 4}, {4})});
  row.samples.push_back({mask({3, 4}), mask({4})});
  row.samples.push_back({ids({3, 4}, 3), ids({3, 1}, 3)});
  row.misuses = {
      misuse<ShapeError>(
          [call] {
            return call({ones({2}), ones({3})});
          },
          "shapes [2] and [3] do not broadcast"),
      misuse<DTypeError>(
          [call] {
            return call({ones({2}), ones({2}, int64)});
          },
          "float64 [2] and int64 [2] do not go together"),
  };
  rows.push_back(row);
}

void logical(Rows& rows, const char* name, Call call, bool (*holds)(bool, bool)) {
  Row row = without_gradient(name, call);
  row.twin = [holds](PlainInputs x) {
    return map(x[0], x[1], [&](double a, double b) { return holds(a != 0, b != 0) ? 1.0 : 0.0; });
  };
  row.samples = {{mask({3, 4}), mask({3, 4})}, {mask({3, 4}), mask({4})}, {mask({3, 1}), mask({4})},
                 {mask({0, 3}), mask({3})},    {mask({1}), mask({1})},    {mask({2, 3}), same_as(0)},
                 {mask({}), mask({2, 2})}};
  row.misuses = {
      misuse<DTypeError>(
          [call] {
            return call({ones({2}), ones({2})});
          },
          "not defined for float64"),
      misuse<ShapeError>(
          [call] {
            return call({ones({2}, boolean), ones({3}, boolean)});
          },
          "do not broadcast"),
  };
  rows.push_back(row);
}

void of_one(Rows& rows, const char* name, Call call, bool (*holds)(double)) {
  Row row = without_gradient(name, call);
  row.twin = [holds](PlainInputs x) { return map(x[0], [&](double v) { return holds(v) ? 1.0 : 0.0; }); };
  row.samples = one_input(Domain::normal);
  row.samples.push_back({ids({3}, 5)});
  row.samples.push_back({mask({3})});
  row.misuses = {
      misuse<GraphError>([call] { return call({Tensor()}); }, "this handle is empty"),
      misuse<ShapeError>(
          [call] {
            return call({ones({1, 1, 1, 1, 1, 1, 1, 1, 1})});
          },
          "at most 8 axes"),
  };
  rows.push_back(row);
}

}  // namespace

void add_comparison_rows(Rows& rows) {
  // clang-format off
  comparison(rows, "equal",         [](Inputs x) { return equal(x[0], x[1]); },         [](double a, double b) { return a == b; });
  comparison(rows, "not_equal",     [](Inputs x) { return not_equal(x[0], x[1]); },     [](double a, double b) { return a != b; });
  comparison(rows, "less",          [](Inputs x) { return less(x[0], x[1]); },          [](double a, double b) { return a < b; });
  comparison(rows, "less_equal",    [](Inputs x) { return less_equal(x[0], x[1]); },    [](double a, double b) { return a <= b; });
  comparison(rows, "greater",       [](Inputs x) { return greater(x[0], x[1]); },       [](double a, double b) { return a > b; });
  comparison(rows, "greater_equal", [](Inputs x) { return greater_equal(x[0], x[1]); }, [](double a, double b) { return a >= b; });

  logical(rows, "logical_and", [](Inputs x) { return logical_and(x[0], x[1]); }, [](bool a, bool b) { return a && b; });
  logical(rows, "logical_or",  [](Inputs x) { return logical_or(x[0], x[1]); },  [](bool a, bool b) { return a || b; });

  of_one(rows, "isfinite", [](Inputs x) { return isfinite(x[0]); }, [](double x) { return std::isfinite(x); });
  of_one(rows, "isnan",    [](Inputs x) { return isnan(x[0]); },    [](double x) { return std::isnan(x); });
  // clang-format on

  Row row = without_gradient("logical_not", [](Inputs x) { return logical_not(x[0]); });
  row.twin = [](PlainInputs x) { return map(x[0], [](double v) { return v != 0 ? 0.0 : 1.0; }); };
  row.samples = {{mask({3, 4})}, {mask({})}, {mask({1})}, {mask({0, 3})}, {mask({2, 1, 3})}, {mask({5})}};
  row.misuses = {
      misuse<DTypeError>([] { return logical_not(ones({2})); }, "not defined for float64"),
      misuse<DTypeError>([] { return logical_not(ones({2}, int64)); }, "not defined for int64"),
  };
  rows.push_back(row);
}

}  // namespace regard::test

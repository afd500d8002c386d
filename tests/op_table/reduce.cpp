#include "twins/reduce.hpp"

#include <algorithm>
#include <cmath>

#include "op_table/samples.hpp"
#include "op_table/table.hpp"

namespace regard::test {
namespace {

using Call = Tensor (*)(Inputs);
using OfGroup = double (*)(const Group&);

double population_variance(const Group& x) {
  return spread(x, 0);
}
double sample_variance(const Group& x) {
  return spread(x, 1);
}

/// For reductions over named axes of tensors that have at least two.
Samples many_axes(Domain domain) {
  return {
      {real({3, 4}, domain)},
      {real({2, 3, 4}, domain)},
      {real({2, 5, 2, 3}, domain)},
      {real({2, 2}, domain)},
      {real({0, 3}, domain)},
      {repeated({1, 4}, {3, 4}, domain)},
      values_only({real({1, 1}, domain)}),
      values_only({real({3, 70}, Domain::large)}),
  };
}

/// For reductions over everything.
Samples whole(Domain domain) {
  return {
      {real({3, 4}, domain)}, {real({}, domain)},
      {real({1}, domain)},    {real({0, 3}, domain)},
      {real({2, 5}, domain)}, {repeated({1, 4}, {3, 4}, domain)},
      {real({300}, domain)},  values_only({real({3, 70}, Domain::large)}),
  };
}

/// A repeated row is a tie: the gradient is shared, where a quotient sees a kink.
void ties_have_no_quotient(Row& row) {
  for (Sample& sample : row.samples)
    if (sample.inputs[0].kind == Input::Kind::repeated) sample.differentiable = false;
}

/// The mean of nothing is 0 / 0, and so is the derivative of its derivative.
void nothing_has_no_quotient(Row& row) {
  for (Sample& sample : row.samples)
    if (numel(sample.inputs[0].shape) == 0) sample.differentiable = false;
}

/// NaN and infinities among numbers.
void push_specials(Samples& samples) {
  const double nan = not_a_number, inf = infinity;
  samples.push_back(values_only({given({1, nan, nan, 1, 2, 3}, {3, 2})}));
  samples.push_back(values_only({given({1, inf, -inf, 1, -inf, -inf}, {3, 2})}));
}

struct Axis {
  std::vector<int> axes;
  Keep keep = Keep::no;
};

void along(Rows& rows, const char* name, Call call, const Axis& axis, OfGroup f, Domain domain) {
  Row row;
  row.name = name;
  row.call = call;
  row.twin = [axis, f](PlainInputs x) { return fold(x[0], axis.axes, axis.keep == Keep::axes, f); };
  row.samples = many_axes(domain);
  row.misuses = {
      misuse<ShapeError>([call] { return call({scalar(1)}); }, "is out of range for rank 0"),
      misuse<DTypeError>(
          [call] {
            return call({ones({2, 2}, boolean)});
          },
          "boolean"),
  };
  rows.push_back(row);
}

void over_all(Rows& rows, const char* name, Call call, OfGroup f, Domain domain) {
  Row row;
  row.name = name;
  row.call = call;
  row.twin = [f](PlainInputs x) { return fold_all(x[0], f); };
  row.samples = whole(domain);
  row.misuses = {
      misuse<DTypeError>([call] { return call({ones({2}, boolean)}); }, "boolean"),
      misuse<GraphError>([call] { return call({Tensor()}); }, "empty"),
  };
  rows.push_back(row);
}

/// Those whose largest element must exist.
void refuse_empty(Row& row, const Shape& shape) {
  const auto is_empty = [](const Sample& s) { return numel(s.inputs[0].shape) == 0; };
  row.samples.erase(std::remove_if(row.samples.begin(), row.samples.end(), is_empty), row.samples.end());
  row.takes_empty = false;
  const auto call = row.call;
  row.misuses.push_back(
      misuse<ShapeError>([call, shape] { return call({zeros(shape)}); }, "has no elements"));
}

void add_sum_to_row(Rows& rows) {
  Row row;
  row.name = "sum_to";
  row.call = [](Inputs x) { return sum_to(x[0], x[1].shape()); };
  row.twin = [](PlainInputs x) {
    Plain out(x[1].shape);
    for_each_index(x[0].shape, [&](const Index& index) {
      Index at;
      const int extra = x[0].shape.rank() - x[1].shape.rank();
      for (int axis = 0; axis < x[1].shape.rank(); ++axis)
        at.push_back(x[1].shape[axis] == 1 ? 0 : index[static_cast<std::size_t>(axis + extra)]);
      out.at(at) += x[0].at(index);
    });
    return out;
  };
  row.samples = {
      {real({3, 4}), ids({4}, 2)},
      {real({3, 4}), ids({3, 1}, 2)},
      {real({3, 4}), ids({}, 2)},
      {real({2, 3, 4}), ids({2, 1, 4}, 2)},
      {real({3, 4}), ids({3, 4}, 2)},
      {real({0, 3}), ids({3}, 2)},
      {real({1}), ids({1}, 2)},
      {real({1}), ids({}, 2)},
      {repeated({1, 4}, {3, 4}), ids({4}, 2)},
      {real({2, 3, 4}), ids({3, 1}, 2)},
      {real({5, 0, 1}), ids({5, 1, 1}, 2)},
      values_only({real({9, 4}, Domain::large), ids({4}, 2)}),
  };
  row.misuses = {
      misuse<ShapeError>(
          [] {
            return sum_to(ones({2, 3}), {2});
          },
          "[2] does not broadcast to x [2, 3]"),
      misuse<ShapeError>(
          [] {
            return sum_to(ones({3}), {2, 3});
          },
          "[2, 3] does not broadcast to x [3]"),
  };
  rows.push_back(row);
}

void argmax_row(Rows& rows, const char* name, Call call, const Axis& axis) {
  along(rows, name, call, axis, place_of_largest, Domain::normal);
  Row& row = rows.back();
  row.differentiable = false;
  row.takes_int64 = true;
  row.samples.push_back(values_only({given({2, 2, 1, 3, 3, 3}, {2, 3})}));
  row.misuses.back() = misuse<ShapeError>([call] { return call({zeros({0, 0})}); }, "has no elements");
  refuse_empty(row, {0, 0});
}

double population_deviation(const Group& x) {
  return std::sqrt(spread(x, 0));
}
double sample_deviation(const Group& x) {
  return std::sqrt(spread(x, 1));
}

/// Zeros among the factors. Where a product has two, differences along one direction see nothing but rounding.
void push_zeros(Samples& samples) {
  samples.push_back({given({0, 2, 3, 0.5, 1.5, 3, -1, 2}, {2, 4})});
  samples.push_back(values_only({given({0, 0, 2, 3}, {2, 2})}));
}

void cumsum_row(Rows& rows, const char* name, Call call, Plain (*twin)(PlainInputs)) {
  Row row;
  row.name = name;
  row.call = call;
  row.twin = twin;
  row.samples = {{real({3, 4})}, {real({1})},    {real({5})},  {real({2, 3, 2})}, {repeated({1, 4}, {3, 4})},
                 {real({0, 3})}, {real({3, 0})}, {real({0})}, values_only({real({3, 70}, Domain::large)})};
  push_specials(row.samples);
  row.misuses = {
      misuse<ShapeError>([call] { return call({scalar(1)}); }, "cumsum: axis"),
      misuse<DTypeError>([call] { return call({ones({2}, boolean)}); }, "not defined for boolean"),
  };
  row.takes_int64 = true;
  rows.push_back(row);
}

}  // namespace

void add_reduce_rows(Rows& rows) {
  const Domain normal = Domain::normal, distinct = Domain::distinct;
  const Axis last{{-1}}, first_kept{{0}, keep_axes}, ends{{0, -1}}, none{{}};
  // clang-format off
  over_all(rows, "sum",                     [](Inputs x) { return sum(x[0]); },                                     total,                      normal);
  over_all(rows, "mean",                    [](Inputs x) { return mean(x[0]); },                                    average,                    normal);
  nothing_has_no_quotient(rows.back());
  over_all(rows, "max",                     [](Inputs x) { return max(x[0]); },                                     largest,                    distinct);
  refuse_empty(rows.back(), {0, 3});
  ties_have_no_quotient(rows.back());
  push_specials(rows.back().samples);
  rows.back().precision = Precision::moved;
  rows.back().takes_int64 = true;
  along(rows, "sum of the last axis",       [](Inputs x) { return sum(x[0], {-1}); },                   last,       total,                      normal);
  along(rows, "sum of the first axis kept", [](Inputs x) { return sum(x[0], {0}, keep_axes); },         first_kept, total,                      normal);
  along(rows, "sum of both ends",           [](Inputs x) { return sum(x[0], {-1, 0}); },                ends,       total,                      normal);
  along(rows, "mean of the last axis",      [](Inputs x) { return mean(x[0], {-1}); },                  last,       average,                    normal);
  along(rows, "mean of the first axis kept",[](Inputs x) { return mean(x[0], {0}, keep_axes); },        first_kept, average,                    normal);
  nothing_has_no_quotient(rows.back());
  along(rows, "variance",                   [](Inputs x) { return variance(x[0], {-1}); },              last,       population_variance,        normal);
  along(rows, "variance of a sample",       [](Inputs x) { return variance(x[0], {0, -1}, Keep::no, 1); }, ends,    sample_variance,            normal);
  nothing_has_no_quotient(rows.back());
  along(rows, "max of the last axis",       [](Inputs x) { return max(x[0], {-1}); },                   last,       largest,                    distinct);
  push_specials(rows.back().samples);
  rows.back().precision = Precision::moved;
  along(rows, "max of the first axis kept", [](Inputs x) { return max(x[0], {0}, keep_axes); },         first_kept, largest,                    distinct);
  refuse_empty(rows.back(), {0, 3});
  ties_have_no_quotient(rows.back());
  along(rows, "logsumexp",                  [](Inputs x) { return logsumexp(x[0], {-1}); },             last,       log_of_summed_exponentials, normal);
  push_specials(rows.back().samples);
  along(rows, "logsumexp of both ends",     [](Inputs x) { return logsumexp(x[0], {0, -1}, keep_axes); }, {{0, -1}, keep_axes}, log_of_summed_exponentials, normal);
  rows.back().samples.push_back({real({2, 0})});
  over_all(rows, "norm",                    [](Inputs x) { return norm(x[0]); },                                    length,                     normal);
  along(rows, "norm of the last axis",      [](Inputs x) { return norm(x[0], {-1}); },                  last,       length,                     normal);
  push_specials(rows.back().samples);
  along(rows, "norm of the first axis kept",[](Inputs x) { return norm(x[0], {0}, keep_axes); },        first_kept, length,                     normal);
  along(rows, "norm of order 1",            [](Inputs x) { return norm(x[0], {-1}, Keep::no, 1); },      last,       sum_of_magnitudes,          Domain::away_from_zero);
  push_specials(rows.back().samples);
  along(rows, "norm of order infinity kept",[](Inputs x) { return norm(x[0], {0}, keep_axes, infinity); }, first_kept, largest_magnitude,        distinct);
  rows.back().misuses.push_back(misuse<ValueError>([] { return norm(ones({2}), {0}, Keep::no, 3); }, "p must be 1, 2 or infinity, got 3"));
  ties_have_no_quotient(rows.back());
  push_specials(rows.back().samples);
  along(rows, "standard_deviation",         [](Inputs x) { return standard_deviation(x[0], {-1}); },    last,       population_deviation,       normal);
  rows.back().samples.push_back(values_only({given({3, 3, 3, 0.1, 0.1, 0.1}, {2, 3})}));
  along(rows, "standard_deviation of a sample kept", [](Inputs x) { return standard_deviation(x[0], {0, -1}, keep_axes, 1); }, {{0, -1}, keep_axes}, sample_deviation, normal);
  nothing_has_no_quotient(rows.back());
  over_all(rows, "min",                     [](Inputs x) { return min(x[0]); },                                     smallest,                   distinct);
  refuse_empty(rows.back(), {0, 3});
  ties_have_no_quotient(rows.back());
  push_specials(rows.back().samples);
  rows.back().precision = Precision::moved;
  rows.back().takes_int64 = true;
  along(rows, "min of the last axis",       [](Inputs x) { return min(x[0], {-1}); },                   last,       smallest,                   distinct);
  push_specials(rows.back().samples);
  rows.back().precision = Precision::moved;
  along(rows, "min of the first axis kept", [](Inputs x) { return min(x[0], {0}, keep_axes); },         first_kept, smallest,                   distinct);
  refuse_empty(rows.back(), {0, 3});
  ties_have_no_quotient(rows.back());
  over_all(rows, "prod",                    [](Inputs x) { return prod(x[0]); },                                    multiplied,                 Domain::away_from_zero);
  push_zeros(rows.back().samples);
  along(rows, "prod of the last axis",      [](Inputs x) { return prod(x[0], {-1}); },                  last,       multiplied,                 normal);
  push_zeros(rows.back().samples);
  push_specials(rows.back().samples);
  rows.back().samples.push_back({given({0, 2, 0, 0.5, 1.5, 0, -1, 2}, {2, 4})});
  along(rows, "prod of both ends kept",     [](Inputs x) { return prod(x[0], {0, -1}, keep_axes); },    {{0, -1}, keep_axes}, multiplied,       normal);
  push_zeros(rows.back().samples);
  along(rows, "entropy",                    [](Inputs x) { return entropy(x[0]); },                     last,       entropy_of,                 Domain::positive);
  rows.back().samples.push_back(values_only({given({0, 1, 0, 0.5, 0.25, 0.25}, {2, 3})}));
  along(rows, "entropy of the first axis kept", [](Inputs x) { return entropy(x[0], 0, keep_axes); },   first_kept, entropy_of,                 Domain::unit);
  cumsum_row(rows, "cumsum",                [](Inputs x) { return cumsum(x[0]); },                      [](PlainInputs x) { return running_sums(x[0], x[0].shape.rank() - 1); });
  cumsum_row(rows, "cumsum of the first axis", [](Inputs x) { return cumsum(x[0], 0); },                [](PlainInputs x) { return running_sums(x[0], 0); });
  argmax_row(rows, "argmax",                [](Inputs x) { return argmax(x[0]); },                      last);
  push_specials(rows.back().samples);
  argmax_row(rows, "argmax kept",           [](Inputs x) { return argmax(x[0], 0, keep_axes); },        first_kept);
  // clang-format on
  along(
      rows, "sum of no axis", [](Inputs x) { return sum(x[0], Axes{}); }, none, total, normal);
  rows.back().misuses = {
      misuse<ShapeError>(
          [] {
            return sum(ones({2, 3}), {2});
          },
          "sum: axis 2 is out of range for rank 2"),
      misuse<ShapeError>(
          [] {
            return sum(ones({2, 3}), {1, -1});
          },
          "axis 1 is named 2 times in [1, -1]"),
  };
  add_sum_to_row(rows);
}

}  // namespace regard::test

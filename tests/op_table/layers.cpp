#include <cmath>

#include "op_table/samples.hpp"
#include "op_table/table.hpp"
#include "twins/dropout.hpp"
#include "twins/reduce.hpp"

namespace regard::test {
namespace {

Plain layer_norm_twin(const Plain& x, const Plain& gamma, const Plain& beta, double epsilon) {
  const auto last = static_cast<std::size_t>(x.shape.rank() - 1);
  return fill(x.shape, [&](const Index& at) {
    Group row;
    for (Size i = 0; i < x.shape.back(); ++i) row.push_back(x.at(with(at, static_cast<int>(last), i)));
    const double z = (x.at(at) - average(row)) / std::sqrt(spread(row, 0) + epsilon);
    return z * gamma.at({at[last]}) + beta.at({at[last]});
  });
}

Plain rms_norm_twin(const Plain& x, double epsilon) {
  const int last = x.shape.rank() - 1;
  return fill(x.shape, [&](const Index& at) {
    double squares = 0;
    for (Size i = 0; i < x.shape[last]; ++i) squares += std::pow(x.at(with(at, last, i)), 2);
    return x.at(at) / std::sqrt(squares / static_cast<double>(x.shape[last]) + epsilon);
  });
}

Plain dropout_twin(const Plain& x, double p) {
  const std::uint64_t key = Rng(5).next();
  Plain out = x;
  for (std::size_t i = 0; i < out.values.size(); ++i)
    out.values[i] = is_dropped(key, i, p) ? 0 : out.values[i] / (1 - p);
  return out;
}

Row& dropout_row(Rows& rows, const char* name, Tensor (*call)(Inputs), Plain (*twin)(PlainInputs)) {
  Row row;
  row.name = name;
  row.call = call;
  row.twin = twin;
  row.samples = {{real({3, 4})},
                 {real({})},
                 {real({1})},
                 {real({0, 3})},
                 {real({5, 7})},
                 {repeated({1, 5}, {3, 5})},
                 {real({6}, Domain::large)},
                 {real({3, 1, 2})}};
  row.misuses = {
      misuse<ValueError>(
          [] {
            Rng rng(1);
            return dropout(ones({2}), 1.5, rng);
          },
          "p must be a probability from 0 to 1, got 1.5"),
      misuse<ValueError>(
          [] {
            Rng rng(1);
            return dropout(ones({2}), not_a_number, rng);
          },
          "p must be a probability"),
      misuse<DTypeError>(
          [] {
            Rng rng(1);
            return dropout(ones({2}, int64), 0.5, rng);
          },
          "expected float32 or float64, got int64"),
  };
  rows.push_back(row);
  return rows.back();
}

}  // namespace

void add_layer_rows(Rows& rows) {
  // clang-format off
  Row row;
  row.name = "layer_norm";
  row.call = [](Inputs x) { return layer_norm(x[0], x[1], x[2]); };
  row.twin = [](PlainInputs x) { return layer_norm_twin(x[0], x[1], x[2], 1e-5); };
  row.samples = {
      {real({3, 4}), real({4}), real({4})}, {real({5}), real({5}), real({5})}, {real({2, 3, 4}), real({4}), real({4})}, {real({0, 4}), real({4}), real({4})},
      {real({4, 4}), real({4}), same_as(1)}, {repeated({1, 4}, {3, 4}), repeated({1}, {4}), real({4})}, {real({1}), real({1}), real({1})}, {real({3, 1}), real({1}), real({1})},
      {real({2, 6}, Domain::large), real({6}), real({6})}, values_only({given({3, 3, 3, 3, 1, 2, 3, 4}, {2, 4}), real({4}), real({4})}),
  };
  row.misuses = {
      misuse<ShapeError>([] { return layer_norm(ones({2, 3}), ones({2}), ones({3})); }, "expected gamma of shape [3], the last extent of x [2, 3], got [2]"),
      misuse<ShapeError>([] { return layer_norm(ones({2, 3}), ones({3}), ones({1, 3})); }, "expected beta of shape [3]"),
      misuse<ShapeError>([] { return layer_norm(scalar(1), ones({1}), ones({1})); }, "x is a scalar"),
      misuse<ValueError>([] { return layer_norm(ones({2, 3}), ones({3}), ones({3}), 0); }, "epsilon must be positive, got 0"),
      misuse<DTypeError>([] { return layer_norm(ones({2, 3}), ones({3}, float32), ones({3})); }, "float64 [2, 3] and float32 [3]"),
  };
  rows.push_back(row);
  row.name = "layer_norm with a large epsilon";
  row.call = [](Inputs x) { return layer_norm(x[0], x[1], x[2], 0.5); };
  row.twin = [](PlainInputs x) { return layer_norm_twin(x[0], x[1], x[2], 0.5); };
  row.samples.back().differentiable = true;  // a row of equal numbers is smooth on this scale
  rows.push_back(row);

  Row rms;
  rms.name = "rms_norm without a weight";
  rms.call = [](Inputs x) { return rms_norm(x[0], 0.5); };
  rms.twin = [](PlainInputs x) { return rms_norm_twin(x[0], 0.5); };
  rms.samples = {{real({3, 4})}, {real({5})}, {real({2, 3, 4})}, {real({0, 4})}, {real({4, 0})}, {repeated({1, 4}, {3, 4})}, {repeated({3, 1}, {3, 4})}, {real({1})}, {real({2, 6}, Domain::large)}, {given({0, 0, 0, 1, 2, 3}, {2, 3})}};
  rms.misuses = {
      misuse<ShapeError>([] { return rms_norm(scalar(1)); }, "x is a scalar"),
      misuse<ValueError>([] { return rms_norm(ones({2}), 0.0); }, "epsilon must be positive, got 0"),
      misuse<DTypeError>([] { return rms_norm(ones({2}, int64)); }, "expected float32 or float64"),
  };
  rows.push_back(rms);
  rms.name = "rms_norm";
  rms.call = [](Inputs x) { return rms_norm(x[0], x[1]); };
  rms.twin = [](PlainInputs x) { return map(rms_norm_twin(x[0], 1e-5), x[1], [](double z, double w) { return z * w; }); };
  rms.samples = {{real({3, 4}), real({4})}, {real({5}), real({5})}, {real({2, 3, 4}), real({4})}, {real({0, 4}), real({4})}, {real({3}), same_as(0)}, {repeated({1, 4}, {3, 4}), repeated({1}, {4})},
                 values_only({real({1}), real({1})}), values_only({real({3, 1}), real({1})}), {real({2, 6}, Domain::large), real({6})}};  // one number is nearly ±1, whatever it is
  rms.misuses = {
      misuse<ShapeError>([] { return rms_norm(ones({2, 3}), ones({2})); }, "expected a weight for the last axis of x [2, 3], got [2]"),
      misuse<ShapeError>([] { return rms_norm(scalar(1), ones({1})); }, "x is a scalar"),
      misuse<DTypeError>([] { return rms_norm(ones({2, 3}), ones({3}, float32)); }, "float64 [2, 3] and float32 [3]"),
      misuse<ValueError>([] { return rms_norm(ones({2}), ones({2}), not_a_number); }, "epsilon must be positive"),
  };
  rows.push_back(rms);

  dropout_row(rows, "dropout",                [](Inputs x) { Rng rng(5); return dropout(x[0], 0.4, rng); }, [](PlainInputs x) { return dropout_twin(x[0], 0.4); });
  dropout_row(rows, "dropout of nothing",     [](Inputs x) { Rng rng(5); return dropout(x[0], 0, rng); },   [](PlainInputs x) { return x[0]; }).precision = Precision::moved;
  dropout_row(rows, "dropout of everything",  [](Inputs x) { Rng rng(5); return dropout(x[0], 1, rng); },   [](PlainInputs x) { return Plain(x[0].shape); }).precision = Precision::moved;
  // clang-format on
}

}  // namespace regard::test

#include "twins/normalise.hpp"
#include "twins/softmax.hpp"

#include "op_table/samples.hpp"
#include "op_table/table.hpp"

namespace regard::test {
namespace {

using Call = Tensor (*)(Inputs);
using Twin = Plain (*)(PlainInputs);

Row& along(Rows& rows, const char* name, Call call, Twin twin, Samples samples) {
  Row row;
  row.name = name;
  row.call = call;
  row.twin = twin;
  row.samples = std::move(samples);
  rows.push_back(row);
  return rows.back();
}

Samples unmasked() {
  return {
      {real({3, 4})},
      {real({5})},
      {real({1})},
      {real({2, 3, 4})},
      {real({2, 0, 3})},
      {real({3, 0})},
      {repeated({1, 4}, {3, 4})},
      {real({3, 4}, Domain::large)},
      {real({1, 1})},
      values_only({given({1, not_a_number, 2, 3}, {2, 2})}),
  };
}

/// Masks of x's shape, stretched ones, rows that keep nothing; what is hidden may be NaN or infinite.
Samples masked() {
  const double nan = not_a_number, inf = infinity;
  return {
      {real({3, 4}), mask({3, 4})},
      {real({3, 4}), mask({4})},
      {real({2, 3, 4}), mask({3, 1})},
      {real({1}), mask({1})},
      {real({0, 3}), mask({3})},
      {real({2, 3}), given_mask({1, 0, 1, 0, 0, 0}, {2, 3})},
      {given({1.25, nan, 2, inf, -inf, 3.5}, {2, 3}), given_mask({1, 0, 1, 0, 0, 1}, {2, 3})},
      {repeated({1, 4}, {3, 4}), mask({3, 4})},
      {real({3, 4}, Domain::large), mask({3, 4})},
  };
}

Misuses of_axis(Tensor (*call)(const Tensor&, int)) {
  return {
      misuse<ShapeError>(
          [call] {
            return call(ones({2, 3}), 2);
          },
          "axis 2 is out of range for rank 2"),
      misuse<ShapeError>([call] { return call(scalar(1), -1); }, "rank 0"),
      misuse<DTypeError>([call] { return call(ones({2}, int64), -1); },
                         "expected float32 or float64, got int64"),
  };
}

Misuses of_mask(Tensor (*call)(const Tensor&, const Tensor&, int)) {
  return {
      misuse<DTypeError>(
          [call] {
            return call(ones({2, 3}), ones({2, 3}), -1);
          },
          "the mask must be boolean, got float64"),
      misuse<ShapeError>(
          [call] {
            return call(ones({3}), ones({2, 3}, boolean), -1);
          },
          "it must broadcast to x"),
      misuse<ShapeError>(
          [call] {
            return call(ones({2, 3}), ones({2}, boolean), -1);
          },
          "do not broadcast"),
      misuse<ShapeError>(
          [call] {
            return call(ones({2, 3}), ones({3}, boolean), -3);
          },
          "axis -3 is out of range"),
  };
}

// A line may have a kink where an element enters the support; the inputs are not there.
void add_kin(Rows& rows, const char* name, Tensor (*plain)(const Tensor&, int),
             Tensor (*masked_one)(const Tensor&, const Tensor&, int), Line (*law)(const Line&)) {
  const auto add = [&](const std::string& what, std::function<Tensor(Inputs)> call,
                       std::function<Plain(PlainInputs)> twin, const Samples& samples, const Misuses& misuses) {
    Row row;
    row.name = name + what;
    row.call = std::move(call);
    row.twin = std::move(twin);
    row.samples = samples;
    row.misuses = misuses;
    rows.push_back(row);
  };
  const double nan = not_a_number, inf = infinity;
  Samples of_x = unmasked(), of_both = masked();
  of_x.push_back(values_only({given({1, inf, 2, 1, -inf, 2}, {2, 3})}));
  of_x.push_back({given({300, 300.5, -300, 1, 1.5, -8}, {2, 3})});
  of_both.push_back(values_only({given({1, inf, 2, nan, 0, 1}, {2, 3}), given_mask({1, 1, 1, 1, 1, 0}, {2, 3})}));
  of_both.push_back({given({-inf, -inf, 5, nan, -inf, 1}, {2, 3}), given_mask({1, 1, 0, 0, 1, 1}, {2, 3})});
  for (const int axis : {-1, 0}) {
    const std::string where = axis == 0 ? " first axis" : "";
    add(where, [plain, axis](Inputs x) { return plain(x[0], axis); },
        [law, axis](PlainInputs x) { return along_twin(x[0], nullptr, axis, law); }, of_x, of_axis(plain));
    add(" masked" + where, [masked_one, axis](Inputs x) { return masked_one(x[0], x[1], axis); },
        [law, axis](PlainInputs x) { return along_twin(x[0], &x[1], axis, law); }, of_both, of_mask(masked_one));
  }
}

}  // namespace

void add_softmax_rows(Rows& rows) {
  // clang-format off
  const Misuses axis = of_axis([](const Tensor& x, int i) { return softmax(x, i); });
  along(rows, "softmax",                [](Inputs x) { return softmax(x[0]); },           [](PlainInputs x) { return softmax_twin(x[0], nullptr, -1); }, unmasked()).misuses = axis;
  along(rows, "softmax first axis",     [](Inputs x) { return softmax(x[0], 0); },        [](PlainInputs x) { return softmax_twin(x[0], nullptr, 0); },  unmasked()).misuses = axis;
  const Misuses keep = of_mask([](const Tensor& x, const Tensor& m, int i) { return softmax(x, m, i); });
  along(rows, "softmax masked",         [](Inputs x) { return softmax(x[0], x[1]); },     [](PlainInputs x) { return softmax_twin(x[0], &x[1], -1); },   masked()).misuses = keep;
  along(rows, "softmax masked, first axis", [](Inputs x) { return softmax(x[0], x[1], 0); }, [](PlainInputs x) { return softmax_twin(x[0], &x[1], 0); }, masked()).misuses = keep;

  const Misuses log_axis = of_axis([](const Tensor& x, int i) { return log_softmax(x, i); });
  along(rows, "log_softmax",            [](Inputs x) { return log_softmax(x[0]); },       [](PlainInputs x) { return log_softmax_twin(x[0], nullptr, -1); }, unmasked()).misuses = log_axis;
  along(rows, "log_softmax first axis", [](Inputs x) { return log_softmax(x[0], 0); },    [](PlainInputs x) { return log_softmax_twin(x[0], nullptr, 0); },  unmasked()).misuses = log_axis;
  const Misuses log_keep = of_mask([](const Tensor& x, const Tensor& m, int i) { return log_softmax(x, m, i); });
  Row& infinite = along(rows, "log_softmax masked", [](Inputs x) { return log_softmax(x[0], x[1]); }, [](PlainInputs x) { return log_softmax_twin(x[0], &x[1], -1); }, masked());
  infinite.misuses = log_keep;
  for (Sample& sample : infinite.samples) sample.differentiable = false;  // -inf - -inf in the quotient
  along(rows, "log_softmax masked, finite part", [](Inputs x) { return where(x[1], log_softmax(x[0], x[1]), scalar(0, x[0].dtype())); },
        [](PlainInputs x) { const Plain y = log_softmax_twin(x[0], &x[1], -1); return map(y, x[1], [](double v, double kept) { return kept != 0 ? v : 0.0; }); },
        masked()).misuses = log_keep;
  // clang-format on
  add_kin(rows, "softmax1", softmax1, softmax1, softmax1_line);
  add_kin(rows, "sparsemax", sparsemax, sparsemax, sparsemax_line);
  add_kin(rows, "entmax15", entmax15, entmax15, entmax15_line);
}

}  // namespace regard::test

#include <cmath>

#include "op_table/samples.hpp"
#include "op_table/table.hpp"

namespace regard::test {
namespace {

using Call = Tensor (*)(Inputs);
using OfOne = double (*)(double);
using OfTwo = double (*)(double, double);

struct Kind {
  Precision precision = Precision::rounded;
  bool takes_int64 = false;
};
constexpr Kind floats{};
constexpr Kind chosen{Precision::moved, false};
constexpr Kind chosen_any{Precision::moved, true};
constexpr Kind any{Precision::rounded, true};

void unary(Rows& rows, const char* name, Call call, OfOne f, Domain domain, Kind kind) {
  Row row{name, call, [f](PlainInputs x) { return map(x[0], f); }, one_input(domain), {}, kind.precision};
  row.takes_int64 = kind.takes_int64;
  row.misuses = {
      misuse<DTypeError>([call] { return call({ones({2}, boolean)}); }, "not defined for boolean"),
      kind.takes_int64
          ? misuse<GraphError>([call] { return call({Tensor()}); }, "empty")
          : misuse<DTypeError>([call] { return call({ones({2}, int64)}); }, "not defined for int64"),
  };
  rows.push_back(row);
}

void binary(Rows& rows, const char* name, Call call, OfTwo f, Domain a, Domain b, Kind kind) {
  Row row{name, call,          [f](PlainInputs x) { return map(x[0], x[1], f); }, two_inputs(a, b),
          {},   kind.precision};
  row.takes_int64 = kind.takes_int64;
  row.misuses = {
      misuse<ShapeError>(
          [call] {
            return call({ones({2, 3}), ones({2})});
          },
          "shapes [2, 3] and [2] do not broadcast: axis -1 is 3 and 2"),
      misuse<ShapeError>(
          [call] {
            return call({ones({0}), ones({2})});
          },
          "axis -1 is 0 and 2"),
      misuse<DTypeError>(
          [call] {
            return call({ones({2}), ones({2}, float32)});
          },
          "float64 [2] and float32 [2] do not go together"),
      misuse<DTypeError>(
          [call] {
            return call({ones({2}, boolean), ones({2}, boolean)});
          },
          "not defined for boolean"),
  };
  rows.push_back(row);
}

double larger(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : a < b ? b : a;
}
double smaller(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? std::nan("") : a < b ? a : b;
}
double sign_of(double x) {
  return std::isnan(x) ? x : static_cast<double>((x > 0) - (x < 0));
}
double x_log_y(double x, double y) {
  return x == 0 && !std::isnan(y) ? 0 : x * std::log(y);
}
double clamped(double x, double low, double high) {
  return std::isnan(x) ? x : x < low ? low : x > high ? high : x;
}
/// Bounds have kinks, which no sample is near; refused where no number can stand.
void clamp_row(Rows& rows, const char* name, Call call, OfOne f) {
  unary(rows, name, call, f, Domain::normal, chosen_any);
  rows.back().misuses.push_back(
      misuse<ValueError>([] { return clamp(ones({2}), not_a_number, 1); }, "clamp: a bound is NaN"));
  rows.back().misuses.push_back(
      misuse<DTypeError>([] { return clamp(ones({2}, int64), {}, 1.5); }, "1.5 is no whole number"));
}
double normal_distribution(double x) {
  return std::erfc(-x / std::sqrt(2.0)) / 2;
}
double gelu_by_tanh(double x) {
  const double pi = std::acos(-1.0);
  return 0.5 * x * (1 + std::tanh(std::sqrt(2 / pi) * (x + 0.044715 * std::pow(x, 3))));
}

void add_choosing_rows(Rows& rows) {
  const Domain d = Domain::normal;
  Row row;
  row.name = "where";
  row.call = [](Inputs x) { return where(x[0], x[1], x[2]); };
  row.twin = [](PlainInputs x) {
    const Shape shape = common_shape(x[0].shape, common_shape(x[1].shape, x[2].shape));
    return fill(shape, [&](const Index& i) { return x[x[0].broadcast_at(i) != 0 ? 1 : 2].broadcast_at(i); });
  };
  row.samples = {
      {mask({3, 4}), real({3, 4}), real({3, 4})},
      {mask({4}), real({3, 4}), real({})},
      {mask({3, 1}), real({4}), real({3, 4})},
      {mask({2, 3}), real({2, 3}), same_as(1)},
      {mask({1}), real({1}), real({1})},
      {mask({}), real({2}), real({2, 1})},
      {mask({0, 3}), real({3}), real({0, 3})},
      {mask({2, 3}), repeated({1, 3}, {2, 3}, d), real({2, 3}, Domain::large)},
  };
  row.misuses = {
      misuse<DTypeError>([] { return where(ones({2}), ones({2}), ones({2})); },
                         "the condition must be boolean, got float64"),
      misuse<DTypeError>([] { return where(ones({2}, boolean), ones({2}), ones({2}, float32)); },
                         "do not go together"),
      misuse<ShapeError>([] { return where(ones({3}, boolean), ones({2}), ones({2})); }, "do not broadcast"),
  };
  row.precision = Precision::moved;
  row.takes_int64 = true;
  rows.push_back(row);

  row.name = "masked_fill";
  row.call = [](Inputs x) { return masked_fill(x[0], x[1], -2); };
  row.twin = [](PlainInputs x) {
    return fill(x[0].shape, [&](const Index& i) { return x[1].broadcast_at(i) != 0 ? -2 : x[0].at(i); });
  };
  row.samples = {
      {real({3, 4}), mask({3, 4})},
      {real({3, 4}), mask({4})},
      {real({3, 4}), mask({3, 1})},
      {real({1}), mask({})},
      {real({0, 3}), mask({3})},
      {real({}), mask({})},
      {repeated({1, 3}, {2, 3}), mask({2, 3})},
      {real({2, 3}, Domain::large), mask({2, 3})},
  };
  row.misuses = {
      misuse<DTypeError>([] { return masked_fill(ones({2}), ones({2}), 0); }, "the mask must be boolean"),
      misuse<ShapeError>(
          [] {
            return masked_fill(ones({2}), ones({3, 2}, boolean), 0);
          },
          "it must broadcast to x"),
      misuse<ShapeError>([] { return masked_fill(ones({2}), ones({3}, boolean), 0); }, "do not broadcast"),
  };
  rows.push_back(row);
}

}  // namespace

void add_elementwise_rows(Rows& rows) {
  const Domain normal = Domain::normal, positive = Domain::positive, nonzero = Domain::away_from_zero;
  const Domain distinct = Domain::distinct;
  // clang-format off
  //            name                          call                                                  one element of the twin                      domains            dtypes
  binary(rows, "add",                         [](Inputs x) { return add(x[0], x[1]); },             [](double a, double b) { return a + b; },    normal, normal,    any);
  binary(rows, "subtract",                    [](Inputs x) { return subtract(x[0], x[1]); },        [](double a, double b) { return a - b; },    normal, normal,    any);
  binary(rows, "multiply",                    [](Inputs x) { return multiply(x[0], x[1]); },        [](double a, double b) { return a * b; },    normal, normal,    any);
  binary(rows, "divide",                      [](Inputs x) { return divide(x[0], x[1]); },          [](double a, double b) { return a / b; },    normal, nonzero,   floats);
  binary(rows, "power",                       [](Inputs x) { return power(x[0], x[1]); },           [](double a, double b) { return std::pow(a, b); }, positive, normal, floats);
  binary(rows, "maximum",                     [](Inputs x) { return maximum(x[0], x[1]); },         larger,                                      distinct, distinct, chosen_any);
  binary(rows, "minimum",                     [](Inputs x) { return minimum(x[0], x[1]); },         smaller,                                     distinct, distinct, chosen_any);
  binary(rows, "xlogy",                       [](Inputs x) { return xlogy(x[0], x[1]); },           x_log_y,                                     positive, positive,  floats);
  rows.back().samples.push_back({given({0, 0, 2, -1}, {4}), given({0.5, 2, 1, 3}, {4})});
  binary(rows, "operator+ two tensors",       [](Inputs x) { return x[0] + x[1]; },                 [](double a, double b) { return a + b; },    normal, normal,    any);
  binary(rows, "operator- two tensors",       [](Inputs x) { return x[0] - x[1]; },                 [](double a, double b) { return a - b; },    normal, normal,    any);
  binary(rows, "operator* two tensors",       [](Inputs x) { return x[0] * x[1]; },                 [](double a, double b) { return a * b; },    normal, normal,    any);
  binary(rows, "operator/ two tensors",       [](Inputs x) { return x[0] / x[1]; },                 [](double a, double b) { return a / b; },    normal, nonzero,   floats);

  unary(rows, "negate",                       [](Inputs x) { return negate(x[0]); },                [](double x) { return -x; },                 normal,   chosen_any);
  unary(rows, "operator- of one tensor",      [](Inputs x) { return -x[0]; },                       [](double x) { return -x; },                 normal,   chosen_any);
  unary(rows, "square",                       [](Inputs x) { return square(x[0]); },                [](double x) { return x * x; },              normal,   any);
  unary(rows, "exp",                          [](Inputs x) { return exp(x[0]); },                   [](double x) { return std::exp(x); },        normal,   floats);
  unary(rows, "log",                          [](Inputs x) { return log(x[0]); },                   [](double x) { return std::log(x); },        positive, floats);
  unary(rows, "sqrt",                         [](Inputs x) { return sqrt(x[0]); },                  [](double x) { return std::sqrt(x); },       positive, floats);
  unary(rows, "abs",                          [](Inputs x) { return abs(x[0]); },                   [](double x) { return std::fabs(x); },       nonzero,  chosen_any);
  unary(rows, "sign",                         [](Inputs x) { return sign(x[0]); },                  sign_of,                                     nonzero,  chosen);
  unary(rows, "tanh",                         [](Inputs x) { return tanh(x[0]); },                  [](double x) { return std::tanh(x); },       normal,   floats);
  unary(rows, "sigmoid",                      [](Inputs x) { return sigmoid(x[0]); },               [](double x) { return 1 / (1 + std::exp(-x)); }, normal, floats);
  unary(rows, "relu",                         [](Inputs x) { return relu(x[0]); },                  [](double x) { return larger(x, 0); },       nonzero,  chosen);
  unary(rows, "gelu exact",                   [](Inputs x) { return gelu(x[0]); },                  [](double x) { return x * normal_distribution(x); }, normal, floats);
  unary(rows, "gelu tanh",                    [](Inputs x) { return gelu(x[0], Gelu::tanh); },      gelu_by_tanh,                                normal,   floats);
  unary(rows, "softplus",                     [](Inputs x) { return softplus(x[0]); },              [](double x) { return x > 50 ? x : std::log1p(std::exp(x)); }, normal, floats);

  unary(rows, "silu",                         [](Inputs x) { return silu(x[0]); },                  [](double x) { return x / (1 + std::exp(-x)); }, normal, floats);
  unary(rows, "log_sigmoid",                  [](Inputs x) { return log_sigmoid(x[0]); },           [](double x) { return x < -50 ? x : -std::log1p(std::exp(-x)); }, normal, floats);
  unary(rows, "log1p",                        [](Inputs x) { return log1p(x[0]); },                 [](double x) { return std::log1p(x); },      positive, floats);
  unary(rows, "log1p of small numbers",       [](Inputs x) { return log1p(x[0]); },                 [](double x) { return std::log1p(x); },      Domain::small, floats);
  unary(rows, "expm1",                        [](Inputs x) { return expm1(x[0]); },                 [](double x) { return std::expm1(x); },      normal,   floats);
  unary(rows, "expm1 of small numbers",       [](Inputs x) { return expm1(x[0]); },                 [](double x) { return std::expm1(x); },      Domain::small, floats);
  unary(rows, "sin",                          [](Inputs x) { return sin(x[0]); },                   [](double x) { return std::sin(x); },        normal,   floats);
  unary(rows, "cos",                          [](Inputs x) { return cos(x[0]); },                   [](double x) { return std::cos(x); },        normal,   floats);
  unary(rows, "erf",                          [](Inputs x) { return erf(x[0]); },                   [](double x) { return std::erf(x); },        normal,   floats);
  clamp_row(rows, "clamp",                    [](Inputs x) { return clamp(x[0], -1, 2); },          [](double x) { return clamped(x, -1, 2); });
  clamp_row(rows, "clamp from below",         [](Inputs x) { return clamp(x[0], -1, {}); },         [](double x) { return clamped(x, -1, infinity); });
  clamp_row(rows, "clamp from above",         [](Inputs x) { return clamp(x[0], {}, 1); },          [](double x) { return clamped(x, -infinity, 1); });
  clamp_row(rows, "clamp not at all",         [](Inputs x) { return clamp(x[0], {}, {}); },         [](double x) { return x; });

  unary(rows, "power to a fraction",          [](Inputs x) { return power(x[0], 1.5); },            [](double x) { return std::pow(x, 1.5); },   positive, floats);
  unary(rows, "power cube",                   [](Inputs x) { return power(x[0], 3.0); },            [](double x) { return x * x * x; },          normal,   floats);
  unary(rows, "power inverse",                [](Inputs x) { return power(x[0], -1.0); },           [](double x) { return 1 / x; },              nonzero,  floats);
  unary(rows, "power zero",                   [](Inputs x) { return power(x[0], 0.0); },            [](double) { return 1.0; },                  normal,   floats);
  unary(rows, "add number",                   [](Inputs x) { return add(x[0], 2.0); },              [](double x) { return x + 2; },              normal,   any);
  unary(rows, "multiply number",              [](Inputs x) { return multiply(x[0], -3.0); },        [](double x) { return x * -3; },             normal,   any);
  unary(rows, "operator+ number",             [](Inputs x) { return x[0] + 2.0; },                  [](double x) { return x + 2; },              normal,   any);
  unary(rows, "operator+ number first",       [](Inputs x) { return 2.0 + x[0]; },                  [](double x) { return 2 + x; },              normal,   any);
  unary(rows, "operator- number",             [](Inputs x) { return x[0] - 2.0; },                  [](double x) { return x - 2; },              normal,   any);
  unary(rows, "operator- number first",       [](Inputs x) { return 2.0 - x[0]; },                  [](double x) { return 2 - x; },              normal,   any);
  unary(rows, "operator* number",             [](Inputs x) { return x[0] * -3.0; },                 [](double x) { return x * -3; },             normal,   any);
  unary(rows, "operator* number first",       [](Inputs x) { return -3.0 * x[0]; },                 [](double x) { return -3 * x; },             normal,   any);
  unary(rows, "operator/ number",             [](Inputs x) { return x[0] / -3.0; },                 [](double x) { return x / -3; },             normal,   floats);
  unary(rows, "operator/ number first",       [](Inputs x) { return 2.0 / x[0]; },                  [](double x) { return 2 / x; },              nonzero,  floats);

  unary(rows, "add itself",                   [](Inputs x) { return add(x[0], x[0]); },             [](double x) { return 2 * x; },              normal,   any);
  unary(rows, "multiply itself",              [](Inputs x) { return multiply(x[0], x[0]); },        [](double x) { return x * x; },              normal,   any);
  unary(rows, "divide itself",                [](Inputs x) { return divide(x[0], x[0]); },          [](double x) { return x / x; },              nonzero,  floats);
  unary(rows, "xlogy of itself",              [](Inputs x) { return xlogy(x[0], x[0]); },           [](double x) { return x_log_y(x, x); },      positive, floats);
  unary(rows, "power itself",                 [](Inputs x) { return power(x[0], x[0]); },           [](double x) { return std::pow(x, x); },     positive, floats);
  // clang-format on
  add_choosing_rows(rows);
}

}  // namespace regard::test

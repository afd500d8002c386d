#include <regard/loss.hpp>

#include <cmath>

#include "op_table/samples.hpp"
#include "op_table/table.hpp"
#include "twins/reduce.hpp"
#include "twins/softmax.hpp"

namespace regard::test {
namespace {

using Call = std::function<Tensor(Inputs)>;
using Twin = Plain (*)(PlainInputs);

double squared_error(double a, double b) {
  return (a - b) * (a - b);
}
Plain number(double x) {
  return Plain(Shape{}, std::vector<double>{x});
}

/// The mean over what counts; 0 when nothing does.
Plain averaged(PlainInputs x, const CrossEntropyTwin& how) {
  const double sum = total(cross_entropy_rows(x[0], x[1], how).values);
  const double divisor = cross_entropy_divisor(x[0], x[1], how);
  return number(divisor == 0 ? 0 : sum / divisor);
}

Samples of_ids() {
  return {
      {real({3, 4}), ids({3}, 4)},
      {real({4}), ids({}, 4)},
      {real({2, 3, 4}), ids({2, 3}, 4)},
      {real({1, 1}), ids({1}, 1)},
      {real({0, 4}), ids({0}, 4)},
      {repeated({1, 4}, {3, 4}), ids({3}, 4)},
      {real({3, 4}, Domain::large), ids({3}, 4)},
      {real({3, 4}), given_ids({1, -100, 3}, {3})},
      {real({2, 4}), given_ids({-100, -100}, {2})},
  };
}

/// Rows of probabilities need not add up to 1 for the formula to hold.
Samples of_probabilities() {
  return {
      {real({3, 4}), real({3, 4}, Domain::unit)},
      {real({4}), real({4}, Domain::unit)},
      {real({2, 3, 4}), real({2, 3, 4}, Domain::unit)},
      {real({1, 1}), real({1, 1}, Domain::unit)},
      {real({0, 4}), real({0, 4}, Domain::unit)},
      {repeated({1, 4}, {3, 4}), repeated({1, 4}, {3, 4}, Domain::unit)},
      {real({3, 4}, Domain::large), real({3, 4}, Domain::unit)},
  };
}

/// Any numbers do as log-probabilities. The last class of the last sample has none.
Samples of_log_probabilities() {
  Samples samples = of_ids();
  samples.push_back(values_only({given({-1, -2, -infinity, -3, -4, -infinity}, {2, 3}), given_ids({0, 1}, {2})}));
  return samples;
}

/// One loss per row, without a softmax.
Plain nll_rows(const Plain& x, const Plain& targets, const CrossEntropyTwin& how) {
  Shape rows = x.shape;
  rows.erase(rows.rank() - 1);
  return fill(rows, [&](Index row) {
    const auto id = static_cast<Size>(targets.at(row));
    if (id == how.ignore) return 0.0;
    row.push_back(0);
    double loss = 0;
    const double share = how.smoothing / static_cast<double>(x.shape.back());
    for (Size c = 0; c < x.shape.back(); ++c) {
      const double a = (c == id ? 1 - how.smoothing : 0) + share;
      const double weight = how.weights.empty() ? 1 : how.weights[static_cast<std::size_t>(c)];
      if (a * weight != 0) loss -= a * weight * x.at(with(row, rows.rank(), c));
    }
    return loss;
  });
}

Plain averaged_nll(PlainInputs x, const CrossEntropyTwin& how) {
  const double divisor = cross_entropy_divisor(x[0], x[1], how);
  return number(divisor == 0 ? 0 : total(nll_rows(x[0], x[1], how).values) / divisor);
}

double binary(double x, double t, double positive = 1) {
  const auto log_sigmoid = [](double z) { return z < -50 ? z : -std::log1p(std::exp(-z)); };
  return -(positive * t * log_sigmoid(x) + (1 - t) * log_sigmoid(-x));
}
double divergence(double x, double t) {
  return t == 0 ? 0 : t * (std::log(t) - x);
}
double divergence_of_logarithms(double x, double t) {
  return std::exp(t) == 0 ? 0 : std::exp(t) * (t - x);
}

/// Numbers and probabilities of one shape; none is near 0, where t·log t is steep.
Samples of_numbers_and_probabilities() {
  return {
      {real({3, 4}), real({3, 4}, Domain::unit)},
      {real({}), real({}, Domain::unit)},
      {real({1}), real({1}, Domain::unit)},
      {real({2, 3}, Domain::unit), same_as(0)},
      {repeated({1, 3}, {2, 3}), repeated({2, 1}, {2, 3}, Domain::unit)},
      {real({2, 3}, Domain::large), real({2, 3}, Domain::unit)},
      {real({2, 1, 3}), real({2, 1, 3}, Domain::unit)},
      {real({3, 2}), given({0, 1, 1, 0, 1, 0}, {3, 2})},
  };
}

Samples of_pairs() {
  return {
      {real({3, 4}), real({3, 4})},
      {real({}), real({})},
      {real({1}), real({1})},
      {real({2, 3}), same_as(0)},
      {repeated({1, 3}, {2, 3}), real({2, 3})},
      {real({2, 3}, Domain::large), real({2, 3}, Domain::large)},
      {real({2, 1, 3}), real({2, 1, 3})},
  };
}

Row& losing(Rows& rows, const char* name, Call call, Twin twin, Samples samples, Misuses misuses) {
  Row row;
  row.name = name;
  row.call = call;
  row.twin = twin;
  row.samples = std::move(samples);
  row.misuses = std::move(misuses);
  rows.push_back(row);
  return rows.back();
}

Tensor with(Inputs x, const CrossEntropyOptions& options) {
  return cross_entropy(x[0], x[1], options);
}

CrossEntropyOptions summed() {
  CrossEntropyOptions options;
  options.reduction = Reduction::sum;
  return options;
}

/// Class weights, smoothing and another id that is ignored.
CrossEntropyOptions everything(DType dtype, Reduction reduction) {
  CrossEntropyOptions options;
  options.reduction = reduction;
  options.ignore_index = 2;
  options.label_smoothing = 0.1;
  options.class_weights = tensor({1, 2, 0.5, 3}, dtype);
  return options;
}
const CrossEntropyTwin everything_twin{2, 0.1, {1, 2, 0.5, 3}};

}  // namespace

void add_loss_rows(Rows& rows) {
  // clang-format off
  losing(rows, "cross_entropy", [](Inputs x) { return cross_entropy(x[0], x[1]); }, [](PlainInputs x) { return averaged(x, {}); }, of_ids(),
         {misuse<ValueError>([] { return cross_entropy(ones({2, 4}), tensor({0, 4}, int64)); }, "4"),
          misuse<ValueError>([] { return cross_entropy(ones({2, 4}), tensor({-1, 0}, int64)); }, "-1"),
          misuse<ShapeError>([] { return cross_entropy(ones({2, 4}), zeros({3}, int64)); }, "logits [2, 4] (classes last) take class ids int64 [2] or probabilities float64 [2, 4] as targets, got int64 [3]"),
          misuse<ShapeError>([] { return cross_entropy(scalar(1), scalar(0, int64)); }, "logits are a scalar"),
          misuse<DTypeError>([] { return cross_entropy(ones({2, 4}), ones({2, 4}, float32)); }, "got float32 [2, 4]")});
  losing(rows, "cross_entropy summed", [](Inputs x) { return with(x, summed()); },
         [](PlainInputs x) { return number(total(cross_entropy_rows(x[0], x[1], {}).values)); }, of_ids(),
         {misuse<DTypeError>([] { return with({ones({2, 4}, int64), zeros({2}, int64)}, summed()); }, "expected float32 or float64"),
          misuse<DTypeError>([] { return with({ones({2, 4}), zeros({2}, boolean)}, summed()); }, "got boolean [2]")});
  losing(rows, "cross_entropy of each row", [](Inputs x) { CrossEntropyOptions options; options.reduction = Reduction::none; return with(x, options); },
         [](PlainInputs x) { return cross_entropy_rows(x[0], x[1], {}); }, of_ids(),
         {misuse<ValueError>([] { CrossEntropyOptions options; options.label_smoothing = 1.5; return with({ones({2, 4}), zeros({2}, int64)}, options); }, "label_smoothing must be from 0 to 1, got 1.5"),
          misuse<ShapeError>([] { CrossEntropyOptions options; options.class_weights = ones({3}); return with({ones({2, 4}), zeros({2}, int64)}, options); }, "expected class_weights [4]")});
  Row& weighted = losing(rows, "cross_entropy weighted, smoothed, with ids ignored", [](Inputs x) { return with(x, everything(x[0].dtype(), Reduction::mean)); },
         [](PlainInputs x) { return averaged(x, everything_twin); },
         {{real({5, 4}), given_ids({0, 1, 2, 3, 2}, {5})}, {real({4}), given_ids({3}, {})}, {real({2, 3, 4}), ids({2, 3}, 4)}, {real({0, 4}), ids({0}, 4)},
          {real({2, 4}), given_ids({2, 2}, {2})}, {repeated({1, 4}, {3, 4}), given_ids({0, 1, 2}, {3})}, {real({3, 4}, Domain::large), given_ids({0, 3, 1}, {3})}},
         {misuse<DTypeError>([] { return with({ones({2, 4}), zeros({2}, int64)}, everything(float32, Reduction::mean)); }, "float32"),
          misuse<ValueError>([] { return with({ones({2, 4}), full({2}, -100, int64)}, everything(float64, Reduction::mean)); }, "-100")});
  weighted.takes_one = false;
  losing(rows, "cross_entropy of probabilities", [](Inputs x) { return cross_entropy(x[0], x[1]); }, [](PlainInputs x) { return averaged(x, {}); }, of_probabilities(),
         {misuse<ShapeError>([] { return cross_entropy(ones({2, 4}), ones({2, 3})); }, "got float64 [2, 3]"),
          misuse<ShapeError>([] { return cross_entropy(ones({2, 4}), ones({4})); }, "got float64 [4]")});
  Row& soft = losing(rows, "cross_entropy of probabilities, weighted and smoothed", [](Inputs x) { return with(x, everything(x[0].dtype(), Reduction::none)); },
         [](PlainInputs x) { return cross_entropy_rows(x[0], x[1], everything_twin); }, of_probabilities(),
         {misuse<ShapeError>([] { return with({ones({2, 3}), ones({2, 3})}, everything(float64, Reduction::none)); }, "expected class_weights [3]"),
          misuse<DTypeError>([] { return with({ones({2, 4}, float32), ones({2, 4}, float32)}, everything(float64, Reduction::none)); }, "float64")});
  const auto one = [](const Sample& s) { return numel(s.inputs[0].shape) == 1; };  // the weights are for four classes
  soft.samples.erase(std::remove_if(soft.samples.begin(), soft.samples.end(), one), soft.samples.end());
  soft.takes_one = false;

  losing(rows, "nll_loss", [](Inputs x) { return nll_loss(x[0], x[1]); }, [](PlainInputs x) { return averaged_nll(x, {}); }, of_log_probabilities(),
         {misuse<ValueError>([] { return nll_loss(ones({2, 4}), tensor({0, 4}, int64)); }, "nll_loss: target 4 at [1] is not a class"),
          misuse<ShapeError>([] { return nll_loss(ones({2, 4}), zeros({3}, int64)); }, "nll_loss: log_probabilities [2, 4] (classes last) take class ids int64 [2]"),
          misuse<DTypeError>([] { return nll_loss(ones({2, 4}, int64), zeros({2}, int64)); }, "expected float32 or float64")});
  losing(rows, "nll_loss of each row", [](Inputs x) { CrossEntropyOptions options; options.reduction = Reduction::none; return nll_loss(x[0], x[1], options); },
         [](PlainInputs x) { return nll_rows(x[0], x[1], {}); }, of_log_probabilities(),
         {misuse<ValueError>([] { CrossEntropyOptions options; options.reduction = Reduction::none; return nll_loss(ones({2, 4}), tensor({-1, 0}, int64), options); }, "target -1 at [0]"),
          misuse<ShapeError>([] { return nll_loss(scalar(1), scalar(0, int64)); }, "log_probabilities are a scalar")});
  Row& nll = losing(rows, "nll_loss weighted, smoothed, with ids ignored", [](Inputs x) { return nll_loss(x[0], x[1], everything(x[0].dtype(), Reduction::mean)); },
         [](PlainInputs x) { return averaged_nll(x, everything_twin); }, weighted.samples,
         {misuse<DTypeError>([] { return nll_loss(ones({2, 4}), zeros({2}, int64), everything(float32, Reduction::mean)); }, "float32"),
          misuse<ShapeError>([] { return nll_loss(ones({2, 3}), zeros({2}, int64), everything(float64, Reduction::mean)); }, "expected class_weights [3] for log_probabilities [2, 3], got [4]")});
  nll.takes_one = false;

  const auto with_weights = [](Inputs x) {
    BinaryCrossEntropyOptions options;
    options.reduction = Reduction::none;
    options.weight = x[2].to(x[0].dtype()) + 0.5;
    options.pos_weight = scalar(2.5, x[0].dtype());
    return binary_cross_entropy_with_logits(x[0], x[1], options);
  };
  const Misuses binary_misuses = {
      misuse<ShapeError>([] { return binary_cross_entropy_with_logits(ones({3}), ones({3, 1})); }, "logits [3] and target [3, 1] must have the same shape"),
      misuse<DTypeError>([] { return binary_cross_entropy_with_logits(ones({3}), ones({3}, float32)); }, "float64 [3] and float32 [3]"),
      misuse<ShapeError>([] { BinaryCrossEntropyOptions options; options.weight = ones({2, 3}); return binary_cross_entropy_with_logits(ones({3}), ones({3}), options); }, "weight [2, 3] does not broadcast to [3]"),
      misuse<DTypeError>([] { BinaryCrossEntropyOptions options; options.pos_weight = ones({3}, float32); return binary_cross_entropy_with_logits(ones({3}), ones({3}), options); }, "float32"),
  };
  losing(rows, "binary_cross_entropy_with_logits", [](Inputs x) { return binary_cross_entropy_with_logits(x[0], x[1]); },
         [](PlainInputs x) { return number(average(map(x[0], x[1], [](double a, double t) { return binary(a, t); }).values)); }, of_numbers_and_probabilities(), binary_misuses);
  rows.back().samples.push_back(values_only({real({0, 3}), real({0, 3})}));  // 0 / 0
  losing(rows, "binary_cross_entropy_with_logits summed over a batch", [](Inputs x) { BinaryCrossEntropyOptions options; options.reduction = Reduction::batch_mean; return binary_cross_entropy_with_logits(x[0], x[1], options); },
         [](PlainInputs x) { return number(total(map(x[0], x[1], [](double a, double t) { return binary(a, t); }).values) / static_cast<double>(x[0].shape.empty() ? 1 : x[0].shape[0])); }, of_numbers_and_probabilities(), binary_misuses);
  rows.back().samples.push_back({real({3, 0}), real({3, 0})});
  losing(rows, "binary_cross_entropy_with_logits of each, weighted", with_weights,
         [](PlainInputs x) { return fill(x[0].shape, [&](const Index& at) { return (x[2].broadcast_at(at) + 0.5) * binary(x[0].at(at), x[1].at(at), 2.5); }); },
         {}, binary_misuses);
  for (Sample sample : of_numbers_and_probabilities()) {
    sample.inputs.push_back(mask(sample.inputs[0].shape.empty() ? Shape{} : Shape{sample.inputs[0].shape.back()}));
    rows.back().samples.push_back(sample);
  }
  rows.back().samples.push_back({real({0, 3}), real({0, 3}), mask({3})});

  const auto logarithms = [](Reduction reduction) { KlDivergenceOptions options; options.reduction = reduction; options.log_target = true; return options; };
  const Misuses kl_misuses = {
      misuse<ShapeError>([] { return kl_divergence(ones({3}), ones({1, 3})); }, "log_probabilities [3] and target [1, 3] must have the same shape"),
      misuse<DTypeError>([] { return kl_divergence(ones({3}), ones({3}, int64)); }, "expected float32 or float64"),
  };
  losing(rows, "kl_divergence", [](Inputs x) { return kl_divergence(x[0], x[1]); }, [](PlainInputs x) { return number(average(map(x[0], x[1], divergence).values)); }, of_numbers_and_probabilities(), kl_misuses);
  rows.back().samples.back() = values_only({given({-infinity, -1, -2, -infinity}, {2, 2}), given({0, 1, 0.5, 0}, {2, 2})});
  rows.back().samples.push_back(values_only({real({0, 3}), real({0, 3})}));
  losing(rows, "kl_divergence of logarithms", [=](Inputs x) { return kl_divergence(x[0], x[1], logarithms(Reduction::none)); }, [](PlainInputs x) { return map(x[0], x[1], divergence_of_logarithms); }, of_pairs(), kl_misuses);
  rows.back().samples[5] = {real({2, 3}, Domain::large), real({2, 3})};
  rows.back().samples.push_back({real({0, 3}), real({0, 3})});
  rows.back().samples.push_back(values_only({given({-infinity, -1, -2}, {3}), given({-infinity, -1, -800}, {3})}));

  const Misuses shapes = {
      misuse<ShapeError>([] { return mean_squared_error(ones({3}), ones({3, 1})); }, "prediction [3] and target [3, 1] must have the same shape"),
      misuse<DTypeError>([] { return mean_squared_error(ones({3}), ones({3}, float32)); }, "float64 [3] and float32 [3]"),
  };
  losing(rows, "mean_squared_error", [](Inputs x) { return mean_squared_error(x[0], x[1]); }, [](PlainInputs x) { return number(average(map(x[0], x[1], squared_error).values)); }, of_pairs(), shapes);
  rows.back().samples.push_back(values_only({real({0, 3}), real({0, 3})}));  // 0 / 0
  losing(rows, "mean_squared_error summed", [](Inputs x) { return mean_squared_error(x[0], x[1], Reduction::sum); }, [](PlainInputs x) { return number(total(map(x[0], x[1], squared_error).values)); }, of_pairs(), shapes);
  rows.back().samples.push_back({real({0, 3}), real({0, 3})});
  losing(rows, "mean_squared_error of each", [](Inputs x) { return mean_squared_error(x[0], x[1], Reduction::none); }, [](PlainInputs x) { return map(x[0], x[1], squared_error); }, of_pairs(), shapes);
  rows.back().samples.push_back({real({0, 3}), real({0, 3})});
  // clang-format on
}

}  // namespace regard::test

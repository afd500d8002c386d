// Every row's gradient: against differences, in both float types, accumulated, shared, partly wanted.
#include <algorithm>
#include <cmath>
#include <limits>

#include "op_table/table.hpp"
#include "support/close.hpp"
#include "support/gradients.hpp"

namespace regard::test {
namespace {

class Gradient : public ::testing::TestWithParam<Row> {
 protected:
  /// Calls property(case) for every sample that has a gradient.
  template <class Property>
  void for_each_case(DType dtype, Property property) {
    if (!GetParam().differentiable) GTEST_SKIP() << "has no gradient";
    for (const Sample& sample : GetParam().samples)
      if (sample.differentiable) property(make_case(GetParam(), sample, dtype));
  }
};

Rows rows_of_the_table() {
  return op_table();
}
INSTANTIATE_TEST_SUITE_P(Table, Gradient, ::testing::ValuesIn(rows_of_the_table()), row_name);

Tensor random_seed(const Tensor& y) {
  Rng rng(99);
  return random_tensor(y.shape(), rng, Domain::away_from_zero, y.dtype());
}

Tensors floats_of(const Tensors& x) {
  Tensors out;
  std::copy_if(x.begin(), x.end(), std::back_inserter(out),
               [](const Tensor& t) { return is_float(t.dtype()); });
  return out;
}

/// The gradients of all float inputs with one fixed seed.
Tensors gradients_of(const Case& c) {
  const Tensors x = c.leaves();
  const Tensor y = c(x);
  GradOptions options;
  options.seeds = {random_seed(y)};
  options.allow_unused = true;
  return grad(Tensors{y}, floats_of(x), options);
}

double largest(const Tensor& x) {
  double out = 0;
  for (const double value : values_of(x)) out = std::max(out, std::fabs(value));
  return out;
}

TEST_P(Gradient, IsWhatDifferencesSay) {
  GradientOptions options;
  options.tolerance = GetParam().gradient_tolerance;
  for_each_case(float64, [&](const Case& made) {
    for (const Layout layout : all_layouts) {
      const Case c = make_case(*made.row, *made.sample, float64, layout);
      EXPECT_TRUE(gradients_agree(c.function(), c.inputs, options)) << describe(c);
    }
  });
}

TEST_P(Gradient, HasAGradientThatDifferencesConfirm) {
  GradientOptions options;
  options.tolerance = GetParam().gradient_tolerance;
  for_each_case(float64, [&](const Case& c) {
    EXPECT_TRUE(second_order_agrees(c.function(), c.inputs, options)) << describe(c);
  });
}

TEST_P(Gradient, IsTheSameInFloat32) {
  for_each_case(float32, [&](const Case& c) {
    const Tensors narrow = gradients_of(c);
    const Tensors wide = gradients_of(make_case(*c.row, *c.sample, float64));
    ASSERT_EQ(narrow.size(), wide.size());
    for (std::size_t i = 0; i < wide.size(); ++i) {
      ASSERT_EQ(narrow[i].dtype(), float32) << describe(c);
      ASSERT_EQ(narrow[i].shape(), wide[i].shape()) << describe(c);
      const double allowed = c.row->float32_tolerance * largest(wide[i]) + std::numeric_limits<float>::min();
      EXPECT_TENSOR_NEAR(narrow[i].to(float64), wide[i], 0, allowed) << describe(c) << ", gradient " << i;
    }
  });
}

TEST_P(Gradient, AddsToWhatAParameterHas) {
  for_each_case(float64, [](const Case& c) {
    std::vector<Parameter> parameters;
    Tensors x;
    Rng rng(7);
    for (const Tensor& input : c.inputs) {
      if (!is_float(input.dtype())) {
        x.push_back(input);
        continue;
      }
      parameters.emplace_back(input);
      parameters.back().set_gradient(random_tensor(input.shape(), rng));
      x.push_back(parameters.back());
    }
    Tensors before;
    for (const Parameter& p : parameters) before.push_back(deep_copy(p.gradient()));
    const Tensor y = c(x);
    if (!y.requires_grad()) return;  // an output of no elements may depend on nothing
    BackwardOptions options;
    options.seed = random_seed(y);
    backward(y, options);
    const Tensors expected = gradients_of(c);
    for (std::size_t i = 0; i < parameters.size(); ++i)
      EXPECT_TENSOR_NEAR(parameters[i].gradient(), before[i] + expected[i], 1e-14,
                         1e-14 * largest(expected[i]))
          << describe(c);
  });
}

TEST_P(Gradient, DoublesWhenTheInputsAreUsedTwice) {
  for_each_case(float64, [](const Case& c) {
    const Tensors x = c.leaves();
    const Tensors y = {c(x), c(x)};
    GradOptions options;
    options.seeds = {random_seed(y[0]), random_seed(y[1])};
    options.allow_unused = true;
    const Tensors both = grad(y, floats_of(x), options);
    const Tensors once = gradients_of(c);
    for (std::size_t i = 0; i < both.size(); ++i)
      EXPECT_TENSOR_NEAR(both[i], once[i] * 2.0, 1e-13, 1e-13 * largest(once[i])) << describe(c);
  });
}

// A rule must not mix up which gradients are wanted.
TEST_P(Gradient, OfOneInputIsTheSameWhenOnlyThatOneIsWanted) {
  for_each_case(float64, [](const Case& c) {
    const Tensors all = gradients_of(c);
    std::size_t which = 0;
    for (std::size_t i = 0; i < c.inputs.size(); ++i) {
      if (!is_float(c.inputs[i].dtype())) continue;
      Tensors x = c.inputs;
      x[i] = variable(c.inputs[i]);
      const Tensor y = c(x);
      GradOptions options;
      options.seeds = {random_seed(y)};
      options.allow_unused = true;
      const Tensor alone = grad(Tensors{y}, Tensors{x[i]}, options)[0];
      EXPECT_TENSOR_NEAR(alone, all[which], 1e-14, 1e-14 * largest(all[which]))
          << describe(c) << ", input " << i;
      ++which;
    }
  });
}

TEST_P(Gradient, IsLinearInTheSeed) {
  for_each_case(float64, [](const Case& c) {
    const Tensors x = c.leaves();
    const Tensor y = c(x);
    GradOptions options;
    options.retain_graph = true;
    options.allow_unused = true;
    options.seeds = {random_seed(y)};
    const Tensors once = grad(Tensors{y}, floats_of(x), options);
    options.seeds = {random_seed(y) * -4.0};
    const Tensors more = grad(Tensors{y}, floats_of(x), options);
    for (std::size_t i = 0; i < once.size(); ++i)
      EXPECT_TENSOR_NEAR(more[i], once[i] * -4.0, 1e-14, 1e-14 * largest(once[i])) << describe(c);
  });
}

TEST_P(Gradient, IsRepeatedBitForBit) {
  for_each_case(float32, [](const Case& c) {
    const Tensors first = gradients_of(c), second = gradients_of(c);
    for (std::size_t i = 0; i < first.size(); ++i) EXPECT_SAME_BITS(first[i], second[i]) << describe(c);
  });
}

// Nodes keep the values they saw, not the cells that held them.
TEST_P(Gradient, IsUntouchedByAParameterAssignedAfterTheForward) {
  for_each_case(float64, [](const Case& c) {
    std::vector<Parameter> parameters;
    Tensors x;
    for (const Tensor& input : c.inputs) {
      if (is_float(input.dtype())) parameters.emplace_back(input);
      x.push_back(is_float(input.dtype()) ? parameters.back().tensor() : input);
    }
    const Tensor y = c(x);
    x.clear();
    if (!y.requires_grad()) return;
    const Tensor value = deep_copy(y);
    for (Parameter& p : parameters) p.assign(full(p.shape(), 1e6));
    BackwardOptions options;
    options.seed = random_seed(y);
    backward(y, options);
    EXPECT_SAME_BITS(y.detach(), value) << describe(c);
    const Tensors expected = gradients_of(c);
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      if (!parameters[i].has_gradient()) continue;
      EXPECT_SAME_BITS(parameters[i].gradient(), expected[i]) << describe(c);
    }
  });
}

}  // namespace
}  // namespace regard::test

// Reductions against plain loops over every set of axes, and their edges.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

using test::Domain;
using test::Layout;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

bool contains(const Axes& axes, int axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

using Fold = std::function<double(const std::vector<double>&)>;

/// What `fold` makes of the values that share the coordinates of the axes that stay.
Tensor by_loops(const Tensor& x, const Axes& axes, Keep keep, const Fold& fold) {
  Shape shape;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (!contains(axes, axis)) shape.push_back(x.shape()[axis]);
    if (contains(axes, axis) && keep == keep_axes) shape.push_back(1);
  }
  std::vector<std::vector<double>> groups(static_cast<std::size_t>(numel(shape)));
  const std::vector<double> values = test::values_of(x);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::vector<Size> place = test::unravel(static_cast<Size>(i), x.shape());
    Size group = 0;
    for (int axis = 0; axis < x.rank(); ++axis)
      if (!contains(axes, axis)) group = group * x.shape()[axis] + place[static_cast<std::size_t>(axis)];
    groups[static_cast<std::size_t>(group)].push_back(values[i]);
  }
  std::vector<double> out;
  for (const std::vector<double>& group : groups) out.push_back(fold(group));
  return test::from_values(out, shape, x.dtype());
}

double sum_of_values(const std::vector<double>& v) {
  double total = 0;
  for (const double x : v) total += x;
  return total;
}
double mean_of_values(const std::vector<double>& v) {
  return sum_of_values(v) / static_cast<double>(v.size());
}
double variance_of_values(const std::vector<double>& v) {
  double total = 0;
  for (const double x : v) total += (x - mean_of_values(v)) * (x - mean_of_values(v));
  return total / static_cast<double>(v.size());
}
double max_of_values(const std::vector<double>& v) {
  return *std::max_element(v.begin(), v.end());
}
double logsumexp_of_values(const std::vector<double>& v) {
  double total = 0;
  for (const double x : v) total += std::exp(x - max_of_values(v));
  return max_of_values(v) + std::log(total);
}

struct Case {
  const char* name;
  Tensor (*call)(const Tensor& x, const Axes& axes, Keep keep);
  double (*fold)(const std::vector<double>&);
};

const Case cases[] = {
    {"sum", [](const Tensor& x, const Axes& a, Keep k) { return sum(x, a, k); }, sum_of_values},
    {"mean", [](const Tensor& x, const Axes& a, Keep k) { return mean(x, a, k); }, mean_of_values},
    {"variance", [](const Tensor& x, const Axes& a, Keep k) { return variance(x, a, k); },
     variance_of_values},
    {"max", [](const Tensor& x, const Axes& a, Keep k) { return max(x, a, k); }, max_of_values},
    {"logsumexp", [](const Tensor& x, const Axes& a, Keep k) { return logsumexp(x, a, k); },
     logsumexp_of_values},
};

std::vector<Axes> all_sets_of_axes(int rank) {
  std::vector<Axes> sets;
  for (int bits = 0; bits < 1 << rank; ++bits) {
    Axes axes;
    for (int axis = 0; axis < rank; ++axis)
      if ((bits >> axis) & 1) axes.push_back(axis);
    sets.push_back(axes);
  }
  return sets;
}

TEST(Reduce, EveryOpOverEverySetOfAxesInEveryLayout) {
  Rng rng(1);
  const Shape shapes[] = {{}, {5}, {3, 4}, {2, 3, 4}, {3, 1, 2, 5}, {3, 600}, {300, 7}, {2, 100, 70}};
  for (const Case& op : cases) {
    for (const Shape& shape : shapes) {
      for (const DType dtype : {float32, float64}) {
        const Tensor x = test::random_tensor(shape, rng, Domain::normal, dtype);
        const double tolerance = dtype == float32 ? 1e-5 : 1e-12;
        for (const Axes& axes : all_sets_of_axes(shape.rank())) {
          for (const Keep keep : {Keep::no, Keep::axes}) {
            const Tensor expected = by_loops(x, axes, keep, op.fold);
            for (const Layout layout : test::all_layouts) {
              SCOPED_TRACE(::testing::Message() << op.name << " of " << to_string(shape) << " over "
                                                << to_string(axes) << ", " << name(dtype) << ", " << layout);
              const Tensor y = op.call(test::with_layout(x, layout), axes, keep);
              ASSERT_TENSOR_NEAR(y, expected, tolerance, tolerance);
            }
          }
        }
      }
    }
  }
}

TEST(Reduce, NegativeAxesCountFromTheEnd) {
  Rng rng(2);
  const Tensor x = test::random_tensor({2, 3, 4}, rng);
  for (const Case& op : cases) {
    EXPECT_SAME_BITS(op.call(x, {-1, 0}, Keep::no), op.call(x, {0, 2}, Keep::no)) << op.name;
    EXPECT_THROWS_WITH(op.call(x, {3}, Keep::no), ShapeError, op.name);
    EXPECT_THROWS_WITH(op.call(x, {1, -2}, Keep::no), ShapeError, op.name);
  }
}

TEST(Reduce, WithoutAxesMeansAllOfThem) {
  Rng rng(3);
  const Tensor x = test::random_tensor({3, 4}, rng);
  EXPECT_SAME_BITS(sum(x), sum(x, {0, 1}));
  EXPECT_SAME_BITS(mean(x), mean(x, {0, 1}));
  EXPECT_SAME_BITS(max(x), max(x, {0, 1}));
}

TEST(Reduce, StretchedAxesCountEveryTime) {
  const Tensor x = test::stretched(tensor({{1}, {2}}), {3, 2, 4});
  EXPECT_EQ(sum(x).item(), 36);
  EXPECT_SAME_BITS(sum(x, {0, 2}), tensor({12, 24}));
  EXPECT_SAME_BITS(mean(x, {0, 1}), tensor({1.5, 1.5, 1.5, 1.5}));
}

TEST(Reduce, IntegersAddUpExactly) {
  const Tensor x = from_vector(std::vector<Size>{1, (Size{1} << 60), 3, -(Size{1} << 60)}, {2, 2});
  EXPECT_SAME_BITS(sum(x, {0}), from_vector(std::vector<Size>{4, 0}, {2}));
  EXPECT_SAME_BITS(max(x, {1}), from_vector(std::vector<Size>{Size{1} << 60, 3}, {2}));
  EXPECT_THROWS_WITH(mean(x), DTypeError, "mean");
  EXPECT_THROWS_WITH(variance(x, {0}), DTypeError, "variance");
  EXPECT_THROWS_WITH(logsumexp(x, {0}), DTypeError, "logsumexp");
  EXPECT_THROWS_WITH(sum(zeros({2}, boolean)), DTypeError, "sum");
}

TEST(Reduce, LargeFloat32SumsAreAsGoodAsFloat64Ones) {
  Rng rng(4);
  const Tensor x = uniform({1000, 1000}, rng, 0, 1, float32);
  const Tensor wide = x.to(float64);
  EXPECT_TENSOR_NEAR(sum(x).to(float64), sum(wide), 1e-6, 0);
  EXPECT_TENSOR_NEAR(sum(x, {0}).to(float64), sum(wide, {0}), 1e-6, 0);
  EXPECT_TENSOR_NEAR(sum(x, {1}).to(float64), sum(wide, {1}), 1e-6, 0);
  EXPECT_TENSOR_NEAR(mean(x).to(float64), mean(wide), 1e-6, 0);
}

TEST(Reduce, AMillionTenthsInFloat64) {
  const Tensor x = full({1000000}, 0.1);
  EXPECT_NEAR(sum(x).item(), 1e5, 1e-9);  // one after the other they make 100000.00000133
  EXPECT_NEAR(sum(full({1000000, 2}, 0.1), {0}).at({1}), 1e5, 1e-9);
}

TEST(Reduce, TheMeanOfEqualNumbersIsThatNumber) {
  for (const Size n : {3, 7, 49, 1000}) EXPECT_EQ(mean(ones({n})).item(), 1) << n;
}

TEST(Reduce, EmptyInputsHaveEmptyGradients) {
  const Tensor x = variable(zeros({0, 2}));
  EXPECT_SAME_BITS(grad(sum(x), x), zeros({0, 2}));
  EXPECT_SAME_BITS(grad(sum(mean(x, {0})), x), zeros({0, 2}));
  EXPECT_SAME_BITS(grad(sum(logsumexp(x, {0})), x), zeros({0, 2}));
}

TEST(Reduce, VarianceWithACorrection) {
  const Tensor x = tensor({1, 2, 3, 4});
  EXPECT_EQ(variance(x, {0}).item(), 1.25);
  EXPECT_DOUBLE_EQ(variance(x, {0}, Keep::no, 1).item(), 5.0 / 3.0);
  EXPECT_TRUE(std::isnan(variance(tensor({1}), {0}, Keep::no, 1).item()));
  EXPECT_TRUE(std::isnan(variance(x, {0}, Keep::no, 5).item()));
}

TEST(Reduce, LogsumexpOfInfinities) {
  const Tensor x = variable(tensor({{-inf, -inf}, {-inf, 1}, {1000, 1000}, {-1000, -1000}}));
  const Tensor y = logsumexp(x, {1});
  EXPECT_TENSOR_NEAR(y.detach(), tensor({-inf, 1, 1000 + std::log(2), -1000 + std::log(2)}), 1e-15, 0);
  EXPECT_SAME_BITS(grad(sum(y), x), tensor({{0, 0}, {0, 1}, {0.5, 0.5}, {0.5, 0.5}}));
  EXPECT_EQ(logsumexp(tensor({inf, 1}), {0}).item(), inf);
}

TEST(Reduce, GradientsOfFirstAndSecondOrder) {
  Rng rng(5);
  for (const Case& op : cases) {
    for (const Axes& axes : all_sets_of_axes(3)) {
      for (const Keep keep : {Keep::no, Keep::axes}) {
        SCOPED_TRACE(::testing::Message() << op.name << " over " << to_string(axes));
        const auto f = [&](const Tensors& x) { return op.call(x[0], axes, keep); };
        const Tensor x = test::random_tensor({2, 3, 2}, rng, Domain::distinct);
        test::expect_gradients(f, {x});
        test::expect_second_order(f, {x});
      }
    }
  }
}

TEST(Reduce, SumToIsTheAdjointOfBroadcastTo) {
  Rng rng(6);
  const Shape full_shape = {2, 3, 4};
  const Tensor x = test::random_tensor(full_shape, rng);
  for (const Shape& shape : {Shape{2, 3, 4}, {3, 4}, {4}, {}, {1}, {2, 1, 4}, {1, 3, 1}, {1, 1}}) {
    SCOPED_TRACE(to_string(shape));
    const Tensor z = test::random_tensor(shape, rng);
    const Tensor y = sum_to(x, shape);
    ASSERT_EQ(y.shape(), shape);
    EXPECT_NEAR(sum(y * z).item(), sum(x * broadcast_to(z, full_shape)).item(), 1e-12);
    test::expect_gradients([&](const Tensors& in) { return sum_to(in[0], shape); }, {x});
  }
  EXPECT_SAME_BITS(sum_to(zeros({0, 3}), {1, 3}), zeros({1, 3}));
  EXPECT_THROWS_WITH(sum_to(x, {2, 4}), ShapeError, "sum_to: [2, 4] does not broadcast to x [2, 3, 4]");
  EXPECT_THROWS_WITH(sum_to(x, {1, 2, 3, 4}), ShapeError, "sum_to");
}

TEST(Reduce, ArgmaxTakesTheFirst) {
  const Tensor x = tensor({{1, 3, 3}, {nan, 5, nan}, {-1, -2, -1}});
  EXPECT_SAME_BITS(argmax(x), tensor({1, 0, 0}, int64));
  EXPECT_SAME_BITS(argmax(x, 0, keep_axes), tensor({{1, 1, 1}}, int64));
  EXPECT_SAME_BITS(argmax(test::with_layout(x, Layout::flipped), -1), tensor({1, 0, 0}, int64));
  EXPECT_SAME_BITS(argmax(tensor({4, 9}, int64)), scalar(1, int64));
  EXPECT_FALSE(argmax(variable(x)).requires_grad());
}

TEST(Reduce, AllAndAny) {
  const Tensor x = tensor({{true, true}, {true, false}}, boolean);
  EXPECT_FALSE(all(x));
  EXPECT_TRUE(any(x));
  EXPECT_TRUE(all(test::stretched(tensor({true}, boolean), {3, 4})));
  EXPECT_FALSE(any(zeros({3, 4}, boolean)));
  EXPECT_THROWS_WITH(all(ones({2})), DTypeError, "all: x must be boolean");
}

Tensor slope(const Function& f, const Tensor& x) {
  const Tensor leaf = variable(x);
  return grad(f(leaf), leaf);
}

TEST(Prod, HasEveryDerivativeWithZerosAmongTheFactors) {
  const auto product = [](const Tensor& x) { return prod(x); };
  EXPECT_TENSOR_NEAR(slope(product, tensor({2, 0, 5})), tensor({0, 10, 0}), 0, 0);
  EXPECT_TENSOR_NEAR(slope(product, tensor({0, 0, 5})), zeros({3}), 0, 0);
  EXPECT_TENSOR_NEAR(hessian(product, tensor({0, 0, 5})), tensor({{0, 5, 0}, {5, 0, 0}, {0, 0, 0}}), 0, 0);
  EXPECT_TENSOR_NEAR(hessian(product, zeros({3})), zeros({3, 3}), 0, 0);
}

TEST(Prod, OfInt64IsExact) {
  EXPECT_EQ(prod(tensor({3037000499., 3037000499.}, int64)).item(), 9223372030926249001.);
  EXPECT_EQ(prod(zeros({0}, int64)).item(), 1);
}

TEST(StandardDeviation, OfEqualNumbersIsZeroWithZeroGradient) {
  for (const DType dtype : {float32, float64}) {
    const Tensor x = full({3, 7}, 0.1, dtype);
    const auto f = [](const Tensor& t) { return sum(standard_deviation(t, {-1})); };
    EXPECT_EQ(f(x).item(), 0);
    EXPECT_TENSOR_NEAR(slope(f, x), zeros({3, 7}, dtype), 0, 0);
  }
  EXPECT_TRUE(std::isnan(standard_deviation(ones({1}), {0}, Keep::no, 1).item()));
}

TEST(Entropy, IsFiniteWhereAProbabilityIsZero) {
  const Tensor p = tensor({0.5, 0, 0.5, 0});
  const auto f = [](const Tensor& t) { return entropy(t); };
  EXPECT_NEAR(f(p).item(), std::log(2.0), 1e-15);
  const double d = std::log(2.0) - 1;
  EXPECT_TENSOR_NEAR(slope(f, p), tensor({d, 0, d, 0}), 1e-14, 0);
  EXPECT_TENSOR_NEAR(hessian(f, p), tensor({{-2, 0, 0, 0}, {0, 0, 0, 0}, {0, 0, -2, 0}, {0, 0, 0, 0}}), 1e-14, 0);
  EXPECT_FALSE(std::signbit(entropy(tensor({1, 0})).item()));
}

TEST(Cumsum, Float32IsAddedUpInFloat64) {
  const Tensor y = cumsum(full({1 << 20}, 0.1, float32));
  const double each = static_cast<double>(0.1F);
  EXPECT_NEAR(y.at({-1}), each * (1 << 20), 0.01);
}

}  // namespace
}  // namespace regard

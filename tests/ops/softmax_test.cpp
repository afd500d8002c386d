// Softmax and its logarithm, with and without a mask, against plain loops; what hidden entries must never do.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "ops/softmax.hpp"
#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

using test::Layout;

constexpr double inf = std::numeric_limits<double>::infinity();
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// Along the last axis; hidden entries get 0, or -inf in the logarithm.
Tensor by_loops(const Tensor& x, const Tensor& keep, bool logarithm) {
  const Size n = x.shape().back();
  const std::vector<double> values = test::values_of(x), mask = test::values_of(keep);
  std::vector<double> out(values.size(), logarithm ? -inf : 0);
  for (std::size_t row = 0; row < values.size(); row += static_cast<std::size_t>(n)) {
    const std::size_t end = row + static_cast<std::size_t>(n);
    double largest = -inf, total = 0;
    for (std::size_t i = row; i < end; ++i)
      if (mask[i] != 0) largest = std::max(largest, values[i]);
    for (std::size_t i = row; i < end; ++i)
      if (mask[i] != 0) total += std::exp(values[i] - largest);
    for (std::size_t i = row; i < end; ++i) {
      if (mask[i] == 0) continue;
      out[i] = logarithm ? values[i] - largest - std::log(total) : std::exp(values[i] - largest) / total;
    }
  }
  return test::from_values(out, x.shape(), x.dtype());
}

TEST(Softmax, EveryAxisAndLayoutAgreesWithLoops) {
  Rng rng(1);
  for (const Shape& shape : {Shape{5}, {3, 4}, {2, 3, 9}, {2, 1, 3, 4}, {3, 700}, {4, 1}}) {
    for (const DType dtype : {float32, float64}) {
      const Tensor x = test::random_tensor(shape, rng, test::Domain::normal, dtype);
      const Tensor mask = test::random_mask(shape, rng, 0.7);
      const double tolerance = dtype == float32 ? 1e-5 : 1e-13;
      for (int axis = -x.rank(); axis < x.rank(); ++axis) {
        const Tensor turned = transpose(x, axis, -1), turned_mask = transpose(mask, axis, -1);
        const Tensor everything = ones(turned.shape(), boolean);
        const auto twin = [&](const Tensor& keep, bool logarithm) {
          return transpose(by_loops(turned, keep, logarithm), axis, -1);
        };
        for (const Layout layout : test::all_layouts) {
          SCOPED_TRACE(::testing::Message()
                       << to_string(shape) << " along " << axis << ", " << name(dtype) << ", " << layout);
          const Tensor in = test::with_layout(x, layout), keep = test::with_layout(mask, layout);
          EXPECT_TENSOR_NEAR(softmax(in, axis), twin(everything, false), tolerance, 0);
          EXPECT_TENSOR_NEAR(log_softmax(in, axis), twin(everything, true), tolerance, tolerance);
          EXPECT_TENSOR_NEAR(softmax(in, keep, axis), twin(turned_mask, false), tolerance, 0);
          EXPECT_TENSOR_NEAR(log_softmax(in, keep, axis), twin(turned_mask, true), tolerance, tolerance);
        }
      }
    }
  }
}

TEST(Softmax, AMaskOfTrueChangesNoBit) {
  Rng rng(2);
  const Tensor x = test::random_tensor({3, 37}, rng), everything = ones({3, 37}, boolean);
  EXPECT_SAME_BITS(softmax(x, everything), softmax(x));
  EXPECT_SAME_BITS(log_softmax(x, everything), log_softmax(x));
}

TEST(Softmax, TheMaskIsBroadcast) {
  Rng rng(3);
  const Tensor x = test::random_tensor({2, 3, 4}, rng);
  for (const Shape& shape : {Shape{4}, {3, 1}, {2, 1, 4}, {1, 3, 4}, {}}) {
    const Tensor keep = shape.empty() ? ones({}, boolean) : test::random_mask(shape, rng);
    const Tensor full = test::deep_copy(broadcast_to(keep, x.shape()));
    EXPECT_SAME_BITS(softmax(x, keep), softmax(x, full)) << to_string(shape);
    EXPECT_SAME_BITS(softmax(x, keep, 0), softmax(x, full, 0)) << to_string(shape);
  }
}

TEST(Softmax, HiddenEntriesNeverLeak) {
  const Tensor keep = tensor({true, false, true, false}, boolean);
  const Tensor clean = tensor({1, 0, 2, 0}), dirty = tensor({1, nan, 2, inf});
  const Tensor upstream = tensor({3, nan, 4, inf}), clean_upstream = tensor({3, 0, 4, 0});
  for (const bool logarithm : {false, true}) {
    const auto f = [&](const Tensor& x) { return logarithm ? log_softmax(x, keep) : softmax(x, keep); };
    const auto first_and_second = [&](const Tensor& value, const Tensor& seed) {
      const Tensor x = variable(value), dy = variable(seed);
      GradOptions options;
      options.seeds = {dy};
      options.create_graph = true;
      const Tensor dx = grad(Tensors{f(x)}, Tensors{x}, options)[0];
      GradOptions again;
      again.seeds = {seed};
      again.allow_unused = true;
      Tensors all = grad(Tensors{dx}, Tensors{x, dy}, again);
      all.push_back(dx.detach());
      return all;
    };
    EXPECT_SAME_BITS(f(dirty), f(clean));
    const Tensors seen = first_and_second(dirty, upstream), right = first_and_second(clean, clean_upstream);
    for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_SAME_BITS(seen[i], right[i]) << i;
  }
}

TEST(Softmax, RowsOfMinusInfinity) {
  const Tensor x = tensor({{-inf, -inf}, {-inf, 0}});
  EXPECT_TENSOR_NEAR(softmax(x), tensor({{nan, nan}, {0, 1}}), 0, 0);
  const Tensor keep = ones({1, 2}, boolean);
  EXPECT_SAME_BITS(softmax(x, keep), tensor({{0, 0}, {0, 1}}));
  EXPECT_SAME_BITS(log_softmax(x, keep), tensor({{-inf, -inf}, {-inf, 0}}));
  const Tensor v = variable(x);
  EXPECT_TENSOR_NEAR(grad(sum(softmax(v, keep) * tensor({1, 2})), v), zeros({2, 2}), 0, 0);
  GradOptions seeded;
  seeded.seeds = {tensor({{5, 7}, {0, 1}})};
  EXPECT_SAME_BITS(grad(Tensors{log_softmax(v, keep)}, Tensors{v}, seeded)[0], zeros({2, 2}));
}

TEST(Softmax, EmptyAndSingle) {
  EXPECT_SAME_BITS(softmax(zeros({0, 3})), zeros({0, 3}));
  EXPECT_SAME_BITS(softmax(zeros({3, 0})), zeros({3, 0}));
  EXPECT_SAME_BITS(softmax(zeros({3, 0}), 0), zeros({3, 0}));
  EXPECT_SAME_BITS(softmax(tensor({{7}, {-9}})), tensor({{1}, {1}}));
  const Tensor x = variable(tensor({{7}, {-9}}));
  EXPECT_SAME_BITS(grad(sum(softmax(x) * 3.0), x), zeros({2, 1}));
}

TEST(Softmax, GradientsOfEveryOrder) {
  Rng rng(4);
  const Tensor x = test::random_tensor({2, 3, 4}, rng);
  const Tensor keep =
      tensor({{true, true, false, true}, {true, false, false, true}, {false, false, false, false}}, boolean);
  for (const int axis : {-1, 0, 1}) {
    SCOPED_TRACE(axis);
    const FunctionOfMany forms[] = {
        [&](const Tensors& in) { return softmax(in[0], axis); },
        [&](const Tensors& in) { return softmax(in[0], keep, axis); },
        [&](const Tensors& in) { return log_softmax(in[0], axis); },
        // The hidden -inf would poison a difference quotient.
        [&](const Tensors& in) { return masked_fill(log_softmax(in[0], keep, axis), logical_not(keep), 0); },
    };
    for (const FunctionOfMany& f : forms) {
      test::expect_gradients(f, {x});
      test::expect_second_order(f, {x});
    }
  }
}

TEST(Softmax, ThirdOrder) {
  Rng rng(5);
  const Tensor x = test::random_tensor({2, 3}, rng), w = test::random_tensor({2, 3}, rng);
  const Tensor keep = tensor({true, false, true}, boolean);
  for (const bool masked : {false, true}) {
    for (const bool logarithm : {false, true}) {
      const auto slope = [&](const Tensors& in) {
        const EnableGrad recording;  // difference quotients are taken with recording off
        const Tensor at = in[0].requires_grad() ? in[0] : variable(in[0]);
        GradOptions options;
        options.create_graph = true;
        const Tensor y = !logarithm ? (masked ? softmax(at, keep) : softmax(at))
                                    : (masked ? masked_fill(log_softmax(at, keep), logical_not(keep), 0)
                                              : log_softmax(at));
        return grad(sum(square(y) * w), at, options);
      };
      test::expect_second_order(slope, {x});
    }
  }
}

TEST(Softmax, TheGradientAlongARowAddsUpToNothing) {
  Rng rng(6);
  const Tensor x = variable(test::random_tensor({5, 8}, rng));
  const Tensor dx = grad(sum(softmax(x) * test::random_tensor({5, 8}, rng)), x);
  EXPECT_TENSOR_NEAR(sum(dx, {1}), zeros({5}), 0, 1e-15);
}

TEST(Softmax, Errors) {
  const Tensor x = zeros({2, 3});
  EXPECT_THROWS_WITH(softmax(zeros({2}, int64)), DTypeError,
                     "softmax: expected float32 or float64, got int64 [2]");
  EXPECT_THROWS_WITH(softmax(x, 2), ShapeError, "softmax");
  EXPECT_THROWS_WITH(softmax(scalar(1)), ShapeError, "softmax");
  EXPECT_THROWS_WITH(softmax(x, ones({2, 3})), DTypeError, "softmax: the mask must be boolean, got float64");
  EXPECT_THROWS_WITH(softmax(x, ones({4, 2, 3}, boolean)), ShapeError,
                     "softmax: mask [4, 2, 3] does not fit x [2, 3]");
  EXPECT_THROWS_WITH(log_softmax(x, ones({4}, boolean)), ShapeError, "log_softmax");
}

}  // namespace
}  // namespace regard

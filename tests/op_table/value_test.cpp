// Every row's value against its twin, in every dtype and layout, and its errors.
#include <algorithm>
#include <cmath>

#include <regard/blas.hpp>

#include "op_table/table.hpp"
#include "support/close.hpp"

namespace regard::test {
namespace {

class Op : public ::testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(Table, Op, ::testing::ValuesIn(op_table()), row_name);

double largest_finite(const std::vector<double>& values) {
  double largest = 0;
  for (const double x : values)
    if (std::isfinite(x)) largest = std::max(largest, std::fabs(x));
  return largest;
}

void expect_twin(const Case& c, DType dtype) {
  const NoGrad guard;
  const Tensor y = c(c.inputs);
  const Plain twin = c.twin();
  ASSERT_EQ(y.shape(), twin.shape) << describe(c);
  const Tensor expected = from_values(twin.values, twin.shape, y.dtype());
  if (c.row->precision == Precision::moved || !is_float(y.dtype())) {
    EXPECT_TENSOR_NEAR(y, expected, 0, 0) << describe(c);
  } else if (dtype == float32) {
    const double tolerance = c.row->float32_tolerance;
    EXPECT_TENSOR_NEAR(y, expected, tolerance, tolerance / 10 * largest_finite(twin.values)) << describe(c);
  } else {
    // A few roundings of the sums and functions that both compute, each in its own order.
    EXPECT_TENSOR_NEAR(y, expected, 1e-12, 1e-14 * largest_finite(twin.values)) << describe(c);
  }
}

TEST_P(Op, HasTheTwinsValue) {
  for (const Sample& sample : GetParam().samples)
    for (const DType dtype : {float64, float32})
      for (const Layout layout : all_layouts)
        expect_twin(make_case(GetParam(), sample, dtype, layout), dtype);
}

bool all_finite(const Sample& sample) {
  for (const Input& input : sample.inputs)
    for (const double x : input.values)
      if (!std::isfinite(x)) return false;
  return true;
}

TEST_P(Op, HasTheTwinsValueOnInt64) {
  if (!GetParam().takes_int64) GTEST_SKIP() << "takes floats only";
  for (const Sample& sample : GetParam().samples)
    for (const Layout layout : all_layouts) {
      if (!all_finite(sample)) continue;  // neither NaN nor an infinity has a place among integers
      const Case c = make_case(GetParam(), sample, int64, layout);
      EXPECT_NE(c(c.inputs).dtype(), float64) << describe(c);
      expect_twin(c, int64);
    }
}

TEST_P(Op, KeepsTheDType) {
  const Row& row = GetParam();
  if (!row.differentiable) GTEST_SKIP() << "gives booleans or ids";
  for (const Sample& sample : row.samples)
    for (const DType dtype : {float64, float32}) {
      const Case c = make_case(row, sample, dtype);
      EXPECT_EQ(c(c.inputs).dtype(), dtype) << describe(c);
    }
}

TEST_P(Op, GivesTheSameBitsAgain) {
  for (const Sample& sample : GetParam().samples) {
    const Case c = make_case(GetParam(), sample, float32);
    EXPECT_SAME_BITS(c(c.inputs), c(c.inputs)) << describe(c);
  }
}

// BLAS may add up in another order with another number of threads, but no more than that.
TEST_P(Op, DoesNotDependOnTheNumberOfThreads) {
  const int before = blas_threads();
  for (const Sample& sample : GetParam().samples) {
    const Case c = make_case(GetParam(), sample, float64);
    set_blas_threads(1);
    const Tensor one = c(c.inputs);
    set_blas_threads(2);
    const Tensor two = c(c.inputs);
    set_blas_threads(before);
    EXPECT_TENSOR_NEAR(one, two, 1e-14, 1e-14 * largest_finite(values_of(one))) << describe(c);
  }
}

TEST_P(Op, SaysWhatIsWrong) {
  EXPECT_GE(GetParam().misuses.size(), 2u) << "a row has at least two error inputs";
  for (const Misuse& misuse : GetParam().misuses) EXPECT_TRUE(misuse.check());
}

TEST_P(Op, RefusesAnEmptyHandle) {
  const Case c = make_case(GetParam(), GetParam().samples.front(), float64);
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    Tensors x = c.inputs;
    x[i] = Tensor();
    EXPECT_THROWS_WITH(c(x), Error, "empty") << describe(c) << ", input " << i;
  }
}

bool has_empty(const Sample& sample) {
  return std::any_of(sample.inputs.begin(), sample.inputs.end(),
                     [](const Input& x) { return numel(x.shape) == 0; });
}

bool has_one(const Sample& sample) {
  return numel(sample.inputs[0].shape) == 1;
}

TEST_P(Op, HasSamplesOfManyKinds) {
  const Samples& samples = GetParam().samples;
  EXPECT_GE(samples.size(), 6u);
  EXPECT_EQ(std::any_of(samples.begin(), samples.end(), has_empty), GetParam().takes_empty)
      << "a sample of size zero, unless the op refuses it";
  EXPECT_EQ(std::any_of(samples.begin(), samples.end(), has_one), GetParam().takes_one)
      << "a sample of size one, unless the op refuses it";
}

}  // namespace
}  // namespace regard::test

// Every row in a captured step: value and gradients are those of the step as it is written, to the last bit,
// also for numbers that the step was not captured with.
#include <algorithm>

#include <regard/capture.hpp>

#include "op_table/table.hpp"
#include "support/close.hpp"

namespace regard::test {
namespace {

class Replay : public ::testing::TestWithParam<Row> {};
Rows rows_of_the_table() {
  return op_table();
}
INSTANTIATE_TEST_SUITE_P(Table, Replay, ::testing::ValuesIn(rows_of_the_table()), row_name);

/// The same numbers, the last first.
template <class T>
Tensor turned(const Tensor& x) {
  std::vector<T> values = x.to_vector<T>();
  std::reverse(values.begin(), values.end());
  return from_vector(values, x.shape());
}
Tensor turned_round(const Tensor& x) {
  switch (x.dtype()) {
    case DType::float32:
      return turned<float>(x);
    case DType::float64:
      return turned<double>(x);
    case DType::int64:
      return turned<Size>(x);
    case DType::boolean:
      return turned<bool>(x);
  }
  return x;
}

TEST_P(Replay, EqualsTheStepAsItIsWritten) {
  const std::string& name = GetParam().name;
  if (name.find("dropout") != std::string::npos)
    GTEST_SKIP() << "the row's generator dies with the call; ops.capture_test has one that lives";
  if (name == "attention traced") GTEST_SKIP() << "a trace is refused, see ops.capture_test";
  for (const Sample& sample : GetParam().samples)
    for (const DType dtype : {float32, float64}) {
      const Case c = make_case(GetParam(), sample, dtype);
      // A step gets row-major inputs; sums of another layout may differ in the last bit.
      Tensors first, other;
      for (const Tensor& x : c.inputs) {
        first.push_back(x.contiguous());
        other.push_back(turned_round(x));
      }
      CapturedStep step = capture([&c](const Tensors& in) { return value_and_gradients(c, in); });
      for (int i = 0; i < 2; ++i) step.replay(c.inputs);
      ASSERT_TRUE(step.captured());
      for (const Tensors& inputs : {other, first, other}) {
        const Tensors expected = value_and_gradients(c, inputs), got = step.replay(inputs);
        ASSERT_EQ(expected.size(), got.size());
        for (std::size_t i = 0; i < got.size(); ++i)
          EXPECT_SAME_BITS(expected[i].detach(), got[i]) << describe(c) << ", output " << i;
      }
    }
}

}  // namespace
}  // namespace regard::test

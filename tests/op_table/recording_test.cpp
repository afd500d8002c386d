// What every row leaves behind: a graph only where one is wanted, inputs as they were, nothing alive at the
// end.
#include "op_table/table.hpp"
#include "support/close.hpp"

namespace regard::test {
namespace {

class Recording : public ::testing::TestWithParam<Row> {
 protected:
  template <class Property>
  void for_each_case(Property property) {
    for (const Sample& sample : GetParam().samples)
      for (const DType dtype : {float32, float64}) property(make_case(GetParam(), sample, dtype));
  }
};

Rows rows_of_the_table() {
  return op_table();
}
INSTANTIATE_TEST_SUITE_P(Table, Recording, ::testing::ValuesIn(rows_of_the_table()), row_name);

TEST_P(Recording, DoesNothingWhenNothingRequiresAGradient) {
  for_each_case([](const Case& c) {
    const Size before = live_nodes();
    const Tensor y = c(c.inputs);
    EXPECT_FALSE(y.requires_grad()) << describe(c);
    EXPECT_EQ(live_nodes(), before) << describe(c);
  });
}

TEST_P(Recording, DoesNothingUnderNoGrad) {
  for_each_case([](const Case& c) {
    const Tensors x = c.leaves();
    const Size before = live_nodes();
    const NoGrad guard;
    const Tensor y = c(x);
    EXPECT_FALSE(y.requires_grad()) << describe(c);
    EXPECT_EQ(live_nodes(), before) << describe(c);
  });
}

TEST_P(Recording, ChangesNoBitOfTheValue) {
  for_each_case([](const Case& c) { EXPECT_SAME_BITS(c(c.leaves()).detach(), c(c.inputs)) << describe(c); });
}

TEST_P(Recording, HappensExactlyWhereThereIsAGradient) {
  for_each_case([](const Case& c) {
    if (c.inputs.empty()) return;
    EXPECT_EQ(c(c.leaves()).requires_grad(), c.row->differentiable) << describe(c);
  });
}

TEST_P(Recording, LeavesTheInputsAsTheyWereAndNoNodeAlive) {
  for_each_case([](const Case& c) {
    const Size before = live_nodes();
    Tensors copies;
    for (const Tensor& x : c.inputs) copies.push_back(deep_copy(x));
    {
      const Tensors x = c.leaves();
      const Tensor y = c(x);
      if (y.requires_grad()) {
        BackwardOptions options;
        options.seed = ones(y.shape(), y.dtype());
        backward(y, options);
      }
    }
    for (std::size_t i = 0; i < copies.size(); ++i) EXPECT_SAME_BITS(c.inputs[i], copies[i]) << describe(c);
    EXPECT_EQ(live_nodes(), before) << describe(c);
  });
}

}  // namespace
}  // namespace regard::test

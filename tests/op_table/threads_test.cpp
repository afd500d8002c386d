// Every row on several threads: value and gradients are those of one thread, to the last bit. Blocks are made
// so small that the samples are shared out.
#include <regard/blas.hpp>

#include "op_table/table.hpp"
#include "support/close.hpp"
#include "support/threads.hpp"

namespace regard::test {
namespace {

class Threads : public ::testing::TestWithParam<Row> {};
INSTANTIATE_TEST_SUITE_P(Table, Threads, ::testing::ValuesIn(op_table()), row_name);

TEST_P(Threads, GiveTheBitsOfOne) {
  const int blas = blas_threads();
  set_blas_threads(1);
  for (const int halvings : {20, 14}) {
    const SmallBlocks small(halvings);
    for (const Sample& sample : GetParam().samples)
      for (const DType dtype : {float32, float64})
        for (const Layout layout : all_layouts) {
          const Case c = make_case(GetParam(), sample, dtype, layout);
          const auto on = [&c](int threads) {
            const WithThreads with(threads);
            return value_and_gradients(c, c.inputs);
          };
          const Tensors one = on(1);
          for (const int threads : {2, 3}) {
            const Tensors several = on(threads);
            ASSERT_EQ(several.size(), one.size());
            for (std::size_t i = 0; i < one.size(); ++i)
              EXPECT_SAME_BITS(one[i].detach(), several[i].detach()) << describe(c) << ", output " << i;
          }
        }
  }
  set_blas_threads(blas);
}

}  // namespace
}  // namespace regard::test

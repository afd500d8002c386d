// Rows by id: ids that repeat, that stand for padding, that are out of range.
#include <regard/nn/embedding.hpp>

#include "cases/cases.hpp"

namespace regard::test {
namespace {

// pytorch/pytorch #103023: the padding row got a gradient, and of repeated ids one.
TEST(B29, PaddingAndRepeatedIds) {
  in_both_dtypes([](DType dtype) {
    const Tensor ids = tensor({0, 1, 1, 2}, int64);
    const Tensor table = variable(ones({5, 3}, dtype));
    const Tensor with_padding = tensor({{1, 1, 1}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}}, dtype);
    EXPECT_SAME_BITS(grad(sum(take(table, ids)), table), with_padding);

    nn::EmbeddingOptions options;
    options.dtype = dtype;
    options.padding = 0;
    Rng rng(1);
    const nn::Embedding layer(5, 3, rng, options);
    EXPECT_SAME_BITS(select(layer.weight.value(), 0, 0), zeros({3}, dtype));
    backward(sum(layer(ids)));
    EXPECT_SAME_BITS(layer.weight.gradient(),
                     tensor({{0, 0, 0}, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}, {0, 0, 0}}, dtype));
  });
}

// pytorch/pytorch #1528, HIPS/autograd #39: of two readings of one element the last writer won.
TEST(B30, EveryReadingOfAnElementCounts) {
  in_both_dtypes([](DType dtype) {
    const Tensor y = variable(tensor({1}, dtype));
    const auto twice = [&] { return take(y, tensor({0, 0}, int64)); };
    EXPECT_SAME_BITS(grad(select(twice(), 0, 0), y), tensor({1}, dtype));
    EXPECT_SAME_BITS(grad(select(twice(), 0, 1), y), tensor({1}, dtype));
    const Tensor z = twice();
    EXPECT_SAME_BITS(grad(select(z, 0, 0) + select(z, 0, 1), y), tensor({2}, dtype));
  });
}

// pytorch/pytorch #12670, #15508: an id out of range read memory. The position is that in ids as they are.
TEST(B33, IdsAreChecked) {
  const Tensor table = zeros({5, 3});
  for (const Size bad : {Size{-1}, Size{5}, Size{1} << 31, INT64_MIN, INT64_MAX}) {
    const Tensor ids = from_vector(std::vector<Size>{0, 4, bad, bad}, {2, 2});
    const std::string text =
        "id " + std::to_string(bad) + " at position [1, 0] of ids [2, 2] is out of range for ";
    EXPECT_THROWS_WITH(take(table, ids), ValueError, "take: " + text + "axis 0 of [5, 3]; expected 0 to 4");
    EXPECT_THROWS_WITH(gather(table, ids, 0), ValueError, "gather: " + text);
    EXPECT_THROWS_WITH(scatter_add(table, ids, zeros({2, 2}), 0), ValueError, "scatter_add: " + text);
    EXPECT_THROWS_WITH(one_hot(ids, 5), ValueError, "one_hot: " + text + "5 classes; expected 0 to 4");
    EXPECT_THROWS_WITH(take(table, transpose(ids)), ValueError, "at position [0, 1]");
    Rng rng(1);
    EXPECT_THROWS_WITH(nn::Embedding(5, 3, rng)(ids), ValueError, text);
  }
}

}  // namespace
}  // namespace regard::test

// Handles, access, dtypes and layouts.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <thread>
#include <utility>
#include <vector>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "support/close.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

TEST(Tensor, IsAHandle) {
  const Tensor a = tensor({1, 2});
  Tensor b = a;
  EXPECT_EQ(a.data<double>(), b.data<double>());
  b = b * 2.0;
  EXPECT_SAME_BITS(a, tensor({1, 2}));
  Tensor moved = std::move(b);
  EXPECT_FALSE(b.defined());  // NOLINT: what is left of it is the point
  Tensor& self = moved;
  moved = self;
  EXPECT_SAME_BITS(moved, tensor({2, 4}));
}

TEST(Tensor, EmptyHandleSaysSo) {
  const Tensor empty;
  EXPECT_FALSE(empty.defined());
  EXPECT_THROWS_WITH(empty.shape(), GraphError, "this handle is empty (default-constructed or moved from)");
  EXPECT_THROWS_WITH(empty.dtype(), GraphError, "empty");
  EXPECT_THROWS_WITH(empty.item(), GraphError, "empty");
  EXPECT_THROWS_WITH(empty.to(float32), GraphError, "empty");
  EXPECT_THROWS_WITH(empty.requires_grad(), GraphError, "empty");
}

TEST(Tensor, KnowsItsShape) {
  const Tensor x = zeros({2, 3, 4});
  EXPECT_EQ(x.rank(), 3);
  EXPECT_EQ(x.numel(), 24);
  EXPECT_EQ(x.size(0), 2);
  EXPECT_EQ(x.size(-1), 4);
  EXPECT_EQ(x.strides(), (Strides{12, 4, 1}));
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_THROWS_WITH(x.size(3), ShapeError, "size: axis 3 is out of range for rank 3; expected -3 to 2");
  EXPECT_THROWS_WITH(scalar(1).size(0), ShapeError, "rank 0, which has no axes");
}

TEST(Tensor, ItemIsForOneElement) {
  EXPECT_EQ(scalar(2.5).item(), 2.5);
  EXPECT_EQ(full({1, 1}, 3, int64).item(), 3);
  EXPECT_EQ(scalar(1, boolean).item(), 1);
  EXPECT_EQ(scalar(0.1, float32).item(), static_cast<double>(0.1f));
  EXPECT_THROWS_WITH(zeros({2}).item(), ShapeError,
                     "item: expected a tensor with one element, got shape [2]");
  EXPECT_THROWS_WITH(zeros({0}).item(), ShapeError, "got shape [0]");
}

TEST(Tensor, AtChecksItsIndices) {
  for (const Layout layout : all_layouts) {
    const Tensor x = with_layout(tensor({{1, 2, 3}, {4, 5, 6}}), layout);
    EXPECT_EQ(x.at({1, 2}), 6);
    EXPECT_EQ(x.at({-1, 0}), 4);
    EXPECT_EQ(x.at({-2, -3}), 1);
    EXPECT_EQ(x.at(std::vector<Size>{0, 1}), 2);
    EXPECT_THROWS_WITH(x.at({2, 0}), ValueError, "at: index 2 is out of range for axis 0 of shape [2, 3]");
    EXPECT_THROWS_WITH(x.at({0, -4}), ValueError, "at: index -4 is out of range for axis 1");
    EXPECT_THROWS_WITH(x.at({0}), ShapeError, "at: 1 indices for shape [2, 3]; expected 2");
    EXPECT_THROWS_WITH(x.at({std::numeric_limits<Size>::min(), 0}), ValueError, "out of range for axis 0");
    EXPECT_THROWS_WITH(x.at({std::numeric_limits<Size>::max(), 0}), ValueError, "out of range for axis 0");
  }
  EXPECT_EQ(scalar(7).at({}), 7);
  EXPECT_THROWS_WITH(zeros({0}).at({0}), ValueError, "index 0 is out of range for axis 0 of shape [0]");
}

TEST(Tensor, DataIsTypedAndContiguous) {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  EXPECT_EQ(x.data<double>()[3], 4);
  EXPECT_THROWS_WITH(x.data<float>(), DTypeError,
                     "data: the tensor holds float64, not float32; convert it with to(float32)");
  EXPECT_THROWS_WITH(transpose(x).data<double>(), ShapeError,
                     "has strides [1, 2], not row-major ones; call contiguous() first");
  EXPECT_EQ(transpose(x).contiguous().data<double>()[1], 3);
}

TEST(Tensor, ToVectorIsRowMajorWhateverTheLayout) {
  for (const Layout layout : all_layouts)
    EXPECT_EQ(with_layout(tensor({{1, 2}, {3, 4}}), layout).to_vector<double>(),
              (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(tensor({true, false}, boolean).to_vector<bool>(), (std::vector<bool>{true, false}));
  EXPECT_THROWS_WITH(zeros({2}).to_vector<Size>(), DTypeError,
                     "to_vector: the tensor holds float64, not int64");
  EXPECT_TRUE(zeros({0, 3}).to_vector<double>().empty());
}

TEST(Tensor, ConvertsBetweenAllDTypes) {
  const DType all[] = {float32, float64, int64, boolean};
  for (const DType from : all)
    for (const DType to : all) {
      const Tensor x = tensor({0, 1, 1}, from);
      EXPECT_SAME_BITS(x.to(to), tensor({0, 1, 1}, to)) << name(from) << " to " << name(to);
      EXPECT_SAME_BITS(with_layout(x, Layout::flipped).to(to), tensor({0, 1, 1}, to));
    }
  EXPECT_SAME_BITS(tensor({0, -0.0, 0.5, std::nan("")}).to(boolean),
                   tensor({false, false, true, true}, boolean));
  EXPECT_SAME_BITS(scalar(-9223372036854775808.0).to(int64),
                   from_vector(std::vector<Size>{std::numeric_limits<Size>::min()}, {}));
  EXPECT_THROWS_WITH(scalar(9223372036854775808.0).to(int64), ValueError, "does not fit int64");
  EXPECT_EQ(scalar(1e300).to(float32).item(), std::numeric_limits<double>::infinity());
}

TEST(Tensor, ConversionToItsOwnDTypeIsItself) {
  const Tensor x = tensor({1, 2});
  EXPECT_EQ(x.to(float64).data<double>(), x.data<double>());
  EXPECT_EQ(x.contiguous().data<double>(), x.data<double>());
}

TEST(Tensor, ViewsShareStorageAndCopiesDoNot) {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  EXPECT_EQ(reshape(x, {4}).data<double>(), x.data<double>());
  EXPECT_EQ(select(x, 0, 1).data<double>(), x.data<double>() + 2);
  EXPECT_NE(deep_copy(x).data<double>(), x.data<double>());
}

TEST(Tensor, AViewKeepsItsStorageAlive) {
  Tensor row;
  {
    const Tensor x = tensor({{1, 2}, {3, 4}});
    row = select(x, 0, 1);
  }
  const Tensor other = full({2, 2}, 9);  // would take the block, had it been given back
  EXPECT_SAME_BITS(row, tensor({3, 4}));
}

TEST(Tensor, NumbersCrossThreads) {
  std::vector<double> values = tensor({1, 2}).to_vector<double>();
  double sum = 0;
  std::thread([&] { sum = (from_vector(values, {2}) * 2.0).to_vector<double>()[1]; }).join();
  EXPECT_EQ(sum, 4);
}

TEST(DType, HasNames) {
  for (const DType dtype : {float32, float64, int64, boolean}) EXPECT_EQ(parse_dtype(name(dtype)), dtype);
  EXPECT_THROWS_WITH(parse_dtype("float16"), ValueError,
                     "'float16' is not one of float32, float64, int64, boolean");
}

TEST(Shape, HoldsUpToEightAxes) {
  EXPECT_EQ(zeros({1, 1, 1, 1, 1, 1, 1, 2}).rank(), 8);
  EXPECT_THROWS_WITH(zeros({1, 1, 1, 1, 1, 1, 1, 1, 2}), ShapeError, "at most 8 axes are supported, got 9");
  EXPECT_THROWS_WITH(Shape(std::vector<Size>(9, 1)), ShapeError, "at most 8 axes");
  EXPECT_THROWS_WITH(expand_dims(zeros({1, 1, 1, 1, 1, 1, 1, 1}), {0}), ShapeError, "at most 8");
}

TEST(Shape, CountsWithoutOverflow) {
  const Size big = Size{1} << 40;
  EXPECT_EQ(numel(Shape{}), 1);
  EXPECT_EQ(numel(Shape{2, 0, big}), 0);
  EXPECT_THROWS_WITH(numel(Shape{big, big}), ShapeError, "has more elements than fit 63 bits");
  EXPECT_THROWS_WITH(zeros({big, big}), ShapeError, "more elements than fit 63 bits");
  EXPECT_THROWS_WITH(zeros({Size{1} << 60, 4}), ShapeError, "are more bytes than fit 63 bits");
  EXPECT_THROWS_WITH(zeros({2, -1}), ShapeError, "[2, -1] has a negative extent");
  EXPECT_THROWS_WITH(zeros({0, -1}), ShapeError, "[0, -1] has a negative extent");
  EXPECT_EQ(zeros({big, big, 0, big}).numel(), 0);
}

TEST(Shape, Broadcasts) {
  EXPECT_EQ(broadcast_shapes({2, 1}, {3}, "add"), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes({}, {2, 3}, "add"), (Shape{2, 3}));
  EXPECT_EQ(broadcast_shapes({1, 0}, {5, 1}, "add"), (Shape{5, 0}));
  EXPECT_THROWS_WITH(broadcast_shapes({0}, {2}, "add"), ShapeError,
                     "add: shapes [0] and [2] do not broadcast");
}

}  // namespace
}  // namespace regard::test

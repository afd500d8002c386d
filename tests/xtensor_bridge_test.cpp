#include <regard/xtensor.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/detail/xtensor/math.hpp>
#include <regard/detail/xtensor/views.hpp>

#include "ops/twin.hpp"

namespace regard::test {
namespace {

template <class T>
class BridgeOf : public testing::Test {};
using StoredTypes = testing::Types<float, double, std::int64_t, bool>;
TYPED_TEST_SUITE(BridgeOf, StoredTypes);

TYPED_TEST(BridgeOf, GoesThereAndBackInEveryLayout) {
  Rng rng(1);
  for (const Shape& shape :
       {Shape{}, Shape{3}, Shape{2, 3}, Shape{2, 1, 3}, Shape{0, 2}, Shape{2, 2, 1, 2}}) {
    const Tensor x = random_ids(shape, rng, 2).to(dtype_of<TypeParam>());
    for (const Layout layout : all_layouts) {
      const Tensor laid = with_layout(x, layout);
      const auto view = as_xtensor<TypeParam>(laid);
      ASSERT_EQ(view.dimension(), static_cast<std::size_t>(x.rank()));
      for (Size place = 0; place < x.numel(); ++place) {
        const std::vector<Size> at = unravel(place, shape);
        EXPECT_EQ(view.element(at.begin(), at.end()), static_cast<TypeParam>(x.at(at)));
      }
      const xt::xarray<TypeParam> copied = view;
      EXPECT_SAME_BITS(from_xtensor(copied), x);
      EXPECT_SAME_BITS(from_xtensor(view), x);
    }
    const Tensor wide = stretched(x, shape.empty() ? Shape{2} : shape);
    EXPECT_SAME_BITS(from_xtensor(as_xtensor<TypeParam>(wide)), deep_copy(wide));
  }
}

TEST(Bridge, DoesNotCopy) {
  const Tensor x = tensor({{1, 2}, {3, 4}});
  EXPECT_EQ(&as_xtensor<double>(x)(0, 0), x.data<double>());
  EXPECT_EQ(&as_xtensor<double>(transpose(x))(0, 1), x.data<double>() + 2);
}

// The view of a temporary holds its storage; AddressSanitizer would see if not.
TEST(Bridge, OutlivesTheTensor) {
  const auto view = as_xtensor<double>(tensor({1, 2, 3}) * 2.0);
  const Tensor churn = zeros({3});  // takes freed memory, were it freed
  EXPECT_EQ(view(2), 6.0);
  const auto copy_of_view = view;
  EXPECT_EQ(copy_of_view(1), 4.0);
  EXPECT_EQ(churn.numel(), 3);
}

TEST(Bridge, ComputesWithXtensorsFunctions) {
  const Tensor x = tensor({{0, 1, 2}, {3, 4, 5}}), y = tensor({{1}, {2}});
  expect_tensor(from_xtensor(as_xtensor<double>(x) * 2.0 + as_xtensor<double>(y)), {2, 3},
                {1, 3, 5, 8, 10, 12});
  const Tensor turned = transpose(x);
  expect_tensor(from_xtensor(as_xtensor<double>(turned) + as_xtensor<double>(turned)), {3, 2},
                {0, 6, 2, 8, 4, 10});
  const Tensor stretched_row = stretched(tensor({1, 2, 3}), {2, 3});
  expect_tensor(from_xtensor(as_xtensor<double>(stretched_row) + 0.0), {2, 3}, {1, 2, 3, 1, 2, 3});
  const xt::xarray<double> rooted = xt::sqrt(as_xtensor<double>(x));
  EXPECT_EQ(rooted(1, 1), 2.0);
  const xt::xarray<double> full = {{1, 2}, {3, 4}};
  expect_tensor(from_xtensor(xt::view(full, xt::all(), 1)), {2}, {2, 4});
  expect_tensor(from_xtensor(xt::transpose(full)), {2, 2}, {1, 3, 2, 4});
}

TEST(Bridge, TakesEveryIntegerAsInt64) {
  const xt::xarray<int> ints = {{1, -2}, {3, 4}};
  EXPECT_EQ(from_xtensor(ints).dtype(), int64);
  expect_tensor(from_xtensor(ints), {2, 2}, {1, -2, 3, 4});
  const xt::xarray<std::uint8_t> bytes = {200, 1};
  expect_tensor(from_xtensor(bytes), {2}, {200, 1});
  EXPECT_EQ(from_xtensor(ints > 0).dtype(), boolean);
  expect_tensor(from_xtensor(ints > 0), {2, 2}, {1, 0, 1, 1});
  const xt::xarray<std::uint64_t> large = {1, std::uint64_t{1} << 63};
  EXPECT_THROWS_WITH(from_xtensor(large), ValueError, "from_xtensor: 9223372036854775808 does not fit int64");
}

TEST(Bridge, RefusesAnotherType) {
  EXPECT_THROWS_WITH(as_xtensor<float>(zeros({2})), DTypeError,
                     "as_xtensor: the tensor holds float64, not float32");
  EXPECT_THROWS_WITH(as_xtensor<double>(Tensor()), GraphError, "empty");
  const xt::xarray<double> deep = xt::xarray<double>::from_shape({1, 1, 1, 1, 1, 1, 1, 1, 1});
  EXPECT_THROWS_WITH(from_xtensor(deep), ShapeError, "at most 8 axes");
}

// A view of a variable is not part of its graph, and holds none of it.
TEST(Bridge, StaysOutsideTheGraph) {
  const Size before = live_nodes();
  const auto view = as_xtensor<double>(exp(variable(tensor({0.0}))));
  EXPECT_EQ(live_nodes(), before);
  EXPECT_EQ(view(0), 1.0);
}

}  // namespace
}  // namespace regard::test

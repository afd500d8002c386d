#include <regard/nn/linear.hpp>

#include <gtest/gtest.h>

#include <regard/error.hpp>

#include "support/close.hpp"
#include "support/modules.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::nn {
namespace {

LinearOptions with_init(Init init, double deviation = 0.1) {
  LinearOptions options;
  options.init = init;
  options.deviation = deviation;
  return options;
}

TEST(Linear, MultipliesAndAdds) {
  Rng rng(1);
  Linear layer(2, 3, rng);
  layer.weight.assign(tensor({{1, 2, 3}, {4, 5, 6}}));
  layer.bias.assign(tensor({10, 20, 30}));
  EXPECT_SAME_BITS(layer(tensor({1, 10})), tensor({51, 72, 93}));
  EXPECT_SAME_BITS(layer(tensor({{1, 0}, {0, 1}})), tensor({{11, 22, 33}, {14, 25, 36}}));
  EXPECT_EQ(layer(zeros({2, 5, 2})).shape(), (Shape{2, 5, 3}));
  EXPECT_EQ(layer(zeros({0, 5, 2})).shape(), (Shape{0, 5, 3}));
}

TEST(Linear, StartsAsAsked) {
  Rng rng(1);
  EXPECT_SAME_BITS(Linear(2, 3, rng).bias.value(), zeros({3}));
  EXPECT_SAME_BITS(Linear(2, 3, rng, with_init(Init::zeros)).weight.value(), zeros({2, 3}));
  Rng a(5), b(5);
  EXPECT_SAME_BITS(Linear(4, 6, a).weight.value(), glorot_uniform({4, 6}, b));
  EXPECT_SAME_BITS(Linear(4, 6, a, with_init(Init::glorot_normal)).weight.value(), glorot_normal({4, 6}, b));
  EXPECT_SAME_BITS(Linear(4, 6, a, with_init(Init::normal)).weight.value(), normal({4, 6}, b, 0, 0.1));
}

TEST(Linear, WithoutBiasHasOneParameter) {
  Rng rng(1);
  LinearOptions options;
  options.bias = false;
  options.dtype = float32;
  const Linear layer(2, 3, rng, options);
  const NamedParameters named = named_parameters(layer);
  ASSERT_EQ(named.size(), 1u);
  EXPECT_EQ(named[0].first, "weight");
  EXPECT_EQ(layer(zeros({2}, float32)).dtype(), float32);
}

TEST(Linear, GradientsAgreeWithDifferences) {
  Rng rng(2);
  const Linear layer(3, 5, rng);
  test::expect_module_gradients(layer, {test::random_tensor({2, 4, 3}, rng)},
                                [&](const Tensors& x) { return layer(x[0]); });
}

TEST(Linear, NamesItsWeightInErrors) {
  Rng rng(1);
  const std::vector<Linear> layers = [&] {
    std::vector<Linear> made;
    made.emplace_back(3, 5, rng);
    return made;
  }();
  (void)named_parameters(layers);
  EXPECT_THROWS_WITH(layers[0](zeros({2, 4})), ShapeError,
                     "linear 0.weight [3, 5]: expected x [.., 3], got [2, 4]");
  EXPECT_THROWS_WITH(layers[0](scalar(1)), ShapeError, "got []");
  EXPECT_THROWS_WITH(Linear(0, 3, rng), ValueError, "linear: the input width must be positive, got 0");
  EXPECT_THROWS_WITH(Linear(3, -1, rng), ValueError, "the output width");
  EXPECT_THROWS_WITH(Linear(3, 3, rng, with_init(Init::normal, -1)), ValueError, "deviation");
}

}  // namespace
}  // namespace regard::nn

// Kinks, ties, powers and branches.
#include <utility>

#include "cases/cases.hpp"

namespace regard::test {
namespace {

// pytorch/pytorch #68425: the branch that where() does not choose overflows, and its slope is multiplied by
// 0. That is documented on where(), with the way out.
TEST(B10, TheBranchNotChosenOverflows) {
  in_both_dtypes([](DType dtype) {
    const Tensor a = variable(scalar(1000, dtype));
    const Tensor chosen = less_equal(a.detach(), scalar(0, dtype));
    const Tensor naive = where(chosen, exp(a), a + 1.0);
    EXPECT_EQ(naive.item(), 1001);
    EXPECT_TRUE(std::isnan(grad(naive, a).item()));
    const Tensor careful = where(chosen, exp(where(chosen, a, scalar(0, dtype))), a + 1.0);
    EXPECT_EQ(careful.item(), 1001);
    EXPECT_EQ(grad(careful, a).item(), 1);
  });
}

// pytorch/pytorch #184572, jax #37821, Theano #6470: what a tie gives is a decision. Ties share.
TEST(B38, TiesShareTheGradient) {
  in_both_dtypes([](DType dtype) {
    const Tensor x = variable(tensor({2, 2, 1}, dtype));
    EXPECT_SAME_BITS(grad(max(x), x), tensor({0.5, 0.5, 0}, dtype));
    const Tensor z = variable(tensor({{1, 3}, {3, 3}}, dtype));
    EXPECT_SAME_BITS(grad_from(max(z, {0}), z, tensor({1, 10})), tensor({{0, 5}, {1, 5}}, dtype));
    const Tensor zero = scalar(0, dtype);
    EXPECT_EQ(slope([&](const Tensor& at) { return maximum(at, zero); }, 0, dtype), 0.5);
    EXPECT_EQ(slope([&](const Tensor& at) { return minimum(at, zero); }, 0, dtype), 0.5);
    EXPECT_EQ(slope([](const Tensor& at) { return maximum(at, at); }, 3, dtype), 1);
  });
}

TEST(B38, KinksHaveTheSlopeZero) {
  in_both_dtypes([](DType dtype) {
    EXPECT_EQ(slope([](const Tensor& x) { return relu(x); }, 0, dtype), 0);
    EXPECT_EQ(slope([](const Tensor& x) { return abs(x); }, 0, dtype), 0);
    EXPECT_EQ(slope([](const Tensor& x) { return sign(x); }, 0, dtype), 0);
  });
}

// pytorch/pytorch #8940, #27134, HIPS/autograd #581: powers at zero.
TEST(B41, PowersAtZero) {
  in_both_dtypes([](DType dtype) {
    const Tensor x = variable(tensor({0, 1}, dtype));
    EXPECT_EQ(sum(power(x, 0.0)).item(), 2);
    EXPECT_SAME_BITS(grad(sum(power(x, 0.0)), x), tensor({0, 0}, dtype));
    EXPECT_SAME_BITS(grad(sum(power(x, zeros({2}, dtype))), x), tensor({0, 0}, dtype));

    const Tensor base = tensor({0, 2}, dtype), exponent = variable(ones({2}, dtype));
    expect_case(grad(sum(power(base, exponent)), exponent), tensor({0, 1.38629436111989}), dtype);
    EXPECT_EQ(slope([](const Tensor& at) { return power(at, 1.5); }, 0, dtype), 0);
    EXPECT_EQ(slope([&](const Tensor& at) { return power(at, scalar(1.5, dtype)); }, 0, dtype), 0);
  });
}

// The Hessian at zero of whole powers, x² included, is finite.
TEST(B41, SecondDerivativesOfPowersAtZero) {
  in_both_dtypes([](DType dtype) {
    for (const auto& [exponent, expected] : {std::pair{3.0, 0.0}, {2.0, 2.0}, {1.0, 0.0}, {0.0, 0.0}}) {
      const auto f = [e = exponent](const Tensor& x) { return power(x, e); };
      EXPECT_EQ(hessian(f, scalar(0, dtype)).item(), expected) << exponent;
      const Tensor e = scalar(exponent, dtype);
      EXPECT_EQ(hessian([&](const Tensor& x) { return power(x, e); }, scalar(0, dtype)).item(), expected)
          << exponent;
    }
  });
}

// Where the exponent is 0 the slope is 0 whatever the base, but not what becomes of it as the exponent moves.
TEST(B41, TheExponentZero) {
  in_both_dtypes([](DType dtype) {
    const auto at = [&](double base) {
      const Tensor a = variable(scalar(base, dtype)), b = variable(scalar(0, dtype));
      GradOptions options;
      options.create_graph = true;
      const Tensor da = grad(power(a, b), a, options);
      EXPECT_EQ(da.item(), 0) << base;
      return grad(da, b).item();
    };
    EXPECT_EQ(at(2), 0.5);
    for (const double base : {0.0, std::numeric_limits<double>::denorm_min(), nan})
      EXPECT_EQ(at(base), 0) << base;
  });
}

// The slopes of the neighbours: x² and x at 0 are smooth, the root is not.
TEST(B41, SlopesOfPowersAtZero) {
  in_both_dtypes([](DType dtype) {
    const auto at_zero = [&](double exponent) {
      return slope([&](const Tensor& x) { return power(x, exponent); }, 0, dtype);
    };
    EXPECT_EQ(at_zero(2), 0);
    EXPECT_EQ(at_zero(1), 1);
    EXPECT_EQ(at_zero(0.5), infinity);
  });
}

// tenstorrent/tt-metal PR #54440: powers of a negative base went through its logarithm.
TEST(B42, PowersOfANegativeBase) {
  in_both_dtypes([](DType dtype) {
    const auto both_forms = [&](double exponent, double at) {
      const double by_number = slope([&](const Tensor& x) { return power(x, exponent); }, at, dtype);
      const Tensor e = scalar(exponent, dtype);
      const double by_tensor = slope([&](const Tensor& x) { return power(x, e); }, at, dtype);
      EXPECT_TRUE(by_number == by_tensor || (std::isnan(by_number) && std::isnan(by_tensor)));
      return by_number;
    };
    EXPECT_EQ(both_forms(3, -2), 12);
    EXPECT_EQ(both_forms(2, -3), -6);
    EXPECT_TRUE(std::isnan(power(scalar(-1, dtype), 0.5).item()));
    EXPECT_TRUE(std::isnan(both_forms(0.5, -1)));
  });
}

// tensorflow/tensorflow #13046, mindspore #391: NaN was dropped, or not, by its place.
TEST(B65, NanIsNeverDropped) {
  in_both_dtypes([](DType dtype) {
    const Tensor n = scalar(nan, dtype);
    for (const double v : {-1.0, 0.0, 1.0}) {
      const Tensor x = scalar(v, dtype);
      for (const Tensor& y : {maximum(x, n), maximum(n, x), minimum(x, n), minimum(n, x)})
        EXPECT_TRUE(std::isnan(y.item())) << v;
    }
    for (const Tensor& y : {relu(n), abs(n), sign(n)}) EXPECT_TRUE(std::isnan(y.item()));
    EXPECT_TRUE(std::isnan(slope([](const Tensor& x) { return relu(x); }, nan, dtype)));
  });
}

// A number that int64 cannot hold must not be cut to one that it can.
TEST(Numbers, ThatInt64CannotHoldAreRefused) {
  const Tensor ids = tensor({1, 2, 3}, int64);
  EXPECT_SAME_BITS(ids + 2.0, tensor({3, 4, 5}, int64));
  EXPECT_THROWS_WITH(ids + 0.5, DTypeError,
                     "add: 0.5 is no whole number, but the tensor int64 [3] holds only such");
  EXPECT_THROWS_WITH(ids * 0.5, DTypeError, "multiply: 0.5 is no whole number");
  EXPECT_THROWS_WITH(ids - std::nan(""), DTypeError, "add: nan");
  EXPECT_THROWS_WITH(masked_fill(ids, ones({3}, boolean), 1e300), DTypeError, "masked_fill: 1e+300");
  EXPECT_THROWS_WITH(full({2}, std::nan(""), int64), ValueError, "nan");
  EXPECT_THROWS_WITH(tensor({1e19}, int64), ValueError, "1e+19");
  EXPECT_THROWS_WITH(scalar(1e19).to(int64), ValueError, "does not fit int64");
  EXPECT_THROWS_WITH(scalar(std::nan("")).to(int64), ValueError, "NaN");
  EXPECT_SAME_BITS(tensor({1.9, -1.9}).to(int64), tensor({1, -1}, int64));  // toward zero
}

}  // namespace
}  // namespace regard::test

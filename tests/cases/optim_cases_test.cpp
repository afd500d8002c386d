// Optimisers, clipping and schedules.
#include <vector>

#include <regard/optim.hpp>

#include "cases/cases.hpp"

namespace regard::test {
namespace {

AdamOptions with_rate(double rate, double decay = 0) {
  AdamOptions options;
  options.learning_rate = rate;
  options.weight_decay = decay;
  return options;
}

// Where a number is after these gradients.
template <class Kind>
Tensor stepped(double from, const std::vector<double>& gradients, const AdamOptions& options, DType dtype) {
  Parameter w(tensor({from}, dtype), "w");
  Kind optimizer({w}, options);
  for (const double g : gradients) {
    w.set_gradient(tensor({g}, dtype));
    optimizer.step();
  }
  return w.value();
}

// pytorch/pytorch PR #22628: epsilon is neither scaled by the bias correction (-3.07e-5) nor inside the root
// (-1.0e-7), and the correction is there (-9.69e-5).
TEST(B43, EpsilonIsAddedAfterTheCorrection) {
  in_both_dtypes([](DType dtype) {
    expect_case(stepped<Adam>(0, {1e-8}, with_rate(1e-3), dtype), tensor({-5.0e-4}), dtype);
    EXPECT_NEAR(stepped<Adam>(0, {1, 1, 1}, with_rate(1e-3), dtype).item(), -0.00299999997,
                dtype == float64 ? 1e-13 : 1e-9);
  });
}

// modern-fortran/neural-fortran #152, anhquan0412/basic_model_scratch #2: decay through the gradient, or
// through the weight and times the rate (0.99 without it).
TEST(B44, DecayIsDecoupledInAdamWOnly) {
  in_both_dtypes([](DType dtype) {
    expect_case(stepped<Adam>(1, {0}, with_rate(0.1, 0.01), dtype), tensor({0.9000000999999}), dtype);
    expect_case(stepped<AdamW>(1, {0}, with_rate(0.1, 0.01), dtype), tensor({0.999}), dtype);
  });
}

Parameter with_gradient(const Tensor& gradient) {
  Parameter p(ones(gradient.shape(), gradient.dtype()), "p");
  p.set_gradient(gradient);
  return p;
}

// pytorch/pytorch #46849: a norm that is not finite spoilt every parameter. It is reported, and nothing is
// scaled.
TEST(B45, ANormThatIsNotFinite) {
  in_both_dtypes([](DType dtype) {
    for (const double bad : {infinity, nan}) {
      const Parameter p = with_gradient(tensor({bad, 1}, dtype)), other = with_gradient(tensor({2}, dtype));
      EXPECT_THROWS_WITH(clip_gradients_by_norm({p, other}, 1), ValueError, "the gradient of p [2]");
      EXPECT_FALSE(std::isfinite(clip_gradients_by_norm({p, other}, 1, NonFinite::report)));
      EXPECT_SAME_BITS(other.gradient(), tensor({2}, dtype));
      EXPECT_SAME_BITS(p.value(), ones({2}, dtype));
    }
    const Parameter p = with_gradient(tensor({3, 4}, dtype));
    EXPECT_EQ(clip_gradients_by_norm({p}, 1), 5);
    expect_case(p.gradient(), tensor({0.6, 0.8}), dtype);
  });
}

// tensorflow/tensorflow #22048, pytorch/pytorch #31367: a norm of zero, and limits that are none.
TEST(B46, ANormOfZeroAndANegativeLimit) {
  in_both_dtypes([](DType dtype) {
    const Parameter nothing = with_gradient(zeros({3}, dtype)), p = with_gradient(tensor({3, 4}, dtype));
    EXPECT_EQ(clip_gradients_by_norm({nothing}, 1), 0);
    EXPECT_EQ(clip_gradients_by_norm({nothing}, 0), 0);
    EXPECT_SAME_BITS(nothing.gradient(), zeros({3}, dtype));
    EXPECT_THROWS_WITH(clip_gradients_by_norm({p}, -1), ValueError, "max_norm must not be negative");
    EXPECT_THROWS_WITH(clip_gradients_by_norm({p}, nan), ValueError, "max_norm");
    EXPECT_SAME_BITS(p.gradient(), tensor({3, 4}, dtype));
    EXPECT_EQ(clip_gradients_by_norm({p}, 0), 5);
    EXPECT_SAME_BITS(p.gradient(), zeros({2}, dtype));
  });
}

// The rates that a run uses, step by step.
std::vector<double> rates(Size first, Size count, const std::function<double(Size)>& rate) {
  Parameter w(tensor({0}), "w");
  Sgd optimizer({w});
  std::vector<double> used;
  for (Size step = first; step < first + count; ++step) {
    w.assign(tensor({0}));
    w.set_gradient(tensor({-1}));
    optimizer.set_learning_rate(rate(step));
    optimizer.step();
    used.push_back(w.value().item());
  }
  return used;
}

// meta-pytorch/torchtune #2010, deepspeedai/DeepSpeed PR #5287: the first step was wasted on a rate of 0.
TEST(B47, WarmUpStartsAboveZero) {
  EXPECT_EQ(rates(0, 6, [](Size step) { return warmup_rate(1, step, 4); }),
            (std::vector<double>{0.25, 0.5, 0.75, 1, 1, 1}));
  EXPECT_EQ(warmup_rate(1, 0, 0), 1);
  CosineOptions options;
  options.total_steps = options.warmup_steps = 4;
  EXPECT_EQ(rates(0, 5, [&](Size step) { return cosine_rate(1, step, options); }),
            (std::vector<double>{0.25, 0.5, 0.75, 1, 0}));
  options.total_steps = options.warmup_steps = 0;
  EXPECT_EQ(cosine_rate(1, 0, options), 0);
}

// pytorch/pytorch #23480: a resumed schedule was one step off. Rates are functions of the step alone.
TEST(B48, ACosineGoesOnWhereItStopped) {
  CosineOptions options;
  options.total_steps = 4;
  const auto rate = [&](Size step) { return cosine_rate(1, step, options); };
  const std::vector<double> expected = {1, 0.853553390593274, 0.5, 0.146446609406726, 0};
  const std::vector<double> whole = rates(0, 5, rate), resumed = rates(2, 3, rate);
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(whole[i], expected[i], 1e-15) << "step " << i;
  EXPECT_EQ(resumed, std::vector<double>(whole.begin() + 2, whole.end()));
}

}  // namespace
}  // namespace regard::test

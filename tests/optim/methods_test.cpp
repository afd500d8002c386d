// What each optimiser does to numbers.
#include <regard/optim.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <nlohmann/json.hpp>

#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "optim/optimisers.hpp"
#include "support/close.hpp"
#include "support/golden.hpp"
#include "support/throws.hpp"

namespace regard {
namespace {

using test::from_values;
using test::optimisers;
using test::with;

Parameter parameter(const Tensor& value, const char* name = "w") {
  return Parameter(value, name);
}

// ---- against PyTorch -----------------------------------------------------------------------------------

// Every seventh step the second parameter has no gradient, so that the two count different steps.
void follow(const std::string& name, const test::Make& make_optimizer, const Shape& second_shape, DType dtype,
            double tolerance) {
  const nlohmann::json kept = test::golden("optimisers.json").at("runs").at(name);
  Parameter first = parameter(from_values({-1, -0.6, -0.2, 0.2, 0.6, 1}, {3, 2}, dtype), "first");
  Parameter second = parameter(from_values({2, -3}, second_shape, dtype), "second");
  const auto optimizer = make_optimizer({first, second});
  std::size_t compared = 0;
  for (int step = 1; step <= 100; ++step) {
    first.set_gradient(test::gradient_at(first, step));
    second.zero_grad();
    if (step % 7 != 0) second.set_gradient(test::gradient_at(second, step));
    optimizer->step();
    const auto at = kept.find(std::to_string(step));
    if (at == kept.end()) continue;
    ++compared;
    const auto expected = [&](const char* which, const Shape& shape) {
      return from_values(at->at(which).get<std::vector<double>>(), shape, dtype);
    };
    EXPECT_TENSOR_NEAR(first.value(), expected("first", {3, 2}), 0, tolerance) << name << ", step " << step;
    EXPECT_TENSOR_NEAR(second.value(), expected("second", second_shape), 0, tolerance)
        << name << ", step " << step;
  }
  EXPECT_EQ(compared, kept.size());
  EXPECT_GT(compared, 0u);
}

TEST(Methods, FollowPyTorchForAHundredSteps) {
  for (const auto& [name, of] : optimisers()) follow(name, of.first, of.second, float64, 1e-12);
}

TEST(Methods, InFloat32FollowToItsPrecision) {
  for (const auto& [name, of] : optimisers()) follow(name, of.first, of.second, float32, 2e-5);
}

TEST(Methods, AllThatWereRecordedAreTested) {
  const nlohmann::json runs = test::golden("optimisers.json").at("runs");
  EXPECT_EQ(runs.size(), optimisers().size());
}

// ---- layouts and states --------------------------------------------------------------------------------

TEST(Methods, TakesAnyLayoutOfValueAndGradient) {
  Rng rng(5);
  const Tensor start = test::random_tensor({3, 4}, rng), slope = test::random_tensor({3, 4}, rng);
  for (const auto& [name, of] : optimisers()) {
    if (name == "adamw/groups") continue;
    const auto& make_optimizer = of.first;
    Parameter plain = parameter(start);
    plain.set_gradient(slope);
    const auto reference = make_optimizer({plain});
    reference->step();
    reference->step();
    for (const test::Layout value_layout : test::all_layouts)
      for (const test::Layout gradient_layout : test::all_layouts) {
        Parameter laid_out = parameter(test::with_layout(start, value_layout));
        laid_out.set_gradient(test::with_layout(slope, gradient_layout));
        const auto optimizer = make_optimizer({laid_out});
        optimizer->step();
        optimizer->step();
        EXPECT_SAME_BITS(laid_out.value(), plain.value())
            << name << ' ' << value_layout << ' ' << gradient_layout;
      }
  }
}

// Ten steps, interrupted after any of them, in which the second parameter joins late.
TEST(Methods, GoOnFromTheirStateAsIfNotInterrupted) {
  for (const DType dtype : {float64, float32})
    for (const auto& [name, of] : optimisers()) {
      const auto& [make_optimizer, second_shape] = of;
      for (int interrupted = 0; interrupted < 10; ++interrupted) {
        const auto pair = [&, shape = second_shape] {
          return std::vector<Parameter>{parameter(tensor({{1, 2}, {3, -1}}, dtype), "first"),
                                        parameter(test::from_values({3, 1}, shape, dtype), "second")};
        };
        std::vector<Parameter> whole_parameters = pair(), parts_parameters = pair();
        const auto whole = make_optimizer(whole_parameters);
        auto parts = make_optimizer(parts_parameters);
        for (int step = 1; step <= 10; ++step) {
          if (step == interrupted + 1) {
            const NamedTensors state = parts->state();
            parts = make_optimizer(parts_parameters);
            parts->load_state(state);
          }
          for (auto* parameters : {&whole_parameters, &parts_parameters})
            for (Parameter& p : *parameters) {
              p.zero_grad();
              if (p.name() == "first" || step > 4) p.set_gradient(test::gradient_at(p, step));
            }
          whole->step();
          parts->step();
        }
        for (std::size_t i = 0; i < 2; ++i)
          EXPECT_SAME_BITS(parts_parameters[i].value(), whole_parameters[i].value())
              << name << ", interrupted after " << interrupted;
      }
    }
}

// ---- edges ---------------------------------------------------------------------------------------------

template <class Kind, class Options>
Tensor stepped(const Tensor& from, const std::vector<Tensor>& gradients, const Options& options) {
  Parameter w = parameter(from);
  Kind optimizer({w}, options);
  for (const Tensor& g : gradients) {
    w.set_gradient(g);
    optimizer.step();
  }
  return w.value();
}

// Of gradients that are all the same the variance is 0; rounding must not put it below.
TEST(Rmsprop, CenteredStaysANumberWhereTheGradientIsConstant) {
  const auto options = with<RmspropOptions>([](RmspropOptions& o) {
    o.centered = true;
    o.alpha = 0.9;
  });
  for (const DType dtype : {float64, float32}) {
    const Tensor g = tensor({0.1, 0.7, 1e-3, -3.3, 1.0 / 3, 1e8}, dtype);
    const Tensor end = stepped<Rmsprop>(zeros({6}, dtype), std::vector<Tensor>(500, g), options);
    EXPECT_TRUE(all(isfinite(end))) << end;
  }
}

TEST(Lion, MovesByTheRateWhateverTheGradient) {
  const auto options = test::lion_options(0.5, 0.9, 0.99);
  EXPECT_SAME_BITS(stepped<Lion>(tensor({1, 1, 1}), {tensor({1e-30, -1e30, 0})}, options),
                   tensor({0.5, 1.5, 1}));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(stepped<Lion>(tensor({1}), {tensor({nan})}, options).item()));
}

// m = 0.1·1 after the first step; the second looks at 0.9·0.1 + 0.1·g: the sign of g only if |g| > 0.9.
TEST(Lion, MixesByBeta1AndKeepsByBeta2) {
  const auto options = test::lion_options(0.5, 0.9, 0.9);
  EXPECT_EQ(stepped<Lion>(tensor({0}), {tensor({1}), tensor({-0.8})}, options).item(), -1);
  EXPECT_EQ(stepped<Lion>(tensor({0}), {tensor({1}), tensor({-1})}, options).item(), 0);
}

// With the polynomial that converges the direction is the orthogonal factor: all singular values are 1.
TEST(Muon, OrthogonalisesWideAndTallMatrices) {
  const auto options = with<MuonOptions>([](MuonOptions& o) {
    o.learning_rate = 1;
    o.weight_decay = 0;
    o.momentum = 0;
    o.coefficients = {1.875, -1.25, 0.375};
    o.iterations = 60;
  });
  Rng rng(3);
  for (const Shape& shape : {Shape{4, 7}, Shape{7, 4}, Shape{5, 5}}) {
    const Tensor g = normal(shape, rng);
    const double scale =
        std::sqrt(std::fmax(1, static_cast<double>(shape[1]) / static_cast<double>(shape[0])));
    const Tensor x = stepped<Muon>(zeros(shape), {g}, options) * (-1 / scale);
    const bool tall = shape[0] > shape[1];
    const Tensor gram = tall ? matmul(transpose(x), x) : matmul(x, transpose(x));
    EXPECT_TENSOR_NEAR(gram, eye(gram.size(0)), 0, 1e-12);
    // U·Vᵀ of g: its product with gᵀ is symmetric.
    const Tensor product = tall ? matmul(transpose(g), x) : matmul(x, transpose(g));
    EXPECT_TENSOR_NEAR(product, transpose(product), 0, 1e-12);
  }
}

// The direction has no length: squares that overflow or vanish change nothing.
TEST(Muon, TakesGradientsOfAnySize) {
  const auto options = with<MuonOptions>([](MuonOptions& o) {
    o.momentum = 0;
    o.epsilon = 0;
  });
  for (const DType dtype : {float64, float32}) {
    const Tensor g = tensor({{1, 2}, {-1, 0.5}}, dtype), start = ones({2, 2}, dtype);
    const Tensor expected = stepped<Muon>(start, {g}, options);
    for (const double factor :
         dtype == float64 ? std::vector<double>{0x1p900, 0x1p-900} : std::vector<double>{0x1p100, 0x1p-100})
      EXPECT_TENSOR_NEAR(stepped<Muon>(start, {g * factor}, options), expected, 0,
                         dtype == float64 ? 1e-15 : 1e-7);
  }
  EXPECT_TENSOR_NEAR(stepped<Muon>(ones({2, 2}), {zeros({2, 2})}, options), full({2, 2}, 1 - 1e-4), 1e-15, 0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(all(isnan(stepped<Muon>(ones({2, 2}), {tensor({{nan, 1}, {1, 1}})}, options))));
}

TEST(Muon, RefusesWhatIsNoMatrix) {
  EXPECT_THROWS_WITH(Muon({parameter(ones({2, 2})), parameter(ones({3}), "layer.bias")}), ValueError,
                     "muon: the parameter layer.bias [3] is no matrix; give it to another optimiser");
  EXPECT_THROWS_WITH(Muon({parameter(ones({2, 2, 2}))}), ValueError, "w [2, 2, 2] is no matrix");
}

TEST(Methods, TakeParametersOfSizeZero) {
  for (const auto& [name, of] : optimisers()) {
    if (name == "adamw/groups") continue;
    Parameter w = parameter(zeros({0, 3}));
    w.set_gradient(zeros({0, 3}));
    const auto optimizer = of.first({w});
    optimizer->step();
    EXPECT_EQ(w.shape(), (Shape{0, 3})) << name;
    EXPECT_FALSE(optimizer->state().empty()) << name;
  }
}

// ---- options -------------------------------------------------------------------------------------------

template <class Kind, class Options, class Set>
void refuses(const Set& set, const char* text) {
  const Options options = with<Options>(set);
  EXPECT_THROWS_WITH(Kind({parameter(ones({2, 2}))}, options), ValueError, text);
  const Options good;
  EXPECT_THROWS_WITH(Kind({parameter(ones({2, 2}))}, good, {{"w", options}}), ValueError, text);
}

TEST(Methods, RefuseOptionsOutOfRange) {
  const double nan = std::numeric_limits<double>::quiet_NaN(),
               infinity = std::numeric_limits<double>::infinity();
  refuses<Sgd, SgdOptions>([](auto& o) { o.learning_rate = -1; },
                           "sgd: learning_rate must be finite and not negative, got -1.0");
  refuses<Sgd, SgdOptions>([&](auto& o) { o.learning_rate = nan; }, "sgd: learning_rate");
  refuses<Sgd, SgdOptions>([](auto& o) { o.momentum = -0.5; }, "sgd: momentum");
  refuses<Sgd, SgdOptions>([](auto& o) { o.dampening = -0.5; }, "sgd: dampening");
  refuses<Sgd, SgdOptions>([](auto& o) { o.nesterov = true; }, "sgd: Nesterov's look ahead needs a momentum");
  refuses<Sgd, SgdOptions>(
      [](auto& o) {
        o.nesterov = true;
        o.momentum = 0.5;
        o.dampening = 0.25;
      },
      "no dampening, got 0.500000 and 0.25");
  refuses<Adam, AdamOptions>([](auto& o) { o.beta1 = 1; }, "adam: beta1 must lie in [0, 1), got 1.0");
  refuses<Adam, AdamOptions>([](auto& o) { o.beta2 = -0.1; }, "adam: beta2");
  refuses<Adam, AdamOptions>([](auto& o) { o.epsilon = -1; }, "adam: epsilon");
  refuses<AdamW, AdamWOptions>([](auto& o) { o.weight_decay = -0.1; }, "adamw: weight_decay");
  refuses<Rmsprop, RmspropOptions>([](auto& o) { o.alpha = 1; }, "rmsprop: alpha must lie in [0, 1)");
  refuses<Rmsprop, RmspropOptions>([&](auto& o) { o.momentum = infinity; }, "rmsprop: momentum");
  refuses<Rmsprop, RmspropOptions>([&](auto& o) { o.epsilon = nan; }, "rmsprop: epsilon");
  refuses<Adagrad, AdagradOptions>([](auto& o) { o.rate_decay = -1; }, "adagrad: rate_decay");
  refuses<Adagrad, AdagradOptions>([](auto& o) { o.initial_sum = -1; }, "adagrad: initial_sum");
  refuses<Lion, LionOptions>([](auto& o) { o.beta2 = 1.5; }, "lion: beta2");
  refuses<Muon, MuonOptions>([](auto& o) { o.momentum = 1; }, "muon: momentum");
  refuses<Muon, MuonOptions>([](auto& o) { o.iterations = 100; },
                             "muon: iterations must lie in 0 to 99, got 100");
  refuses<Muon, MuonOptions>([&](auto& o) { o.coefficients[1] = nan; },
                             "muon: the coefficients must be finite");
}

}  // namespace
}  // namespace regard

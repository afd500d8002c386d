// Attention in blocks against the dense way: values and gradients of every kind of mask, sizes around the
// blocks', what is hidden, and memory.
#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/capture.hpp>
#include <regard/error.hpp>
#include <regard/ops.hpp>

#include "attention/reference.hpp"
#include "memory/pool.hpp"
#include "support/close.hpp"
#include "support/gradients.hpp"
#include "support/tensors.hpp"
#include "support/throws.hpp"

namespace regard::test {
namespace {

AttentionOptions by(AttentionPath path) {
  AttentionOptions options;
  options.path = path;
  return options;
}

// The output and the gradients of all inputs, the bias (if there is one) last.
Tensors run(AttentionPath path, const Inputs& x, const Mask& mask, const Tensor& bias = {}) {
  Tensors leaves{variable(x.query), variable(x.key), variable(x.value)};
  if (bias.defined()) leaves.push_back(variable(bias));
  const Mask whole = bias.defined() ? mask & Mask::bias(leaves[3]) : mask;
  const Tensor y = attention(leaves[0], leaves[1], leaves[2], whole, by(path));
  Rng rng(7);
  Tensors results = grad({sum(random_tensor(y.shape(), rng, Domain::normal, y.dtype()) * y)}, leaves);
  results.insert(results.begin(), y.detach());
  return results;
}

void expect_same(const Inputs& x, const Mask& mask, const Tensor& bias = {}) {
  const char* const names[] = {"output", "dquery", "dkey", "dvalue", "dbias"};
  const Tensors dense = run(AttentionPath::dense, x, mask, bias);
  const Tensors blocked = run(AttentionPath::blocked, x, mask, bias);
  const double tolerance = x.query.dtype() == float64 ? 1e-12 : 1e-5;
  ASSERT_EQ(dense.size(), blocked.size());
  for (std::size_t i = 0; i < dense.size(); ++i) {
    SCOPED_TRACE(names[i]);
    EXPECT_TENSOR_NEAR(blocked[i], dense[i], tolerance, tolerance);
  }
}

// ---- the same as the dense way --------------------------------------------------------------------------

TEST(BlockedAttention, EqualsTheDenseWayForEveryMask) {
  for (const MaskCase& c : mask_cases()) {
    for (const DType dtype : {float32, float64}) {
      SCOPED_TRACE(c.name + " " + name(dtype));
      Rng rng(51);
      expect_same(Inputs(c.sizes, rng, dtype), c.mask(dtype));
    }
  }
}

// Queries go by 64, keys by 256.
TEST(BlockedAttention, EqualsTheDenseWayAtSizesAroundTheBlocks) {
  const std::vector<std::pair<Size, Size>> sizes = {{1, 1},    {1, 300},   {63, 255},  {64, 256},
                                                    {65, 257}, {129, 513}, {300, 600}, {257, 129},
                                                    {600, 1},  {0, 5},     {5, 0}};
  for (const auto& [queries, keys] : sizes) {
    for (const Mask& mask : {Mask(), Mask::causal(Align::top_left), Mask::causal(Align::bottom_right),
                             Mask::window(20, Align::top_left),
                             Mask::causal(Align::bottom_right) & Mask::window(150, Align::bottom_right)}) {
      SCOPED_TRACE(std::to_string(queries) + " x " + std::to_string(keys) + ", " + mask.describe());
      Rng rng(52);
      expect_same(Inputs({1, 2, 1, queries, keys, 3, 2}, rng), mask);
    }
  }
}

TEST(BlockedAttention, EqualsTheDenseWayForEveryMaskOverManyBlocks) {
  const Size queries = 300, keys = 530;
  const Sizes4 sizes{2, 4, 2, queries, keys, 5, 3};
  Rng rng(53);
  const Tensor lengths = tensor({530, 257}, int64);
  const Tensor of_queries = random_ids({2, queries}, rng, 3), of_keys = random_ids({2, keys}, rng, 3);
  const Tensor kinds = random_ids({keys}, rng, 2);
  const Tensor per_head = random_mask({1, 4, queries, keys}, rng, 0.7),
               row = random_mask({1, keys}, rng, 0.5);
  const Tensor hides = where(random_mask({queries, keys}, rng, 0.2), full({}, -infinity), full({}, 0.5));
  const Mask causal = Mask::causal(Align::bottom_right);
  const std::vector<std::pair<std::string, Mask>> masks = {
      {"padding", Mask::padding(lengths)},
      {"two paddings", Mask::padding(lengths) & Mask::padding(tensor({100, 400}, int64))},
      {"documents", Mask::documents(of_queries, of_keys)},
      {"documents twice",
       Mask::documents(of_queries, of_keys) & Mask::documents(slice(kinds, 0, {0, queries}), kinds)},
      {"keep", Mask::keep(per_head)},
      {"keep a row", Mask::keep(row)},
      {"hide and keep", Mask::hide(per_head) & Mask::keep(row)},
      {"bias of -inf", Mask::bias(hides)},
      {"two biases", Mask::bias(hides) & Mask::bias(random_tensor({2, 4, 1, keys}, rng))},
      {"alibi", Mask::alibi(Align::bottom_right)},
      {"alibi top_left, causal", Mask::alibi(Align::top_left) & Mask::causal(Align::top_left)},
      {"all", causal & Mask::window(200, Align::bottom_right) & Mask::padding(lengths) &
                  Mask::documents(of_queries, of_keys) & Mask::keep(row) & Mask::bias(hides) &
                  Mask::alibi(Align::bottom_right)},
  };
  for (const auto& [what, mask] : masks) {
    SCOPED_TRACE(what);
    expect_same(Inputs(sizes, rng), mask);
    if (what != "bias of -inf" && what != "two biases" && what != "all")
      expect_same(Inputs(sizes, rng, float32), mask);
  }
}

TEST(BlockedAttention, GivesALearnedBiasItsGradient) {
  const Sizes4 sizes{2, 4, 2, 140, 270, 5, 3};
  for (const Shape& shape : {Shape{140, 270}, Shape{4, 140, 1}, Shape{1, 4, 140, 270}, Shape{2, 4, 140, 270},
                             Shape{1, 4, 1, 270}, Shape{1, 1, 1, 1}}) {
    const Shape fits = shape.rank() == 3 ? Shape{1, 4, 140, 1} : shape;
    for (const DType dtype : {float32, float64}) {
      SCOPED_TRACE(to_string(fits) + " " + name(dtype));
      Rng rng(54);
      const Inputs x(sizes, rng, dtype);
      expect_same(x, Mask::causal(Align::bottom_right), random_tensor(fits, rng, Domain::normal, dtype));
    }
  }
}

TEST(BlockedAttention, TakesEveryLayoutAndABatchOfOne) {
  Rng rng(55);
  const Inputs x({2, 2, 2, 130, 260, 4, 3}, rng);
  const Tensors dense = run(AttentionPath::dense, x, Mask::causal(Align::top_left));
  for (const Layout layout : all_layouts) {
    Inputs laid = x;
    for (Tensor* t : {&laid.query, &laid.key, &laid.value}) *t = with_layout(*t, layout);
    const Tensors blocked = run(AttentionPath::blocked, laid, Mask::causal(Align::top_left));
    for (std::size_t i = 0; i < dense.size(); ++i)
      EXPECT_TENSOR_NEAR(blocked[i], dense[i], 1e-12, 1e-12) << layout;
  }
  Inputs shared = x;
  shared.key = slice(shared.key, 0, {0, 1});
  expect_same(shared, Mask::padding(tensor({200, 7}, int64)));
  shared.query = slice(shared.query, 0, {0, 1});
  expect_same(shared, {});
  // Lower ranks, and no width.
  const Tensor q = random_tensor({140, 4}, rng), k = random_tensor({270, 4}, rng),
               v = random_tensor({270, 3}, rng);
  EXPECT_TENSOR_NEAR(attention(q, k, v, {}, by(AttentionPath::blocked)),
                     attention(q, k, v, {}, by(AttentionPath::dense)), 1e-12, 1e-12);
  expect_same(Inputs({1, 1, 1, 3, 4, 0, 2}, rng), {});
  expect_same(Inputs({1, 1, 1, 3, 4, 2, 0}, rng), {});
}

// One number everywhere, one row for all tokens, one token's column for all.
TEST(BlockedAttention, TakesAStretchedGradient) {
  Rng rng(65);
  const Inputs x({2, 2, 1, 70, 90, 4, 3}, rng);
  const Shape shape{2, 2, 70, 3};
  for (const Shape& given : {Shape{1, 1, 1, 1}, Shape{1, 1, 1, 3}, Shape{2, 1, 70, 1}}) {
    GradOptions options;
    options.seeds = {broadcast_to(random_tensor(given, rng), shape)};
    const auto gradients = [&](AttentionPath path) {
      const Tensors leaves{variable(x.query), variable(x.key), variable(x.value)};
      return grad({attention(leaves[0], leaves[1], leaves[2], Mask::causal(Align::top_left), by(path))},
                  leaves, options);
    };
    const Tensors dense = gradients(AttentionPath::dense), blocked = gradients(AttentionPath::blocked);
    for (std::size_t i = 0; i < dense.size(); ++i)
      EXPECT_TENSOR_NEAR(blocked[i], dense[i], 1e-12, 1e-12) << to_string(given) << ", input " << i;
  }
}

TEST(BlockedAttention, TakesAScaleAndLargeScores) {
  Rng rng(56);
  const Tensor q = random_tensor({140, 4}, rng, Domain::large),
               k = random_tensor({600, 4}, rng, Domain::large), v = random_tensor({600, 3}, rng);
  AttentionOptions dense = by(AttentionPath::dense), blocked = by(AttentionPath::blocked);
  dense.scale = blocked.scale = -0.3;
  EXPECT_TENSOR_NEAR(attention(q, k, v, {}, blocked), attention(q, k, v, {}, dense), 1e-9, 1e-9);
}

// ---- gradients ------------------------------------------------------------------------------------------

TEST(BlockedAttention, AgreesWithDifferencesAndHasSecondDerivatives) {
  Rng rng(57);
  const auto with = [](const Mask& mask) -> FunctionOfMany {
    return [mask](const Tensors& x) {
      return attention(x[0], x[1], x[2], mask & Mask::bias(x[3]), by(AttentionPath::blocked));
    };
  };
  const Tensors plain{random_tensor({1, 2, 3, 2}, rng), random_tensor({1, 1, 4, 2}, rng),
                      random_tensor({1, 1, 4, 3}, rng), random_tensor({1, 2, 3, 1}, rng)};
  for (const Mask& mask : {Mask(), Mask::causal(Align::bottom_right),
                           Mask::causal(Align::top_left) & Mask::alibi(Align::top_left),
                           Mask::keep(random_mask({3, 4}, rng)), Mask::padding(tensor({2}, int64))}) {
    SCOPED_TRACE(mask.describe());
    expect_gradients(with(mask), plain);
    expect_second_order(with(mask), plain);
  }
  const FunctionOfMany self = [](const Tensors& x) {
    return attention(x[0], x[0], x[0], Mask::causal(), by(AttentionPath::blocked));
  };
  expect_gradients(self, {random_tensor({5, 3}, rng)});
  expect_second_order(self, {random_tensor({1, 3, 2}, rng)});
}

// ---- what is hidden -------------------------------------------------------------------------------------

TEST(BlockedAttention, NeverReadsWhatIsHidden) {
  const Size n = 300;
  Rng rng(58);
  const Inputs clean({1, 2, 1, n, n, 4, 3}, rng);
  // Token 140 is hidden from everybody, and query 150 sees nothing: NaN in either reaches nothing.
  const Tensor token = arange(n), key = expand_dims(equal(token, full({}, 140, int64)), {0}),
               query = expand_dims(equal(token, full({}, 150, int64)), {1});
  for (const double poison : {nan, infinity}) {
    Inputs x = clean;
    const Tensor column = expand_dims(equal(token, full({}, 140, int64)), {1});
    x.key = masked_fill(x.key, column, poison);
    x.value = masked_fill(x.value, column, poison);
    x.query = masked_fill(x.query, query, poison);
    for (const Mask& mask : {Mask::hide(logical_or(key, query)),
                             Mask::bias(where(logical_or(key, query), full({}, -infinity), full({}, 1))),
                             Mask::causal() & Mask::hide(logical_or(key, query))}) {
      SCOPED_TRACE(mask.describe());
      const Tensors a = run(AttentionPath::blocked, clean, mask), b = run(AttentionPath::blocked, x, mask);
      for (std::size_t i = 0; i < a.size(); ++i) EXPECT_SAME_BITS(a[i], b[i]) << i;
    }
  }
  // What lies in a block that is skipped, or in a sequence's padding.
  Inputs late = clean;
  const Tensor behind = expand_dims(greater(token, full({}, 200, int64)), {1});
  for (Tensor* t : {&late.key, &late.value}) *t = masked_fill(*t, behind, nan);
  const Mask padding = Mask::padding(tensor({201}, int64));
  EXPECT_SAME_BITS(run(AttentionPath::blocked, clean, padding)[0],
                   run(AttentionPath::blocked, late, padding)[0]);
  const Tensor early = slice(run(AttentionPath::blocked, late, Mask::causal())[0], 2, {0, 201});
  EXPECT_SAME_BITS(early, slice(run(AttentionPath::blocked, clean, Mask::causal())[0], 2, {0, 201}));
}

// A visible NaN or infinity arrives where it does on the dense way.
TEST(BlockedAttention, HandsOnWhatIsVisibleAndNotFinite) {
  const Size n = 200;
  for (const double poison : {nan, infinity, -infinity}) {
    Rng rng(59);
    Inputs x({1, 1, 1, n, n, 3, 2}, rng);
    const Tensor column = expand_dims(equal(arange(n), full({}, 120, int64)), {1});
    x.value = masked_fill(x.value, column, poison);
    expect_same(x, Mask::causal());
    expect_same(x, {});
    x.value = clamp(x.value, -1, 1);
    x.key = masked_fill(x.key, column, poison);
    const Tensors dense = run(AttentionPath::dense, x, Mask::causal()),
                  blocked = run(AttentionPath::blocked, x, Mask::causal());
    EXPECT_TENSOR_NEAR(blocked[0], dense[0], 1e-12, 1e-12);
  }
}

TEST(BlockedAttention, GivesZerosToAQueryThatSeesNothing) {
  Rng rng(60);
  const Sizes4 sizes{2, 2, 2, 200, 130, 3, 2};
  const Inputs x(sizes, rng);
  const Mask mask = Mask::causal(Align::bottom_right) & Mask::padding(tensor({130, 0}, int64));
  expect_same(x, mask);
  const Tensors results = run(AttentionPath::blocked, x, mask);
  EXPECT_SAME_BITS(slice(results[0], 2, {0, 70}), zeros({2, 2, 70, 2}));
  EXPECT_SAME_BITS(slice(results[1], 2, {0, 70}), zeros({2, 2, 70, 3}));

  AttentionOptions strict = by(AttentionPath::blocked);
  strict.empty_rows = EmptyRows::error;
  EXPECT_THROWS_WITH(attention(x.query, x.key, x.value, mask, strict), ValueError,
                     "query 0 of batch 0, head 0 may see no key");
  EXPECT_NO_THROW((void)attention(x.query, x.key, x.value, Mask::causal(Align::top_left), strict));
}

// ---- which way, memory, bits ----------------------------------------------------------------------------

TEST(BlockedAttention, IsTakenWhereNothingNeedsTheWeights) {
  Rng rng(61);
  const auto takes_blocks = [&](Size queries, Size keys) {
    const Inputs x({1, 1, 1, queries, keys, 4, 4}, rng);
    const Tensors automatic = run(AttentionPath::automatic, x, {}),
                  blocked = run(AttentionPath::blocked, x, {});
    const Tensors dense = run(AttentionPath::dense, x, {});
    EXPECT_FALSE(same_bits("", "", blocked[1], dense[1]));
    return bool(same_bits("", "", automatic[1], blocked[1]));
  };
  EXPECT_TRUE(takes_blocks(64, 1024));
  EXPECT_TRUE(takes_blocks(2, 300));
  EXPECT_FALSE(takes_blocks(1, 1024));

  const Inputs x({1, 1, 1, 64, 1024, 4, 4}, rng);
  AttentionOptions capped;
  capped.softcap = 2;
  EXPECT_NO_THROW((void)attention(x.query, x.key, x.value, {}, capped));
  capped.path = AttentionPath::blocked;
  EXPECT_THROWS_WITH(attention(x.query, x.key, x.value, {}, capped), ValueError, "softcap");
  AttentionOptions sparse = by(AttentionPath::blocked);
  sparse.normaliser = Normaliser::sparsemax;
  EXPECT_THROWS_WITH(attention(x.query, x.key, x.value, {}, sparse), ValueError,
                     "another normaliser than softmax");
  AttentionTrace trace;
  EXPECT_THROWS_WITH(attention(x.query, x.key, x.value, {}, by(AttentionPath::blocked), &trace), ValueError,
                     "a trace");
}

// All that a new thread's pool took from the heap while f ran, but for the float32 tensors that f returns.
template <class F>
std::size_t bytes_beside(F f) {
  std::size_t bytes = 0;
  std::thread([&] {
    std::size_t kept = 0;
    {
      const Tensors results = f();
      for (const Tensor& x : results)
        kept += detail::block_bytes(static_cast<std::size_t>(numel(x.shape())) * sizeof(float));
    }
    bytes = detail::pool_counts().cached_bytes - kept;
  }).join();
  return bytes;
}

// Inputs, output, gradients, and the seed.
Tensors attend_and_differentiate(AttentionPath path, Size n, const Mask& mask) {
  Rng rng(62);
  const Inputs x({1, 1, 1, n, n, 16, 16}, rng, float32);
  const Tensors leaves{variable(x.query), variable(x.key), variable(x.value)};
  const Tensor y = attention(leaves[0], leaves[1], leaves[2], mask, by(path));
  const Tensor seed = ones(y.shape(), float32);
  GradOptions options;
  options.seeds = {seed};
  const Tensors dx = grad({y}, leaves, options);
  return {x.query, x.key, x.value, y.detach(), seed, dx[0], dx[1], dx[2]};
}

TEST(BlockedAttention, NeedsFewBlocksOfMemory) {
  const Size n = 4096;
  const std::size_t matrix = static_cast<std::size_t>(n * n) * sizeof(float);
  const Tensor lengths = tensor({4000}, int64), ids = expand_dims(arange(n), {0});
  for (const Mask& mask :
       {Mask(), Mask::causal(),
        Mask::causal() & Mask::window(100) & Mask::padding(lengths) & Mask::alibi() & Mask::documents(ids)}) {
    SCOPED_TRACE(mask.describe());
    const std::size_t bytes =
        bytes_beside([&] { return attend_and_differentiate(AttentionPath::blocked, n, mask); });
#if defined(__SANITIZE_ADDRESS__)
    // AddressSanitizer sees a use after free only without a pool, whose bytes are what is counted here.
    GTEST_SKIP() << "no pool, nothing to count: " << bytes;
#endif
    EXPECT_GT(bytes, 0u);
    EXPECT_LE(bytes, matrix / 20);
  }
  EXPECT_GE(bytes_beside([&] { return attend_and_differentiate(AttentionPath::dense, 1024, {}); }),
            matrix / 16);
}

TEST(BlockedAttention, TakesManyTokensAndSkipsWhatNobodySees) {
  const Size n = 32768, last = 50;
  const Mask mask = Mask::causal(Align::bottom_right) & Mask::window(300, Align::bottom_right);
  const Tensors x = attend_and_differentiate(AttentionPath::automatic, n, mask);
  const Tensor dense = attention(slice(x[0], 2, {n - last, n}), x[1], x[2], mask, by(AttentionPath::dense));
  EXPECT_TENSOR_NEAR(slice(x[3], 2, {n - last, n}), dense, 1e-5, 1e-5);
}

TEST(BlockedAttention, ReplaysToTheLastBit) {
  Rng rng(63);
  const Sizes4 sizes{2, 4, 2, 140, 300, 4, 3};
  const Inputs a(sizes, rng), b(sizes, rng);
  const Tensor bias_a = random_tensor({1, 4, 1, 300}, rng),
               bias_b = masked_fill(bias_a, less(bias_a, scalar(-1)), -infinity);
  const auto step = [](const Tensors& in) -> Tensors {
    const Mask mask = Mask::causal(Align::bottom_right) & Mask::padding(in[3]) & Mask::bias(in[4]);
    const Tensors leaves{variable(in[0]), variable(in[1]), variable(in[2])};
    const Tensor y = attention(leaves[0], leaves[1], leaves[2], mask, by(AttentionPath::blocked));
    Tensors results = grad({sum(y * y)}, leaves);
    results.push_back(y);
    return results;
  };
  CapturedStep captured = capture(step);
  const Tensors first{a.query, a.key, a.value, tensor({300, 170}, int64), bias_a};
  const Tensors second{b.query, b.key, b.value, tensor({3, 299}, int64), bias_b};
  for (const Tensors& in : {first, first, second, first}) {
    const Tensors eager = step(in), replayed = captured.replay(in);
    for (std::size_t i = 0; i < eager.size(); ++i) EXPECT_SAME_BITS(replayed[i], eager[i]) << i;
  }
  EXPECT_THROWS_WITH(captured.replay(Tensors{b.query, b.key, b.value, tensor({301, 1}, int64), bias_b}),
                     ValueError, "padding of sequence 0 is 301 keys long");
}

TEST(BlockedAttention, AsksNothingFromTheHeapOnceWarm) {
  if (!detail::pooling) GTEST_SKIP() << "with AddressSanitizer every block is the heap's";
  const auto step = [] { (void)attend_and_differentiate(AttentionPath::blocked, 300, Mask::causal()); };
  for (int i = 0; i < 3; ++i) step();
  const std::size_t before = detail::pool_counts().heap_allocations;
  step();
  EXPECT_EQ(detail::pool_counts().heap_allocations, before);
}

}  // namespace
}  // namespace regard::test

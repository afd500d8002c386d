// The two programs of the course, number by number: three tokens by hand, and a batch of two sequences.
#include <string>

#include <gtest/gtest.h>

#include <regard/attention.hpp>
#include <regard/autograd.hpp>
#include <regard/ops.hpp>

#include "attention/reference.hpp"
#include "support/close.hpp"
#include "support/golden.hpp"

namespace regard::test {
namespace {

constexpr double value_tolerance = 1e-12, gradient_tolerance = 1e-10;

struct Course {
  std::string run;  ///< "lesson09_causal"
  Tensor x, w_q, w_k, w_v;
  Mask mask;
};

Course lesson_9(const std::string& run, const Mask& mask) {
  const std::string from = "lesson09_inputs/";
  return {run,
          course_numbers(from + "X"),
          course_numbers(from + "W_Q"),
          course_numbers(from + "W_K"),
          course_numbers(from + "W_V"),
          mask};
}

Course lesson_10(const std::string& run, const Mask& mask) {
  const std::string from = "lesson10_inputs/";
  return {run,
          course_numbers(from + "X"),
          course_numbers(from + "W_q"),
          course_numbers(from + "W_k"),
          course_numbers(from + "W_v"),
          mask};
}

// Numbers have no head axis in the course: [tokens, tokens] or [batch, tokens, tokens].
Tensor without_head(const Tensor& x, int rank) {
  return rank == 2 ? squeeze(x, {0, 1}) : squeeze(x, {1});
}

void expect_values(const Course& c) {
  SCOPED_TRACE(c.run);
  const Tensor q = matmul(c.x, c.w_q), k = matmul(c.x, c.w_k), v = matmul(c.x, c.w_v);
  AttentionTrace trace;
  const Tensor output = attention(q, k, v, c.mask, {}, &trace);
  const auto expect = [&](const std::string& name, const Tensor& got) {
    SCOPED_TRACE(name);
    EXPECT_TENSOR_NEAR(got, course_numbers(c.run + "/" + name), value_tolerance, value_tolerance);
  };
  const int rank = c.x.rank();
  expect("Q", q);
  expect("K", k);
  expect("V", v);
  expect("raw_scores", without_head(trace.raw, rank));
  expect("scaled_scores", without_head(trace.scaled, rank));
  expect("weights", without_head(trace.weights, rank));
  expect("output", output);
}

void expect_gradients_of(const Course& c) {
  SCOPED_TRACE(c.run);
  const Tensor x = variable(c.x);
  const Parameter w_q(c.w_q, "W_Q"), w_k(c.w_k, "W_K"), w_v(c.w_v, "W_V");
  AttentionTrace trace;
  const Tensor output = attention(matmul(x, w_q), matmul(x, w_k), matmul(x, w_v), c.mask, {}, &trace);
  const Tensor loss = sum(output * course_numbers(c.run + "/gradients/upstream"));
  const Tensor q = w_q, k = w_k, v = w_v;
  const Tensors got = grad({loss}, {x, q, k, v});
  const char* const names[] = {"dX", "dW_Q", "dW_K", "dW_V"};
  for (std::size_t i = 0; i < 4; ++i) {
    SCOPED_TRACE(names[i]);
    EXPECT_TENSOR_NEAR(got[i], course_numbers(c.run + "/gradients/" + names[i]), gradient_tolerance,
                       gradient_tolerance);
  }
}

TEST(Course, Lesson9ThreeTokensByHand) {
  for (const Course& c : {lesson_9("lesson09_causal", Mask::causal()), lesson_9("lesson09_full", {})}) {
    expect_values(c);
    expect_gradients_of(c);
  }
}

TEST(Course, Lesson9WithIdentityProjections) {
  Course causal = lesson_9("lesson09_identity_causal", Mask::causal());
  causal.w_q = causal.w_k = causal.w_v = eye(4);
  Course full = causal;
  full.run = "lesson09_identity_full";
  full.mask = {};
  AttentionTrace trace;
  for (const Course& c : {causal, full}) {
    const Tensor output = attention(c.x, c.x, c.x, c.mask, {}, &trace);
    EXPECT_TENSOR_NEAR(output, course_numbers(c.run + "/output"), value_tolerance, value_tolerance);
    EXPECT_TENSOR_NEAR(without_head(trace.weights, 2), course_numbers(c.run + "/weights"), value_tolerance,
                       value_tolerance);
    EXPECT_TENSOR_NEAR(without_head(trace.scaled, 2), course_numbers(c.run + "/scaled_scores"),
                       value_tolerance, value_tolerance);
  }
}

TEST(Course, Lesson10ABatchOfSequences) {
  for (const Course& c : {lesson_10("lesson10_causal", Mask::causal()), lesson_10("lesson10_full", {})}) {
    expect_values(c);
    expect_gradients_of(c);
  }
}

TEST(Course, Lesson10ItsClass) {
  const std::string run = "lesson10_class";
  const Tensor x = course_numbers(run + "/X");
  const auto project = [&](const char* w) { return matmul(x, course_numbers(run + "/" + w)); };
  AttentionTrace trace;
  const Tensor output = attention(project("W_q"), project("W_k"), project("W_v"), Mask::causal(), {}, &trace);
  EXPECT_TENSOR_NEAR(output, course_numbers(run + "/output"), value_tolerance, value_tolerance);
  EXPECT_TENSOR_NEAR(without_head(trace.weights, 3), course_numbers(run + "/weights"), value_tolerance,
                     value_tolerance);
}

// The course adds -1e9 above the diagonal. Where a row sees something, that comes to the same.
TEST(Course, ItsLargeNegativeNumberIsOurMask) {
  const Course c = lesson_9("lesson09_causal", {});
  const Tensor q = matmul(c.x, c.w_q), k = matmul(c.x, c.w_k), v = matmul(c.x, c.w_v);
  const Tensor future = triu(full({3, 3}, -1e9), 1);
  EXPECT_TENSOR_NEAR(attention(q, k, v, Mask::bias(future)), attention(q, k, v, Mask::causal()),
                     value_tolerance, value_tolerance);
}

}  // namespace
}  // namespace regard::test

// The course's class of examples/lessons: the course's numbers, PyTorch's, and the length of its file.
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <regard/regard.hpp>

#include "lessons/course_self_attention.hpp"
#include "support/close.hpp"
#include "support/golden.hpp"

namespace regard::test {
namespace {

using lessons::Causal;
using lessons::CourseSelfAttention;

constexpr Causal both[] = {Causal::yes, Causal::no};

std::string run_of(Causal causal) {
  return causal == Causal::yes ? "lesson10_causal/" : "lesson10_full/";
}

/// X, W_q, W_k, W_v as leaves.
Tensors course_inputs(DType dtype) {
  Tensors inputs;
  for (const char* name : {"X", "W_q", "W_k", "W_v"})
    inputs.push_back(variable(course_numbers(std::string("lesson10_inputs/") + name).to(dtype)));
  return inputs;
}

Tensor output_of(const Tensors& in, Causal causal) {
  return CourseSelfAttention(in[1], in[2], in[3])(in[0], causal);
}

/// dX, dW_q, dW_k, dW_v of sum(output · upstream).
Tensors gradients_of(const Tensors& in, Causal causal) {
  const Tensor upstream = course_numbers(run_of(causal) + "gradients/upstream").to(in[0].dtype());
  return grad({sum(output_of(in, causal) * upstream)}, in);
}

TEST(CourseClass, DrawsItsWeightsAsTheCourseDoes) {
  NumpyRng rng = Rng::numpy(42);
  const CourseSelfAttention attn(8, rng);
  const Tensor X = rng.randn({2, 5, 8});
  EXPECT_TENSOR_NEAR(attn.W_q, course_numbers("lesson10_class/W_q"), 0, 1e-15);
  EXPECT_TENSOR_NEAR(attn.W_k, course_numbers("lesson10_class/W_k"), 0, 1e-15);
  EXPECT_TENSOR_NEAR(attn.W_v, course_numbers("lesson10_class/W_v"), 0, 1e-15);
  EXPECT_TENSOR_NEAR(X, course_numbers("lesson10_class/X"), 0, 1e-15);
  EXPECT_TENSOR_NEAR(attn(X), course_numbers("lesson10_class/output"), 0, 1e-12);
}

TEST(CourseClass, HasTheCoursesValuesAndGradients) {
  const Tensors in = course_inputs(float64);
  for (const Causal causal : both) {
    const std::string run = run_of(causal);
    EXPECT_TENSOR_NEAR(output_of(in, causal), course_numbers(run + "output"), 0, 1e-12);
    const Tensors gradients = gradients_of(in, causal);
    const char* const names[] = {"dX", "dW_Q", "dW_K", "dW_V"};
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      SCOPED_TRACE(run + names[i]);
      EXPECT_TENSOR_NEAR(gradients[i], course_numbers(run + "gradients/" + names[i]), 0, 1e-10);
    }
  }
}

TEST(CourseClass, AgreesWithTorch) {
  const nlohmann::json torch = golden("course_torch.json");
  for (const DType dtype : {float64, float32}) {
    const double tolerance = dtype == float64 ? 1e-10 : 1e-6;
    const Tensors in = course_inputs(dtype);
    for (const Causal causal : both) {
      const nlohmann::json& run =
          torch.at(std::string(name(dtype)) + (causal == Causal::yes ? "/causal" : "/full"));
      const auto expect = [&](const char* what, const Tensor& got) {
        SCOPED_TRACE(what);
        const nlohmann::json& expected = run.at(what);
        const Tensor numbers = from_vector(expected.at("values").get<std::vector<double>>(),
                                           Shape(expected.at("shape").get<std::vector<Size>>()));
        EXPECT_TENSOR_NEAR(got.to(float64), numbers, dtype == float64 ? 0 : 1e-6, tolerance);
      };
      expect("output", output_of(in, causal));
      const Tensors gradients = gradients_of(in, causal);
      expect("dX", gradients[0]);
      expect("dW_q", gradients[1]);
      expect("dW_k", gradients[2]);
      expect("dW_v", gradients[3]);
    }
  }
}

TEST(CourseClass, IsTheLayerThatIsShipped) {
  for (const DType dtype : {float64, float32}) {
    const Tensors in = course_inputs(dtype);
    for (const Causal causal : both) {
      Rng rng(1);
      nn::SelfAttentionOptions options;
      options.causal = causal == Causal::yes;
      options.dtype = dtype;
      nn::SelfAttention layer(8, rng, options);
      layer.w_q.assign(in[1]);
      layer.w_k.assign(in[2]);
      layer.w_v.assign(in[3]);
      EXPECT_TENSOR_NEAR(output_of(in, causal), layer(in[0]), 0, dtype == float64 ? 1e-12 : 1e-6);
    }
  }
}

TEST(CourseClass, FitsIntoEightyLines) {
  std::ifstream file(COURSE_CLASS);
  ASSERT_TRUE(file) << COURSE_CLASS;
  int lines = 0;
  for (std::string line; std::getline(file, line);) ++lines;
  EXPECT_GT(lines, 20);
  EXPECT_LE(lines, 80);
}

}  // namespace
}  // namespace regard::test

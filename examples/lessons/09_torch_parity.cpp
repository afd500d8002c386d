// The course's class SelfAttention [B, N, D], with plain operations in under 80 lines, against the course's
// own printout, against PyTorch and against the layer that regard ships; float64 and float32, causal and not.
#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <regard/regard.hpp>
#include <regard/study/panels.hpp>

#include "lessons/common/lesson.hpp"
#include "lessons/course_self_attention.hpp"

using namespace regard;
using lessons::Causal;
using lessons::CourseSelfAttention;
using lessons::largest_difference;
using lessons::Lesson;
using lessons::Table;

namespace {

/// Second token of the first sequence, as torch.nn.functional.scaled_dot_product_attention (PyTorch 2.13,
/// float64) has it after np.random.seed(42); tests/golden/course_torch.json has all numbers, and the
/// gradients.
const Tensor torch_causal =
    tensor({-0.22149529938269458, -0.07532766470554378, 0.2515278435200828, -0.09283749746027103,
            -0.2897576631134934, -0.1318077110074881, 0.1783848231917779, 0.060731919490187844});
const Tensor torch_full =
    tensor({-0.24106678635001244, -0.15876831332914132, 0.0585000089325144, -0.14929315910483687,
            -0.16334825910509176, -0.12990264692070505, 0.3264636982513049, 0.005765592698066757});

/// The layer that regard ships, with the same weights.
nn::SelfAttention shipped_layer(const CourseSelfAttention& course, Causal causal) {
  Rng rng(0);
  nn::SelfAttentionOptions options;
  options.causal = causal == Causal::yes;
  options.dtype = course.W_q.dtype();
  nn::SelfAttention layer(course.W_q.size(0), rng, options);
  layer.w_q.assign(course.W_q);
  layer.w_k.assign(course.W_k);
  layer.w_v.assign(course.W_v);
  return layer;
}

/// dX, dW_q, dW_k, dW_v of sum(output · upstream).
Tensors gradients_of_course(const CourseSelfAttention& course, const Tensor& x, Causal causal,
                            const Tensor& upstream) {
  const Tensors leaves = {variable(x), variable(course.W_q), variable(course.W_k), variable(course.W_v)};
  const CourseSelfAttention recorded(leaves[1], leaves[2], leaves[3]);
  return grad({sum(recorded(leaves[0], causal) * upstream)}, leaves);
}

Tensors gradients_of_layer(const nn::SelfAttention& layer, const Tensor& x, const Tensor& upstream) {
  const Tensors leaves = {variable(x), layer.w_q, layer.w_k, layer.w_v};
  return grad({sum(layer(leaves[0]) * upstream)}, leaves);
}

double largest_of_all(const Tensors& a, const Tensors& b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, largest_difference(a[i], b[i]));
  return largest;
}

/// The weights of the first sequence, which the course prints as weights[0].
study::MatrixPanel weights_of(const std::string& title, const nn::SelfAttention& layer, const Tensor& X) {
  AttentionTrace trace;
  (void)layer(X, &trace);
  const lessons::Labels tokens = lessons::numbered("x", X.size(1));
  return lessons::weights_panel(title, tokens, tokens, select(trace.weights, 0, 0), select(trace.keep, 0, 0));
}

void class_test(Lesson& lesson) {
  lesson.heading("The class test of the course", "Bài thử class trong khóa học");
  lesson.say("np.random.seed(42), the weights drawn first, then X of shape (2, 5, 8); causal.",
             "np.random.seed(42), rút trọng số trước, rồi X có shape (2, 5, 8); có causal mask.");
  NumpyRng rng = Rng::numpy(42);
  const CourseSelfAttention attn(8, rng);
  const Tensor X = rng.randn({2, 5, 8});
  const Tensor out = attn(X);
  const Tensor sample = slice(select(select(out, 0, 0), 0, 0), 0, {0, 4});
  lesson.show("out[0, 0, :4]", "", sample);
  lesson.at_most("these are the four numbers that the course's program prints, to its four decimals",
                 "đúng bốn số mà chương trình của khóa học in ra, tới bốn chữ số thập phân",
                 largest_difference(sample, tensor({0.1860, -0.1025, -0.3164, 0.1886})), 0.5e-4);
}

/// What one dtype and one mask showed: largest differences.
struct Parity {
  DType dtype;
  Causal causal;
  double to_layer, to_torch, gradients;
};

Parity compare(const CourseSelfAttention& course, const Tensor& X, DType dtype, Causal causal) {
  const CourseSelfAttention attn(course.W_q.to(dtype), course.W_k.to(dtype), course.W_v.to(dtype));
  const nn::SelfAttention layer = shipped_layer(attn, causal);
  const Tensor x = X.to(dtype), out = attn(x, causal);
  const Tensor upstream = reshape(arange(1, 81, 1, dtype) * (1.0 / 80), {2, 5, 8});
  const Tensor row = select(select(out, 0, 0), 0, 1).to(float64);
  return {
      dtype, causal, largest_difference(out, layer(x)),
      largest_difference(row, causal == Causal::yes ? torch_causal : torch_full),
      largest_of_all(gradients_of_course(attn, x, causal, upstream), gradients_of_layer(layer, x, upstream))};
}

void parity(Lesson& lesson, const CourseSelfAttention& course, const Tensor& X) {
  lesson.heading("The check with PyTorch", "Đối chiếu với PyTorch");
  lesson.say(
      "Seed 42 again, X drawn first, then W_q, W_k, W_v. The columns are largest differences between the "
      "class and: nn::SelfAttention with the same weights, which goes another way (a typed mask, masked "
      "products); one row of PyTorch's scaled_dot_product_attention; the layer again, in dX, dW_q, dW_k, "
      "dW_v of sum(output · upstream).",
      "Lại seed 42, rút X trước, rồi W_q, W_k, W_v. Mỗi cột là sai khác lớn nhất giữa class và: "
      "nn::SelfAttention cùng trọng số, vốn tính theo đường khác (mặt nạ có kiểu, tích có mặt nạ); một hàng "
      "của scaled_dot_product_attention trong PyTorch; lại nn::SelfAttention, ở dX, dW_q, dW_k, dW_v của "
      "sum(output · upstream).");
  Table table({"dtype", "causal", "nn::SelfAttention", "PyTorch", lesson.pick("gradients", "gradient")});
  std::vector<Parity> all;
  for (const DType dtype : {float64, float32})
    for (const Causal causal : {Causal::yes, Causal::no}) {
      const Parity p = compare(course, X, dtype, causal);
      table.row({name(dtype), causal == Causal::yes ? lesson.pick("yes", "có") : lesson.pick("no", "không"),
                 fmt::format("{:.1e}", p.to_layer), fmt::format("{:.1e}", p.to_torch),
                 fmt::format("{:.1e}", p.gradients)});
      all.push_back(p);
    }
  lesson.look_for(
      "float64 differs in the sixteenth digit, float32 in the eighth: that is rounding, not another "
      "algorithm.",
      "float64 lệch ở chữ số thứ mười sáu, float32 ở chữ số thứ tám: đó là sai số làm tròn, không phải do "
      "thuật toán khác nhau.");
  lesson.print(table);

  const auto worst = [&](DType dtype, double Parity::*column) {
    double most = 0;
    for (const Parity& p : all)
      if (p.dtype == dtype) most = std::max(most, p.*column);
    return most;
  };
  lesson.at_most("class and nn::SelfAttention, float64", "class và nn::SelfAttention, float64",
                 worst(float64, &Parity::to_layer), 1e-12);
  lesson.at_most("class and PyTorch, float64 (the course asks for < 1e-10)",
                 "class và PyTorch, float64 (khóa học đòi hỏi < 1e-10)", worst(float64, &Parity::to_torch),
                 1e-10);
  lesson.at_most("class and PyTorch, float32 (the course asks for 1e-6)",
                 "class và PyTorch, float32 (khóa học đòi hỏi 1e-6)", worst(float32, &Parity::to_torch),
                 1e-6);
  lesson.at_most("gradients, float64", "gradient, float64", worst(float64, &Parity::gradients), 1e-10);
  lesson.at_most("gradients, float32", "gradient, float32", worst(float32, &Parity::gradients), 1e-6);
}

void check_class(Lesson& lesson, const CourseSelfAttention& course, const Tensor& X) {
  lesson.heading("Beyond the course: its class can be trained", "Xa hơn khóa học: class này huấn luyện được");
  lesson.say(
      "The course stops at the forward pass. This class is made of operations that know their gradients, so "
      "it has gradients too, and difference quotients of its output agree with them:",
      "Khóa học dừng ở lượt đi tới. Class này ghép từ các phép toán biết gradient của chính mình, nên nó "
      "cũng có gradient, và sai phân của đầu ra cho kết quả như vậy:");
  GradientCheckOptions options;
  options.names = {"X", "W_q", "W_k", "W_v"};
  const GradientReport report =
      check_gradients([](const Tensors& in) { return CourseSelfAttention(in[1], in[2], in[3])(in[0]); },
                      {X, course.W_q, course.W_k, course.W_v}, options);
  Table table({"", lesson.pick("verdict", "kết luận"), "tape", lesson.pick("differences", "sai phân"),
               lesson.pick("apart, relative", "lệch tương đối")});
  for (const GradientFinding& finding : report.findings)
    table.row({finding.input, name(finding.verdict), fmt::format("{:.10f}", finding.analytic),
               fmt::format("{:.10f}", finding.numeric), fmt::format("{:.1e}", finding.relative)});
  lesson.print(table);
  lesson.at_most("relative difference of the worst direction", "sai lệch tương đối của hướng tệ nhất",
                 report.worst().relative, 1e-7);
}

}  // namespace

int main(int argc, char** argv) {
  set_blas_threads(1);
  Lesson lesson(
      argc, argv,
      {"SelfAttention [B, N, D], checked against PyTorch", "SelfAttention [B, N, D], đối chiếu với PyTorch"},
      {"The course's class in plain operations (course_self_attention.hpp, under 80 lines), against the "
       "course's own printout, against PyTorch and against the layer that regard ships.",
       "Class của khóa học viết bằng các phép toán cơ bản (course_self_attention.hpp, dưới 80 dòng), đối "
       "chiếu với số khóa học in ra, với PyTorch và với layer có sẵn của regard."});
  return lesson.run([&] {
    class_test(lesson);
    NumpyRng rng = Rng::numpy(42);
    const Tensor X = rng.randn({2, 5, 8});
    const CourseSelfAttention course(8, rng);
    parity(lesson, course, X);
    check_class(lesson, course, X);

    study::PanelsOptions options;
    options.title = lesson.pick("weights[0]: who looks at whom", "weights[0]: token nào nhìn token nào");
    options.language = lesson.language();
    lesson.picture("weights",
                   study::panels_svg({weights_of("causal=True", shipped_layer(course, Causal::yes), X),
                                      weights_of("causal=False", shipped_layer(course, Causal::no), X)},
                                     options));
  });
}

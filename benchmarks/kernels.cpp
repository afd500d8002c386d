// Single operations at sizes that matter, float32, one thread. The time of the fastest of many rounds, in
// microseconds:
//   benchmark_kernels            all of them
//   benchmark_kernels CASE ...   those; what kernels_beside_pytorch.py calls, in turns with PyTorch
// "copy" cases are what moving the bytes of the softmax beside them costs: read x, write y.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <regard/regard.hpp>

namespace {

using namespace regard;  // NOLINT
using Work = std::function<void()>;

Tensor numbers(const Shape& shape) {
  Rng rng(1);
  return normal(shape, rng, 0.0, 1.0, float32);
}

/// Gradient of y = f(x), again and again, from one forward.
Work gradient_of(const Tensor& y, const Tensors& x) {
  GradOptions options;
  options.retain_graph = true;
  options.seeds = {numbers(y.shape())};
  return [=] { static_cast<void>(grad(Tensors{y}, x, options)); };
}

Work copy(const Shape& shape) {
  const auto x = std::make_shared<std::vector<float>>(static_cast<std::size_t>(numel(shape)), 1.0F);
  const auto y = std::make_shared<std::vector<float>>(*x);
  return [=] {
    std::memcpy(y->data(), x->data(), x->size() * sizeof(float));
    asm volatile("" : : "r"(y->data()) : "memory");
  };
}

Work softmax_forward(const Shape& shape) {
  const Tensor x = numbers(shape);
  return [x] { static_cast<void>(softmax(x, -1)); };
}

Work softmax_backward(const Shape& shape) {
  const Tensor x = variable(numbers(shape));
  return gradient_of(softmax(x, -1), {x});
}

Work adam(Size size) {
  const auto p = std::make_shared<std::vector<Parameter>>();
  p->emplace_back(numbers({size}));
  p->front().set_gradient(numbers({size}));
  const auto optimizer = std::make_shared<Adam>(*p);
  return [p, optimizer] { optimizer->step(); };
}

const Shape narrow = {4096, 128}, wide = {256, 2048}, hidden = {1024, 512}, logits = {256, 8000};

/// Prepared when asked for.
const std::map<std::string, std::function<Work()>> cases = {
    {"copy_128", [] { return copy(narrow); }},
    {"copy_2048", [] { return copy(wide); }},
    {"softmax_128", [] { return softmax_forward(narrow); }},
    {"softmax_128_backward", [] { return softmax_backward(narrow); }},
    {"softmax_2048", [] { return softmax_forward(wide); }},
    {"softmax_2048_backward", [] { return softmax_backward(wide); }},
    {"layer_norm",
     [] {
       const Tensor x = numbers(hidden), gamma = numbers({512}), beta = numbers({512});
       return Work([=] { static_cast<void>(layer_norm(x, gamma, beta)); });
     }},
    {"layer_norm_backward",
     [] {
       const Tensor x = variable(numbers(hidden)), gamma = variable(numbers({512})),
                    beta = variable(numbers({512}));
       return gradient_of(layer_norm(x, gamma, beta), {x, gamma, beta});
     }},
    {"gelu",
     [] {
       const Tensor x = numbers(hidden);
       return Work([x] { static_cast<void>(gelu(x)); });
     }},
    {"gelu_tanh",
     [] {
       const Tensor x = numbers(hidden);
       return Work([x] { static_cast<void>(gelu(x, Gelu::tanh)); });
     }},
    {"gelu_backward",
     [] {
       const Tensor x = variable(numbers(hidden));
       return gradient_of(gelu(x), {x});
     }},
    {"bias",
     [] {
       const Tensor x = numbers(hidden), b = numbers({512});
       return Work([=] { static_cast<void>(x + b); });
     }},
    {"cross_entropy",
     [] {
       const Tensor x = numbers(logits), ids = arange(256);
       return Work([=] { static_cast<void>(cross_entropy(x, ids)); });
     }},
    {"cross_entropy_backward",
     [] {
       const Tensor x = variable(numbers(logits)), ids = arange(256);
       return gradient_of(cross_entropy(x, ids), {x});
     }},
    {"embedding_backward",
     [] {
       const Tensor table = variable(numbers({8000, 256}));
       Rng rng(2);
       return gradient_of(take(table, uniform({64, 64}, rng, 0, 8000, float32).to(int64)), {table});
     }},
    {"adam", [] { return adam(10000000); }},
};

double microseconds(const Work& work) {
  using Clock = std::chrono::steady_clock;
  work();
  double fastest = 1e30;
  const Clock::time_point end = Clock::now() + std::chrono::milliseconds(400);
  for (int round = 0; round < 3 || Clock::now() < end; ++round) {
    const Clock::time_point start = Clock::now();
    work();
    fastest = std::min(fastest, std::chrono::duration<double, std::micro>(Clock::now() - start).count());
  }
  return fastest;
}

}  // namespace

int main(int count, char** arguments) {
  set_blas_threads(1);
  std::vector<std::string> wanted(arguments + 1, arguments + count);
  if (wanted.empty())
    for (const auto& [name, prepare] : cases) wanted.push_back(name);
  for (const std::string& name : wanted) {
    const auto found = cases.find(name);
    if (found == cases.end()) {
      std::fprintf(stderr, "benchmark_kernels: no case %s\n", name.c_str());
      return 2;
    }
    std::printf("%s %.2f\n", name.c_str(), microseconds(found->second()));
  }
}

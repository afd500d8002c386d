#include <cblas.h>

#include <cstring>
#include <memory>
#include <type_traits>
#include <vector>

#include <regard/regard.hpp>

#include "beside/work.hpp"

namespace beside {
namespace {

using namespace regard;  // NOLINT: a program

Tensor numbers(const Shape& shape, DType dtype, std::uint64_t seed = 1) {
  Rng rng(seed);
  return normal(shape, rng, 0.0, 1.0, dtype);
}

/// Nine of ten are kept.
Tensor kept(const Shape& shape) {
  Rng rng(3);
  return less(uniform(shape, rng), scalar(0.9));
}

/// Gradient of y = f(x), again and again, from one forward.
Work gradient_of(const Tensor& y, const Tensors& x) {
  GradOptions options;
  options.retain_graph = true;
  options.seeds = {numbers(y.shape(), y.dtype(), 2)};
  return {[=] { static_cast<void>(grad(Tensors{y}, x, options)); }};
}

using Call = std::function<Tensor(const Tensors& x)>;

/// Forward and backward of f over numbers of these shapes.
void add_both(Works& works, const std::string& name, const std::vector<Shape>& shapes, const Call& f) {
  const auto inputs = [shapes](DType dtype) {
    Tensors x;
    for (const Shape& shape : shapes) x.push_back(numbers(shape, dtype, 1 + x.size()));
    return x;
  };
  works[name] = [=](DType dtype) {
    const Tensors x = inputs(dtype);
    return Work{[=] { static_cast<void>(f(x)); }};
  };
  works[name + "_backward"] = [=](DType dtype) {
    Tensors x = inputs(dtype);
    for (Tensor& each : x) each = variable(each);
    return gradient_of(f(x), x);
  };
}

/// What moving as many bytes costs: half of them read, half written.
Work copy(Size moved) {
  const auto bytes = static_cast<std::size_t>(moved / 2);
  const auto x = std::make_shared<std::vector<char>>(bytes, 'x');
  const auto y = std::make_shared<std::vector<char>>(*x);
  return {[=] {
    std::memcpy(y->data(), x->data(), x->size());
    asm volatile("" : : "r"(y->data()) : "memory");
  }};
}

Work adam(DType dtype) {
  const auto p = std::make_shared<std::vector<Parameter>>();
  p->emplace_back(numbers({10'000'000}, dtype));
  p->front().set_gradient(numbers({10'000'000}, dtype, 2));
  const auto optimizer = std::make_shared<Adam>(*p);
  return {[p, optimizer] { optimizer->step(); }};
}

// ---- products ------------------------------------------------------------------------------------------

/// So many matrices that a call is worth timing.
Size batch_of(Size n) {
  return std::max<Size>(1, std::min<Size>(64, (Size{1} << 21) / (n * n * n)));
}

Work product(Size n, bool turn_a, bool turn_b, DType dtype) {
  const Tensor a = numbers({batch_of(n), n, n}, dtype), b = numbers({batch_of(n), n, n}, dtype, 2);
  return {[=] { static_cast<void>(matmul(turn_a ? transpose(a) : a, turn_b ? transpose(b) : b)); }};
}

void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int n, const float* a, const float* b, float* c) {
  cblas_sgemm(CblasRowMajor, ta, tb, n, n, n, 1, a, n, b, n, 0, c, n);
}
void gemm(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int n, const double* a, const double* b, double* c) {
  cblas_dgemm(CblasRowMajor, ta, tb, n, n, n, 1, a, n, b, n, 0, c, n);
}

/// The same, as calls of BLAS alone, one for each matrix.
template <class T>
Work blas_product(Size n, bool turn_a, bool turn_b) {
  const auto count = static_cast<std::size_t>(batch_of(n) * n * n);
  const auto a = std::make_shared<std::vector<T>>(count, T(0.5)),
             b = std::make_shared<std::vector<T>>(count, T(0.25)),
             c = std::make_shared<std::vector<T>>(count);
  const CBLAS_TRANSPOSE ta = turn_a ? CblasTrans : CblasNoTrans, tb = turn_b ? CblasTrans : CblasNoTrans;
  return {[=] {
    for (std::size_t at = 0; at < count; at += static_cast<std::size_t>(n * n))
      gemm(ta, tb, static_cast<int>(n), a->data() + at, b->data() + at, c->data() + at);
  }};
}

void add_products(Works& works) {
  for (const Size n : {2, 4, 8, 16, 32, 64, 128, 256, 512, 1024})
    for (const bool ta : {false, true})
      for (const bool tb : {false, true}) {
        const std::string name = std::string(ta ? "t" : "n") + (tb ? "t" : "n") + "_" + std::to_string(n);
        works["matmul_" + name] = [=](DType dtype) { return product(n, ta, tb, dtype); };
        works["blas_" + name] = [=](DType dtype) {
          return dtype == float32 ? blas_product<float>(n, ta, tb) : blas_product<double>(n, ta, tb);
        };
      }
}

/// y = f(y), or f(y, w), again and again, over single numbers, and the gradients of the leaves: time per
/// operation.
template <class F>
Work chain(Size length, DType dtype, const F& f) {
  constexpr bool two = std::is_invocable_v<F, const Tensor&, const Tensor&>;
  const Tensor x = variable(full({}, 1.0, dtype)), w = variable(full({}, 1.0, dtype));
  return {[=] {
            Tensor y = x;
            for (Size i = 0; i < length; ++i)
              if constexpr (two)
                y = f(y, w);
              else
                y = f(y);
            static_cast<void>(grad(Tensors{y}, two ? Tensors{x, w} : Tensors{x}));
          },
          static_cast<double>(length)};
}

void add_chains(Works& works) {
  for (Size length = 1000; length <= 10'000'000; length *= 10) {
    works["chain_" + std::to_string(length)] = [=](DType dtype) {
      return chain(length, dtype, [](const Tensor& y, const Tensor& w) { return y * w; });
    };
    works["chain_of_one_input_" + std::to_string(length)] = [=](DType dtype) {
      return chain(length, dtype, [](const Tensor& y) { return -y; });
    };
  }
}

}  // namespace

void add_operations(Works& works) {
  for (const Shape& shape : {Shape{4096, 128}, Shape{256, 2048}}) {
    const std::string width = std::to_string(shape[1]);
    // Softmax: x, and a mask of bytes, read, y written. Its gradient: y and dy read, dx written.
    works["copy_" + width] = [=](DType dtype) { return copy(numel(shape) * 2 * item_size(dtype)); };
    works["copy_masked_" + width] = [=](DType dtype) {
      return copy(numel(shape) * (2 * item_size(dtype) + 1));
    };
    works["copy_" + width + "_backward"] = [=](DType dtype) {
      return copy(numel(shape) * 3 * item_size(dtype));
    };
    add_both(works, "softmax_" + width, {shape}, [](const Tensors& x) { return softmax(x[0], -1); });
    add_both(works, "masked_softmax_" + width, {shape},
             [keep = kept(shape)](const Tensors& x) { return softmax(x[0], keep, -1); });
  }
  const Shape hidden = {1024, 512}, row = {512};
  add_both(works, "layer_norm", {hidden, row, row},
           [](const Tensors& x) { return layer_norm(x[0], x[1], x[2]); });
  add_both(works, "gelu", {hidden}, [](const Tensors& x) { return gelu(x[0]); });
  add_both(works, "gelu_tanh", {hidden}, [](const Tensors& x) { return gelu(x[0], Gelu::tanh); });
  add_both(works, "bias", {hidden, row}, [](const Tensors& x) { return x[0] + x[1]; });
  add_both(works, "cross_entropy", {{256, 8000}},
           [ids = arange(256)](const Tensors& x) { return cross_entropy(x[0], ids); });
  Rng rng(2);
  add_both(works, "embedding", {{8000, 256}},
           [ids = uniform({64, 64}, rng, 0, 8000).to(int64)](const Tensors& x) { return take(x[0], ids); });
  works["adam"] = adam;
  add_products(works);
  add_chains(works);
}

}  // namespace beside

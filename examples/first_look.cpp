// Three tokens look at each other: the weights, a gradient, and the same gradient by a difference.
#include <iostream>

#include <regard/regard.hpp>

using namespace regard;

int main() {
  const Tensor x = tensor({{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}});
  Rng rng(0);
  const Tensor w_q = normal({4, 4}, rng, 0, 0.5), w_k = normal({4, 4}, rng, 0, 0.5);
  const auto attend = [&](const Tensor& w, AttentionTrace* trace) {
    return attention(matmul(x, w), matmul(x, w_k), x, Mask::causal(), {}, trace);
  };
  AttentionTrace trace;
  const Tensor w = variable(w_q);
  const Tensor dw = grad(sum(square(attend(w, &trace))), w);
  const Tensor step = 1e-6 * one_hot(tensor({6}, int64), 16);  // only W_Q[1, 2] moves
  const auto loss = [&](double sign) {
    return sum(square(attend(w_q + sign * reshape(step, {4, 4}), nullptr))).item();
  };
  std::cout << trace.weights << "\ndL/dW_Q[1, 2] = " << dw.at({1, 2}) << "\nby difference   "
            << (loss(1) - loss(-1)) / 2e-6 << "\n";
}

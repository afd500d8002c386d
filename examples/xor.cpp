// Learns XOR with a two-layer perceptron. Takes no data and runs in a second.
#include <iostream>

#include <regard/regard.hpp>

using namespace regard;

int main() {
  Rng rng(1);
  const Tensor inputs = tensor({{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  const Tensor targets = tensor({{0}, {1}, {1}, {0}});
  const nn::Linear hidden(2, 8, rng), output(8, 1, rng);
  const auto model = [&](const Tensor& x) { return sigmoid(output(tanh(hidden(x)))); };

  AdamOptions options;
  options.learning_rate = 0.05;
  Adam optimizer({hidden.weight, hidden.bias, output.weight, output.bias}, options);
  for (int step = 0; step <= 200; ++step) {
    const Tensor loss = mean_squared_error(model(inputs), targets);
    if (step % 50 == 0) std::cout << "step " << step << "  loss " << loss << "\n";
    optimizer.zero_grad();
    backward(loss);
    optimizer.step();
  }

  const Tensor guess = model(inputs).detach();
  std::cout << concatenate({inputs, guess}, -1) << "\n";
  const bool learned = all(equal(greater(guess, scalar(0.5)), targets.to(boolean)));
  std::cout << (learned ? "XOR is learned." : "XOR is not learned.") << "\n";
  return learned ? 0 : 1;
}

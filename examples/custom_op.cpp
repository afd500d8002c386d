// An operation of your own, with a gradient that plain operations cannot give, checked against differences.
//
// The length of a vector has a kink at 0. There sqrt has an infinite slope, which meets the 0 of the square:
// NaN. The usual choice is the smallest of all slopes that fit under the kink, which is 0.
#include <iostream>

#include <regard/regard.hpp>

using namespace regard;

Tensor plain_length(const Tensor& x) {
  return sqrt(sum(square(x), {-1}));
}

// The operation: a name, its value, and its rule dL/dx = dL/dy·x/y. The rule is written with regard's
// operations, so that it can be differentiated in turn.
const CustomOp length_op(
    "length", [](const Tensors& x) { return plain_length(x[0]); },
    [](const RuleInputs& at) {
      const Tensor zero = scalar(0, at.dy.dtype());
      const Tensor flat = equal(at.output, zero);
      const Tensor slope = where(flat, zero, at.dy / masked_fill(at.output, flat, 1));
      return Tensors{expand_dims(slope, {-1}) * at.inputs[0]};
    });
Tensor length(const Tensor& x) {
  return length_op({x});
}

int main() {
  const Tensor x = variable(tensor({{3, 4}, {0, 0}}));
  std::cout << "lengths                " << length(x) << "\n";
  std::cout << "gradient, plain ops    " << select(grad(sum(plain_length(x)), x), 0, 1) << " at [0 0]\n";
  std::cout << "gradient, own op       " << select(grad(sum(length(x)), x), 0, 1) << " at [0 0]\n\n";

  Rng rng(1);
  GradientCheckOptions options;
  options.order = 2;
  const GradientReport report =
      check_gradients([](const Tensors& in) { return length(in[0]); }, {normal({5, 3}, rng)}, options);
  std::cout << to_string(report) << "\n"
            << (report.ok() ? "The rule is right." : "The rule is wrong.") << "\n";
  return report.ok() ? 0 : 1;
}

// A training step that is written down once and then run again without building a graph.
//
// ```cpp
// CapturedStep step = capture([&](const Tensors& in) {
//   optimizer.zero_grad();
//   const Tensor loss = cross_entropy(model(in[0]), in[1]);
//   backward(loss);
//   optimizer.step();
//   return Tensors{loss};
// });
// for (Size i = 0; i < steps; ++i) {
//   optimizer.set_learning_rate(rate(i));
//   std::cout << step.replay(batch(i))[0].item() << "\n";
// }
// ```
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>

#include <regard/export.hpp>
#include <regard/mask.hpp>
#include <regard/tensor.hpp>

namespace REGARD_API regard {

/// Every call of replay() is one step, with the same bits as the step as it is written. The first runs it as
/// it is, and the second too, writing down every kernel with its memory, and what happens between kernels:
/// ids that are checked, random numbers of dropout, gradients handed to Parameters, clipping, the optimiser.
/// From the third on that list is run. Nothing is taken from the heap then.
///
/// The step gets its inputs row-major, whatever their layout.
///
/// What may change from call to call: the numbers of the inputs and of the mask's tensors; Parameters that
/// are loaded or assigned, gradients that are set, learning rates and optimiser states, all between two
/// calls. What the step uses besides its inputs (model, optimiser, generators, constants) must stay where it
/// is and outlive this object; Tensors among it are as they were at the second call.
///
/// GraphError, naming what it is, for what a replay could not do again: numbers that change and are read on
/// the way (item(), to_vector()), assign(), set_learning_rate() or normal() within the step, a Tensor that
/// lives on from one call to the next, hooks and traces; and for what is not as it was: a hook, a tape or a
/// profiler that was attached, a Parameter that was frozen, recording that was switched off. ShapeError or
/// DTypeError when the inputs are of another shape or dtype, ValueError for another kind of mask. After an
/// error the next call runs the step as it is written if it was not written down yet.
class CapturedStep {
 public:
  /// inputs, mask -> what the step gives, such as its loss.
  using Function = std::function<Tensors(const Tensors& inputs, const Mask& mask)>;
  explicit CapturedStep(Function step);
  ~CapturedStep();
  CapturedStep(CapturedStep&&) noexcept;
  CapturedStep& operator=(CapturedStep&&) noexcept;

  /// One step. The outputs are constants, and no later call changes them; the list itself is overwritten by
  /// the next call.
  const Tensors& replay(std::initializer_list<Tensor> inputs, const Mask& mask = {});
  const Tensors& replay(const Tensors& inputs, const Mask& mask = {});

  /// Whether the next call will run the list.
  [[nodiscard]] bool captured() const;
  /// How many kernels are on the list; 0 before there is one.
  [[nodiscard]] Size kernels() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// CapturedStep(step), which see; the first for a step without a mask.
[[nodiscard]] CapturedStep capture(std::function<Tensors(const Tensors& inputs)> step);
[[nodiscard]] CapturedStep capture(CapturedStep::Function step);

}  // namespace regard

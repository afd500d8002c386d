// A tape: the list of what a thread ran, in order, with who made what.
//
// ```cpp
// TapeRecorder tape;
// backward(sum(softmax(x)));
// for (const Step& step : tape.steps()) std::cout << step.op << ": " << step.seconds << " s\n";
// ```
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <regard/autograd.hpp>
#include <regard/export.hpp>

namespace REGARD_API regard {

namespace detail {
struct TapeList;
}

/// A tensor as a tape knows it.
struct Value {
  /// Its number on this tape: the same look (shape, strides, place) at the same numbers has the same one,
  /// whatever handle it came through. Numbers that are overwritten are another value from then on. -1: no
  /// tensor.
  int id = -1;
  /// The step that gave it; of a look that no step gave, the kernel that wrote the numbers. -1: older than
  /// the tape.
  int source = -1;
  Size storage = 0;  ///< what views of the same memory have in common; never used again for other memory
  DType dtype = DType::float64;
  Shape shape;
  bool requires_grad = false;  ///< of an input: it came with a place in the graph
  Tensor tensor;               ///< the numbers, outside any graph; undefined unless the tape keeps them
};

/// What a step of a tape is.
enum class StepKind {
  kernel,  ///< numbers were computed
  view,    ///< another look at the input's numbers
  custom,  ///< a CustomOp's forward ended; the kernels it ran stand before it
  rule,    ///< backward ran the gradient rule of an operation; the kernels it ran come behind it
  leaf,    ///< backward has the whole gradient of a leaf
};

/// One thing that ran.
struct Step {
  StepKind kind = StepKind::kernel;
  Phase phase = Phase::forward;
  std::string op;          ///< its name; of a leaf, the Parameter's name, or "a leaf"
  std::string attributes;  ///< "axis=-1", as text; may be empty
  std::string module;      ///< module_path() when it ran; of a rule, and what runs in it, when y was made
  bool recording = true;   ///< grad_enabled() when it ran
  bool recorded = false;   ///< kernel, view, custom: the result has a place in the graph
  /// kernel, view, custom: the operation's, in order (id -1: left out). rule: dy, then y. leaf: dx, then x.
  std::vector<Value> inputs;
  /// kernel, view, custom: the results. rule: for each of the operation's inputs that gets one, its gradient
  /// dx.
  std::vector<Value> outputs;
  std::vector<Value> targets;  ///< rule: beside each output, the x whose gradient it is a part of
  std::vector<Value> sums;     ///< rule: beside each output, the gradient of x so far, this part added
  int rule = -1;               ///< the rule during which it ran; -1: none
  int forward = -1;            ///< rule: the step that made y; -1: it is older than the tape
  double start = 0;            ///< seconds since the tape began
  double seconds = 0;          ///< that it took; 0 for views
};

/// What a tape keeps alive besides its list.
enum class TapeKeep {
  nothing,  ///< shapes and links only: memory is freed and overwritten as without a tape
  values,   ///< every tensor's numbers, for as long as the tape lives; never the graph
};

/// Writes down what its thread runs, from its construction to stop() or its end: kernels, views, custom
/// operations, and the rules of every backward, of any order. Any number of recorders may live at once, each
/// sees everything. No number that is computed changes by a bit, but for attention, which then runs step by
/// step instead of at once: the same up to rounding (AttentionPath). It must die on the thread that made it.
class TapeRecorder {
 public:
  explicit TapeRecorder(TapeKeep keep = TapeKeep::nothing);
  ~TapeRecorder();
  TapeRecorder(const TapeRecorder&) = delete;
  TapeRecorder& operator=(const TapeRecorder&) = delete;

  /// In the order in which they began.
  [[nodiscard]] const std::vector<Step>& steps() const;
  /// What the tape knows of x: how a tensor at hand is found on it. Its id is -1 if x is not on the tape; the
  /// storage is x's in any case. GraphError for an empty handle.
  [[nodiscard]] Value find(const Tensor& x) const;
  /// No further step is written down.
  void stop();

 private:
  std::unique_ptr<detail::TapeList> list_;
};

}  // namespace regard

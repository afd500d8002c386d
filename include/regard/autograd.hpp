// Gradients: leaves, Parameter, backward and grad, and the functional forms (vjp, jvp, jacobian, ...).
//
// Operations on a Tensor that requires a gradient are recorded; backward walks what was recorded from the newest
// to the oldest. Rules are written with differentiable operations, so gradients of gradients need no more than
// `create_graph`.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <regard/export.hpp>
#include <regard/tensor.hpp>

namespace REGARD_API regard {

namespace detail {
struct ParameterCell;
struct CustomRule;

/// A module's call that is under way on this thread, see Within.
class ModuleScope {
 public:
  using Path = std::string (*)(const void* module);
  ModuleScope(const void* module, Path path);
  ~ModuleScope();
  ModuleScope(const ModuleScope&) = delete;
  ModuleScope& operator=(const ModuleScope&) = delete;
  /// Of the module or, where it has none, of those around it.
  std::string path() const;

 private:
  ModuleScope* outer_;
  const void* module_;
  Path path_;
};
}  // namespace detail

/// A leaf: the same numbers, differentiable from here on. DTypeError unless float32 or float64.
[[nodiscard]] Tensor variable(const Tensor& x);

/// The only mutable thing: a named cell with a value, a gradient and a trainable flag. Copies share the cell.
/// Converts to the Tensor it holds now; what was computed from that Tensor is never changed by a later assign.
class Parameter {
 public:
  /// An empty handle; using it throws.
  Parameter() = default;
  /// DTypeError unless float32 or float64. The gradient is undefined until a backward reaches it.
  explicit Parameter(const Tensor& value, std::string name = "");

  /// The value now, as a leaf of the graph if trainable (and a constant otherwise).
  operator Tensor() const;  // NOLINT: a parameter is used like its value
  [[nodiscard]] Tensor tensor() const { return *this; }
  /// The value now, outside any graph.
  [[nodiscard]] Tensor value() const;
  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] DType dtype() const;

  /// Sum of what backward brought since the last zero_grad; undefined if nothing did.
  [[nodiscard]] Tensor gradient() const;
  [[nodiscard]] bool has_gradient() const;
  void zero_grad();
  /// Replaces the gradient (clipping does). ShapeError, DTypeError when it does not fit the value.
  void set_gradient(const Tensor& gradient);

  /// Replaces the value. ShapeError, DTypeError when it does not fit, naming the parameter and both.
  void assign(const Tensor& value);

  [[nodiscard]] bool trainable() const;
  void set_trainable(bool trainable);
  [[nodiscard]] const std::string& name() const;
  void set_name(std::string name);

  [[nodiscard]] bool defined() const { return cell_ != nullptr; }
  /// Do both handles name one cell? (tied weights)
  [[nodiscard]] bool same_as(const Parameter& other) const { return cell_ == other.cell_; }

 private:
  friend struct detail::Access;
  std::shared_ptr<detail::ParameterCell> cell_;
};

// ---- recording -----------------------------------------------------------------------------------------

/// While it lives, this thread records nothing.
class NoGrad {
 public:
  NoGrad();
  ~NoGrad();
  NoGrad(const NoGrad&) = delete;
  NoGrad& operator=(const NoGrad&) = delete;

 private:
  bool before_;
};

/// While it lives, this thread records again, inside a NoGrad.
class EnableGrad {
 public:
  EnableGrad();
  ~EnableGrad();
  EnableGrad(const EnableGrad&) = delete;
  EnableGrad& operator=(const EnableGrad&) = delete;

 private:
  bool before_;
};

/// Whether what this thread computes now is recorded.
[[nodiscard]] bool grad_enabled();
/// Graph nodes of this thread that are alive; back to its earlier value when a graph has gone.
[[nodiscard]] Size live_nodes();

/// What a thread computes for: a backward's rules and hooks, an optimiser's step or clipping, or neither.
enum class Phase { forward, backward, optimiser };

/// "encoder.0.attention.query": the innermost module that computes on this thread and has a name, see Within. Empty
/// outside of all, and in the largest itself.
[[nodiscard]] std::string module_path();

// ---- backward ------------------------------------------------------------------------------------------

struct BackwardOptions {
  Tensor seed;                ///< dL/dy of the output; needed unless the output has one element
  bool retain_graph = false;  ///< keep what the walk used, for a second walk
  bool create_graph = false;  ///< record the walk itself, so that gradients can be differentiated
};

/// Adds dL/dp to the gradient of every trainable Parameter p that `loss` depends on.
/// GraphError: the loss depends on nothing that requires a gradient; it is not a scalar and there is no seed;
/// the graph was already freed by an earlier walk. A backward that throws adds nothing to any gradient.
void backward(const Tensor& loss, const BackwardOptions& options = {});

struct GradOptions {
  Tensors seeds;              ///< one per output; may be left empty when every output has one element
  bool retain_graph = false;
  bool create_graph = false;  ///< implies retain_graph
  bool allow_unused = false;  ///< zeros for an input that no output depends on, instead of a GraphError
};

/// d(sum of seed · output) / d(input), one per input; touches no Parameter's gradient.
[[nodiscard]] Tensors grad(const Tensors& outputs, const Tensors& inputs, const GradOptions& options = {});
[[nodiscard]] Tensor grad(const Tensor& output, const Tensor& input, const GradOptions& options = {});

/// Called with dL/dx when backward has all of it; may return a replacement of the same shape, or an undefined
/// Tensor to leave it as it is.
using GradientHook = std::function<Tensor(const Tensor& dx)>;

/// Removes a hook; copies name the same hook.
class HookHandle {
 public:
  void remove();

 private:
  friend struct detail::Access;
  std::weak_ptr<GradientHook> hook_;
};

/// Attaches a hook to a Tensor that requires a gradient. GraphError otherwise.
HookHandle add_hook(const Tensor& x, GradientHook hook);
/// Attaches a hook to a Parameter, whatever value it holds.
HookHandle add_hook(const Parameter& p, GradientHook hook);

// ---- functional forms ----------------------------------------------------------------------------------

using Function = std::function<Tensor(const Tensor&)>;
using FunctionOfMany = std::function<Tensor(const Tensors&)>;

/// What vjp() gives.
struct Pullback {
  Tensor output;
  /// dy [output's shape] -> one dx per input. May be called again and again.
  std::function<Tensors(const Tensor& dy)> vjp;
};

/// The value of f and its vector-Jacobian product: dx_i = J_iᵀ dy.
[[nodiscard]] Pullback vjp(const FunctionOfMany& f, const Tensors& inputs);

/// What jvp() gives.
struct Pushforward {
  Tensor output;
  Tensor tangent;
};

/// The value of f and its Jacobian-vector product J t, by two reverse passes (the double-vjp).
[[nodiscard]] Pushforward jvp(const FunctionOfMany& f, const Tensors& inputs, const Tensors& tangents);

/// [output's shape ..., input's shape ...], row by row in reverse mode.
[[nodiscard]] Tensor jacobian(const Function& f, const Tensor& x);
/// [x's shape ..., x's shape ...] of a scalar function.
[[nodiscard]] Tensor hessian(const Function& f, const Tensor& x);
/// Hessian-vector product of a scalar function, without the Hessian. v has x's shape.
[[nodiscard]] Tensor hvp(const Function& f, const Tensor& x, const Tensor& v);

// ---- an operation of your own --------------------------------------------------------------------------

/// What a gradient rule may look at. Differentiable: a rule written with regard's operations has derivatives
/// of every order.
struct RuleInputs {
  const Tensor& dy;          ///< gradient of the output
  const Tensor& output;
  const Tensors& inputs;
};

/// An operation with a rule of its own:
/// ```cpp
/// const CustomOp cube("cube", [](const Tensors& x) { return x[0] * x[0] * x[0]; },
///                     [](const RuleInputs& at) { return Tensors{at.dy * 3.0 * square(at.inputs[0])}; });
/// Tensor y = cube({x});
/// ```
/// `forward` runs with recording off. `rule` returns one Tensor per input, in the inputs' shapes; an undefined
/// one means no gradient. A rule that breaks this is a GraphError that names the operation and the input.
class CustomOp {
 public:
  using Forward = std::function<Tensor(const Tensors& inputs)>;
  using Rule = std::function<Tensors(const RuleInputs& at)>;
  CustomOp(std::string name, Forward forward, Rule rule);

  [[nodiscard]] Tensor operator()(const Tensors& inputs) const;

 private:
  std::shared_ptr<const detail::CustomRule> rule_;
  Forward forward_;
};

}  // namespace regard

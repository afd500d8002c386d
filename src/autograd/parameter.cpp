#include <regard/autograd.hpp>

#include "autograd/apply.hpp"
#include "autograd/host_step.hpp"
#include "autograd/observer.hpp"

namespace regard {
namespace detail {
namespace {

/// The same numbers with another node.
Tensor with_node(const Tensor& x, Ref<Node> node) {
  Tensor y = view(x, array(x).data, x.shape(), x.strides());
  impl(y).node = std::move(node);
  return y;
}

ParameterCell& cell_of(const Parameter& p) {
  ParameterCell* cell = Access::cell(p).get();
  if (!cell) throw GraphError("parameter: this handle is empty (default-constructed or moved from)");
  return *cell;
}

HookHandle attach(Node& node, GradientHook hook) {
  auto shared = std::make_shared<GradientHook>(std::move(hook));
  node.with_extras().hooks.push_back(shared);
  HookHandle handle;
  Access::hook(handle) = shared;
  return handle;
}

}  // namespace

void require_fits(const ParameterCell& cell, const Tensor& x, const char* what) {
  if (x.shape() == cell.value.shape() && x.dtype() == cell.value.dtype()) return;
  const std::string who = cell.name.empty() ? "parameter" : "parameter " + cell.name;
  if (x.shape() != cell.value.shape())
    throw ShapeError(who + ": " + what + " has shape " + to_string(x.shape()) + ", expected " +
                     to_string(cell.value.shape()));
  throw DTypeError(who + ": " + what + " is " + name(x.dtype()) + ", expected " + name(cell.value.dtype()) +
                   "; convert it with .to()");
}

ParameterCell::~ParameterCell() {
  if (leaf && leaf->extras) leaf->extras->cell = nullptr;  // a graph may outlive its Parameter
}

}  // namespace detail

using namespace detail;  // NOLINT: this file is the engine's inside

Tensor variable(const Tensor& x) {
  require_float("variable", x);
  return with_node(x, new_node());
}

Parameter::Parameter(const Tensor& value, std::string name) : cell_(std::make_shared<ParameterCell>()) {
  require_float("parameter", value);
  cell_->name = std::move(name);
  cell_->value = value.detach();
  cell_->leaf = new_node();
  cell_->leaf->with_extras().cell = cell_.get();
}

Parameter::operator Tensor() const {
  ParameterCell& cell = cell_of(*this);
  note_use(cell);
  if (!cell.trainable || !context().recording) return cell.value;
  return with_node(cell.value, cell.leaf);
}

Tensor Parameter::value() const {
  note_use(cell_of(*this));
  return cell_of(*this).value;
}
const Shape& Parameter::shape() const {
  return cell_of(*this).value.shape();
}
DType Parameter::dtype() const {
  return cell_of(*this).value.dtype();
}
Tensor Parameter::gradient() const {
  return cell_of(*this).gradient;
}
bool Parameter::has_gradient() const {
  return cell_of(*this).gradient.defined();
}
void Parameter::zero_grad() {
  cell_of(*this).gradient = Tensor();
  if (context().capture) list_host_step([cell = cell_] { cell->gradient = Tensor(); });
}

void Parameter::set_gradient(const Tensor& gradient) {
  require_fits(cell_of(*this), gradient, "the gradient");
  host_step([cell = cell_, gradient] { cell->gradient = gradient; });
}

void Parameter::assign(const Tensor& value) {
  require_fits(cell_of(*this), value, "the new value");
  require_no_capture("assign", "assign between two calls of the step");
  cell_->value = value.detach();
}

bool Parameter::trainable() const {
  return cell_of(*this).trainable;
}
void Parameter::set_trainable(bool trainable) {
  require_no_capture("set_trainable", "freeze between two calls of the step, and capture it again");
  cell_of(*this).trainable = trainable;
}
const std::string& Parameter::name() const {
  return cell_of(*this).name;
}
void Parameter::set_name(std::string name) {
  cell_of(*this).name = std::move(name);
}

void HookHandle::remove() {
  // The node keeps an empty place; a hook that does nothing costs nothing.
  if (const auto hook = hook_.lock()) *hook = nullptr;
  hook_.reset();
}

HookHandle add_hook(const Tensor& x, GradientHook hook) {
  if (!x.requires_grad())
    throw GraphError("add_hook: the tensor of shape " + to_string(x.shape()) +
                     " does not require a gradient; make it a leaf with variable()");
  return attach(*node_of(x), std::move(hook));
}

HookHandle add_hook(const Parameter& p, GradientHook hook) {
  return attach(*cell_of(p).leaf, std::move(hook));
}

CustomOp::CustomOp(std::string name, Forward forward, Rule rule)
    : rule_(std::make_shared<CustomRule>(CustomRule{std::move(name), std::move(rule)})),
      forward_(std::move(forward)) {}

Tensor CustomOp::operator()(const Tensors& inputs) const {
  Tensor y;
  {
    const NoGrad guard;
    y = forward_(inputs).detach();
  }
  const Run run{rule_->name.c_str(), inputs.data(), static_cast<int>(inputs.size()), &y, 1, {}};
  Observers::tell([&run](Observer& observer) { observer.customised(run); });
  bool wanted = false;
  for (const Tensor& x : inputs) wanted = wanted || x.requires_grad();
  if (!context().recording || !wanted || !is_float(y.dtype())) return y;
  Ref<Node> node = new_node();
  node->set_inputs(inputs.data(), static_cast<int>(inputs.size()));
  node->with_extras().custom = rule_;
  Observers::tell([](Observer& observer) { observer.recorded(); });
  return with_node(y, std::move(node));
}

}  // namespace regard

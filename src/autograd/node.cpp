#include "autograd/node.hpp"

#include <algorithm>
#include <new>

#include "autograd/context.hpp"
#include "autograd/observer.hpp"

namespace regard {
namespace detail {

__thread Context this_context;

void Observer::leave() {
  Observer** place = &context().observer;
  while (*place && *place != this) place = &(*place)->below_;
  if (*place) *place = below_;
}

ModuleScope::ModuleScope(const void* module, Path named)
    : outer_(std::exchange(context().module, this)), module_(module), path_(named) {}
ModuleScope::~ModuleScope() { context().module = outer_; }
std::string ModuleScope::path() const {
  const std::string own = path_(module_);
  return own.empty() && outer_ ? outer_->path() : own;
}

Ref<Node> new_node() {
  Context& here = context();
  Node* node = new (allocate(sizeof(Node))) Node;
  node->id = here.next_node_id++;
  ++here.live_nodes;
#ifndef NDEBUG
  node->owner = &here;
#endif
  if (here.observer && here.module) node->with_extras().module = here.module->path();
  return Ref<Node>::adopt(node);
}

void Node::set_inputs(const Tensor* first, int count) {
  input_count = count;
  if (count > inline_inputs) many = PoolArray<Tensor>(static_cast<std::size_t>(count));
  std::copy_n(first, count, many ? many.data() : few);
}

void Node::clear() {
  for (int i = 0; i < std::min(input_count, inline_inputs); ++i) few[i] = Tensor();
  many = {};
  input_count = 0;
}

// Destroying a node drops its inputs, whose nodes may die with them, and so on down a chain of any length. Nodes
// that die meanwhile wait in a list, so that the depth of the call stack stays constant.
void destroy(NodeBase* base) noexcept {
  Node* node = static_cast<Node*>(base);
  static __thread Node* doomed;
  static __thread bool under_way;
  node->next_doomed = doomed;
  doomed = node;
  if (under_way) return;
  under_way = true;
  while (doomed) {
    Node* next = doomed;
    doomed = next->next_doomed;
    next->clear();
    next->~Node();
    deallocate(next, sizeof(Node));
    --context().live_nodes;
  }
  under_way = false;
}

std::string describe(const Node& node) {
  if (node.extras && node.extras->custom) return node.extras->custom->name;
  if (node.op) return node.op->name;
  if (node.extras && node.extras->cell && !node.extras->cell->name.empty()) return node.extras->cell->name;
  return "a leaf";
}

void check_thread([[maybe_unused]] const Node& node, [[maybe_unused]] const char* what) {
#ifndef NDEBUG
  if (node.owner != &context())
    throw GraphError(std::string(what) + ": the graph of " + describe(node) +
                     " belongs to another thread; give threads numbers (to_vector), not handles");
#endif
}

}  // namespace detail

NoGrad::NoGrad() : before_(detail::context().recording) { detail::context().recording = false; }
NoGrad::~NoGrad() { detail::context().recording = before_; }
EnableGrad::EnableGrad() : before_(detail::context().recording) { detail::context().recording = true; }
EnableGrad::~EnableGrad() { detail::context().recording = before_; }

std::string module_path() { return detail::context().module ? detail::context().module->path() : ""; }
bool grad_enabled() { return detail::context().recording; }
Size live_nodes() { return detail::context().live_nodes; }

}  // namespace regard

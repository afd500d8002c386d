// A node of the graph: what computed a Tensor, from which inputs. It never holds its own output, so that a
// graph has no cycles; the output of a node is found as an input of the nodes above it.
#pragma once

#include <memory>
#include <vector>

#include <regard/autograd.hpp>

#include "autograd/op.hpp"
#include "tensor/impl.hpp"
#include "memory/pool.hpp"

namespace regard::detail {

struct Node;

/// The rule of a CustomOp.
struct CustomRule {
  std::string name;
  CustomOp::Rule rule;
};

struct ParameterCell : std::enable_shared_from_this<ParameterCell> {
  std::string name;
  Tensor value;  ///< without a node
  Tensor gradient;
  bool trainable = true;
  Ref<Node> leaf;  ///< the same for every value the cell ever holds

  ~ParameterCell();
};
/// ShapeError, DTypeError unless x could be its value, naming the parameter, both, and what x is.
void require_fits(const ParameterCell& cell, const Tensor& x, const char* what);

/// What few nodes have; kept aside so that a node stays small.
struct NodeExtras {
  std::vector<std::shared_ptr<GradientHook>> hooks;
  std::shared_ptr<const CustomRule> custom;
  ParameterCell* cell = nullptr;  ///< of a Parameter's leaf; null once the Parameter is gone
  std::string module;             ///< path of the one that made it; only where somebody watches
};

struct Node : NodeBase {
  int pending = -1;        ///< place in the work list of a backward that is under way
  std::int64_t mark = 0;   ///< of the last walk that wanted it, or looked at it
  std::int64_t id = 0;     ///< order of creation: an input's node is always older
  const Op* op = nullptr;  ///< null for a leaf
  bool freed = false;      ///< a backward has used it up
  Attributes attributes;
  PoolArray<Tensor> many;  ///< where there are more inputs than inline_inputs, all of them
  static constexpr int inline_inputs = 4;
  int input_count = 0;
  Tensor few[inline_inputs];
  std::unique_ptr<NodeExtras> extras;
  Node* next_doomed = nullptr;
#ifndef NDEBUG
  const void* owner = nullptr;  ///< the thread's context
#endif

  const Tensor* inputs() const {
    return many ? many.data() : few;
  }
  NodeExtras& with_extras() {
    if (!extras) extras = std::make_unique<NodeExtras>();
    return *extras;
  }
  /// Takes hold of the inputs, or lets go of them.
  void set_inputs(const Tensor* first, int count);
  void clear();
};

Ref<Node> new_node();
/// The node behind x, or null.
inline Node* node_of(const Tensor& x) {
  return static_cast<Node*>(impl(x).node.get());
}
/// Also for one that is empty.
inline bool has_node(const Tensor& x) {
  return x.defined() && Access::impl(x)->node;
}
/// "exp", "a leaf", or the name of a custom op.
REGARD_API std::string describe(const Node& node);
/// Path of the module that made it, if somebody was watching then.
inline std::string module_of(const Node& node) {
  return node.extras ? node.extras->module : "";
}
/// GraphError, in debug builds, when the node was made by another thread.
void check_thread(const Node& node, const char* what);

}  // namespace regard::detail

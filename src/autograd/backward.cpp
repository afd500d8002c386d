#include <algorithm>
#include <vector>

#include <regard/ops.hpp>

#include "autograd/apply.hpp"
#include "autograd/host_step.hpp"
#include "autograd/observer.hpp"
#include "autograd/needs.hpp"

namespace regard {
namespace detail {
namespace {

[[noreturn]] void fail(const char* what, const std::string& text) { throw GraphError(std::string(what) + ": " + text); }

/// A Tensor whose gradient is being added up. `y` is held here because its node does not hold it.
struct Entry {
  Tensor y;
  Tensor dy;
};

/// One value per input of a node; on the stack for the usual few.
template <class T>
class Slots {
 public:
  explicit Slots(int count) {
    if (count > Node::inline_inputs) many_ = PoolArray<T>(static_cast<std::size_t>(count));
  }
  T& operator[](int i) const { return data()[i]; }
  T* data() const { return many_ ? many_.data() : few_; }

 private:
  mutable T few_[Node::inline_inputs] = {};
  PoolArray<T> many_;
};

bool is_custom(const Node& node) { return node.extras && node.extras->custom; }

/// Marks on nodes, of one walk. No other walk has the same numbers, so that none is wiped off; those of a walk further
/// out, in whose hook or rule this one happens, are put back at the end.
class Marks {
 public:
  Marks() : outer_(std::exchange(innermost, this)), outermost_(outer_ ? outer_->outermost_ : seen) {}
  ~Marks() {
    for (const auto& [node, mark] : covered_) node->mark = mark;
    innermost = outer_;
  }
  Marks(const Marks&) = delete;
  Marks& operator=(const Marks&) = delete;

  const std::int64_t seen = (last += 3), leading = seen + 1, target = seen + 2;

  void set(Node& node, std::int64_t mark) {
    if (node.mark >= outermost_ && node.mark < seen) covered_.emplace_back(Ref<Node>::share(&node), node.mark);
    node.mark = mark;
  }

 private:
  static __thread std::int64_t last;
  static __thread Marks* innermost;

  Marks* const outer_;
  const std::int64_t outermost_;
  std::vector<std::pair<Ref<Node>, std::int64_t>> covered_;
};
__thread std::int64_t Marks::last;
__thread Marks* Marks::innermost;

/// One walk from the outputs to the leaves, newest node first.
class Walk {
 public:
  Walk(const char* what, bool retain_graph) : what_(what), retain_graph_(retain_graph) {
    entries_.reserve(16);
    vacant_.reserve(16);
    heap_.reserve(16);
  }
  ~Walk() {
    for (const Entry& entry : entries_)
      if (entry.y.defined()) node_of(entry.y)->pending = -1;
  }
  Walk(const Walk&) = delete;
  Walk& operator=(const Walk&) = delete;

  /// Of the only nodes that are walked; null: all are.
  const Marks* marks = nullptr;

  bool is_wanted(const Tensor& x) const {
    return has_node(x) && (!marks || node_of(x)->mark == marks->leading);
  }
  /// The gradient of y so far.
  const Tensor& add(const Tensor& y, Tensor dy);
  bool done() const { return latest_.place < 0 && heap_.empty(); }
  /// The newest Tensor with its whole gradient, hooks applied.
  Entry next();
  /// Its rules: gradients of its inputs are added.
  void expand(const Entry& entry);

 private:
  Entry& waiting(const Node& node);
  bool may_add(const Tensor& x);
  int take_newest();
  void expand_one_by_one(const Node& node, const Entry& entry);
  void expand_at_once(const Node& node, const Entry& entry);
  void arrive(const Node& node, int i, Tensor dx);
  [[noreturn]] void fail_freed(const Node& node) const;
  void run_custom_rule(const Node& node, const Entry& entry, const Slots<Tensor>& dx) const;
  void check_gradient(const Node& node, int i, const Tensor& x, const Tensor& dx) const;
  Tensor apply_hooks(const Node& node, Tensor dy) const;

  const char* what_;
  bool retain_graph_;
  /// A node that waits, and its place in entries_. Newer is greater.
  struct Waiting {
    std::int64_t id;
    int place;
    friend bool operator<(const Waiting& a, const Waiting& b) { return a.id < b.id; }
  };
  PoolVector<Entry> entries_;
  PoolVector<int> vacant_;  // places in entries_ that are free again
  PoolVector<Waiting> heap_;
  Waiting latest_{0, -1};  // one that is not in the heap: along a chain of nodes the heap is left alone
};

bool may_overwrite(const Tensor& total) {
  return !context().recording && !total.requires_grad() && is_sole_owner(total) && total.is_contiguous();
}

// Adds `term` to `total`, in place where nobody else can see it.
void accumulate(Tensor& total, const Tensor& term) {
  if (!total.defined()) {
    total = term;
  } else if (may_overwrite(total) && total.shape() == term.shape()) {
    // To an observer the sum so far is another tensor than the new one.
    const bool watched = context().observer;
    const Tensor so_far = watched ? view(total, array(total).data, total.shape(), total.strides()) : total;
    const Tensor inputs[] = {so_far, term};
    execute(add_op(), inputs, 2, &total, 1);
  } else {
    total = add(total, term);
  }
}

// What waits for a node that is pending.
Entry& Walk::waiting(const Node& node) {
  const auto place = static_cast<std::size_t>(node.pending);
  if (place >= entries_.size() || !entries_[place].y.defined() || node_of(entries_[place].y) != &node)
    fail(what_, describe(node) + " is being walked already; a hook must not start a backward through the same graph");
  return entries_[place];
}

// Is there a gradient of x to add to, and nobody (but a capture) who would want to see the term by itself?
bool Walk::may_add(const Tensor& x) {
  const Node& node = *node_of(x);
  return node.pending >= 0 && (!context().observer || context().capture) && may_overwrite(waiting(node).dy);
}

const Tensor& Walk::add(const Tensor& y, Tensor dy) {
  Node& node = *node_of(y);
  check_thread(node, what_);
  if (node.pending >= 0) {
    Tensor& total = waiting(node).dy;
    accumulate(total, dy);
    return total;
  }
  int place;
  if (vacant_.empty()) {
    place = static_cast<int>(entries_.size());
    entries_.emplace_back();
  } else {
    place = vacant_.back();
    vacant_.pop_back();
  }
  entries_[static_cast<std::size_t>(place)] = {y, std::move(dy)};
  node.pending = place;
  if (latest_.place < 0) {
    latest_ = {node.id, place};
  } else {
    heap_.push_back({node.id, place});
    std::push_heap(heap_.begin(), heap_.end());
  }
  return entries_[static_cast<std::size_t>(place)].dy;
}

int Walk::take_newest() {
  if (latest_.place >= 0 && (heap_.empty() || heap_.front() < latest_)) return std::exchange(latest_.place, -1);
  std::pop_heap(heap_.begin(), heap_.end());
  const int place = heap_.back().place;
  heap_.pop_back();
  return place;
}

Entry Walk::next() {
  const int place = take_newest();
  Entry entry = std::move(entries_[static_cast<std::size_t>(place)]);
  vacant_.push_back(place);
  Node& node = *node_of(entry.y);
  node.pending = -1;
  if (node.extras && !node.extras->hooks.empty()) entry.dy = apply_hooks(node, std::move(entry.dy));
  return entry;
}

Tensor Walk::apply_hooks(const Node& node, Tensor dy) const {
  const std::vector<std::shared_ptr<GradientHook>> hooks = node.extras->hooks;  // a hook may add another
  for (const std::shared_ptr<GradientHook>& hook : hooks) {
    const GradientHook call = *hook;  // which stays alive when the hook removes itself
    if (!call) continue;
    if (context().capture) fail(what_, "a hook on " + describe(node) + " would not be called by replays of the step that is being captured; remove it");
    const Tensor replaced = call(dy);
    if (!replaced.defined()) continue;
    if (replaced.shape() != dy.shape() || replaced.dtype() != dy.dtype())
      fail(what_, "a hook on " + describe(node) + " returned " + name(replaced.dtype()) + " " +
                      to_string(replaced.shape()) + " for a gradient of " + name(dy.dtype()) + " " +
                      to_string(dy.shape()));
    dy = replaced;
  }
  return dy;
}

void Walk::check_gradient(const Node& node, int i, const Tensor& x, const Tensor& dx) const {
  if (dx.shape() == x.shape() && dx.dtype() == x.dtype()) return;
  fail(what_, "the rule of " + describe(node) + " gave " + name(dx.dtype()) + " " + to_string(dx.shape()) +
                  " as the gradient of input " + std::to_string(i) + ", which is " + name(x.dtype()) + " " +
                  to_string(x.shape()));
}

void Walk::run_custom_rule(const Node& node, const Entry& entry, const Slots<Tensor>& dx) const {
  const std::size_t count = static_cast<std::size_t>(node.input_count);
  const Tensors values(node.inputs(), node.inputs() + count);
  const Tensors returned = node.extras->custom->rule({entry.dy, entry.y, values});
  if (returned.size() != count)
    fail(what_, "the rule of " + describe(node) + " returned " + std::to_string(returned.size()) +
                    " gradients for " + std::to_string(count) + " inputs");
  for (std::size_t i = 0; i < count; ++i) dx[static_cast<int>(i)] = returned[i];
}

/// Tells the observers that a rule begins, and that it ended, whatever happens.
struct Watched {
  Watched(const Node& node, const Entry& entry) {
    Observers::tell([&](Observer& observer) { observer.rule_begins(node, entry.y, entry.dy); });
  }
  ~Watched() {
    Observers::tell([](Observer& observer) { observer.rule_ends(); });
  }
};

void Walk::expand(const Entry& entry) {
  Node& node = *node_of(entry.y);
  const Watched watched(node, entry);
  const bool custom = is_custom(node);
  if (!node.op && !custom) return;
  if (node.freed) fail_freed(node);
  if (custom || node.op->node_rule)
    expand_at_once(node, entry);
  else
    expand_one_by_one(node, entry);
  if (!retain_graph_) {
    node.freed = true;
    node.clear();
  }
}

void Walk::expand_one_by_one(const Node& node, const Entry& entry) {
  const Tensor* inputs = node.inputs();
  const Vjp at{entry.dy, entry.y, inputs, node.input_count, node.attributes};
  const int count = std::min(node.input_count, Op::max_rules);
  for (int i = 0; i < count; ++i) {
    if (!node.op->rules[i] || !is_wanted(inputs[i])) continue;
    if (node.op->adding[i] && may_add(inputs[i]) && node.op->adding[i](at, waiting(*node_of(inputs[i])).dy)) continue;
    Tensor dx = node.op->rules[i](at);
    if (dx.defined()) arrive(node, i, std::move(dx));
  }
}

void Walk::expand_at_once(const Node& node, const Entry& entry) {
  const int count = node.input_count;
  const Tensor* inputs = node.inputs();
  const Slots<bool> needed(count);
  const Slots<Tensor> dx(count);
  for (int i = 0; i < count; ++i) needed[i] = is_wanted(inputs[i]);
  if (is_custom(node))
    run_custom_rule(node, entry, dx);
  else
    node.op->node_rule({entry.dy, entry.y, inputs, count, node.attributes}, needed.data(), dx.data());
  for (int i = 0; i < count; ++i)
    if (needed[i] && dx[i].defined()) arrive(node, i, std::move(dx[i]));
}

// dL/dx of the node's input i is known, as far as it goes through this node.
void Walk::arrive(const Node& node, int i, Tensor dx) {
  const Tensor& x = node.inputs()[i];
  if (node.op && node.op->broadcasts && dx.shape() != x.shape()) dx = sum_to(dx, x.shape());
  check_gradient(node, i, x, dx);
  if (!context().observer) {
    add(x, std::move(dx));
    return;
  }
  const Tensor term = dx;
  const Tensor& sum = add(x, std::move(dx));
  Observers::tell([&](Observer& observer) { observer.gradient(i, x, term, sum); });
}

void Walk::fail_freed(const Node& node) const {
  fail(what_, "the graph behind " + describe(node) +
                  " was already freed by an earlier backward; pass retain_graph to the first one, or compute "
                  "the loss again");
}

Tensor checked_seed(const char* what, const Tensor& output, const Tensor& seed) {
  if (!seed.defined()) {
    if (output.numel() != 1)
      fail(what, "expected a scalar loss, got shape " + to_string(output.shape()) +
                     "; pass a seed of that shape to start from another output");
    return ones(output.shape(), output.dtype());
  }
  if (seed.shape() != output.shape() || seed.dtype() != output.dtype())
    fail(what, std::string("the seed is ") + name(seed.dtype()) + " " + to_string(seed.shape()) +
                   " but the output is " + name(output.dtype()) + " " + to_string(output.shape()));
  return seed;
}

/// The thread's state during a walk; restored whatever happens.
struct Recording {
  explicit Recording(bool on) : before(std::exchange(context().recording, on)) {}
  ~Recording() { context().recording = before; }
  bool before;
  PhaseScope phase{Phase::backward};
};

/// A node on the way of a search, and which of its inputs comes next.
struct Step {
  Node* node;
  int next;
};

/// Marks the nodes between the outputs and the targets: those from which a target can be reached. A loop over a list,
/// since chains may be long. GraphError when a target hides behind a freed node.
void mark_between(const char* what, const Tensors& outputs, const std::vector<Node*>& targets, Marks& marks) {
  for (Node* target : targets) marks.set(*target, marks.target);
  PoolVector<Step> way;
  const Node* freed = nullptr;
  const auto enter = [&](const Tensor& x) {
    if (!has_node(x)) return false;
    Node& node = *node_of(x);
    if (node.mark == marks.seen || node.mark == marks.leading) return node.mark == marks.leading;
    marks.set(node, node.mark == marks.target ? marks.leading : marks.seen);
    if (node.freed) freed = &node;
    way.push_back({&node, 0});
    return false;
  };
  for (const Tensor& output : outputs) {
    enter(output);
    while (!way.empty()) {
      Node& node = *way.back().node;
      if (way.back().next < node.input_count) {
        if (enter(node.inputs()[way.back().next++])) node.mark = marks.leading;
      } else {
        way.pop_back();
        if (node.mark == marks.leading && !way.empty()) way.back().node->mark = marks.leading;
      }
    }
  }
  const bool missed =
      std::any_of(targets.begin(), targets.end(), [&](const Node* node) { return node->mark == marks.target; });
  if (missed && freed)
    fail(what, "the graph behind " + describe(*freed) +
                   " was already freed by an earlier backward; pass retain_graph to the first one, or compute the "
                   "output again");
}

}  // namespace
}  // namespace detail

void detail::add_to_gradient(ParameterCell& cell, const Tensor& dy) { accumulate(cell.gradient, dy); }

using namespace detail;  // NOLINT: this file is the engine's inside

void backward(const Tensor& loss, const BackwardOptions& options) {
  if (!loss.requires_grad())
    fail("backward", "the loss of shape " + to_string(loss.shape()) +
                         " depends on no trainable Parameter and no variable; was recording off (NoGrad), or was "
                         "everything detached or frozen?");
  const Tensor seed = checked_seed("backward", loss, options.seed);
  const Recording recording(options.create_graph);
  Walk walk("backward", options.retain_graph || options.create_graph);
  walk.add(loss, seed);
  PoolVector<Entry> arrived;  // added to the Parameters when all is well: a backward that throws adds nothing
  arrived.reserve(16);
  while (!walk.done()) {
    Entry entry = walk.next();
    const Node& node = *node_of(entry.y);
    walk.expand(entry);
    if (node.extras && node.extras->cell) arrived.push_back(std::move(entry));
  }
  for (Entry& entry : arrived) {
    ParameterCell* cell = node_of(entry.y)->extras->cell;  // null if a hook let go of the Parameter
    if (cell) deposit(*cell, entry.dy);
  }
}

Tensors grad(const Tensors& outputs, const Tensors& inputs, const GradOptions& options) {
  if (!options.seeds.empty() && options.seeds.size() != outputs.size())
    fail("grad", std::to_string(options.seeds.size()) + " seeds for " + std::to_string(outputs.size()) + " outputs");
  std::vector<Node*> targets;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].requires_grad())
      fail("grad", "input " + std::to_string(i) + " of shape " + to_string(inputs[i].shape()) +
                       " does not require a gradient; make it a leaf with variable() before computing the output");
    targets.push_back(node_of(inputs[i]));
  }
  Marks marks;
  mark_between("grad", outputs, targets, marks);

  Tensors seeds;
  for (std::size_t k = 0; k < outputs.size(); ++k)
    seeds.push_back(checked_seed("grad", outputs[k], options.seeds.empty() ? Tensor() : options.seeds[k]));

  Tensors gradients(inputs.size());
  const Recording recording(options.create_graph);
  Walk walk("grad", options.retain_graph || options.create_graph);
  walk.marks = &marks;
  for (std::size_t k = 0; k < outputs.size(); ++k) {
    if (walk.is_wanted(outputs[k])) walk.add(outputs[k], seeds[k]);
  }
  while (!walk.done()) {
    const Entry entry = walk.next();
    for (std::size_t i = 0; i < inputs.size(); ++i)
      if (targets[i] == node_of(entry.y)) gradients[i] = entry.dy;
    walk.expand(entry);
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (gradients[i].defined()) continue;
    if (!options.allow_unused)
      fail("grad", "no output depends on input " + std::to_string(i) + " of shape " + to_string(inputs[i].shape()) +
                       "; pass allow_unused to get zeros for it");
    gradients[i] = zeros_like(inputs[i].detach());
  }
  return gradients;
}

Tensor grad(const Tensor& output, const Tensor& input, const GradOptions& options) {
  return grad(Tensors{output}, Tensors{input}, options)[0];
}

}  // namespace regard

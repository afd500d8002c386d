// Who watches a thread: every kernel, view and gradient rule is told to each observer. Any number at once;
// nothing is paid while there is none.
#pragma once

#include "autograd/context.hpp"
#include "autograd/node.hpp"

namespace regard::detail {

/// What ran: name(inputs) -> outputs. An input that was left out is an undefined Tensor.
struct Run {
  const char* name;
  const Tensor* inputs;
  int input_count;
  const Tensor* outputs;
  int output_count;
  const Attributes& attributes;
  kernels::Kernel kernel = nullptr;       ///< null for what is not a kernel
  const kernels::Call* call = nullptr;  ///< as the kernel sees it
};

/// Told, from its birth to its death, what its thread runs; it dies on that thread, in any order with others.
/// What an observer runs itself, no observer is told. One that throws stops what was running, as the kernel's
/// own error would.
class REGARD_API Observer {
 public:
  Observer() : below_(std::exchange(context().observer, this)) {}
  virtual ~Observer() { leave(); }
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;

  /// A kernel is about to run, and has run. `after` does not come when the kernel throws.
  virtual void before(const Run&) {}
  virtual void after(const Run&) {}
  /// An output without a kernel: another look at its input.
  virtual void viewed(const Run&) {}
  /// A CustomOp's forward has run; the kernels in it came before.
  virtual void customised(const Run&) {}
  /// What came last, of these, has a place in the graph: a backward may pass it.
  virtual void recorded() noexcept {}

  /// The gradient dy of y is complete, hooks applied, and the rule of y's node is about to run. Also for
  /// leaves, which have none. Rules nest where a hook or a rule starts a backward of its own.
  virtual void rule_begins(const Node&, const Tensor& /*y*/, const Tensor& /*dy*/) {}
  /// It gave dx for input i, which has brought the gradient of x up to `sum`.
  virtual void gradient(int /*i*/, const Tensor& /*x*/, const Tensor& /*dx*/, const Tensor& /*sum*/) {}
  /// The rule has run, or has thrown.
  virtual void rule_ends() noexcept {}

  /// Whether what could run as one operation (attention) is to run as its steps, so that all numbers between are seen.
  virtual bool wants_steps() const { return false; }

  /// It is told nothing more.
  void leave();

 private:
  friend struct Observers;
  Observer* below_;
};

/// Tells `event` to every observer of the thread, the youngest first.
struct Observers {
  static bool want_steps() {
    for (const Observer* observer = context().observer; observer; observer = observer->below_)
      if (observer->wants_steps()) return true;
    return false;
  }

  template <class Event>
  static void tell(const Event& event) {
    struct Quiet {
      bool before = std::exchange(context().quiet, true);
      ~Quiet() { context().quiet = before; }
    };
    if (!context().observer || context().quiet) return;
    const Quiet quiet;
    for (Observer* observer = context().observer; observer; observer = observer->below_) event(*observer);
  }
};

}  // namespace regard::detail

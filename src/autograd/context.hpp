// What a thread knows: whether it records, how many nodes are alive, what it computes for, who watches.
#pragma once

#include <utility>

#include <regard/autograd.hpp>

namespace regard::detail {

class Observer;
class ReplayList;

struct Context {
  bool recording = true;
  Size live_nodes = 0;
  std::int64_t next_node_id = 1;
  Phase phase = Phase::forward;
  ModuleScope* module = nullptr;  ///< whose call is under way, the innermost
  Observer* observer = nullptr;  ///< the youngest, see autograd/observer.hpp
  ReplayList* capture = nullptr;  ///< what runs is written there, see autograd/host_step.hpp
  bool quiet = false;            ///< an observer is being told; what it runs is nobody's business
};

/// `__thread`, unlike thread_local, is read without asking whether it has been constructed.
REGARD_API extern __thread Context this_context;
inline Context& context() {
  return this_context;
}

/// What the thread computes for while it lives.
class PhaseScope {
 public:
  explicit PhaseScope(Phase phase) : before_(std::exchange(context().phase, phase)) {}
  ~PhaseScope() { context().phase = before_; }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  Phase before_;
};

}  // namespace regard::detail

// What a thread knows: whether it records, how many nodes are alive, who watches.
#pragma once

#include <regard/dtype.hpp>

#include "kernels/call.hpp"

namespace regard::detail {

struct Op;

/// Sees every kernel that runs: (op, inputs, outputs). The profiler and the recorders are observers.
struct Observer {
  virtual ~Observer() = default;
  virtual void before(const Op& op, const kernels::Call& call) = 0;
  virtual void after(const Op& op, const kernels::Call& call) = 0;
};

struct Context {
  bool recording = true;
  Size live_nodes = 0;
  std::int64_t next_node_id = 1;
  Observer* observer = nullptr;
};

Context& context();

}  // namespace regard::detail

// What a training step does besides running kernels: drawing random numbers, checking ids, handing gradients
// over, updating parameters. While a step is captured these are listed between the kernels, and done again in
// every replay.
#pragma once

#include <functional>

#include <regard/tensor.hpp>

#include "autograd/context.hpp"
#include "memory/arena.hpp"

namespace regard::detail {

struct ParameterCell;

/// Runs f, whose kernels are not listed, and lists it.
void list_host_step(std::function<void()> f);

/// Runs f; again in every replay, if a step is being captured. f holds by value what it uses, or knows that
/// it outlives the captured step.
template <class F>
void host_step(F f) {
  context().capture ? list_host_step(std::move(f)) : f();
}

/// While it lives, the thread is as outside of a capture.
class OffTheRecord {
 public:
  OffTheRecord() : list_(std::exchange(context().capture, nullptr)), pool_(nullptr) {}
  ~OffTheRecord() { context().capture = list_; }
  OffTheRecord(const OffTheRecord&) = delete;
  OffTheRecord& operator=(const OffTheRecord&) = delete;

 private:
  ReplayList* list_;
  Arena::Scope pool_;
};

/// A new tensor that a host step will fill.
Tensor written_by_host_step(const Shape& shape, DType dtype);

/// A Parameter's numbers are about to be used.
void note_use(ParameterCell& cell);
/// dy has arrived at a Parameter, and is added to its gradient.
void deposit(ParameterCell& cell, const Tensor& dy);
/// The sum itself; in backward.cpp.
void add_to_gradient(ParameterCell& cell, const Tensor& dy);

}  // namespace regard::detail

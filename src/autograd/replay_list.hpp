// The list of what a captured step ran, and how it runs again: kernels on the same memory, host steps between
// them.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "autograd/host_step.hpp"
#include "autograd/observer.hpp"

namespace regard::detail {

/// Serial numbers of storages that an earlier call of the step made: first .. end - 1.
struct Serials {
  Size first = 0, end = 0;
};
/// That of the next storage.
Size next_serial();

class ReplayList : public Observer {
 public:
  /// Takes note of what its thread runs until finish().
  explicit ReplayList(const Serials& stale);
  ~ReplayList() override;

  /// The step has run. GraphError when it cannot be replayed.
  void finish(const Tensors& outputs);

  /// GraphError when something is not as it was. Parameters that have other memory by now are followed there.
  void check();
  /// Runs everything again.
  void run();
  /// Copies of the outputs.
  void results(Tensors& copies) const;

  std::size_t kernels() const { return kernel_count_; }

 private:
  friend void list_host_step(std::function<void()> f);
  friend void note_use(ParameterCell& cell);
  friend void deposit(ParameterCell& cell, const Tensor& dy);

  struct Item {
    kernels::Kernel kernel = nullptr;  // null: a host step
    std::size_t first = 0;             // of its arrays, inputs then outputs; or which host step
    int inputs = 0, outputs = 0;
    Attributes attributes;
  };
  /// A Parameter of the step, and which arrays lie in its memory.
  struct Used {
    std::shared_ptr<ParameterCell> cell;
    Size serial;  // of its storage
    void* data;
    bool trainable;
    std::vector<std::size_t> arrays;
  };
  struct Deposit {
    std::shared_ptr<ParameterCell> cell;
    Tensor dy;
  };
  /// Deposits whose gradients lie in one storage.
  struct Gradient {
    std::vector<std::size_t> deposits;
    std::vector<TensorImpl*> looks;
  };

  void before(const Run& run) override;
  void after(const Run& run) override;

  void add_constant(Storage& storage, const Run& run);
  void add_host(std::function<void()> f);
  void add_arrays(const kernels::Array* const* arrays, int count);
  bool is_parameter(const Storage& storage) const;
  void follow(Used& used);
  void group_gradients();
  bool is_held_elsewhere(const Gradient& gradient) const;
  void give_away(Gradient& gradient);

  Arena* arena_;
  std::unique_ptr<Arena::Scope> scope_;
  Serials stale_;
  std::size_t kernel_count_ = 0;
  std::vector<Item> items_;
  std::vector<kernels::Array> arrays_;
  std::vector<kernels::Array*> pointers_;  // to each of them, once the step has run
  std::vector<std::function<void()>> hosts_;
  std::vector<Used> used_;
  std::vector<std::unique_ptr<Deposit>> deposits_;
  std::vector<Gradient> gradients_;
  std::vector<Ref<Storage>> held_;  // memory from before the step that it reads
  Tensors results_;
  std::size_t first_result_ = 0;  // of the results' arrays
};

}  // namespace regard::detail

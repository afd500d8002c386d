// Memory of one captured step. While the step is recorded, blocks come from here and are used again within
// it; then they stay where they are, since the recorded kernels will write to them again.
#pragma once

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace regard::detail {

class Arena;
/// See Arena::current().
extern __thread Arena* current_arena;

class Arena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  /// Where this thread's new numbers come from; null: from the pool.
  static Arena* current() { return current_arena; }

  /// Makes an arena the current one, or none.
  class Scope {
   public:
    explicit Scope(Arena* arena) : before_(std::exchange(current_arena, arena)) {}
    ~Scope() { current_arena = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena* before_;
  };

  /// Throws std::bad_alloc. `used_before`: the block has been another tensor's.
  void* take(std::size_t bytes, bool& used_before);
  /// `reusable`: another tensor of the step may have it. May be the arena's end.
  void give_back(void* block, std::size_t bytes, bool reusable) noexcept;
  /// The step is recorded: no block is used for anything else from now on.
  void close() { open_ = false; }
  /// The owner goes; the arena follows when the last of its blocks has come back.
  void release() noexcept;

  std::size_t bytes() const { return bytes_; }

 private:
  ~Arena();
  void leave_if_done() noexcept;

  struct Block {
    void* memory;
    std::size_t bytes;
  };
  std::vector<Block> blocks_;
  std::map<std::size_t, std::vector<void*>> free_;  // by size
  std::size_t live_ = 0, bytes_ = 0;
  bool open_ = true, owned_ = true;
};

}  // namespace regard::detail

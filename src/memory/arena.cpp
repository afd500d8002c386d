#include "memory/arena.hpp"

#include "memory/pool.hpp"

namespace regard::detail {

__thread Arena* current_arena;

void* Arena::take(std::size_t bytes, bool& used_before) {
  const std::size_t size = block_bytes(bytes);
  std::vector<void*>& fitting = free_[size];
  void* block = nullptr;
  used_before = !fitting.empty();
  if (used_before) {
    block = fitting.back();
    fitting.pop_back();
  } else {
    blocks_.push_back({nullptr, size});
    block = blocks_.back().memory = allocate(size);
    fitting.reserve(blocks_.size());  // so that no block comes back to a list without room
    bytes_ += size;
  }
  ++live_;
  return block;
}

void Arena::give_back(void* block, std::size_t bytes, bool reusable) noexcept {
  if (open_ && reusable) free_[block_bytes(bytes)].push_back(block);
  --live_;
  leave_if_done();
}

void Arena::release() noexcept {
  owned_ = false;
  close();
  leave_if_done();
}

void Arena::leave_if_done() noexcept {
  if (!owned_ && live_ == 0) delete this;
}

Arena::~Arena() {
  for (const Block& block : blocks_)
    if (block.memory) deallocate(block.memory, block.bytes);
}

}  // namespace regard::detail

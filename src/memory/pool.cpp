#include "memory/pool.hpp"

#include <cstdlib>
#include <mutex>
#include <new>

#include "memory/slab.hpp"

namespace regard::detail {

__thread Pool this_pool;

namespace {

/// Small blocks without a thread, for any thread to take: what ended threads kept, and what was freed behind
/// their end.
class Depot {
 public:
  void put(int index, Pool::Free* first, Pool::Free* last) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    last->next = std::exchange(free_[index], first);
  }
  Pool::Free* take_all(int index) noexcept {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(free_[index], nullptr);
  }

 private:
  std::mutex mutex_;
  Pool::Free* free_[small_classes] = {};
};
Depot depot;  // destroyed by nothing: handles in static storage may be destroyed late

void give_to_depot(int index, Pool::Free* list) noexcept {
  Pool::Free* last = list;
  while (last->next) last = last->next;
  depot.put(index, list, last);
}

/// Gives back what the thread kept. Handles in static storage may be destroyed later: pool.open tells them.
struct Closer {
  Closer() { this_pool.open = true; }
  ~Closer() {
    this_pool.open = false;
    for (int index = 0; index < Pool::class_count; ++index) {
      Pool::Free* list = std::exchange(this_pool.free[index], nullptr);
      if (!list) continue;
      if (index < small_classes)
        give_to_depot(index, list);
      else
        while (list) std::free(std::exchange(list, list->next));
    }
    give_back_slab();
  }
};

/// From the depot, all of its size: the rest is kept. Or from a slab.
void* allocate_small(const SizeClass& size) {
  Pool& pool = this_pool;
  if (void* const block = carve(size.bytes)) return block;
  if (Pool::Free* const list = depot.take_all(size.index)) {
    for (Pool::Free* each = list->next; each; each = each->next) pool.counts.cached_bytes += size.bytes;
    pool.free[size.index] = list->next;
    return list;
  }
  pool.counts.heap_allocations += new_slab();
  return carve(size.bytes);
}

}  // namespace

void* allocate_beyond(const SizeClass& size) {
  thread_local const Closer at_the_end_of_the_thread;
  if (pooling && is_small(size)) return allocate_small(size);
  ++this_pool.counts.heap_allocations;
  void* block = nullptr;
  if (posix_memalign(&block, block_alignment, size.bytes) != 0) throw std::bad_alloc();
  return block;
}

void deallocate_beyond(void* block, const SizeClass& size) noexcept {
  if (!pooling || !is_small(size)) return std::free(block);
  auto* const freed = static_cast<Pool::Free*>(block);
  depot.put(size.index, freed, freed);
}

PoolCounts pool_counts() {
  return this_pool.counts;
}

}  // namespace regard::detail

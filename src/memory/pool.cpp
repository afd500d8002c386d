#include "memory/pool.hpp"

#include <cstdlib>
#include <new>

namespace regard::detail {

__thread Pool this_pool;

namespace {

/// Gives back what the thread kept. Handles in static storage may be destroyed later: their blocks go straight to
/// the heap.
struct Closer {
  Closer() { this_pool.open = true; }
  ~Closer() {
    this_pool.open = false;
    for (Pool::Free*& list : this_pool.free)
      while (list) std::free(std::exchange(list, list->next));
  }
};

}  // namespace

void* allocate_from_heap(const SizeClass& size) {
  thread_local const Closer at_the_end_of_the_thread;
  ++this_pool.counts.heap_allocations;
  void* block = nullptr;
  if (posix_memalign(&block, block_alignment, size.bytes) != 0) throw std::bad_alloc();
  return block;
}

void free_to_heap(void* block) noexcept { std::free(block); }

PoolCounts pool_counts() { return this_pool.counts; }

}  // namespace regard::detail

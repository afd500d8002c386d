// Buffers that are used again: a pool per thread, keyed by size. After a few steps of a training loop nothing is
// asked from the heap any more. Blocks may be freed on another thread than the one that asked for them.
#pragma once

#include <cstddef>

namespace regard::detail {

/// Alignment of every block: a cache line, and the widest vector register.
inline constexpr std::size_t block_alignment = 64;

/// Throws std::bad_alloc. The bytes are not initialised.
void* allocate(std::size_t bytes);
/// `bytes` as it was asked for.
void deallocate(void* block, std::size_t bytes) noexcept;

/// What this thread's pool has done so far; tests and benchmarks read it.
struct PoolCounts {
  std::size_t heap_allocations = 0;  ///< blocks the pool had to ask from the heap
  std::size_t cached_bytes = 0;      ///< bytes that wait to be used again
};
PoolCounts pool_counts();

}  // namespace regard::detail

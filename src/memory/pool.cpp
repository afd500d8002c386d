#include "memory/pool.hpp"

#include <array>
#include <cstdlib>
#include <new>
#include <vector>

namespace regard::detail {
namespace {

// AddressSanitizer sees a use after free only if blocks go back to the heap.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool pooling = false;
#else
constexpr bool pooling = true;
#endif

constexpr std::size_t small_limit = 1024;           // below: one size class per cache line
constexpr std::size_t small_classes = small_limit / block_alignment;
constexpr int class_count = 160;                     // four classes per power of two up to 2^46
constexpr std::size_t cache_limit = std::size_t{1} << 30;  // what a thread may keep for later

struct SizeClass {
  int index;
  std::size_t bytes;
};

// Sizes are rounded up to a cache line, and beyond 1 KiB to a quarter of a power of two: at most 25 % is lost.
SizeClass size_class(std::size_t bytes) {
  if (bytes <= small_limit) {
    const std::size_t lines = bytes == 0 ? 1 : (bytes + block_alignment - 1) / block_alignment;
    return {static_cast<int>(lines) - 1, lines * block_alignment};
  }
  const int power = 63 - __builtin_clzll(bytes - 1);  // at least 10
  const std::size_t quarter = std::size_t{1} << (power - 2);
  const std::size_t quarters = (bytes + quarter - 1) / quarter;  // 5..8
  return {static_cast<int>(small_classes) + (power - 10) * 4 + static_cast<int>(quarters) - 5, quarters * quarter};
}

void* ask_heap(std::size_t bytes) {
  void* block = nullptr;
  if (posix_memalign(&block, block_alignment, bytes) != 0) throw std::bad_alloc();
  return block;
}

class Pool {
 public:
  ~Pool();
  void* take(std::size_t bytes);
  bool keep(void* block, std::size_t bytes) noexcept;
  PoolCounts counts;

 private:
  std::array<std::vector<void*>, class_count> free_;
};

// Handles in static storage may be destroyed after the thread's pool; they then go straight to the heap.
thread_local bool pool_alive = false;

Pool& pool() {
  thread_local Pool instance;
  return instance;
}

Pool::~Pool() {
  pool_alive = false;
  for (std::vector<void*>& blocks : free_)
    for (void* block : blocks) std::free(block);
}

void* Pool::take(std::size_t bytes) {
  pool_alive = true;
  const SizeClass size = size_class(bytes);
  std::vector<void*>& blocks = free_[static_cast<std::size_t>(size.index)];
  if (!blocks.empty()) {
    void* block = blocks.back();
    blocks.pop_back();
    counts.cached_bytes -= size.bytes;
    return block;
  }
  ++counts.heap_allocations;
  return ask_heap(size.bytes);
}

bool Pool::keep(void* block, std::size_t bytes) noexcept {
  const SizeClass size = size_class(bytes);
  if (counts.cached_bytes + size.bytes > cache_limit) return false;
  try {
    free_[static_cast<std::size_t>(size.index)].push_back(block);
  } catch (const std::bad_alloc&) {
    return false;
  }
  counts.cached_bytes += size.bytes;
  return true;
}

}  // namespace

void* allocate(std::size_t bytes) {
  if (!pooling) return ask_heap(bytes == 0 ? 1 : bytes);
  return pool().take(bytes);
}

std::size_t block_bytes(std::size_t bytes) { return size_class(bytes).bytes; }

void deallocate(void* block, std::size_t bytes) noexcept {
  if (pooling && pool_alive && pool().keep(block, bytes)) return;
  std::free(block);
}

PoolCounts pool_counts() { return pool().counts; }

}  // namespace regard::detail

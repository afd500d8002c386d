// Buffers that are used again: a pool per thread, keyed by size. After a few steps of a training loop nothing
// is asked from the heap any more. Blocks may be freed on another thread than the one that asked for them.
// Small blocks are cut from slabs and never go back to the heap: they wait for this thread, and after its end
// for the others.
#pragma once

#include <cstddef>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace regard::detail {

/// Alignment of every block: a cache line, and the widest vector register.
inline constexpr std::size_t block_alignment = 64;

/// What this thread's pool has done so far; tests and benchmarks read it.
struct PoolCounts {
  std::size_t heap_allocations = 0;  ///< blocks and slabs the pool had to ask from the heap
  std::size_t cached_bytes = 0;      ///< bytes that wait to be used again
};
PoolCounts pool_counts();

// ---- the way of almost every block, inline -------------------------------------------------------------

// AddressSanitizer sees a use after free only if blocks go back to the heap.
#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool pooling = false;
#else
inline constexpr bool pooling = true;
#endif

struct SizeClass {
  int index;
  std::size_t bytes;
};

inline constexpr std::size_t small_limit = 1024;  ///< up to here: one class per cache line
inline constexpr int small_classes = small_limit / block_alignment;

constexpr bool is_small(const SizeClass& size) {
  return size.index < small_classes;
}

/// Sizes are rounded up to a cache line, and beyond 1 KiB to a quarter of a power of two: at most 25 % is
/// lost.
constexpr SizeClass size_class(std::size_t bytes) {
  if (bytes <= small_limit) {
    const std::size_t lines = bytes == 0 ? 1 : (bytes + block_alignment - 1) / block_alignment;
    return {static_cast<int>(lines) - 1, lines * block_alignment};
  }
  const int power = 63 - __builtin_clzll(bytes - 1);  // at least 10
  const std::size_t quarter = std::size_t{1} << (power - 2);
  const std::size_t quarters = (bytes + quarter - 1) / quarter;  // 5..8
  return {small_classes + (power - 10) * 4 + static_cast<int>(quarters) - 5, quarters * quarter};
}

/// What a thread keeps. Free blocks of a class are a list, each block holding the next.
struct Pool {
  struct Free {
    Free* next;
  };
  static constexpr int class_count = 160;                           // four per power of two up to 2^46
  static constexpr std::size_t cache_limit = std::size_t{1} << 30;  // large blocks wait up to this sum

  Free* free[class_count] = {};
  PoolCounts counts;
  bool open = false;  ///< from the first block on, until the thread ends
};
/// `__thread`, unlike thread_local, is read without asking whether it has been constructed.
extern __thread Pool this_pool;

/// Where no block waits, and where none may.
void* allocate_beyond(const SizeClass& size);
void deallocate_beyond(void* block, const SizeClass& size) noexcept;

/// Throws std::bad_alloc. The bytes are not initialised.
inline void* allocate(std::size_t bytes) {
  const SizeClass size = size_class(bytes);
  Pool& pool = this_pool;
  Pool::Free* const block = pool.free[size.index];
  if (!block) return allocate_beyond(size);
  pool.free[size.index] = block->next;
  pool.counts.cached_bytes -= size.bytes;
  return block;
}
/// `bytes` as it was asked for.
inline void deallocate(void* block, std::size_t bytes) noexcept {
  const SizeClass size = size_class(bytes);
  Pool& pool = this_pool;
  const bool keep = is_small(size) || pool.counts.cached_bytes + size.bytes <= Pool::cache_limit;
  if (!pooling || !pool.open || !keep) return deallocate_beyond(block, size);
  auto* const freed = static_cast<Pool::Free*>(block);
  freed->next = pool.free[size.index];
  pool.free[size.index] = freed;
  pool.counts.cached_bytes += size.bytes;
}
/// How large the block is that comes for so many bytes.
inline std::size_t block_bytes(std::size_t bytes) {
  return size_class(bytes).bytes;
}

// ---- containers ----------------------------------------------------------------------------------------

/// For containers whose numbers come and go with each step.
template <class T>
struct PoolAllocator {
  using value_type = T;
  PoolAllocator() = default;
  template <class U>
  PoolAllocator(const PoolAllocator<U>&) {}  // NOLINT: as the standard asks
  T* allocate(std::size_t count) { return static_cast<T*>(detail::allocate(count * sizeof(T))); }
  void deallocate(T* block, std::size_t count) noexcept { detail::deallocate(block, count * sizeof(T)); }
  template <class U>
  friend bool operator==(const PoolAllocator&, const PoolAllocator<U>&) {
    return true;
  }
  template <class U>
  friend bool operator!=(const PoolAllocator&, const PoolAllocator<U>&) {
    return false;
  }
};
template <class T>
using PoolVector = std::vector<T, PoolAllocator<T>>;

/// A fixed number of objects; none take no block.
template <class T>
class PoolArray {
 public:
  PoolArray() = default;
  explicit PoolArray(std::size_t count) : PoolArray(count, Unset()) {
    if (data_) std::uninitialized_value_construct_n(data_, count);
  }
  /// Numbers that are yet to be written.
  static PoolArray unset(std::size_t count) {
    static_assert(std::is_trivial_v<T>);
    return PoolArray(count, Unset());
  }
  PoolArray(PoolArray&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  PoolArray& operator=(PoolArray&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~PoolArray() {
    if (!data_) return;
    std::destroy_n(data_, count_);
    PoolAllocator<T>().deallocate(data_, count_);
  }
  T* data() const { return data_; }
  explicit operator bool() const { return data_ != nullptr; }

 private:
  struct Unset {};
  PoolArray(std::size_t count, Unset)
      : data_(count == 0 ? nullptr : PoolAllocator<T>().allocate(count)), count_(count) {}

  T* data_ = nullptr;
  std::size_t count_ = 0;
};

}  // namespace regard::detail
